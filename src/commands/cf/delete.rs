//! CF.DEL: removes a copy of an item from a counting filter.
//!
//! CF.COMPACT. In RedisBloom it moves items from younger sub-filters to older ones, once deletions
//! have made room there. A growing table has no sub-filters: each deletion makes its page smaller,
//! and two small pages become one. So there is nothing to do, and nothing to replicate.

use crate::commands::common::{COUNTING_ITEM, ITEM};
use crate::commands::reply_error::ReplyError;
use crate::stats;
use crate::types::CountingFilter;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::command::{Command, KeyAccess, Parameter};
use splitbloom_server::context::Context;

pub const DELETE: Command<ReplyError> = Command {
    name: c"cf.del",
    arity: 3,
    summary: c"Removes a copy of an item, which must have been added, from a counting filter",
    complexity: COUNTING_ITEM,
    parameters: &[Parameter::KEY, ITEM],
    run: delete,
    ..Command::FAST_REMOVE
};

fn delete(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let target = context.existing::<CountingFilter>(arguments.at(1))?;
    let mut target = target.ok_or(ReplyError::NOTHING_TO_DELETE)?;
    let removed = target.value_mut().filter_mut().remove(arguments.bytes(2));
    let was_there = removed.map_err(ReplyError::of_deletion)?;
    if was_there {
        stats::ITEMS_DELETED.add(1);
        target.settle().replicate_verbatim().signal(c"cf.del");
    }
    context.reply_bool(was_there);
    Ok(())
}

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
