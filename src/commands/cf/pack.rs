//! CF.PACKADD, CF.PACKDEL and CF.PACKEXISTS: copies of items added, removed and looked up, with all
//! items in one argument.

use super::adding::add_to;
use crate::commands::docs::{COUNTING_ITEMS, FIRST_RELEASE};
use crate::commands::packed::{look_up_packed, Changed, Packed, OF_A_CHANGE, OF_A_LOOKUP};
use crate::commands::ration::Ration;
use crate::commands::reply_error::ReplyError;
use crate::stats;
use crate::types::counting::StoredCountingFilter;
use crate::types::Stored as _;
use splitbloom_filter::error::AddError;
use splitbloom_filter::filter::{Adding, SizeLimit};
use splitbloom_grammar::counting::CountingCreation;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::command::{Command, KeyAccess, Output};
use splitbloom_server::context::Context;
use std::ffi::CStr;

pub const PACK_ADD: Command<ReplyError> = Command {
    name: c"cf.packadd",
    arity: -4,
    flags: "write deny-oom",
    access: KeyAccess::Add,
    output: Output::Determined,
    since: FIRST_RELEASE,
    summary: c"Adds a copy of each packed item to a counting filter, created if it is missing",
    complexity: c"O(N) with N items",
    parameters: OF_A_CHANGE,
    run: add,
};

pub const PACK_DELETE: Command<ReplyError> = Command {
    name: c"cf.packdel",
    arity: -4,
    flags: "write",
    access: KeyAccess::Delete,
    output: Output::Determined,
    since: FIRST_RELEASE,
    summary: c"Removes a copy of each packed item, which must have been added",
    complexity: COUNTING_ITEMS,
    parameters: OF_A_CHANGE,
    run: delete,
};

pub const PACK_EXISTS: Command<ReplyError> = Command {
    name: c"cf.packexists",
    arity: -4,
    flags: "readonly",
    access: KeyAccess::Read,
    output: Output::Determined,
    since: FIRST_RELEASE,
    summary: c"Checks for each packed item whether it is probably in a counting filter",
    complexity: COUNTING_ITEMS,
    parameters: OF_A_LOOKUP,
    run: look_up_packed::<StoredCountingFilter>,
};

fn add(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let packed = Packed::change(context, arguments)?;
    let mut bits = packed.room_for_bits()?;
    let room = packed
        .room_to_replicate()
        .ok_or(ReplyError::NoMemoryToAdd)?;
    let creation = CountingCreation::default();
    let changed = add_to(
        context,
        arguments,
        c"cf.packadd",
        Some(&creation),
        |filter, limit| {
            let mut changed = Changed::default();
            let ration = Ration::new(context);
            let mut add_rest = |limit| {
                let items = ration.of(packed.items.items().skip(changed.answered));
                filter.add_copies(items, Adding::Copies, limit, |is_added| {
                    let is_added = is_added?;
                    changed.count(is_added);
                    bits.iter_mut().for_each(|bits| bits.push(is_added));
                    Ok(())
                })
            };
            let mut end = add_rest(limit);
            // The primary may have had room left where there is none here.
            if end == Err(AddError::Full) && context.is_replay() {
                end = add_rest(SizeLimit::Replay);
            }
            let refusal = end.err().map(ReplyError::of_counting);
            changed.refusal = refusal.or(ration.refusal());
            (changed.changed, changed)
        },
        |changed| replicate(context, c"CF.PACKADD", &packed, room, changed),
    )?;
    changed.reply(context, bits)
}

fn delete(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let packed = Packed::change(context, arguments)?;
    let mut bits = packed.room_for_bits()?;
    let room = packed
        .room_to_replicate()
        .ok_or(ReplyError::NoMemoryToDelete)?;
    let mut key = context.open_to_write(arguments.at(1))?;
    let stored = key.value::<StoredCountingFilter>()?;
    let filter = stored.ok_or(ReplyError::NothingToDelete)?.filter_mut();
    let mut changed = Changed::default();
    let end = filter.remove_many(packed.items.items(), |was_there| {
        changed.count(was_there);
        bits.iter_mut().for_each(|bits| bits.push(was_there));
    });
    changed.refusal = end.err().map(ReplyError::of_deletion);
    drop(key); // before a module is notified that might delete it
    if changed.changed > 0 {
        stats::copies_deleted(changed.changed);
        replicate(context, c"CF.PACKDEL", &packed, room, &changed);
        context.signal_change(c"cf.packdel", arguments.at(1));
    }
    changed.reply(context, bits)
}

/// Replicates the command as it came, or its items before the one refused.
fn replicate(
    context: &Context,
    name: &CStr,
    packed: &Packed<'_>,
    room: Vec<u8>,
    changed: &Changed,
) {
    if changed.refusal.is_none() {
        return context.replicate_verbatim();
    }
    drop(room); // for the server to take
    packed.replicate_first(context, name, changed.answered);
}
