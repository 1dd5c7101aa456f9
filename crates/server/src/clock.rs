//! The time of day, as the server has it.

use super::call::{call, optional};
use super::failpoints;

/// The time of the running command, in milliseconds since 1970. Servers from 7.2 on keep it
/// unchanged while a command, a script or a transaction runs; older ones read the clock. Cost: some
/// 2 ns, or 30 ns.
pub fn time_of_command() -> u64 {
    match optional!(RedisModule_CachedMicroseconds) {
        // SAFETY: the function takes nothing and returns a number.
        Some(microseconds) => corrected(unsafe { microseconds() } / 1000),
        None => time_now(),
    }
}

/// The time now, in milliseconds since 1970. Cost: some 30 ns.
pub fn time_now() -> u64 {
    // SAFETY: the function takes nothing and returns a number.
    corrected(unsafe { call!(RedisModule_Milliseconds()) })
}

/// `milliseconds` moved by the offset that tests set, and at least 0.
fn corrected(milliseconds: i64) -> u64 {
    let moved = milliseconds.saturating_add(failpoints::clock_offset());
    u64::try_from(moved).unwrap_or(0)
}
