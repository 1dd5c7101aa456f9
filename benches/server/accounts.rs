//! What the server says of its own time.

use super::rig::Outcome;
use redis::Connection;
use std::fs;

/// Time spent in a command, from `INFO commandstats`.
#[derive(Clone, Copy, Debug, Default)]
pub struct InCommand {
    microseconds: u64,
}

impl InCommand {
    pub fn of(connection: &mut Connection, command: &str) -> Outcome<Self> {
        let info: String = redis::cmd("INFO").arg("commandstats").query(connection)?;
        let name = format!("cmdstat_{}:", command.to_lowercase());
        let line = info
            .lines()
            .find_map(|line| line.to_lowercase().strip_prefix(&name).map(str::to_string));
        let Some(line) = line else {
            return Ok(Self::default());
        };
        let field = |name: &str| -> Outcome<u64> {
            let value = line
                .split(',')
                .find_map(|field| field.strip_prefix(name)?.strip_prefix('='));
            Ok(value.ok_or("an unknown form of commandstats")?.parse()?)
        };
        Ok(Self {
            microseconds: field("usec")?,
        })
    }

    /// Nanoseconds in the command for each of `items` since `before`.
    pub fn nanoseconds_since(self, before: Self, items: u64) -> f64 {
        (self.microseconds - before.microseconds) as f64 * 1000.0 / items as f64
    }
}

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
