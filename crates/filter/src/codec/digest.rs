//! The digest of a filter: two filters have the same digest if and only if they return the same
//! results, now and after the same commands.
//!
//! # A filter that forgets
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

use super::encode::chunks;
use super::format::identity;
use crate::bytes::{write_words, Sink};
use crate::filter::window::clock::Clock;
use crate::filter::Filter;
use crate::table::Entry;
use xxhash_rust::xxh3::Xxh3;

impl Filter {
    /// XXH3-128 of the filter's chunks, or of what a windowed filter remembers (see the module).
    /// Two filters have the same digest if and only if they return the same results and statistics,
    /// now and after the same commands. Reads every allocated bit once; allocates nothing.
    pub fn digest(&self) -> u128 {
        if let Some(clock) = self.clock() {
            return digest_of_window(self, clock);
        }
        let mut hash = Hash::default();
        for chunk in chunks(self) {
            hash.chunk.reset();
            chunk.write(&mut hash);
        }
        hash.all.digest128()
    }
}

#[derive(Default)]
struct Hash {
    all: Xxh3,
    /// The checksum of the chunk that is being written.
    chunk: Xxh3,
}

impl Sink for Hash {
    fn bytes(&mut self, bytes: &[u8]) {
        self.all.update(bytes);
        self.chunk.update(bytes);
    }

    fn words(&mut self, words: &[u64]) {
        // Through a page on the stack, so that the hash gets more than a word at a time.
        let mut page = [0; 4096];
        for words in words.chunks(page.len() / 8) {
            let (bytes, _) = page.split_at_mut(words.len() * 8);
            write_words(words, bytes);
            self.bytes(bytes);
        }
    }

    fn checksum(&self) -> u64 {
        self.chunk.digest()
    }
}

/// Bytes of an entry.
const ENTRY_BYTES: usize = 25;

/// XXH3-128, equal for two filters that remember the same items until the same times, and have
/// seen the same latest time. A step of a sweep does not change it unless it advances the time.
/// Reads every page once; allocates nothing.
pub fn digest_of_window(filter: &Filter, clock: &Clock) -> u128 {
    let Clock { window, slices, .. } = clock;
    let mut hash = Xxh3::new();
    hash.update(&identity(filter).to_le_bytes());
    let mut number = |number: u64| hash.update(&number.to_le_bytes());
    number(slices.latest);
    number(slices.forgotten);
    let mut slice_of = [0; 16];
    for slice in slices.remembered(window, 0) {
        let there = slices.slice(slice);
        number(there.items);
        if let Some(payload) = there.payload {
            slice_of[usize::from(payload & 0xf)] = slice;
        }
    }
    number(filter.loading().map_or(0, |loading| loading.next()));
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
