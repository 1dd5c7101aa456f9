//! Items: 12 random bytes each, derived from numbers and laid out contiguously before timing.

use splitbloom_harness::splitmix64;
use std::hint::black_box;
use std::slice::ChunksExact;

/// The length of an IPv4 address and a timestamp, or of a document id. Most keys are longer, and
/// cost more to hash.
const ITEM_BYTES: usize = 12;
/// Items per batch: two of the groups that splitbloom prefetches.
pub const BATCH: usize = 32;

/// The disjoint ranges of numbers that items derive from, all below 2^62.
#[derive(Clone, Copy)]
#[repr(u64)]
pub enum Kind {
    /// In the filter, and looked up.
    Present = 0,
    /// In the filter, but never looked up: the fill.
    Filling = 1,
    /// New when inserted.
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

/// Items in one contiguous buffer.
pub struct Items(Vec<u8>);

impl Items {
    /// Distinct numbers give distinct items: their first eight bytes already differ.
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

    /// Iterates one by one. The length is hidden from the compiler, since a server does not know it
    /// either and a known length would make hashing faster.
    pub fn iter(&self) -> ChunksExact<'_, u8> {
        self.0.chunks_exact(black_box(ITEM_BYTES))
    }

    /// Iterates by batch.
    pub fn batches(&self) -> impl Iterator<Item = ChunksExact<'_, u8>> {
        let len = black_box(ITEM_BYTES);
        self.0.chunks(BATCH * len).map(move |batch| batch.chunks_exact(len))
    }
}
