//! BF.DEBUG: describes a filter for people to read, as RedisBloom does, with a line for each part.
//! Programs use BF.INFO.

use super::newest;
use crate::commands::common::BLOOM_ITEM;
use crate::commands::reply_error::ReplyError;
use crate::types::{now_for, BloomFilter};
use splitbloom_filter::filter::{Filter, Window};
use splitbloom_server::arguments::Arguments;
use splitbloom_server::command::{Command, Output};
use splitbloom_server::context::Context;
use splitbloom_server::text::ShortText;

/// Bits of the hash that select an item's bits in its sub-bitmap. RedisBloom writes 64 or 32 here.
const HASH_WIDTH: u32 = 64;

pub const DEBUG: Command<ReplyError> = Command {
    name: c"bf.debug",
    arity: 2,
    output: Output::Varies,
    summary: c"Describes the parts of a Bloom filter in lines for people to read",
    complexity: BLOOM_ITEM,
    run: debug,
    ..Command::FAST_READ
};

/// Replies with the number of items, then a line for each part.
fn debug(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let key = context.open_to_read(arguments.at(1));
    let stored: &BloomFilter = key.value()?.ok_or(ReplyError::NOT_FOUND)?;
    let filter = stored.filter();
    match filter.window() {
        Some(window) => reply_window(context, filter, window, now_for(filter)),
        None => reply_parts(context, filter),
    }
    Ok(())
}

/// Replies with the Bloom filters, oldest first, then the table. If there are many Bloom filters,
/// only the [newest] are shown, after the number of those left out. A line has fewer than 150
/// bytes, so a reply has fewer than 150 kB.
fn reply_parts(context: &Context, filter: &Filter) {
    let (left_out, layers) = newest(filter);
    let table = filter.table().zip(filter.table_error_rate());
    let others = [left_out > 0, filter.bloom().is_some(), table.is_some()];
    let others: usize = others.map(usize::from).iter().sum();
    context.reply_array(1 + layers.len() + others);
    reply(context, ShortText::of(format_args!("size:{}", filter.items())));
    if let Some(bloom) = filter.bloom() {
        let about = bloom.header();
        let (hashes, bytes) = (about.shape.num_hashes, bloom.num_bits() / 8);
        reply(context, line(bytes, hashes, about.capacity, about.items, about.error_rate));
    }
    if left_out > 0 {
        let older = format_args!("older sub-filters left out:{left_out}");
        reply(context, ShortText::of(older));
    }
    for layer in layers {
        let (about, bytes) = (layer.description(), layer.num_bits() / 8);
        reply(context, line(bytes, about.hashes, about.entries, about.items, about.error_rate));
    }
    if let Some((table, error_rate)) = table {
        reply(context, line_of_table(table.bytes(), table.len(), error_rate));
    }
}

/// Replies with the number of items remembered, the window, then the table.
fn reply_window(context: &Context, filter: &Filter, window: Window, now: u64) {
    let items = filter.items_at(now);
    let (seconds, slices, renew) = (window.seconds(), window.slices(), window.renews());
    let (renew, forgotten) = (u8::from(renew), filter.forgotten());
    let about =
        format_args!("window:{seconds} slices:{slices} renew:{renew} forgotten:{forgotten}");
    let (bytes, error_rate) = (filter.num_bits() / 8, filter.parameters().error_rate);
    context.reply_array(3);
    reply(context, ShortText::of(format_args!("size:{items}")));
    reply(context, ShortText::of(about));
    reply(context, line_of_table(bytes, items, error_rate));
}

/// A table has one fingerprint for each item, and its capacity is its items, since it grows.
fn line_of_table(bytes: u64, items: u64, error_rate: f64) -> ShortText {
    line(bytes, 1, items, items, error_rate)
}

fn line(bytes: u64, hashes: u32, capacity: u64, items: u64, error_rate: f64) -> ShortText {
    let bits = bytes.saturating_mul(8);
    let ratio = six_digits(error_rate);
    ShortText::of(format_args!(
        "bytes:{bytes} bits:{bits} hashes:{hashes} hashwidth:{HASH_WIDTH} capacity:{capacity} \
         size:{items} ratio:{ratio}"
    ))
}

fn reply(context: &Context, line: ShortText) {
    context.reply_bytes(line.bytes());
}

/// Rounds `value` to six significant digits, as C's `%g` does.
fn six_digits(value: f64) -> f64 {
    let rounded = ShortText::of(format_args!("{value:.5e}"));
    let digits = str::from_utf8(rounded.bytes());
    digits.ok().and_then(|digits| digits.parse().ok()).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_has_six_significant_digits() {
        for (value, text) in [
            (0.01, "0.01"),
            (0.01 * 2.0 / 3.0, "0.00666667"),
            (1e-9, "0.000000001"),
            (0.999, "0.999"),
        ] {
            assert_eq!(six_digits(value).to_string(), text);
        }
    }
}
