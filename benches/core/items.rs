//! Items: 12 random bytes each, made of numbers, laid out one after another before anything is timed.

use crate::rig::numbers::splitmix64;
use std::hint::black_box;
use std::slice::ChunksExact;

/// As long as an IPv4 address and a time, or the identifier of a document: most keys are longer, and cost more to hash.
const ITEM_BYTES: usize = 12;
/// Items handed over together: two of the groups that splitbloom prefetches.
pub const BATCH: usize = 32;

/// The number behind an item, apart for those that must not meet. All are below 2^62.
#[derive(Clone, Copy)]
#[repr(u64)]
pub enum Kind {
    /// In the filter, and looked up.
    Present = 0,
    /// In the filter, never looked up: what it is filled with.
    Filling = 1,
    /// New when it is inserted.
    New = 2,
    /// Never in the filter.
    Absent = 3,
}

impl Kind {
    /// The number of the `n`-th item of this kind.
    pub fn number(self, n: u64) -> u64 {
        (self as u64) << 60 | n
    }
}

/// A row of items.
pub struct Items(Vec<u8>);

impl Items {
    /// Distinct numbers make distinct items: their first eight bytes alone differ.
    pub fn of(numbers: impl Iterator<Item = u64>) -> Self {
        let mut bytes = Vec::new();
        for number in numbers {
            bytes.extend_from_slice(&splitmix64(number).to_le_bytes());
            bytes.extend_from_slice(&splitmix64(!number).to_le_bytes()[..ITEM_BYTES - 8]);
        }
        Self(bytes)
    }

    pub fn len(&self) -> usize {
        self.0.len() / ITEM_BYTES
    }

    /// One by one. Their length is hidden from the compiler: a server does not know it either, and hashing is the quicker for it.
    pub fn iter(&self) -> ChunksExact<'_, u8> {
        self.0.chunks_exact(black_box(ITEM_BYTES))
    }

    /// By batches.
    pub fn batches(&self) -> impl Iterator<Item = ChunksExact<'_, u8>> {
        let len = black_box(ITEM_BYTES);
        self.0
            .chunks(BATCH * len)
            .map(move |batch| batch.chunks_exact(len))
    }
}
