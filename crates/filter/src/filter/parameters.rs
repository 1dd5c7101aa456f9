//! What a filter is created with: how it grows, how its parts share the error rate, and how large
//! it may get.
//!
//! A filter that grows is made of at most one blocked Bloom filter of the capacity reserved, which
//! is small and fast, and one growing table ([`crate::table`]) for the items beyond. A false
//! positive of either is one of the filter, so their rates must add up to at most the error rate:
//!
//! ```text
//!   Bloom filter   2/3    so that a filter reserved at its size is small: each halving of its
//!                         rate costs 1.44 bits an item
//!   table          1/3    each halving costs it one bit
//! ```
//!
//! A filter without a Bloom filter gives the table all of it. (A Bloom filter's rate is never below
//! 1e-15, see [`crate::bloom::shape::MIN_ERROR_RATE`], and a table's never below 1e-12.)
//!
//! A filter that does not grow is a Bloom filter of the whole rate. While it follows another
//! server, it may still get a table, for items that were acknowledged there after it was full here:
//! the two filters have different false positives, so they count different items. That table has
//! the share that it would have if the filter grew, so such a filter may pass its rate by a third.

use crate::hash::Seed;

/// What a filter does with the items that it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It keeps them.
    Bloom,
    /// It counts their copies, and deletes them one by one.
    Counting,
    /// It forgets them after a window of time.
    Windowed,
}

/// The parameters that decide where the bits of a filter lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// The requested error rate, above 0 and below 1.
    pub error_rate: f64,
    /// The number of items that it is made for.
    pub capacity: u64,
    /// What it does when that is full.
    pub growth: Growth,
    /// Makes the positions of its bits unpredictable.
    pub seed: Seed,
}

/// The largest bucket size. A cuckoo filter stores it in a byte.
pub const MAX_BUCKET_SIZE: u16 = 255;

/// The parameters of a counting filter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CountingParameters {
    /// The requested error rate, above 0 and below 1. It holds however far the filter grows. In a
    /// filter from RedisBloom it is that of the table after the slots.
    pub error_rate: f64,
    /// The most copies of a filter that does not grow. In any filter, the number of items that its
    /// pages are sized for until something is deleted.
    pub capacity: u64,
    /// 0: the filter does not grow. Any other factor means the same: it grows page by page.
    pub expansion: u16,
    /// Reported only.
    pub bucket_size: u16,
    /// Reported only.
    pub max_iterations: u16,
    /// Makes the fingerprints unpredictable.
    pub seed: Seed,
}

impl CountingParameters {
    /// The buckets that a cuckoo filter of this capacity and bucket size begins with.
    pub fn buckets(&self) -> u64 {
        let buckets = self.capacity / u64::from(self.bucket_size.max(1));
        buckets.next_power_of_two()
    }
}

/// The most bytes that a filter may take with every bit in use: its bits and all that is stored
/// besides, in blocks as the allocator rounds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeLimit {
    /// No limit.
    Unlimited,
    /// At most this many bytes.
    Bytes(u64),
    /// No limit, not even the capacity of a filter that does not grow: used on replicas and while
    /// an append-only file loads, where the primary has already accepted the write.
    Replay,
}

impl SizeLimit {
    /// The number of bytes.
    pub(crate) fn max_bytes(self) -> u64 {
        match self {
            Self::Unlimited | Self::Replay => u64::MAX,
            Self::Bytes(most) => most,
        }
    }
}

/// The share of the error rate that the Bloom filter of a growing filter gets.
const BLOOM_SHARE: f64 = 2.0 / 3.0;
/// Capacities, in items, for which a filter that grows has no Bloom filter. With 128 items a table
/// takes a fifth more than a Bloom filter made for them, and with more reserved items the Bloom
/// filter is worth its share of the rate. Fewer than 64 items fit in a Bloom filter of less than
/// the table's smallest page.
const TABLE_CAPACITIES: std::ops::RangeInclusive<u64> = 64..=128;

/// The largest expansion factor that clients may give.
pub const MAX_EXPANSION: u32 = 32_768;

/// What a filter does when it is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Refuses new items, except those that another server has already acknowledged.
    Fixed,
    /// Grows by a table, whatever the factor, which is only kept to be reported.
    Times(u32),
}

impl Growth {
    /// From the factor of clients, settings and files, where 0 means that the filter does not grow.
    pub fn from_factor(factor: u32) -> Self {
        match factor {
            0 => Self::Fixed,
            factor => Self::Times(factor),
        }
    }

    /// The factor, 0 if the filter does not grow.
    pub fn factor(self) -> u32 {
        match self {
            Self::Fixed => 0,
            Self::Times(factor) => factor,
        }
    }

    /// Whether a filter reserved for `capacity` items begins with a table.
    pub(super) fn begins_with_table(self, capacity: u64) -> bool {
        self != Self::Fixed && TABLE_CAPACITIES.contains(&capacity)
    }

    /// The error rate of the Bloom filter of a filter of `error_rate`.
    pub(super) fn bloom_rate(self, error_rate: f64) -> f64 {
        match self {
            Self::Fixed => error_rate,
            Self::Times(_) => error_rate * BLOOM_SHARE,
        }
    }

    /// The error rate of the table of a filter of `error_rate` with `blooms` Bloom filters; `None`
    /// for a filter without a Bloom filter that does not grow.
    pub(super) fn table_rate(self, error_rate: f64, blooms: usize) -> Option<f64> {
        match (self, blooms) {
            (Self::Fixed, 0) => None,
            (_, 0) => Some(error_rate),
            _ => Some(error_rate * (1.0 - BLOOM_SHARE)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_rates_of_all_parts_add_up_to_the_rate_of_the_filter() {
        let growth = Growth::Times(2);
        assert_eq!(growth.table_rate(0.01, 0), Some(0.01));
        let (bloom, table) = (growth.bloom_rate(0.01), growth.table_rate(0.01, 1).unwrap());
        assert!((bloom + table - 0.01).abs() < 1e-15, "{bloom} {table}");
    }

    #[test]
    fn a_filter_that_does_not_grow_begins_with_a_bloom_filter_of_the_whole_rate() {
        assert_eq!(Growth::Fixed.table_rate(0.01, 0), None);
        assert_eq!(Growth::Fixed.bloom_rate(0.01), 0.01);
        assert!(!Growth::Fixed.begins_with_table(100));
        assert!(Growth::Times(1).begins_with_table(100));
    }
}
