//! What is slow every time. The machine takes a CPU away for milliseconds now and then, which a
//! server counts as time of the command that it executes; a disturbance hardly ever meets the same
//! command twice.

use crate::Outcome;
use redis::Connection;
use std::collections::HashMap;

/// The microseconds of slow commands, by their words; of equal commands, the slowest.
pub type Slow = HashMap<Vec<Vec<u8>>, u64>;

/// The commands of this name in the server's log of slow ones.
pub fn slow_commands(connection: &mut Connection, name: &str) -> Outcome<Slow> {
    type Entry = (u64, u64, u64, Vec<Vec<u8>>, String, String);
    let log: Vec<Entry> = redis::cmd("SLOWLOG").arg(&["GET", "-1"]).query(connection)?;
    let mut slow = Slow::new();
    for (_, _, time, words, ..) in log {
        if words[0].eq_ignore_ascii_case(name.as_bytes()) {
            let slowest = slow.entry(words).or_default();
            *slowest = time.max(*slowest);
        }
    }
    Ok(slow)
}

/// The slowest command, where each took as long as in its fastest run; `None` if none was slow in
/// every run.
pub fn slowest_in_every(runs: &[Slow]) -> Option<u64> {
    let (first, others) = runs.split_first()?;
    let fastest = first.iter().filter_map(|(words, time)| {
        others.iter().try_fold(*time, |fastest, run| run.get(words).map(|time| fastest.min(*time)))
    });
    fastest.max()
}
