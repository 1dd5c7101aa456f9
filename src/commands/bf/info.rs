//! BF.INFO and BF.CARD: describe a filter.

use super::newest;
use crate::commands::common::BLOOM_ITEM;
use crate::commands::lookup::filter_of;
use crate::commands::reply_error::ReplyError;
use crate::types::{now_for, BloomFilter, BloomFilters};
use splitbloom_filter::bloom::blocked_bloom::BlockedBloom;
use splitbloom_filter::filter::{Filter, Growth, Window};
use splitbloom_filter::foreign::Layer;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::command::{Command, Output, Parameter, Times};
use splitbloom_server::context::Context;
use splitbloom_server::reply::Reply;

pub const CARD: Command<ReplyError> = Command {
    name: c"bf.card",
    arity: 2,
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

/// The number of items of `filter`; if it forgets, of those that it remembers now.
fn items_now(filter: &Filter) -> u64 {
    filter.items_at(now_for(filter))
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

/// A field of the short form: the keyword that selects it alone, its name, and its value.
type Field = (&'static [u8], &'static str, fn(&BloomFilter) -> Option<u64>);

/// Clients expect exactly these five, with these names, in this order.
const FIELDS: [Field; 5] = [
    (b"CAPACITY", "Capacity", |stored| Some(stored.filter().capacity())),
    (b"SIZE", "Size", |stored| Some(stored.size())),
    (b"FILTERS", "Number of filters", |stored| Some(stored.filter().num_parts() as u64)),
    (b"ITEMS", "Number of items inserted", |stored| Some(items_now(stored.filter()))),
    (b"EXPANSION", "Expansion rate", |stored| match stored.filter().parameters().growth {
        Growth::Fixed => None,
        Growth::Times(factor) => Some(factor.into()),
    }),
];

fn info(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let word = match arguments.len() {
        2 => None,
        3 => Some(arguments.bytes(2)),
        _ => return Err(ReplyError::WRONG_ARITY),
    };
    let is_full = word.is_some_and(|word| word.eq_ignore_ascii_case(b"FULL"));
    let find = |word: &[u8]| {
        let field = FIELDS.into_iter().find(|(name, ..)| word.eq_ignore_ascii_case(name));
        field.ok_or(ReplyError::BAD_INFO_FIELD)
    };
    let one = word.filter(|_| !is_full).map(find).transpose()?;
    let key = context.open_to_read(arguments.at(1));
    let stored: &BloomFilter = key.value()?.ok_or(ReplyError::NOT_FOUND)?;
    if let Some((_, name, value)) = one {
        if context.speaks_resp3() {
            context.reply_map(1);
            context.reply_simple(name);
        } else {
            context.reply_array(1);
        }
        value(stored).reply(context);
        return Ok(());
    }
    let filter = stored.filter();
    let more = match filter.window() {
        _ if !is_full => 0,
        Some(_) => MORE + OF_A_WINDOW,
        None => MORE + usize::from(newest(filter).0 > 0),
    };
    context.reply_map(FIELDS.len() + more);
    for (_, name, value) in FIELDS {
        context.reply_field(name, value(stored));
    }
    if is_full {
        reply_more(context, filter, now_for(filter));
    }
    Ok(())
}

/// The further fields of the long form.
const MORE: usize = 11;
/// Those that only a filter with a window has.
const OF_A_WINDOW: usize = 6;

/// Replies with all fields of the long form after the five of the short one, as of `now`.
fn reply_more(context: &Context, filter: &Filter, now: u64) {
    let (window, error_rate) = (filter.window(), filter.parameters().error_rate);
    let false_positive_rate = filter.false_positive_rate_at(now);
    // A filter with a window has no bits to fill, and the size of its items anyway.
    let (items, fill, bits_per_item) = match window {
        Some(_) => (filter.items_at(now), None, filter.bits_per_item(now)),
        None => (
            filter.estimated_items().round() as u64,
            Some(filter.fill_ratio()),
            Some(filter.num_bits() as f64 / filter.capacity() as f64),
        ),
    };
    context.reply_field("Error rate", error_rate);
    context.reply_field("Expected false positive rate", false_positive_rate);
    context.reply_field("Estimated items", items);
    context.reply_field("Fill", fill);
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
    let (left_out, layers) = newest(filter);
    context.reply_array(layers.len() + usize::from(filter.bloom().is_some()));
    if let Some(bloom) = filter.bloom() {
        reply_sub_filter(context, bloom);
    }
    layers.iter().for_each(|layer| reply_layer(context, layer));
    context.reply_simple("Table");
    match (window, filter.table().zip(filter.table_error_rate())) {
        (Some(_), _) => reply_table(context, filter, items, error_rate, false_positive_rate),
        (None, Some((table, error_rate))) => {
            let false_positive_rate = table.false_positive_rate();
            reply_table(context, filter, table.len(), error_rate, false_positive_rate);
        }
        (None, None) => context.reply_null(),
    }
    if left_out > 0 {
        context.reply_field("Older sub-filters left out", left_out as u64);
    }
    if let Some(window) = window {
        reply_window(context, filter, window, now);
    }
}

/// Replies with the map of a sub-filter.
fn reply_sub_filter(context: &Context, sub_filter: &BlockedBloom) {
    let header = sub_filter.header();
    context.reply_map(8);
    context.reply_field("Capacity", header.capacity);
    context.reply_field("Items", header.items);
    context.reply_field("Error rate", header.error_rate);
    context.reply_field("Sub-bitmap bytes", u64::from(header.shape.sub_bitmap_bits) / 8);
    context.reply_field("Hashes", u64::from(header.shape.num_hashes));
    context.reply_field("Bytes", sub_filter.num_bits() / 8);
    context.reply_field("Set bits", sub_filter.set_bits());
    context.reply_field("Guard", sub_filter.fill().share_of_limit());
}

/// Replies with the map of a sub-filter from another module.
fn reply_layer(context: &Context, layer: &Layer) {
    let about = layer.description();
    context.reply_map(6);
    context.reply_field("Capacity", about.entries);
    context.reply_field("Items", about.items);
    context.reply_field("Error rate", about.error_rate);
    context.reply_field("Hashes", u64::from(about.hashes));
    context.reply_field("Bytes", layer.num_bits() / 8);
    context.reply_field("Set bits", layer.set_bits());
}

/// Replies with the map of the table of `filter`, which has `items`.
fn reply_table(
    context: &Context,
    filter: &Filter,
    items: u64,
    error_rate: f64,
    false_positive_rate: f64,
) {
    context.reply_map(5);
    context.reply_field("Items", items);
    context.reply_field("Error rate", error_rate);
    context.reply_field("Expected false positive rate", false_positive_rate);
    context.reply_field("Pages", filter.pages());
    context.reply_field("Bytes", filter.table().map_or(0, |table| table.bytes()));
}

/// Replies with the fields that only a filter with a window has, as of `now`.
fn reply_window(context: &Context, filter: &Filter, window: Window, now: u64) {
    context.reply_field("Window", u64::from(window.seconds()));
    context.reply_field("Slices", u64::from(window.slices()));
    context.reply_simple("Renew");
    context.reply_bool(window.renews());
    context.reply_simple("Items by slice");
    // Oldest first: the slices of the window, and the slice under way.
    let slices = usize::from(window.slices()) + 1;
    let items = filter.items_by_slice(now).map(|(_, items)| items);
    context.reply_array(slices);
    for items in items.chain(std::iter::repeat(0)).take(slices) {
        context.reply_integer(items);
    }
    let age = filter.age_of_oldest(now);
    context.reply_field("Age of the oldest", age.map(|milliseconds| milliseconds / 1_000));
    context.reply_field("Items forgotten", filter.forgotten());
}
