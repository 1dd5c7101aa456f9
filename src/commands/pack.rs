//! BF.PACKADD, BF.PACKEXISTS, CF.PACKADD, CF.PACKDEL and CF.PACKEXISTS: add, look up and remove
//! items that are all in one argument.

use crate::commands::add::{add, time_for};
use crate::commands::common::{BLOOM_ITEMS, COUNTING_ITEMS};
use crate::commands::create::{open_or_create, Creatable};
use crate::commands::packed::{
    look_up_packed, Changed, Packed, OF_AN_ADD, OF_AN_ADD_AT, OF_A_LOOKUP, OF_A_REMOVAL,
};
use crate::commands::reply_error::ReplyError;
use crate::types::{BloomFilters, CountingFilter, CountingFilters};
use crate::{journal, stats};
use splitbloom_grammar::packed::{parse_packed_add, parse_packed_add_at, parse_packed_removal};
use splitbloom_server::arguments::Arguments;
use splitbloom_server::command::{Command, Output};
use splitbloom_server::context::Context;
use std::ffi::CStr;

pub const BF_PACK_ADD: Command<ReplyError> = Command {
    name: c"bf.packadd",
    arity: -4,
    output: Output::Varies,
    summary: c"Adds packed items to a Bloom filter, which is created if it is missing",
    complexity: BLOOM_ITEMS,
    parameters: OF_AN_ADD_AT,
    run: |context, arguments| {
        let packed = Packed::read(context, arguments, parse_packed_add_at)?;
        add_packed::<BloomFilters>(context, arguments, packed, c"bf.packadd", c"BF.PACKADD")
    },
    ..Command::WRITE
};

pub const BF_PACK_EXISTS: Command<ReplyError> = Command {
    name: c"bf.packexists",
    arity: -4,
    summary: c"Checks for each packed item whether it is probably in a Bloom filter",
    complexity: BLOOM_ITEMS,
    parameters: OF_A_LOOKUP,
    run: look_up_packed::<BloomFilters>,
    ..Command::READ
};

pub const CF_PACK_ADD: Command<ReplyError> = Command {
    name: c"cf.packadd",
    arity: -4,
    summary: c"Adds a copy of each packed item to a counting filter, created if it is missing",
    complexity: c"O(N) with N items",
    parameters: OF_AN_ADD,
    run: |context, arguments| {
        let packed = Packed::read(context, arguments, parse_packed_add)?;
        add_packed::<CountingFilters>(context, arguments, packed, c"cf.packadd", c"CF.PACKADD")
    },
    ..Command::WRITE
};

pub const CF_PACK_DELETE: Command<ReplyError> = Command {
    name: c"cf.packdel",
    arity: -4,
    summary: c"Removes a copy of each packed item, which must have been added",
    complexity: COUNTING_ITEMS,
    parameters: OF_A_REMOVAL,
    run: delete,
    ..Command::REMOVE
};

pub const CF_PACK_EXISTS: Command<ReplyError> = Command {
    name: c"cf.packexists",
    arity: -4,
    summary: c"Checks for each packed item whether it is probably in a counting filter",
    complexity: COUNTING_ITEMS,
    parameters: OF_A_LOOKUP,
    run: look_up_packed::<CountingFilters>,
    ..Command::READ
};

/// Adds the items of `packed`, and replies with the number of new ones, or with their bits.
/// Publishes `event`, and replicates the command as `name`.
fn add_packed<F: Creatable>(
    context: &Context,
    arguments: Arguments<'_>,
    packed: Packed<'_>,
    event: &'static CStr,
    name: &'static CStr,
) -> Result<(), ReplyError> {
    let mut bits = packed.room_for_bits()?;
    let room = packed.room_to_replicate().ok_or(ReplyError::NO_MEMORY_TO_ADD)?;
    let key = arguments.at(1);
    let creation = (!packed.options.no_create).then(F::Creation::default);
    let mut opened = open_or_create::<F>(context, key, creation.as_ref())?;
    let time = time_for(context, opened.filter_mut(), packed.at)?;
    let answer = |new| bits.iter_mut().for_each(|bits| bits.push(new));
    let added = match packed.items.items_of_one_width() {
        Some(items) => add(context, &mut opened, items, time, answer),
        None => add(context, &mut opened, packed.items.items(), time, answer),
    };
    if added.changed > 0 {
        let change = opened.settle();
        drop(room); // leaves this memory to the server
        let replicated = match (time, &added.refusal) {
            (None, None) => change.replicate_verbatim(),
            _ => packed.replicate_first(change, name, time, added.answered),
        };
        replicated.signal(event);
    }
    if added.may_be_awaited {
        journal::wake_few(context, key);
    }
    let changed = Changed { answered: added.answered, changed: added.new, refusal: added.refusal };
    changed.reply(context, bits)
}

fn delete(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let packed = Packed::read(context, arguments, parse_packed_removal)?;
    let mut bits = packed.room_for_bits()?;
    let room = packed.room_to_replicate().ok_or(ReplyError::NO_MEMORY_TO_DELETE)?;
    let target = context.existing::<CountingFilter>(arguments.at(1))?;
    let mut target = target.ok_or(ReplyError::NOTHING_TO_DELETE)?;
    let mut changed = Changed::default();
    let end = target.value_mut().filter_mut().remove_many(packed.items.items(), |was_there| {
        changed.count(was_there);
        bits.iter_mut().for_each(|bits| bits.push(was_there));
    });
    changed.refusal = end.err().map(ReplyError::of_deletion);
    if changed.changed > 0 {
        stats::ITEMS_DELETED.add(changed.changed as u64);
        drop(room); // leaves this memory to the server
        let change = target.settle();
        let replicated = match changed.refusal {
            None => change.replicate_verbatim(),
            Some(_) => packed.replicate_first(change, c"CF.PACKDEL", None, changed.answered),
        };
        replicated.signal(c"cf.packdel");
    }
    changed.reply(context, bits)
}
