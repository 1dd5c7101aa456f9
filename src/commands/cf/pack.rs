//! CF.PACKADD, CF.PACKDEL and CF.PACKEXISTS: add, remove and look up copies of items, all in one
//! argument.

use crate::commands::common::COUNTING_ITEMS;
use crate::commands::pack_add::add_packed;
use crate::commands::packed::{look_up_packed, Changed, Packed, OF_A_CHANGE, OF_A_LOOKUP};
use crate::commands::reply_error::ReplyError;
use crate::stats;
use crate::types::{CountingFilter, CountingFilters};
use splitbloom_server::arguments::Arguments;
use splitbloom_server::command::Command;
use splitbloom_server::context::Context;

pub const PACK_ADD: Command<ReplyError> = Command {
    name: c"cf.packadd",
    arity: -4,
    summary: c"Adds a copy of each packed item to a counting filter, created if it is missing",
    complexity: c"O(N) with N items",
    parameters: OF_A_CHANGE,
    run: |context, arguments| {
        let packed = Packed::change(context, arguments)?;
        add_packed::<CountingFilters>(context, arguments, packed, c"cf.packadd", c"CF.PACKADD")
    },
    ..Command::WRITE
};

pub const PACK_DELETE: Command<ReplyError> = Command {
    name: c"cf.packdel",
    arity: -4,
    summary: c"Removes a copy of each packed item, which must have been added",
    complexity: COUNTING_ITEMS,
    parameters: OF_A_CHANGE,
    run: delete,
    ..Command::REMOVE
};

pub const PACK_EXISTS: Command<ReplyError> = Command {
    name: c"cf.packexists",
    arity: -4,
    summary: c"Checks for each packed item whether it is probably in a counting filter",
    complexity: COUNTING_ITEMS,
    parameters: OF_A_LOOKUP,
    run: look_up_packed::<CountingFilters>,
    ..Command::READ
};

fn delete(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let packed = Packed::change(context, arguments)?;
    let mut bits = packed.room_for_bits()?;
    let room = packed.room_to_replicate().ok_or(ReplyError::NO_MEMORY_TO_DELETE)?;
    let mut key = context.open_to_write(arguments.at(1))?;
    let stored = key.value::<CountingFilter>()?;
    let filter = stored.ok_or(ReplyError::NOTHING_TO_DELETE)?.filter_mut();
    let mut changed = Changed::default();
    let end = filter.remove_many(packed.items.items(), |was_there| {
        changed.count(was_there);
        bits.iter_mut().for_each(|bits| bits.push(was_there));
    });
    changed.refusal = end.err().map(ReplyError::of_deletion);
    drop(key); // before a module is notified that might delete it
    if changed.changed > 0 {
        stats::ITEMS_DELETED.add(changed.changed as u64);
        drop(room); // for the server to take
        match changed.refusal {
            None => context.replicate_verbatim(),
            Some(_) => packed.replicate_first(context, c"CF.PACKDEL", None, changed.answered),
        }
        context.signal_change(c"cf.packdel", arguments.at(1));
    }
    changed.reply(context, bits)
}
