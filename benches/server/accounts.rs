//! The CPU time of the server, as the kernel counts it.

use super::rig::Outcome;
use std::fs;

/// CPU seconds used by a process, from `/proc/PID/stat`, which counts hundredths.
pub fn cpu_seconds(process: u32) -> Outcome<f64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name, the second field, may contain spaces; it ends at the last parenthesis. `utime` and
    // `stime` are fields 14 and 15.
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let ticks = |field: usize| -> Outcome<f64> {
        Ok(fields
            .get(field - 3)
            .ok_or("/proc/PID/stat is too short")?
            .parse()?)
    };
    Ok((ticks(14)? + ticks(15)?) / 100.0)
}
