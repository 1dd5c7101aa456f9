//! The long form of BF.INFO for a filter that forgets: the fields of every filter, and those of the
//! window.

use super::parts::TableFacts;
use splitbloom_filter::filter::{Filter, Window};
use splitbloom_server::context::Context;

/// Fields that only a filter with a window has.
pub const FIELDS: usize = 6;

/// Replies with all fields of the long form after the five of the short one, as of `now`.
pub fn reply(context: &Context, filter: &Filter, window: Window, now: u64) {
    let error_rate = filter.parameters().error_rate;
    let false_positive_rate = filter.false_positive_rate_at(now);
    context.reply_simple("Error rate");
    context.reply_double(error_rate);
    context.reply_simple("Expected false positive rate");
    context.reply_double(false_positive_rate);
    context.reply_simple("Estimated items");
    context.reply_integer(filter.items_at(now));
    // It has no bits that fill, and no segments.
    context.reply_simple("Fill");
    context.reply_null();
    context.reply_simple("Bits per item");
    match filter.bits_per_item(now) {
        Some(bits) => context.reply_double(bits),
        None => context.reply_null(),
    }
    for name in ["Segments allocated", "Segments reserved"] {
        context.reply_simple(name);
        context.reply_integer(0);
    }
    context.reply_simple("Sub-filters");
    context.reply_array(0);
    context.reply_simple("Table");
    let table = TableFacts {
        items: filter.items_at(now),
        error_rate,
        false_positive_rate,
        pages: filter.pages(),
        bytes: filter.num_bits() / 8,
    };
    table.reply(context);
    reply_window(context, filter, window, now);
}

fn reply_window(context: &Context, filter: &Filter, window: Window, now: u64) {
    context.reply_simple("Window");
    context.reply_integer(window.seconds().into());
    context.reply_simple("Slices");
    context.reply_integer(window.slices().into());
    context.reply_simple("Renew");
    context.reply_bool(window.renews());
    context.reply_simple("Items by slice");
    // Oldest first, up to the slice that is under way: as many as the window has, and one.
    let slices = usize::from(window.slices()) + 1;
    let items = filter.items_by_slice(now).map(|(_, items)| items);
    context.reply_array(slices);
    for items in items.chain(std::iter::repeat(0)).take(slices) {
        context.reply_integer(items);
    }
    context.reply_simple("Age of the oldest");
    match filter.age_of_oldest(now) {
        Some(milliseconds) => context.reply_integer(milliseconds / 1_000),
        None => context.reply_null(),
    }
    context.reply_simple("Items forgotten");
    context.reply_integer(filter.forgotten());
}
