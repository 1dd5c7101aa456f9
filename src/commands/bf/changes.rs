//! BF.CHANGES: what is new in a filter, for clients that hold a copy of it.

use crate::commands::common::option;
use crate::commands::reply_error::ReplyError;
use crate::journal::{self, Changes, NotFollowed, Waiter};
use crate::stats;
use crate::types::BloomFilter;
use splitbloom_grammar::changes::{parse_changes, Position};
use splitbloom_server::arguments::{Argument, Arguments};
use splitbloom_server::blocking::Sleeper;
use splitbloom_server::command::{Command, Kind, Output, Parameter, Times};
use splitbloom_server::context::Context;
use splitbloom_server::text::ShortText;

pub const CHANGES: Command<ReplyError> = Command {
    name: c"bf.changes",
    arity: -3,
    flags: "readonly blocking",
    output: Output::Varies,
    summary: c"Returns the hashes of items that are new in a Bloom filter since a position",
    complexity: c"O(N) with N hashes in the reply",
    parameters: &[
        Parameter::KEY,
        Parameter::new(c"position", Kind::Text, Times::Once),
        option(c"count", Kind::Integer, c"COUNT"),
        option(c"milliseconds", Kind::Integer, c"BLOCK"),
        Parameter::new(c"other-position", Kind::Text, Times::Any).after(c"ALSO"),
    ],
    run: changes,
    ..Command::READ
};

/// Replies with the position after the hashes, and with the hashes, or null if the client must
/// fetch the filter. If there are none yet, waits for as long as the client wants.
fn changes(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let args = arguments.try_list_from(2);
    let args = args.ok_or(ReplyError::NO_MEMORY_TO_REPLY)?;
    let following = parse_changes(&args)?;
    let name = arguments.at(1);
    let key = context.open_to_read(name);
    let stored: &BloomFilter = key.value()?.ok_or(ReplyError::NOT_FOUND)?;
    let filter = stored.filter();
    if filter.window().is_some() {
        return Err(ReplyError::WINDOW_FOLLOWED);
    }
    if let Some(positions) = following.several() {
        drop(key);
        return news_of(context, name, positions, following.block);
    }
    let changes = journal::changes(context, filter, following.position, following.count)?;
    drop(key);
    let waits = || changes.is_empty() || (changes.hashes.is_some() && !is_turn(context));
    match following.block {
        Some(milliseconds) if waits() => {
            wait(context, name, milliseconds, |sleeper| changes.try_waiter(context, name, sleeper))
        }
        _ => {
            reply(context, changes);
            Ok(())
        }
    }
}

/// Whether a client that may have to wait for its turn gets its news now.
fn is_turn(context: &Context) -> bool {
    !context.can_wait() || journal::takes_turn(context)
}

/// Replies with the places of the positions after which there is news. If there is none yet, waits
/// for as long as the client wants.
fn news_of(
    context: &Context,
    key: Argument<'_>,
    positions: impl ExactSizeIterator<Item = Option<Position>>,
    block: Option<u64>,
) -> Result<(), ReplyError> {
    let several = journal::news_of(positions)?;
    match block {
        Some(milliseconds)
            if several.are_known && (several.news.is_empty() || !is_turn(context)) =>
        {
            wait(context, key, milliseconds, |sleeper| several.try_waiter(context, key, sleeper))
        }
        _ => {
            context.reply_array(several.news.len());
            several.news.into_iter().for_each(|place| context.reply_integer(place));
            Ok(())
        }
    }
}

fn wait(
    context: &Context,
    key: Argument<'_>,
    milliseconds: u64,
    waiter: impl FnOnce(Sleeper) -> Option<Waiter>,
) -> Result<(), ReplyError> {
    match context.wait_for_key(key, milliseconds, waiter) {
        true => Ok(()),
        false => Err(ReplyError::NO_MEMORY_TO_FOLLOW),
    }
}

fn reply(context: &Context, changes: Changes) {
    context.reply_array(2);
    context.reply_bytes(ShortText::of(changes.position).bytes());
    match changes.hashes {
        Some(hashes) => context.reply_bytes(&hashes),
        None => {
            stats::FETCHES_BY_FOLLOWERS.add(1);
            context.reply_null();
        }
    }
}

impl From<NotFollowed> for ReplyError {
    fn from(error: NotFollowed) -> Self {
        match error {
            NotFollowed::OverLimit => Self::TOO_MANY_JOURNALS,
            NotFollowed::OutOfMemory => Self::NO_MEMORY_TO_FOLLOW,
        }
    }
}
