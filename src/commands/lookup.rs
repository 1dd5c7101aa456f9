//! Lookups, the same for every kind of filter.

use crate::commands::reply_error::ReplyError;
use crate::stats;
use crate::types::{now_for, Stored};
use splitbloom_server::arguments::Arguments;
use splitbloom_server::context::Context;

/// Replies with whether the one item is in the filter. Nothing is in a missing key.
pub fn look_up<T: Stored>(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let key = context.open_to_read(arguments.at(1));
    let filter = key.value::<T>()?.map(T::filter);
    let item = arguments.bytes(2);
    let found = filter.is_some_and(|filter| filter.contains_at(item, now_for(filter)));
    stats::looked_up(1, usize::from(found));
    context.reply_bool(found);
    Ok(())
}

/// Replies with whether each item is in the filter.
pub fn look_up_many<T: Stored>(
    context: &Context,
    arguments: Arguments<'_>,
) -> Result<(), ReplyError> {
    let items = arguments.bytes_from(2);
    let key = context.open_to_read(arguments.at(1));
    let filter = key.value::<T>()?.map(T::filter);
    let mut hits = 0;
    context.reply_array(items.len());
    match filter {
        None => items.for_each(|_| context.reply_bool(false)),
        // Reply to each item as it is found: the memory of the next ones arrives meanwhile.
        Some(filter) => filter.contains_many_at(items, now_for(filter), |found| {
            hits += usize::from(found);
            context.reply_bool(found);
        }),
    }
    stats::looked_up(arguments.len() - 2, hits);
    Ok(())
}
