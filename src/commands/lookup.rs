//! BF.EXISTS, BF.MEXISTS, CF.EXISTS and CF.MEXISTS: whether items are (probably) in a filter.

use crate::commands::common::{
    BLOOM_ITEM, BLOOM_ITEMS, COUNTING_ITEM, COUNTING_ITEMS, ITEM, ITEMS,
};
use crate::commands::reply_error::ReplyError;
use crate::config;
use crate::stats;
use crate::types::{now_for, BloomFilters, CountingFilters, Family, Stored};
use splitbloom_filter::Filter;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::command::{Command, Output, Parameter};
use splitbloom_server::context::Context;
use splitbloom_server::key::ReadKey;
use std::ffi::CStr;

// A windowed filter forgets, so the replies of BF.* also depend on the time.
pub const BF_EXISTS: Command<ReplyError> = exists::<BloomFilters>(
    c"bf.exists",
    c"Checks whether an item is probably in a Bloom filter",
    BLOOM_ITEM,
    Output::Varies,
);
pub const BF_MULTI_EXISTS: Command<ReplyError> = multi_exists::<BloomFilters>(
    c"bf.mexists",
    c"Checks for each item whether it is probably in a Bloom filter",
    BLOOM_ITEMS,
    Output::Varies,
);
pub const CF_EXISTS: Command<ReplyError> = exists::<CountingFilters>(
    c"cf.exists",
    c"Checks whether an item is probably in a counting filter",
    COUNTING_ITEM,
    Output::Determined,
);
pub const CF_MULTI_EXISTS: Command<ReplyError> = multi_exists::<CountingFilters>(
    c"cf.mexists",
    c"Checks for each item whether it is probably in a counting filter",
    COUNTING_ITEMS,
    Output::Determined,
);

/// A command that looks up one item in a filter of the family `F`.
const fn exists<F: Family>(
    name: &'static CStr,
    summary: &'static CStr,
    complexity: &'static CStr,
    output: Output,
) -> Command<ReplyError> {
    Command {
        name,
        arity: 3,
        output,
        summary,
        complexity,
        parameters: &[Parameter::KEY, ITEM],
        run: look_up::<F>,
        ..Command::FAST_READ
    }
}

/// A command that looks up items in a filter of the family `F`.
const fn multi_exists<F: Family>(
    name: &'static CStr,
    summary: &'static CStr,
    complexity: &'static CStr,
    output: Output,
) -> Command<ReplyError> {
    Command {
        arity: -3,
        flags: "readonly",
        parameters: &[Parameter::KEY, ITEMS],
        run: look_up_many::<F>,
        ..exists::<F>(name, summary, complexity, output)
    }
}

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
