//! BF.INFO and BF.CARD: describe a filter.

mod parts;
mod window;

use super::newest;
use crate::commands::common::BLOOM_ITEM;
use crate::commands::lookup::filter_of;
use crate::commands::reply_error::ReplyError;
use crate::commands::time::items_now;
use crate::types::{now_for, BloomFilter, BloomFilters};
use parts::{reply_layer, reply_left_out, reply_newest, reply_sub_filter, TableFacts};
use splitbloom_filter::filter::{Filter, Growth};
use splitbloom_filter::foreign::Layers;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::command::{Command, Output, Parameter, Times};
use splitbloom_server::context::Context;
use splitbloom_server::reply::Reply as _;

pub const CARD: Command<ReplyError> = Command {
    name: c"bf.card",
    arity: 2,
    output: Output::Varies,
    summary: c"Counts the items that were new when they were added to a Bloom filter",
    complexity: BLOOM_ITEM,
    run: card,
    ..Command::FAST_READ
};

fn card(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let key = context.open_to_read(arguments.at(1));
    let filter = filter_of::<BloomFilters>(&key)?;
    context.reply_integer(filter.map_or(0, items_now));
    Ok(())
}

pub const INFO: Command<ReplyError> = Command {
    name: c"bf.info",
    arity: -2,
    output: Output::Varies,
    summary: c"Describes a Bloom filter",
    complexity: c"O(N) with N pieces of 4 MiB of bits that are allocated; O(N+S) with S \
        sub-filters if RedisBloom or valkey-bloom made them",
    parameters: &[
        Parameter::KEY,
        Parameter::one_of(
            c"field",
            Times::AtMostOnce,
            &[
                Parameter::word(c"capacity", c"CAPACITY"),
                Parameter::word(c"size", c"SIZE"),
                Parameter::word(c"filters", c"FILTERS"),
                Parameter::word(c"items", c"ITEMS"),
                Parameter::word(c"expansion", c"EXPANSION"),
                Parameter::word(c"full", c"FULL"),
            ],
        ),
    ],
    run: info,
    ..Command::FAST_READ
};

/// A field of the short form.
struct Field {
    /// The keyword that selects this field alone.
    word: &'static [u8],
    name: &'static str,
    value: fn(&BloomFilter) -> Option<u64>,
}

/// Clients expect exactly these five, with these names, in this order.
const FIELDS: [Field; 5] = [
    Field { word: b"CAPACITY", name: "Capacity", value: |stored| Some(stored.filter().capacity()) },
    Field { word: b"SIZE", name: "Size", value: |stored| Some(stored.size()) },
    Field {
        word: b"FILTERS",
        name: "Number of filters",
        value: |stored| Some(stored.filter().num_parts() as u64),
    },
    Field {
        word: b"ITEMS",
        name: "Number of items inserted",
        value: |stored| Some(items_now(stored.filter())),
    },
    Field {
        word: b"EXPANSION",
        name: "Expansion rate",
        value: |stored| match stored.filter().parameters().growth {
            Growth::Fixed => None,
            Growth::Times(factor) => Some(factor.into()),
        },
    },
];

/// The fields that the client requested.
enum Question {
    Five,
    One(Field),
    Full,
}

impl Question {
    fn parse(arguments: Arguments<'_>) -> Result<Self, ReplyError> {
        match arguments.len() {
            2 => return Ok(Self::Five),
            3 => {}
            _ => return Err(ReplyError::WRONG_ARITY),
        }
        let word = arguments.bytes(2);
        if word.eq_ignore_ascii_case(b"FULL") {
            return Ok(Self::Full);
        }
        let mut fields = FIELDS.into_iter();
        let field = fields.find(|field| word.eq_ignore_ascii_case(field.word));
        field.map(Self::One).ok_or(ReplyError::BAD_INFO_FIELD)
    }
}

fn info(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let question = Question::parse(arguments)?;
    let key = context.open_to_read(arguments.at(1));
    let stored: &BloomFilter = key.value()?.ok_or(ReplyError::NOT_FOUND)?;
    match question {
        Question::One(field) => reply_one(context, stored, &field),
        Question::Five => {
            context.reply_map(FIELDS.len());
            reply_five(context, stored);
        }
        Question::Full => {
            let filter = stored.filter();
            let further = match filter.window() {
                Some(_) => window::FIELDS,
                None => filter.layers().map_or(0, entries_left_out),
            };
            context.reply_map(FIELDS.len() + MORE + further);
            reply_five(context, stored);
            match filter.window() {
                Some(window) => window::reply(context, filter, window, now_for(filter)),
                None => reply_more(context, filter),
            }
        }
    }
    Ok(())
}

fn reply_one(context: &Context, stored: &BloomFilter, field: &Field) {
    if context.speaks_resp3() {
        context.reply_map(1);
        context.reply_simple(field.name);
    } else {
        context.reply_array(1);
    }
    (field.value)(stored).reply(context);
}

fn reply_five(context: &Context, stored: &BloomFilter) {
    for field in FIELDS {
        context.reply_field(field.name, (field.value)(stored));
    }
}

/// The further fields of the long form.
const MORE: usize = 11;

/// The number of entries (0 or 1) about sub-filters that are not shown.
fn entries_left_out(layers: &Layers) -> usize {
    usize::from(newest(layers.each()).0 > 0)
}

fn reply_more(context: &Context, filter: &Filter) {
    let bits_per_item = filter.num_bits() as f64 / filter.capacity() as f64;
    context.reply_field("Error rate", filter.parameters().error_rate);
    context.reply_field("Expected false positive rate", filter.false_positive_rate());
    context.reply_field("Estimated items", filter.estimated_items().round() as u64);
    context.reply_field("Fill", filter.fill_ratio());
    context.reply_field("Bits per item", bits_per_item);
    context.reply_field("Segments allocated", filter.allocated_segments());
    context.reply_field("Segments reserved", filter.reserved_segments());
    let shrunk = filter.if_shrunk();
    context.reply_field("Capacity if shrunk", shrunk.map(|shrunk| shrunk.capacity));
    context.reply_field("Size if shrunk", shrunk.map(|shrunk| shrunk.reserved_bytes));
    // Sub-filters of another module get another name, to distinguish them from ours.
    context.reply_simple(match filter.layers() {
        None => "Sub-filters",
        Some(layers) if layers.is_from_valkey() => "Sub-filters from valkey-bloom",
        Some(_) => "Sub-filters from RedisBloom",
    });
    match filter.layers() {
        None => {
            context.reply_array(filter.bloom().into_iter().len());
            if let Some(bloom) = filter.bloom() {
                reply_sub_filter(context, bloom);
            }
        }
        Some(layers) => reply_newest(context, layers.each(), reply_layer),
    }
    let table = filter.table().zip(filter.table_error_rate());
    let table = table.map(|(table, error_rate)| TableFacts::of(table, error_rate));
    context.reply_field("Table", table);
    if let Some(layers) = filter.layers() {
        reply_left_out(context, layers.each());
    }
}
