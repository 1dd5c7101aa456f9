//! Time, in filters that forget: when items come, and how many are remembered.

use crate::commands::reply_error::ReplyError;
use crate::server::clock::time_of_command;
use crate::server::context::Context;
use crate::types::bloom::AnyFilter;
use splitbloom_filter::windowed::WindowedFilter;

/// The time that counts: the one that the client gives, or the server's clock.
///
/// # Errors
/// `FarFuture` if the client's is more than a window ahead of that clock: it would make the filter
/// forget everything, and nothing would be forgotten in time before the clock has caught up.
/// Commands from the primary or the append-only file have passed another clock.
pub fn time_of(
    context: &Context,
    filter: &WindowedFilter,
    given: Option<u64>,
) -> Result<u64, ReplyError> {
    let now = time_of_command();
    let window = u64::from(filter.window().seconds()) * 1_000;
    match given {
        None => Ok(now),
        Some(given) if given <= now.saturating_add(window) || context.is_replay() => Ok(given),
        Some(_) => Err(ReplyError::FarFuture),
    }
}

/// Items that the filter has, or remembers now.
pub fn items_now(filter: &AnyFilter) -> u64 {
    match filter {
        AnyFilter::Lasting(filter) => filter.items(),
        AnyFilter::Foreign(one) => one[0].items(),
        AnyFilter::Windowed(timed) => timed[0].filter.items(time_of_command()),
    }
}
