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
    pub(crate) fn most_bytes(self) -> u64 {
        match self {
            Self::Unlimited | Self::Replay => u64::MAX,
            Self::Bytes(most) => most,
        }
    }
}
