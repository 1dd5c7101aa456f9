//! BF.SHRINK: makes a filter as small as if it had been reserved for the items that it has.

use crate::commands::common::option;
use crate::commands::reply_error::ReplyError;
use crate::config;
use crate::journal;
use crate::shrinking::{self, Progress};
use crate::types::BloomFilter;
use splitbloom_filter::bloom::blocked_bloom::BlockedBloom;
use splitbloom_filter::filter::Filter;
use splitbloom_grammar::options::capacity;
use splitbloom_grammar::WordsError;
use splitbloom_server::arguments::{Argument, Arguments};
use splitbloom_server::command::{Command, KeyAccess, Kind, Parameter};
use splitbloom_server::context::Context;
use splitbloom_server::text::ShortText;
use splitbloom_server::thread::free_in_background;
use std::sync::Arc;

/// Bytes that are folded at once, which takes a millisecond or two.
const AT_ONCE: u64 = 4 << 20;

/// How long a client waits, in milliseconds, besides the time that the fold takes: Redis 7.0 does
/// not wake it if the key is deleted.
const PATIENCE_MS: u64 = 10_000;
/// The minimum number of bytes folded in a millisecond, a tenth of what an idle server folds.
const BYTES_PER_MS: u64 = 100_000;

pub const SHRINK: Command<ReplyError> = Command {
    name: c"bf.shrink",
    arity: -2,
    // It needs memory for the smaller filter before it frees the larger one, but less than the
    // larger one may take.
    flags: "write blocking",
    access: KeyAccess::Update,
    summary: c"Gives a Bloom filter the smallest size that holds its items, or a number of items",
    complexity: c"O(N) with N bytes of the filter",
    parameters: &[Parameter::KEY, option(c"capacity", Kind::Integer, c"CAPACITY")],
    run: shrink,
    ..Command::ANY
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
    Ok(capacity(arguments.bytes(3))?)
}

/// Replies with the new capacity. A small filter is folded at once, a large one [between
/// commands](crate::shrinking), where its client can wait.
fn shrink(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let capacity = parse(arguments)?;
    let name = arguments.at(1);
    let target = context.existing::<BloomFilter>(name)?;
    let mut target = target.ok_or(ReplyError::NOT_FOUND)?;
    let filter = target.value_mut().filter_mut();
    if !filter.may_be_united() {
        return Err(ReplyError::NO_SHRINKING);
    }
    // For a replay, another server has decided, with the same bits. A local job on the filter ends
    // with an error: the filter has changed.
    let folded = match context.is_replay() {
        true => {
            let old = filter.shrink_to(capacity);
            Folded::of(old.map_err(|error| ReplyError::of_shrinking(error.into()))?)
        }
        false if (1..filter.items()).contains(&capacity) => return Err(ReplyError::HOLDS_MORE),
        false => fold_or_wait(context, name, filter, capacity)?,
    };
    let capacity = filter.capacity();
    match folded {
        Folded::Waits => return Ok(()),
        Folded::IsSmallest => {}
        Folded::Shrunk(old) => {
            journal::end_and_wake(context, filter, name);
            let words = ShortText::of(capacity);
            let change = target.settle();
            change.replicate(c"BF.SHRINK", [b"CAPACITY", words.bytes()]).signal(c"bf.shrink");
            free_in_background("bf-free", old);
        }
    }
    context.reply_integer(capacity);
    Ok(())
}

/// The outcome of folding a filter.
enum Folded {
    /// It is smaller. Its old sub-filter is to be freed.
    Shrunk(BlockedBloom),
    /// It has no smaller size.
    IsSmallest,
    /// It is folded between commands, and the client waits.
    Waits,
}

impl Folded {
    /// What became of a filter that was folded at once, with its old sub-filter if it is smaller.
    fn of(old: Option<BlockedBloom>) -> Self {
        old.map_or(Self::IsSmallest, Self::Shrunk)
    }
}

/// Folds the filter at once.
fn fold(context: &Context, filter: &mut Filter, capacity: u64) -> Result<Folded, ReplyError> {
    let max_cost = context.limit(&config::MAX_MERGE_BYTES);
    let old = filter.shrink(capacity, max_cost).map_err(ReplyError::of_shrinking)?;
    Ok(Folded::of(old))
}

/// Folds the filter at once if it is small or the client cannot wait; otherwise lets the client
/// wait while it is folded, and finishes the fold when the command runs again.
fn fold_or_wait(
    context: &Context,
    name: Argument<'_>,
    filter: &mut Filter,
    capacity: u64,
) -> Result<Folded, ReplyError> {
    let progress = shrinking::progress(context, name, filter).map_err(ReplyError::of_folding)?;
    let (bytes, client) = match progress {
        Progress::Shrunk(old) => return Ok(Folded::Shrunk(old)),
        Progress::IsSmallest => return Ok(Folded::IsSmallest),
        Progress::GoesOn if context.has_waited() => (0, Arc::default()),
        Progress::GoesOn => return Err(ReplyError::BEING_SHRUNK),
        Progress::NotBegun if filter.bytes_to_shrink() > AT_ONCE && context.can_wait() => {
            let begun = filter.begin_shrinking(capacity).map_err(Into::into);
            let Some(begun) = begun.map_err(ReplyError::of_shrinking)? else {
                return Ok(Folded::IsSmallest);
            };
            let client = shrinking::begin(context, name, filter, begun);
            (filter.bytes_to_shrink(), client.map_err(ReplyError::of_folding)?)
        }
        Progress::NotBegun => return fold(context, filter, capacity),
    };
    wait(context, name, bytes, client).map(|()| Folded::Waits)
}

/// Lets the client wait for the end of the fold of `bytes` bytes. It holds `client` until then. If
/// that takes far too long, or the client is unblocked, its reply is null and nothing has changed.
fn wait(
    context: &Context,
    key: Argument<'_>,
    bytes: u64,
    client: Arc<()>,
) -> Result<(), ReplyError> {
    let milliseconds = PATIENCE_MS + bytes / BYTES_PER_MS;
    match context.wait_for_key(key, milliseconds, |_| Some(client)) {
        true => Ok(()),
        false => Err(ReplyError::NO_MEMORY_TO_SHRINK),
    }
}
