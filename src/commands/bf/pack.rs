//! BF.PACKADD and BF.PACKEXISTS: BF.MADD and BF.MEXISTS with all items in one argument.

use super::add::{Adding, Source};
use crate::commands::docs::{BLOOM_ITEMS, FIRST_RELEASE};
use crate::commands::packed::{look_up_packed, Changed, Packed, OF_AN_ADD, OF_A_LOOKUP};
use crate::commands::reply_error::ReplyError;
use crate::types::bloom::StoredFilter;
use splitbloom_grammar::options::Creation;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::command::{Command, KeyAccess, Output};
use splitbloom_server::context::Context;

pub const PACK_ADD: Command<ReplyError> = Command {
    name: c"bf.packadd",
    arity: -4,
    flags: "write deny-oom",
    access: KeyAccess::Add,
    output: Output::Varies,
    since: FIRST_RELEASE,
    summary: c"Adds packed items to a Bloom filter, which is created if it is missing",
    complexity: BLOOM_ITEMS,
    parameters: OF_AN_ADD,
    run: add,
};

pub const PACK_EXISTS: Command<ReplyError> = Command {
    name: c"bf.packexists",
    arity: -4,
    flags: "readonly",
    access: KeyAccess::Read,
    output: Output::Varies,
    since: FIRST_RELEASE,
    summary: c"Checks for each packed item whether it is probably in a Bloom filter",
    complexity: BLOOM_ITEMS,
    parameters: OF_A_LOOKUP,
    run: look_up_packed::<StoredFilter>,
};

fn add(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let packed = Packed::add(context, arguments)?;
    match packed.items.items_of_one_width() {
        Some(items) => add_each(context, arguments, packed, items),
        None => {
            let items = packed.items.items();
            add_each(context, arguments, packed, items)
        }
    }
}

/// Adds the items of a command.
fn add_each<'a>(
    context: &Context,
    arguments: Arguments<'_>,
    packed: Packed<'a>,
    items: impl ExactSizeIterator<Item = &'a [u8]> + Clone,
) -> Result<(), ReplyError> {
    let mut bits = packed.room_for_bits()?;
    let room = packed
        .room_to_replicate()
        .ok_or(ReplyError::NoMemoryToAdd)?;
    let add = Adding {
        event: c"bf.packadd",
        creation: Some(Creation::default()),
        at: packed.at,
        items: PackedItems {
            packed,
            items,
            room,
        },
    };
    let added = add.run(context, arguments, |new| {
        bits.iter_mut().for_each(|bits| bits.push(new));
    })?;
    let changed = Changed {
        answered: added.answered,
        changed: added.new,
        refusal: added.refusal,
    };
    changed.reply(context, bits)
}

/// The items of the command.
struct PackedItems<'a, I> {
    packed: Packed<'a>,
    items: I,
    room: Vec<u8>,
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

    fn replicate_first(self, context: &Context, number: usize) {
        drop(self.room); // for the server to take
        self.packed.replicate_first(context, c"BF.PACKADD", number);
    }

    fn replicate_first_at(self, context: &Context, time: u64, number: usize) {
        drop(self.room); // for the server to take
        self.packed
            .replicate_first_at(context, c"BF.PACKADD", time, number);
    }
}
