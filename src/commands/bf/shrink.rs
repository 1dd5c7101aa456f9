//! BF.SHRINK: makes a filter as small as if it had been reserved for the items that it has.

use crate::commands::common::{ANY, KEY};
use crate::commands::reply_error::ReplyError;
use crate::config;
use crate::journal;
use crate::types::BloomFilter;
use splitbloom_filter::bloom::sizing::{MAX_CAPACITY, MIN_CAPACITY};
use splitbloom_filter::filter::Promise;
use splitbloom_grammar::number::{parse_within, NumberError};
use splitbloom_grammar::WordsError;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::command::{Command, KeyAccess, Kind, Parameter, Times};
use splitbloom_server::context::Context;
use splitbloom_server::text::Line;

const REQUESTED: Parameter =
    Parameter::new(c"capacity", Kind::Integer, Times::AtMostOnce).after(c"CAPACITY");

pub const SHRINK: Command<ReplyError> = Command {
    name: c"bf.shrink",
    arity: -2,
    // It needs memory for the smaller filter before it frees the larger one, but less than that.
    flags: "write",
    access: KeyAccess::Update,
    summary: c"Gives a Bloom filter the smallest size that holds its items, or a number of items",
    complexity: c"O(N) with N bytes of the filter",
    parameters: &[KEY, REQUESTED],
    run: shrink,
    ..ANY
};

/// The capacity that the client requests, 0 if it gives none.
fn parse(arguments: Arguments<'_>) -> Result<u64, ReplyError> {
    match arguments.len() {
        2 => return Ok(0),
        4 => {}
        _ => return Err(ReplyError::WRONG_ARITY),
    }
    if !arguments.bytes(2).eq_ignore_ascii_case(b"CAPACITY") {
        return Err(WordsError::Syntax.into());
    }
    parse_within(arguments.bytes(3), MIN_CAPACITY..=MAX_CAPACITY).map_err(|error| {
        ReplyError::from(match error {
            NumberError::Malformed => WordsError::BadCapacity,
            NumberError::OutOfRange => WordsError::CapacityRange,
        })
    })
}

/// Replies with the capacity that the filter has then.
fn shrink(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let capacity = parse(arguments)?;
    let mut key = context.open_to_write(arguments.at(1))?;
    let stored = key.value::<BloomFilter>()?.ok_or(ReplyError::NOT_FOUND)?;
    let filter = stored.filter_mut();
    if !filter.may_be_united() {
        return Err(ReplyError::NO_SHRINKING);
    }
    // Another server has decided, with the same bits.
    let promise = if context.is_replay() { Promise::Waived } else { Promise::Kept };
    if promise == Promise::Kept && (1..filter.items()).contains(&capacity) {
        return Err(ReplyError::HOLDS_MORE);
    }
    let has_shrunk = filter
        .shrink(capacity, config::max_merge_bytes(context), promise)
        .map_err(ReplyError::of_shrinking)?;
    let capacity = filter.capacity();
    if has_shrunk {
        journal::end_and_wake(context, filter, arguments.at(1));
    }
    drop(key); // before a module is notified that might delete it
    if has_shrunk {
        let capacity = Line::of(capacity);
        context.replicate(c"BF.SHRINK", arguments.at(1), [b"CAPACITY", capacity.bytes()]);
        context.signal_change(c"bf.shrink", arguments.at(1));
    }
    context.reply_integer(capacity);
    Ok(())
}
