//! The time of day, as the server has it.

use super::call::call;
use super::failpoints;
use redis_module::raw;

/// The time of the running command, in milliseconds since 1970. It does not change while a command
/// runs, a script or a transaction included, on servers that keep it (7.2 and later); older ones
/// read the clock. Cost: some 2 ns, or 30 ns.
pub fn time_of_command() -> u64 {
    // SAFETY: the server's table is filled once, before anything else of the module runs.
    match unsafe { raw::RedisModule_CachedMicroseconds } {
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

/// What the clock shows, moved by what tests want. Before 1970 it shows 1970.
fn corrected(milliseconds: i64) -> u64 {
    let moved = milliseconds.saturating_add(failpoints::clock_offset());
    u64::try_from(moved).unwrap_or(0)
}
