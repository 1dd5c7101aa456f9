//! BF.INFO and BF.CARD: describe a filter.

mod parts;
mod window;

use super::newest;
use super::time::items_now;
use crate::commands::docs::{word, BLOOM_ITEM, FIRST_RELEASE, KEY};
use crate::commands::reply_error::ReplyError;
use crate::types::bloom::{AnyFilter, StoredFilter};
use crate::types::Stored as _;
use parts::{reply_layer, reply_left_out, reply_newest, reply_sub_filter, reply_table};
use splitbloom_filter::filter::Filter;
use splitbloom_filter::foreign::ForeignFilter;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::clock::time_of_command;
use splitbloom_server::command::{Command, KeyAccess, Output, Parameter, Times};
use splitbloom_server::context::Context;

pub const CARD: Command<ReplyError> = Command {
    name: c"bf.card",
    arity: 2,
    flags: "readonly fast",
    access: KeyAccess::Read,
    output: Output::Varies,
    since: FIRST_RELEASE,
    summary: c"Counts the items that were new when they were added to a Bloom filter",
    complexity: BLOOM_ITEM,
    parameters: &[KEY],
    run: card,
};

fn card(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let key = context.open_to_read(arguments.at(1));
    let stored = key.value::<StoredFilter>()?;
    context.reply_integer(stored.map_or(0, |stored| items_now(stored.filter())));
    Ok(())
}

pub const INFO: Command<ReplyError> = Command {
    name: c"bf.info",
    arity: -2,
    flags: "readonly fast",
    access: KeyAccess::Read,
    output: Output::Varies,
    since: FIRST_RELEASE,
    summary: c"Describes a Bloom filter",
    complexity: c"O(N) with N pieces of 4 MiB of bits that are allocated; O(N+S) with S \
        sub-filters if RedisBloom or valkey-bloom made them",
    parameters: &[
        KEY,
        Parameter::one_of(
            c"field",
            Times::AtMostOnce,
            &[
                word(c"capacity", c"CAPACITY"),
                word(c"size", c"SIZE"),
                word(c"filters", c"FILTERS"),
                word(c"items", c"ITEMS"),
                word(c"expansion", c"EXPANSION"),
                word(c"full", c"FULL"),
            ],
        ),
    ],
    run: info,
};

/// A field of the short form. Clients expect exactly these five, with these names, in this order.
#[derive(Clone, Copy)]
enum Field {
    Capacity,
    Size,
    Filters,
    Items,
    Expansion,
}

/// The fields that the client wants.
enum Question {
    Five,
    One(Field),
    Full,
}

const FIELDS: [(Field, &[u8], &str); 5] = [
    (Field::Capacity, b"CAPACITY", "Capacity"),
    (Field::Size, b"SIZE", "Size"),
    (Field::Filters, b"FILTERS", "Number of filters"),
    (Field::Items, b"ITEMS", "Number of items inserted"),
    (Field::Expansion, b"EXPANSION", "Expansion rate"),
];

impl Question {
    fn parse(arguments: Arguments<'_>) -> Result<Self, ReplyError> {
        match arguments.len() {
            2 => return Ok(Self::Five),
            3 => {}
            _ => return Err(ReplyError::WrongArity),
        }
        let word = arguments.bytes(2);
        if word.eq_ignore_ascii_case(b"FULL") {
            return Ok(Self::Full);
        }
        let field = FIELDS
            .iter()
            .find(|(_, name, _)| word.eq_ignore_ascii_case(name));
        field
            .map(|(field, ..)| Self::One(*field))
            .ok_or(ReplyError::BadInfoField)
    }
}

fn info(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let question = Question::parse(arguments)?;
    let key = context.open_to_read(arguments.at(1));
    let stored: &StoredFilter = key.value()?.ok_or(ReplyError::NotFound)?;
    match question {
        Question::One(field) => reply_one(context, stored, field),
        Question::Five => {
            context.reply_map(FIELDS.len());
            reply_five(context, stored);
        }
        Question::Full => {
            let further = match stored.filter() {
                AnyFilter::Lasting(filter) => MORE + entries_left_out(filter.blooms()),
                AnyFilter::Foreign(one) => MORE + entries_left_out(one[0].layers()),
                AnyFilter::Windowed(_) => MORE + window::FIELDS,
            };
            context.reply_map(FIELDS.len() + further);
            reply_five(context, stored);
            match stored.filter() {
                AnyFilter::Lasting(filter) => reply_more(context, filter),
                AnyFilter::Foreign(one) => reply_more_of_foreign(context, &one[0]),
                AnyFilter::Windowed(timed) => {
                    window::reply(context, &timed[0].filter, time_of_command());
                }
            }
        }
    }
    Ok(())
}

fn reply_one(context: &Context, stored: &StoredFilter, field: Field) {
    if context.speaks_resp3() {
        context.reply_map(1);
        context.reply_simple(FIELDS[field as usize].2);
    } else {
        context.reply_array(1);
    }
    reply_value(context, stored, field);
}

fn reply_five(context: &Context, stored: &StoredFilter) {
    for (field, _, name) in FIELDS {
        context.reply_simple(name);
        reply_value(context, stored, field);
    }
}

fn reply_value(context: &Context, stored: &StoredFilter, field: Field) {
    let filter = stored.filter();
    match field {
        Field::Capacity => context.reply_integer(filter.capacity()),
        Field::Size => context.reply_integer(stored.size()),
        Field::Filters => context.reply_integer(filter.num_parts() as u64),
        Field::Items => context.reply_integer(items_now(filter)),
        Field::Expansion => match filter.parameters().growth.factor() {
            0 => context.reply_null(),
            factor => context.reply_integer(u64::from(factor)),
        },
    }
}

/// The further fields of the long form.
const MORE: usize = 9;

/// The number of entries about sub-filters that are not shown: none or one.
fn entries_left_out<B>(series: &[B]) -> usize {
    usize::from(newest(series).0 > 0)
}

/// The fields before the parts, which every kind of filter has.
struct Long {
    error_rate: f64,
    expected: f64,
    estimated_items: f64,
    fill: f64,
    bits_per_item: f64,
    allocated_segments: u64,
    reserved_segments: u64,
}

impl Long {
    fn reply(&self, context: &Context) {
        for (name, value) in [
            ("Error rate", self.error_rate),
            ("Expected false positive rate", self.expected),
        ] {
            context.reply_simple(name);
            context.reply_double(value);
        }
        context.reply_simple("Estimated items");
        context.reply_integer(self.estimated_items.round() as u64);
        for (name, value) in [("Fill", self.fill), ("Bits per item", self.bits_per_item)] {
            context.reply_simple(name);
            context.reply_double(value);
        }
        for (name, value) in [
            ("Segments allocated", self.allocated_segments),
            ("Segments reserved", self.reserved_segments),
        ] {
            context.reply_simple(name);
            context.reply_integer(value);
        }
    }
}

fn reply_more(context: &Context, filter: &Filter) {
    Long {
        error_rate: filter.parameters().error_rate,
        expected: filter.expected_false_positive_rate(),
        estimated_items: filter.estimated_items(),
        fill: filter.fill_ratio(),
        bits_per_item: filter.num_bits() as f64 / filter.capacity() as f64,
        allocated_segments: filter.allocated_segments(),
        reserved_segments: filter.reserved_segments(),
    }
    .reply(context);
    context.reply_simple("Sub-filters");
    reply_newest(context, filter.blooms(), reply_sub_filter);
    reply_table(context, filter.table(), filter.table_error_rate());
    reply_left_out(context, filter.blooms());
}

/// The same for a filter from RedisBloom or valkey-bloom. Its sub-filters have another name, which
/// tells it from one of ours.
fn reply_more_of_foreign(context: &Context, filter: &ForeignFilter) {
    Long {
        error_rate: filter.parameters().error_rate,
        expected: filter.expected_false_positive_rate(),
        estimated_items: filter.estimated_items(),
        fill: filter.fill_ratio(),
        bits_per_item: filter.num_bits() as f64 / filter.capacity() as f64,
        allocated_segments: filter.allocated_segments(),
        reserved_segments: filter.reserved_segments(),
    }
    .reply(context);
    context.reply_simple(match filter.is_from_valkey() {
        true => "Sub-filters from valkey-bloom",
        false => "Sub-filters from RedisBloom",
    });
    reply_newest(context, filter.layers(), reply_layer);
    reply_table(context, filter.table(), Some(filter.table_error_rate()));
    reply_left_out(context, filter.layers());
}
