//! What the kernel counts of the server's process.

use crate::Outcome;
use std::fs;
use std::process::{Command, Stdio};

/// CPU seconds used by a process, from `/proc/PID/stat`, which counts hundredths.
pub fn cpu_seconds(process: u32) -> Outcome<f64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name, the second field, may contain spaces; it ends at the last parenthesis. `utime` and
    // `stime` are fields 14 and 15.
    let fields: Vec<&str> =
        stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |field: usize| -> Outcome<f64> {
        Ok(fields.get(field - 3).ok_or("/proc/PID/stat is too short")?.parse()?)
    };
    Ok((ticks(14)? + ticks(15)?) / 100.0)
}

/// Gives a process precedence over others, if permitted. (With real-time priority the kernel would
/// stop it for 50 ms of each second in which it is always busy.)
pub fn prefer(process: u32) {
    let mut renice = Command::new("renice");
    renice.args(["-n", "-20", "-p", &process.to_string()]);
    renice.stdout(Stdio::null()).stderr(Stdio::null()).status().ok();
}
