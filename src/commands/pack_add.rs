//! Adding items that are all in one argument.

use crate::commands::add::{Adding, Source};
use crate::commands::create::Creates;
use crate::commands::packed::{Changed, Packed};
use crate::commands::reply_error::ReplyError;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::context::Context;
use std::cell::Cell;
use std::ffi::CStr;

/// Adds the items of `packed`, and replies with the number of new ones, or with their bits.
/// Publishes `event`, and replicates the command as `name`.
pub fn add_packed<F: Creates>(
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
        creation: Some(F::Creation::default()),
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
