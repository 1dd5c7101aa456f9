//! The long form of BF.INFO: the parts of a filter.

use crate::commands::bf::newest;
use splitbloom_filter::bloom::blocked_bloom::BlockedBloom;
use splitbloom_filter::foreign::Layer;
use splitbloom_filter::table::Table;
use splitbloom_server::context::Context;
use splitbloom_server::reply::Reply;

/// Replies with an array, with an element for each of the [newest] of `series`.
pub fn reply_newest<T>(context: &Context, series: &[T], reply: impl Fn(&Context, &T)) {
    let (_, shown) = newest(series);
    context.reply_array(shown.len());
    for one in shown {
        reply(context, one);
    }
}

/// Replies with the number of sub-filters that are not shown, if there are any.
pub fn reply_left_out<T>(context: &Context, series: &[T]) {
    let (left_out, _) = newest(series);
    if left_out > 0 {
        context.reply_field("Older sub-filters left out", left_out as u64);
    }
}

/// Replies with the map of a sub-filter from another module.
pub fn reply_layer(context: &Context, layer: &Layer) {
    let about = layer.description();
    context.reply_map(6);
    context.reply_field("Capacity", about.entries);
    context.reply_field("Items", about.items);
    context.reply_field("Error rate", about.error_rate);
    context.reply_field("Hashes", u64::from(about.hashes));
    context.reply_field("Bytes", layer.num_bits() / 8);
    context.reply_field("Set bits", layer.set_bits());
}

/// The fields of a table in the long form.
pub struct TableFacts {
    pub items: u64,
    pub error_rate: f64,
    pub false_positive_rate: f64,
    pub pages: u64,
    pub bytes: u64,
}

impl TableFacts {
    /// The fields of `table`, whose error rate is `error_rate`.
    pub fn of(table: &Table, error_rate: f64) -> Self {
        Self {
            items: table.len(),
            error_rate,
            false_positive_rate: table.false_positive_rate(),
            pages: table.pages(),
            bytes: table.bytes(),
        }
    }
}

impl Reply for TableFacts {
    fn reply(self, context: &Context) {
        context.reply_map(5);
        context.reply_field("Items", self.items);
        context.reply_field("Error rate", self.error_rate);
        context.reply_field("Expected false positive rate", self.false_positive_rate);
        context.reply_field("Pages", self.pages);
        context.reply_field("Bytes", self.bytes);
    }
}

/// Replies with the map of a sub-filter.
pub fn reply_sub_filter(context: &Context, sub_filter: &BlockedBloom) {
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
