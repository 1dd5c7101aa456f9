//! The long form of BF.INFO for a filter that forgets: the fields of every filter, and those of the
//! window.

use super::parts::TableFacts;
use splitbloom_filter::filter::{Filter, Window};
use splitbloom_server::context::Context;

/// The number of fields that only a filter with a window has.
pub const FIELDS: usize = 6;

/// Replies with all fields of the long form after the five of the short one, as of `now`.
pub fn reply(context: &Context, filter: &Filter, window: Window, now: u64) {
    let error_rate = filter.parameters().error_rate;
    let false_positive_rate = filter.false_positive_rate_at(now);
    context.reply_field("Error rate", error_rate);
    context.reply_field("Expected false positive rate", false_positive_rate);
    context.reply_field("Estimated items", filter.items_at(now));
    // A filter with a window has no bits to fill, no segments, and the size of its items anyway.
    context.reply_field("Fill", None::<f64>);
    context.reply_field("Bits per item", filter.bits_per_item(now));
    context.reply_field("Segments allocated", 0);
    context.reply_field("Segments reserved", 0);
    context.reply_field("Capacity if shrunk", None::<u64>);
    context.reply_field("Size if shrunk", None::<u64>);
    context.reply_simple("Sub-filters");
    context.reply_array(0);
    let table = TableFacts {
        items: filter.items_at(now),
        error_rate,
        false_positive_rate,
        pages: filter.pages(),
        bytes: filter.num_bits() / 8,
    };
    context.reply_field("Table", table);
    reply_window(context, filter, window, now);
}

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
