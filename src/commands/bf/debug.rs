//! BF.DEBUG: describes a filter to people as RedisBloom does, a line for each part. Programs use
//! BF.INFO.

use super::newest;
use crate::commands::docs::{BLOOM_ITEM, FAST_READ};
use crate::commands::reply_error::ReplyError;
use crate::types::now_for;
use crate::types::BloomFilter;
use splitbloom_filter::bloom::blocked_bloom::BlockedBloom;
use splitbloom_filter::filter::{Filter, Window};
use splitbloom_filter::foreign::Layer;
use splitbloom_filter::table::Table;
use splitbloom_server::arguments::Arguments;
use splitbloom_server::command::{Command, Output};
use splitbloom_server::context::Context;

/// Bits of the hash that select an item's bits in its sub-bitmap. RedisBloom writes 64 or 32 here.
const HASH_WIDTH: u32 = 64;

pub const DEBUG: Command<ReplyError> = Command {
    name: c"bf.debug",
    arity: 2,
    output: Output::Varies,
    summary: c"Describes the parts of a Bloom filter in lines for people to read",
    complexity: BLOOM_ITEM,
    run: debug,
    ..FAST_READ
};

fn debug(context: &Context, arguments: Arguments<'_>) -> Result<(), ReplyError> {
    let key = context.open_to_read(arguments.at(1));
    let stored: &BloomFilter = key.value()?.ok_or(ReplyError::NotFound)?;
    let filter = stored.filter();
    let lines = match filter.window() {
        Some(window) => lines_of_window(filter, window, now_for(filter)),
        None => lines(filter),
    };
    context.reply_array(lines.len());
    for line in lines {
        context.reply_bytes(line.as_bytes());
    }
    Ok(())
}

/// The number of items, then the Bloom filters, oldest first, then the table. Of many Bloom filters
/// the [newest], after the number of those left out. A line has fewer than 150 bytes, so a reply
/// has fewer than 150 kB.
fn lines(filter: &Filter) -> Vec<String> {
    let mut lines = vec![format!("size:{}", filter.items())];
    lines.extend(filter.bloom().map(line_of_bloom));
    if let Some(layers) = filter.layers() {
        let (left_out, shown) = newest(layers.each());
        if left_out > 0 {
            lines.push(format!("older sub-filters left out:{left_out}"));
        }
        lines.extend(shown.iter().map(line_of_layer));
    }
    if let (Some(table), Some(error_rate)) = (filter.table(), filter.table_error_rate()) {
        lines.push(line_of_table(table, error_rate));
    }
    lines
}

fn line_of_table(table: &Table, error_rate: f64) -> String {
    // An item has one fingerprint; there is room for as many as come.
    let (items, bytes) = (table.len(), table.bytes());
    line(bytes, 1, items, items, error_rate)
}

fn line_of_layer(layer: &Layer) -> String {
    let about = layer.description();
    let bytes = layer.num_bits() / 8;
    line(
        bytes,
        about.hashes,
        about.entries,
        about.items,
        about.error_rate,
    )
}

/// The number of items remembered, the window, then the table.
fn lines_of_window(filter: &Filter, window: Window, now: u64) -> Vec<String> {
    let items = filter.items_at(now);
    let (seconds, slices, renew) = (window.seconds(), window.slices(), window.renews());
    let (renew, forgotten) = (u8::from(renew), filter.forgotten());
    let bytes = filter.num_bits() / 8;
    let error_rate = filter.parameters().error_rate;
    vec![
        format!("size:{items}"),
        format!("window:{seconds} slices:{slices} renew:{renew} forgotten:{forgotten}"),
        line(bytes, 1, items, items, error_rate),
    ]
}

fn line_of_bloom(bloom: &BlockedBloom) -> String {
    let header = bloom.header();
    let bytes = bloom.num_bits() / 8;
    let hashes = header.shape.num_hashes;
    line(
        bytes,
        hashes,
        header.capacity,
        header.items,
        header.error_rate,
    )
}

fn line(bytes: u64, hashes: u32, capacity: u64, items: u64, error_rate: f64) -> String {
    let bits = bytes.saturating_mul(8);
    let ratio = six_digits(error_rate);
    format!(
        "bytes:{bytes} bits:{bits} hashes:{hashes} hashwidth:{HASH_WIDTH} capacity:{capacity} \
         size:{items} ratio:{ratio}"
    )
}

/// Six significant digits, as C's `%g` writes them.
fn six_digits(value: f64) -> String {
    let rounded = format!("{value:.5e}");
    rounded.parse().unwrap_or(value).to_string()
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
            assert_eq!(six_digits(value), text);
        }
    }
}
