//! The long form of BF.INFO: the parts of a filter.

use crate::commands::bf::newest;
use splitbloom_filter::bloom::blocked_bloom::BlockedBloom;
use splitbloom_filter::foreign::Layer;
use splitbloom_filter::table::Table;
use splitbloom_server::context::Context;

/// Replies with an array, an element for each of the [newest] of a series.
pub fn reply_newest<T>(context: &Context, series: &[T], reply: impl Fn(&Context, &T)) {
    let (_, shown) = newest(series);
    context.reply_array(shown.len());
    for one in shown {
        reply(context, one);
    }
}

/// Replies with the entry for the sub-filters that are not shown, if there are any.
pub fn reply_left_out<T>(context: &Context, series: &[T]) {
    let (left_out, _) = newest(series);
    if left_out > 0 {
        context.reply_simple("Older sub-filters left out");
        context.reply_integer(left_out as u64);
    }
}

/// Replies with the entry of the table.
pub fn reply_table(context: &Context, table: Option<&Table>, error_rate: Option<f64>) {
    context.reply_simple("Table");
    match table.zip(error_rate) {
        Some((table, error_rate)) => TableFacts::of(table, error_rate).reply(context),
        None => context.reply_null(),
    }
}

/// Replies with the map of a sub-filter from another module.
pub fn reply_layer(context: &Context, layer: &Layer) {
    let about = layer.description();
    context.reply_map(6);
    for (name, value) in [("Capacity", about.entries), ("Items", about.items)] {
        context.reply_simple(name);
        context.reply_integer(value);
    }
    context.reply_simple("Error rate");
    context.reply_double(about.error_rate);
    for (name, value) in [
        ("Hashes", u64::from(about.hashes)),
        ("Bytes", layer.num_bits() / 8),
        ("Set bits", layer.set_bits()),
    ] {
        context.reply_simple(name);
        context.reply_integer(value);
    }
}

/// What the long form says about a table.
pub struct TableFacts {
    pub items: u64,
    pub error_rate: f64,
    pub false_positive_rate: f64,
    pub pages: u64,
    pub bytes: u64,
}

impl TableFacts {
    fn of(table: &Table, error_rate: f64) -> Self {
        Self {
            items: table.len(),
            error_rate,
            false_positive_rate: table.false_positive_rate(),
            pages: table.pages(),
            bytes: table.bytes(),
        }
    }

    /// Replies with them as a map.
    pub fn reply(&self, context: &Context) {
        context.reply_map(5);
        context.reply_simple("Items");
        context.reply_integer(self.items);
        for (name, value) in [
            ("Error rate", self.error_rate),
            ("Expected false positive rate", self.false_positive_rate),
        ] {
            context.reply_simple(name);
            context.reply_double(value);
        }
        for (name, value) in [("Pages", self.pages), ("Bytes", self.bytes)] {
            context.reply_simple(name);
            context.reply_integer(value);
        }
    }
}

/// Replies with the map of a sub-filter.
pub fn reply_sub_filter(context: &Context, sub_filter: &BlockedBloom) {
    let header = sub_filter.header();
    context.reply_map(8);
    context.reply_simple("Capacity");
    context.reply_integer(header.capacity);
    context.reply_simple("Items");
    context.reply_integer(header.items);
    context.reply_simple("Error rate");
    context.reply_double(header.error_rate);
    let numbers = [
        (
            "Sub-bitmap bytes",
            u64::from(header.shape.sub_bitmap_bits) / 8,
        ),
        ("Hashes", u64::from(header.shape.num_hashes)),
        ("Bytes", sub_filter.num_bits() / 8),
        ("Set bits", sub_filter.set_bits()),
    ];
    for (name, value) in numbers {
        context.reply_simple(name);
        context.reply_integer(value);
    }
    context.reply_simple("Guard");
    context.reply_double(sub_filter.fill().share_of_limit());
}
