//! The processor time of the server, as the system counts it.

use super::rig::Outcome;
use std::fs;

/// Seconds of processor time that a process has used, from `/proc/PID/stat`; counted in hundredths.
pub fn processor_seconds(process: u32) -> Outcome<f64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name, the second field, may have spaces; it ends at the last parenthesis. `utime` and `stime` are fields 14 and 15.
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let ticks = |field: usize| -> Outcome<f64> {
        Ok(fields.get(field - 3).ok_or("a short stat")?.parse()?)
    };
    Ok((ticks(14)? + ticks(15)?) / 100.0)
}
