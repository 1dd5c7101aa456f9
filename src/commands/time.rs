//! Time in filters that forget: when items come, and how many are remembered.

use crate::commands::reply_error::ReplyError;
use crate::types::now_for;
use splitbloom_filter::filter::{Filter, Window};
use splitbloom_server::clock::{time_now, BadTime};
use splitbloom_server::context::Context;

/// The time of the items: `given` by the client, or the server's clock.
///
/// # Errors
/// `FAR_FUTURE`, or `SECONDS`.
pub fn time_of(context: &Context, window: Window, given: Option<u64>) -> Result<u64, ReplyError> {
    context.time_of(window.seconds(), given).map_err(|error| match error {
        BadTime::Seconds => ReplyError::SECONDS,
        BadTime::FarFuture => ReplyError::FAR_FUTURE,
    })
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
