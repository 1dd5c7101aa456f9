//! What a filter is created with, and how large it may get.

use crate::filter::growth::Growth;
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
    /// filter that RedisBloom made it is that of the table behind the series.
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
    /// No limit, not even the capacity of a filter that does not grow: what is done here has been
    /// acknowledged elsewhere.
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
