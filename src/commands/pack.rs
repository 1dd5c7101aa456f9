//! BF.PACKADD, BF.PACKEXISTS, CF.PACKADD, CF.PACKDEL and CF.PACKEXISTS: add, look up and remove
//! items that are all in one argument.

use crate::commands::add::{Adding, Source};
use crate::commands::common::{BLOOM_ITEMS, COUNTING_ITEMS};
use crate::commands::create::Creates;
use crate::commands::packed::{
    look_up_packed, Changed, Packed, OF_AN_ADD, OF_AN_ADD_AT, OF_A_LOOKUP, OF_A_REMOVAL,
};
use crate::commands::reply_error::ReplyError;
use crate::stats;
use crate::types::{BloomFilters, CountingFilter, CountingFilters};
use splitbloom_grammar::packed::{parse_packed_add, parse_packed_add_at, parse_packed_removal};
use splitbloom_server::arguments::Arguments;
use splitbloom_server::command::{Command, Output};
use splitbloom_server::context::Context;
use std::cell::Cell;
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
fn add_packed<F: Creates>(
    context: &Context,
    arguments: Arguments<'_>,
    packed: Packed<'_>,
    event: &'static CStr,
    name: &'static CStr,
) -> Result<(), ReplyError> {
    match packed.items.items_of_one_width() {
        Some(items) => add_items::<F, _>(context, arguments, packed, items, (event, name)),
        None => {
            let items = packed.items.items();
            add_items::<F, _>(context, arguments, packed, items, (event, name))
        }
    }
}

fn add_items<'a, F: Creates, I: ExactSizeIterator<Item = &'a [u8]> + Clone>(
    context: &Context,
    arguments: Arguments<'_>,
    packed: Packed<'a>,
    items: I,
    (event, name): (&'static CStr, &'static CStr),
) -> Result<(), ReplyError> {
    let mut bits = packed.room_for_bits()?;
    let room = packed.room_to_replicate();
    let room = Cell::new(room.ok_or(ReplyError::NO_MEMORY_TO_ADD)?);
    let add = Adding {
        event,
        creation: (!packed.options.no_create).then(F::Creation::default),
        at: packed.at,
        items: PackedItems { packed, name, items, room },
    };
    let added = add.run::<F>(context, arguments, |new| {
        bits.iter_mut().for_each(|bits| bits.push(new));
    })?;
    let changed = Changed { answered: added.answered, changed: added.new, refusal: added.refusal };
    changed.reply(context, bits)
}

/// The items of the command.
struct PackedItems<'a, I> {
    packed: Packed<'a>,
    /// The command that adds them.
    name: &'static CStr,
    items: I,
    /// Memory that is freed for the server just before it replicates the items.
    room: Cell<Vec<u8>>,
}

impl<'a, I> Source<'a> for PackedItems<'a, I>
where
    I: ExactSizeIterator<Item = &'a [u8]> + Clone,
{
    fn items_from(&self, first: usize) -> impl ExactSizeIterator<Item = &'a [u8]> {
        let mut items = self.items.clone();
        items.by_ref().take(first).for_each(drop); // `skip` would count on with each item
        items
    }

    fn replicate_first(&self, context: &Context, time: Option<u64>, number: usize) {
        drop(self.room.take()); // for the server to take
        self.packed.replicate_first(context, self.name, time, number);
    }
}

fn delete(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let packed = Packed::read(context, arguments, parse_packed_removal)?;
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
