//! BF.INFO and BF.CARD: describe a filter.

mod parts;
mod window;

use super::newest;
use crate::commands::docs::{word, BLOOM_ITEM, FAST_READ, KEY};
use crate::commands::reply_error::ReplyError;
use crate::commands::time::items_now;
use crate::types::now_for;
use crate::types::BloomFilter;
use parts::{reply_layer, reply_left_out, reply_newest, reply_sub_filter, reply_table};
use splitbloom_filter::filter::Filter;
use splitbloom_filter::foreign::Layers;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::command::{Command, Output, Parameter, Times};
use splitbloom_server::context::Context;

pub const CARD: Command<ReplyError> = Command {
    name: c"bf.card",
    arity: 2,
    output: Output::Varies,
    summary: c"Counts the items that were new when they were added to a Bloom filter",
    complexity: BLOOM_ITEM,
    run: card,
    ..FAST_READ
};

fn card(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let key = context.open_to_read(arguments.at(1));
    let stored = key.value::<BloomFilter>()?;
    context.reply_integer(stored.map_or(0, |stored| items_now(stored.filter())));
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
    ..FAST_READ
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
    let stored: &BloomFilter = key.value()?.ok_or(ReplyError::NotFound)?;
    match question {
        Question::One(field) => reply_one(context, stored, field),
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

fn reply_one(context: &Context, stored: &BloomFilter, field: Field) {
    if context.speaks_resp3() {
        context.reply_map(1);
        context.reply_simple(FIELDS[field as usize].2);
    } else {
        context.reply_array(1);
    }
    reply_value(context, stored, field);
}

fn reply_five(context: &Context, stored: &BloomFilter) {
    for (field, _, name) in FIELDS {
        context.reply_simple(name);
        reply_value(context, stored, field);
    }
}

fn reply_value(context: &Context, stored: &BloomFilter, field: Field) {
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

/// The number of entries that say how many sub-filters are not shown.
fn entries_left_out(layers: &Layers) -> usize {
    usize::from(newest(layers.each()).0 > 0)
}

fn reply_more(context: &Context, filter: &Filter) {
    let numbers = |pairs: [(&str, u64); 2]| {
        for (name, value) in pairs {
            context.reply_simple(name);
            context.reply_integer(value);
        }
    };
    let doubles = |pairs: [(&str, f64); 2]| {
        for (name, value) in pairs {
            context.reply_simple(name);
            context.reply_double(value);
        }
    };
    doubles([
        ("Error rate", filter.parameters().error_rate),
        ("Expected false positive rate", filter.false_positive_rate()),
    ]);
    context.reply_simple("Estimated items");
    context.reply_integer(filter.estimated_items().round() as u64);
    let bits_per_item = filter.num_bits() as f64 / filter.capacity() as f64;
    doubles([
        ("Fill", filter.fill_ratio()),
        ("Bits per item", bits_per_item),
    ]);
    numbers([
        ("Segments allocated", filter.allocated_segments()),
        ("Segments reserved", filter.reserved_segments()),
    ]);
    // Those of another module have another name, which tells them from ours.
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
    reply_table(context, filter.table(), filter.table_error_rate());
    if let Some(layers) = filter.layers() {
        reply_left_out(context, layers.each());
    }
}
