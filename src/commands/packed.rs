//! Commands with all their items in one argument: the part that all kinds of filter share.

use crate::commands::bits::Bits;
use crate::commands::common::{NO_CREATE, TIME};
use crate::commands::lookup::filter_of;
use crate::commands::reply_error::ReplyError;
use crate::slow_log::hide_seeds;
use crate::types::{now_for, Family};
use crate::{config, stats};
use splitbloom_grammar::packed::{parse_packed_lookup, PackedOptions, PackedWords, Packing};
use splitbloom_grammar::WordsError;
use splitbloom_server::allocator::try_vec;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::change::{Change, Replicated};
use splitbloom_server::command::Parameter;
use splitbloom_server::context::Context;
use splitbloom_server::data_type::Value;
use splitbloom_server::packed::{PackedCommand, ITEMS, LAYOUT};
use std::ffi::CStr;

/// The index of the argument after the key.
const FIRST: usize = 2;

/// The number of items that any packing may have: as many items of 16 bytes as fill the default of
/// `bf.max-pack-bytes`. An item takes up to 0.3 µs, however short it is (docs/commands.md).
const MAX_ITEMS: u64 = 1 << 20;
/// A larger `bf.max-pack-bytes` allows one more item for each of this many bytes.
const BYTES_AN_ITEM: u64 = 16;

const BITS: Parameter = Parameter::word(c"bits", c"BITS").optional();
const MUST_EXIST: Parameter = Parameter::word(c"mustexist", c"MUSTEXIST").optional();

/// The parameters of a lookup, of a removal, of an add, and of an add to a filter that may forget.
pub const OF_A_LOOKUP: &[Parameter] = &[Parameter::KEY, LAYOUT, ITEMS, MUST_EXIST];
pub const OF_A_REMOVAL: &[Parameter] = &[Parameter::KEY, LAYOUT, ITEMS, BITS];
pub const OF_AN_ADD: &[Parameter] = &[Parameter::KEY, LAYOUT, ITEMS, BITS, NO_CREATE];
pub const OF_AN_ADD_AT: &[Parameter] =
    &[Parameter::KEY, TIME.after(c"AT").optional(), LAYOUT, ITEMS, BITS, NO_CREATE];

/// The items of a command, and their packing.
pub struct Packed<'a> {
    pub items: Packing<'a>,
    /// Their time, if the command has one.
    pub at: Option<u64>,
    pub options: PackedOptions,
    command: PackedCommand<'a>,
}

impl<'a> Packed<'a> {
    /// Reads the words of a command with `parse`, and checks its items.
    pub fn read(
        context: &Context,
        arguments: Arguments<'a>,
        parse: fn(&[&'a [u8]]) -> Result<PackedWords<'a>, WordsError>,
    ) -> Result<Self, ReplyError> {
        let args = arguments.try_list_from(FIRST);
        let args = args.ok_or(ReplyError::NO_MEMORY_TO_REPLY)?;
        let parsed = parse(&args);
        if parsed.is_err() {
            hide_seeds(context, &args, FIRST); // SEED is no option here, but a client may think so
        }
        let words = parsed?;
        let limit = context.limit(&config::MAX_PACK_BYTES);
        if words.bytes.len() as u64 > limit {
            return Err(ReplyError::PACKING_TOO_LONG);
        }
        let items = Packing::new(words.layout, words.bytes).map_err(WordsError::from)?;
        if items.len() as u64 > MAX_ITEMS.max(limit / BYTES_AN_ITEM) {
            return Err(ReplyError::TOO_MANY_PACKED);
        }
        Ok(Self {
            items,
            at: words.at,
            command: PackedCommand::new(arguments, FIRST + words.first..FIRST + words.place),
            options: words.options,
        })
    }

    /// Allocates room for a bit for each item, if the client requested them.
    pub fn room_for_bits(&self) -> Result<Option<Bits>, ReplyError> {
        let room = || Bits::with_room_for(self.items.len());
        self.options.bits.then(room).transpose()
    }

    /// Reserves memory, to be freed just before [`Packed::replicate_first`]: the server exits if it
    /// has no memory for a string, and an item may be refused for lack of memory. `None` if there
    /// is none.
    pub fn room_to_replicate(&self) -> Option<Vec<u8>> {
        try_vec(self.items.bytes().len())
    }

    /// Replicates `change` as the command `name` with the first `number` items, in the same layout,
    /// and with their time if they have one. Copies no item if `number` is all of them.
    pub fn replicate_first<'c, V: Value>(
        &self,
        change: Change<'c, V>,
        name: &CStr,
        time: Option<u64>,
        number: usize,
    ) -> Replicated<'c> {
        let fewer = (number < self.items.len()).then(|| self.items.first(number));
        self.command.replicate(change, name, time, fewer)
    }
}

/// The result of a packed change, up to the first item refused.
#[derive(Default)]
pub struct Changed {
    /// The number of items before the one refused.
    pub answered: usize,
    /// The number of them that changed something.
    pub changed: usize,
    pub refusal: Option<ReplyError>,
}

impl Changed {
    /// Counts an item.
    #[inline]
    pub fn count(&mut self, has_changed: bool) {
        self.answered += 1;
        self.changed += usize::from(has_changed);
    }

    /// Replies with the bits, or with how many items changed something. If an item was refused,
    /// replies with an array of the number of items before it, that reply, and the error.
    pub fn reply(self, context: &Context, bits: Option<Bits>) -> Result<(), ReplyError> {
        if self.refusal.is_some() {
            context.reply_array(3);
            context.reply_integer(self.answered as u64);
        }
        match bits {
            Some(bits) => context.reply_bytes(&bits.into_bytes()),
            None => context.reply_integer(self.changed as u64),
        }
        self.refusal.map_or(Ok(()), Err)
    }
}

/// Replies with a bit for each item: whether it is in the filter. Nothing is in a missing key,
/// unless that is an error.
pub fn look_up_packed<F: Family>(
    context: &Context,
    arguments: Arguments<'_>,
) -> Result<(), ReplyError> {
    let Packed { items, options, .. } = Packed::read(context, arguments, parse_packed_lookup)?;
    let key = context.open_to_read(arguments.at(1));
    let filter = filter_of::<F>(&key)?;
    if options.must_exist && filter.is_none() {
        return Err(ReplyError::NO_FILTER);
    }
    let now = filter.map_or(0, now_for);
    let mut bits = Bits::with_room_for(items.len())?;
    match filter {
        None => items.items().for_each(|_| bits.push(false)),
        Some(filter) => match items.items_of_one_width() {
            Some(items) => filter.contains_many_at(items, now, |found| bits.push(found)),
            None => filter.contains_many_at(items.items(), now, |found| bits.push(found)),
        },
    }
    let bits = bits.into_bytes();
    context.reply_bytes(&bits);
    let hits = bits.iter().map(|byte| byte.count_ones() as usize).sum();
    stats::looked_up(items.len(), hits);
    Ok(())
}
