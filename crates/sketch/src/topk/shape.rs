//! The parameters of a top-k, and their limits.

use splitbloom_foundation::span::Span;
use std::ops::RangeInclusive;

/// Default number of buckets in a row: RedisBloom's.
pub const DEFAULT_WIDTH: u32 = 8;
/// Default number of rows: RedisBloom's.
pub const DEFAULT_DEPTH: u32 = 7;
/// Default decay: RedisBloom's.
pub const DEFAULT_DECAY: f64 = 0.9;

/// How many items a new one may list. The format has 24 bytes and a string for each place, in use
/// or not: with 2^20, saving an empty one takes 30 ms.
pub const K: RangeInclusive<u32> = 1..=1 << 20;
/// How many rows a new one may have: each item hashes once for each. RedisBloom's users have 5 to
/// 7.
pub const DEPTH: RangeInclusive<u32> = 1..=256;
/// The most buckets that a new one may have, in all slices of a window together. RESTORE takes no
/// dump longer than 512 MiB unless the server is configured to: half of that is for the list.
pub const MAX_BUCKETS: u64 = (256 << 20) / BUCKET_BYTES;
/// The most places that TOPK.LIST and TOPK.QUERY may read in a window: each of the up to k items of
/// each slice is looked up in each slice, in the index, in the list, and in a bucket of each row.
/// Measured: 30 to 130 ns each, so at most 0.6 s.
pub const MAX_WINDOW_READS: u64 = 1 << 22;
/// Reads of an item in a slice besides those of its buckets.
const LIST_READS: u64 = 2;
/// The most places of the list of one that exists. RedisBloom takes 24 bytes for a place, so 3 GiB
/// for these; a list here 8, in use or not.
pub const MAX_SAVED_K: u32 = 1 << 27;
/// Bytes of a bucket.
pub const BUCKET_BYTES: u64 = 8;

/// The parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    pub(super) k: u32,
    pub(super) width: u32,
    pub(super) depth: u32,
    pub(super) decay: f64,
}

/// Why a top-k cannot have these parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShapeError {
    /// `k` is out of [`K`].
    K,
    /// There is no bucket in a row.
    Width,
    /// The depth is out of [`DEPTH`].
    Depth,
    /// There are more than [`MAX_BUCKETS`].
    Buckets,
    /// The slices of a window together have more than [`MAX_BUCKETS`].
    Window,
    /// A lookup in a window would read more than [`MAX_WINDOW_READS`].
    Reads,
    /// The decay is not above 0 and at most 1.
    Decay,
}

impl Shape {
    /// A top-k of `k` items in `depth` rows of `width` buckets.
    ///
    /// # Errors
    /// What is out of range.
    pub fn new(k: u32, width: u32, depth: u32, decay: f64) -> Result<Self, ShapeError> {
        if !K.contains(&k) {
            return Err(ShapeError::K);
        }
        if width == 0 {
            return Err(ShapeError::Width);
        }
        if !DEPTH.contains(&depth) {
            return Err(ShapeError::Depth);
        }
        if u64::from(width) * u64::from(depth) > MAX_BUCKETS {
            return Err(ShapeError::Buckets);
        }
        if !(decay > 0.0 && decay <= 1.0) {
            return Err(ShapeError::Decay);
        }
        Ok(Self { k, width, depth, decay })
    }

    /// The same shape for each slice of a window of `span`: all slices together are one value, and
    /// lookups visit all of them.
    ///
    /// # Errors
    /// `Window`, or `Reads`.
    pub fn in_window(self, span: Span) -> Result<Self, ShapeError> {
        let slices = u64::from(span.slices()) + 1;
        if self.buckets() * slices > MAX_BUCKETS {
            return Err(ShapeError::Window);
        }
        let of_item = slices * (u64::from(self.depth) + LIST_READS);
        let reads = u64::from(self.k) * slices * of_item;
        (reads <= MAX_WINDOW_READS).then_some(self).ok_or(ShapeError::Reads)
    }

    /// The shape of an existing value without a window, from a file or a primary. It may exceed the
    /// limits of a new one: its bytes, or what can be allocated, bound its memory.
    ///
    /// # Errors
    /// What is out of range for any value.
    pub fn saved(k: u32, width: u32, depth: u32, decay: f64) -> Result<Self, ShapeError> {
        match (k, width, depth) {
            (k, _, _) if k == 0 || k > MAX_SAVED_K => Err(ShapeError::K),
            (_, 0, _) => Err(ShapeError::Width),
            (_, _, 0) => Err(ShapeError::Depth),
            // Their bytes are counted by an `isize`.
            (_, width, depth)
                if u64::from(width) * u64::from(depth) > i64::MAX as u64 / BUCKET_BYTES =>
            {
                Err(ShapeError::Buckets)
            }
            _ if !(0.0..=1.0).contains(&decay) => Err(ShapeError::Decay),
            _ => Ok(Self { k, width, depth, decay }),
        }
    }

    /// The number of items it lists.
    pub fn k(&self) -> u32 {
        self.k
    }

    /// The number of buckets in a row.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// The number of rows.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// The base of the probability that another item takes one from a bucket.
    pub fn decay(&self) -> f64 {
        self.decay
    }

    /// The number of buckets.
    pub(super) fn buckets(&self) -> u64 {
        u64::from(self.width) * u64::from(self.depth)
    }
}
