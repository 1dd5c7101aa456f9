//! CF.COMPACT. In RedisBloom it moves items from younger sub-filters to older ones, once deletions
//! have made room there. A growing table has no sub-filters: each deletion makes its page smaller,
//! and two small pages become one. So there is nothing to do, and nothing to replicate.

use crate::commands::reply_error::ReplyError;
use crate::types::CountingFilter;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::command::{Command, KeyAccess};
use splitbloom_server::context::Context;

pub const COMPACT: Command<ReplyError> = Command {
    name: c"cf.compact",
    arity: 2,
    flags: "write",
    access: KeyAccess::Update,
    summary: c"Does nothing: a counting filter gives memory back as items are deleted",
    run: compact,
    ..Command::ANY
};

fn compact(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let key = context.open_to_read(arguments.at(1));
    let stored = key.value::<CountingFilter>()?;
    stored.ok_or(ReplyError::NOTHING_TO_FREE)?;
    context.reply_ok();
    Ok(())
}
