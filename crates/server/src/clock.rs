//! The time of day, as the server has it.

use super::call::{call, optional};
use super::context::Context;
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

/// The earliest time that a client may supply, in milliseconds since 1970: 3 March 1973. In
/// seconds, this number is a time in the year 5138, so a smaller number must be in seconds. (An
/// early time in itself is no mistake: a log of years ago can be added in order, and the replies
/// are right.)
const EARLIEST: u64 = 100_000_000_000;

/// Why a time that a client supplied is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadTime {
    /// It is so early that it must be in seconds.
    Seconds,
    /// It is more than a window ahead of the server's clock: everything would be forgotten, and
    /// then nothing more until the clock has caught up.
    FarFuture,
}

impl Context {
    /// The time of what the command adds to a window of `seconds` seconds: `given` by the client,
    /// or the server's clock.
    ///
    /// # Errors
    /// `BadTime`, except for commands from the primary or the append-only file, which have been
    /// checked, against another clock.
    pub fn time_of(&self, seconds: u32, given: Option<u64>) -> Result<u64, BadTime> {
        let now = time_of_command();
        let latest = now.saturating_add(u64::from(seconds) * 1_000);
        match given {
            None => Ok(now),
            Some(given) if (EARLIEST..=latest).contains(&given) => Ok(given),
            Some(given) if self.is_replay() => Ok(given),
            Some(given) if given < EARLIEST => Err(BadTime::Seconds),
            Some(_) => Err(BadTime::FarFuture),
        }
    }
}
