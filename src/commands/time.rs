//! Time in filters that forget: when items come, and how many are remembered.

use crate::commands::reply_error::ReplyError;
use crate::types::now_for;
use splitbloom_filter::filter::{Filter, Window};
use splitbloom_server::clock::{time_now, time_of_command};
use splitbloom_server::context::Context;

/// The earliest time that a client may supply, in milliseconds since 1970: 3 March 1973. In
/// seconds, this number is a time in the year 5138, so a smaller number must be in seconds. (An
/// early time as such is no mistake: after a log of years ago, added in order, the replies are
/// right.)
const EARLIEST: u64 = 100_000_000_000;

/// The time of the items: `given` by the client, or the server's clock.
///
/// # Errors
/// `FAR_FUTURE` if the client's time is more than a window ahead of that clock: the filter would
/// forget everything, and then nothing new until the clock has caught up. `SECONDS` if it is too
/// early to be in milliseconds. Commands from the primary or the append-only file have been
/// checked, against another clock.
pub fn time_of(context: &Context, window: Window, given: Option<u64>) -> Result<u64, ReplyError> {
    let now = time_of_command();
    let window = u64::from(window.seconds()) * 1_000;
    match given {
        None => Ok(now),
        Some(given) if (EARLIEST..=now.saturating_add(window)).contains(&given) => Ok(given),
        Some(given) if context.is_replay() => Ok(given),
        Some(given) if given < EARLIEST => Err(ReplyError::SECONDS),
        Some(_) => Err(ReplyError::FAR_FUTURE),
    }
}

/// Whether a client supplied the time `given`, here or to the primary. The primary replicates each
/// add with its time. A time that a client supplied is recognized by the clock, which has passed it
/// by more than a slice. In a file it is not recognized: all times there have passed.
pub fn is_from_a_client(context: &Context, window: Window, given: u64) -> bool {
    let is_past = || given.saturating_add(window.slice()) < time_now();
    !context.is_loading() && (is_past() || !context.is_replay())
}

/// The number of items of `filter`; if it forgets, of those that it remembers now.
pub fn items_now(filter: &Filter) -> u64 {
    filter.items_at(now_for(filter))
}
