//! BF.CHANGES: what is new in a filter, for clients that hold a copy of it.

use crate::commands::common::option;
use crate::commands::reply_error::ReplyError;
use crate::journal::{self, NotFollowed};
use crate::stats;
use crate::types::BloomFilter;
use splitbloom_grammar::changes::parse_changes;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::command::{Command, Kind, Output, Parameter, Times};
use splitbloom_server::context::Context;
use splitbloom_server::text::Line;

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
    ],
    run: changes,
    ..Command::READ
};

/// Replies with the position after the hashes, and with the hashes, or null if the client must
/// fetch the filter. If there are none yet, waits for as long as the client wants.
fn changes(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let args = arguments.try_list_from(2);
    let following = parse_changes(&args.ok_or(ReplyError::NO_MEMORY_TO_REPLY)?)?;
    let name = arguments.at(1);
    let key = context.open_to_read(name);
    let stored: &BloomFilter = key.value()?.ok_or(ReplyError::NOT_FOUND)?;
    let filter = stored.filter();
    if filter.window().is_some() {
        return Err(ReplyError::WINDOW_FOLLOWED);
    }
    let changes = journal::changes(context, filter, following.position, following.count)?;
    drop(key);
    if let (true, Some(milliseconds)) = (changes.is_empty(), following.block) {
        let waits = context.wait_for_key(name, milliseconds, || changes.try_waiter(context, name));
        return match waits {
            true => Ok(()),
            false => Err(ReplyError::NO_MEMORY_TO_FOLLOW),
        };
    }
    context.reply_array(2);
    context.reply_bytes(Line::of(changes.position).bytes());
    match changes.hashes {
        Some(hashes) => context.reply_bytes(&hashes),
        None => {
            stats::FETCHES_BY_FOLLOWERS.add(1);
            context.reply_null();
        }
    }
    Ok(())
}

impl From<NotFollowed> for ReplyError {
    fn from(error: NotFollowed) -> Self {
        match error {
            NotFollowed::OverLimit => Self::TOO_MANY_JOURNALS,
            NotFollowed::OutOfMemory => Self::NO_MEMORY_TO_FOLLOW,
        }
    }
}
