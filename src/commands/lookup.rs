//! BF.EXISTS, BF.MEXISTS, CF.EXISTS and CF.MEXISTS: whether items are (probably) in a filter.
//! CF.COUNT: how many copies of an item are.

use crate::commands::common::{
    BLOOM_ITEM, BLOOM_ITEMS, COUNTING_ITEM, COUNTING_ITEMS, ITEM, ITEMS,
};
use crate::commands::reply_error::ReplyError;
use crate::types::{now_for, BloomFilters, CountingFilters, Family, Stored};
use crate::{config, stats};
use splitbloom_filter::Filter;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::command::{Command, Parameter};
use splitbloom_server::context::Context;
use splitbloom_server::key::ReadKey;

pub const BF_EXISTS: Command<ReplyError> = Command {
    name: c"bf.exists",
    arity: 3,
    summary: c"Checks whether an item is probably in a Bloom filter",
    complexity: BLOOM_ITEM,
    parameters: &[Parameter::KEY, ITEM],
    run: look_up::<BloomFilters>,
    ..Command::FAST_READ
};
pub const BF_MULTI_EXISTS: Command<ReplyError> = Command {
    name: c"bf.mexists",
    arity: -3,
    summary: c"Checks for each item whether it is probably in a Bloom filter",
    complexity: BLOOM_ITEMS,
    parameters: &[Parameter::KEY, ITEMS],
    run: look_up_many::<BloomFilters>,
    ..Command::READ
};
pub const CF_EXISTS: Command<ReplyError> = Command {
    name: c"cf.exists",
    summary: c"Checks whether an item is probably in a counting filter",
    complexity: COUNTING_ITEM,
    run: look_up::<CountingFilters>,
    ..BF_EXISTS
};
pub const CF_MULTI_EXISTS: Command<ReplyError> = Command {
    name: c"cf.mexists",
    summary: c"Checks for each item whether it is probably in a counting filter",
    complexity: COUNTING_ITEMS,
    run: look_up_many::<CountingFilters>,
    ..BF_MULTI_EXISTS
};
pub const CF_COUNT: Command<ReplyError> = Command {
    name: c"cf.count",
    summary: c"Counts the copies of an item that are probably in a counting filter",
    run: count,
    ..CF_EXISTS
};

/// The filter that a command looks into; `None` for a missing key, in which nothing is.
///
/// # Errors
/// `NO_FILTER` for a missing key if the setting says so; `WRONG_TYPE`.
pub fn filter_of<'k, F: Family>(key: &'k ReadKey<'_>) -> Result<Option<&'k Filter>, ReplyError> {
    match key.value::<Stored<F>>()? {
        None if config::missing_key_is_error() => Err(ReplyError::NO_FILTER),
        stored => Ok(stored.map(Stored::filter)),
    }
}

/// Replies with whether the one item is in the filter. Nothing is in a missing key.
fn look_up<F: Family>(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let key = context.open_to_read(arguments.at(1));
    let filter = filter_of::<F>(&key)?;
    let item = arguments.bytes(2);
    let found = filter.is_some_and(|filter| filter.contains_at(item, now_for(filter)));
    stats::looked_up(1, usize::from(found));
    context.reply_bool(found);
    Ok(())
}

/// Replies with whether each item is in the filter.
fn look_up_many<F: Family>(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let items = arguments.bytes_from(2);
    let key = context.open_to_read(arguments.at(1));
    let filter = filter_of::<F>(&key)?;
    let mut hits = 0;
    context.reply_array(items.len());
    match filter {
        None => items.for_each(|_| context.reply_bool(false)),
        // Reply to each item once it is looked up: the memory of the next ones arrives meanwhile.
        Some(filter) => filter.contains_many_at(items, now_for(filter), |found| {
            hits += usize::from(found);
            context.reply_bool(found);
        }),
    }
    stats::looked_up(arguments.len() - 2, hits);
    Ok(())
}

fn count(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let key = context.open_to_read(arguments.at(1));
    let filter = filter_of::<CountingFilters>(&key)?;
    let copies = filter.map_or(0, |filter| filter.count(arguments.bytes(2)));
    stats::looked_up(1, usize::from(copies > 0));
    context.reply_integer(copies);
    Ok(())
}
