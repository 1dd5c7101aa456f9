//! The digest of a windowed filter: it covers what the filter remembers, not how.
//!
//! Other filters digest their chunks. Here a sweep may rewrite and merge pages without changing
//! what is remembered. So the digest covers only entries that are not forgotten, whichever page
//! they are in:
//!
//! ```text
//!   head record, latest time, items forgotten, items of each slice
//!   each remembered entry, in order of paths:         path:8 length:1 slice:8 copies:8
//!   each remembered saturated page:                   path:8 length:1 slice:8 2^64 - 1
//!   load that has begun and not ended:                next:8
//! ```

use super::format::Head;
use crate::filter::window::clock::Clock;
use crate::filter::Filter;
use crate::growing::Entry;
use xxhash_rust::xxh3::Xxh3;

/// Bytes of an entry.
const ENTRY_BYTES: usize = 25;

/// XXH3-128, equal for two filters that remember the same items until the same times, and have
/// seen the same latest time. A step of a sweep does not change it unless it advances the time.
/// Reads every page once; allocates nothing.
pub fn digest_of_window(filter: &Filter, clock: &Clock) -> u128 {
    let Clock { window, slices, .. } = clock;
    let mut hash = Xxh3::new();
    hash.update(&Head::of(filter).identity().to_le_bytes());
    let mut number = |number: u64| hash.update(&number.to_le_bytes());
    number(slices.latest());
    number(slices.forgotten());
    let mut slice_of = [0; 16];
    for slice in slices.remembered(window, 0) {
        let there = slices.slice(slice);
        number(there.items);
        if let Some(payload) = there.payload {
            slice_of[usize::from(payload & 0xf)] = slice;
        }
    }
    number(filter.loading().map_or(0, |loading| loading.next));
    // Through a page on the stack, so that the hash gets more than an entry at a time.
    let (mut page, mut used) = ([0; 160 * ENTRY_BYTES], 0);
    let each = |entry: Entry| {
        if used == page.len() {
            hash.update(&page);
            used = 0;
        }
        let bytes = &mut page[used..][..ENTRY_BYTES];
        used += ENTRY_BYTES;
        bytes[..8].copy_from_slice(&entry.start.to_le_bytes());
        bytes[8] = entry.length;
        let slice = slice_of[usize::from(entry.payload & 0xf)];
        bytes[9..17].copy_from_slice(&slice.to_le_bytes());
        bytes[17..].copy_from_slice(&entry.copies.to_le_bytes());
    };
    if let Some(table) = filter.table() {
        table.visit_alive(each);
    }
    hash.update(&page[..used]);
    hash.digest128()
}
