//! The geometry of one sub-filter: the number and size of its sub-bitmaps, and the bits an item
//! sets. [`crate::bloom::sizing`] chooses it, and it is stored with the sub-filter.

use crate::math::model::Model;

/// Smaller rates are sized as this one. In a sub-bitmap of 4 KiB with some 400 items, equal 64-bit
/// halves of the hash alone let one absent item in 2^64/400 = 5e16 through; a promised rate must
/// stay well above that 2e-17.
pub const MIN_ERROR_RATE: f64 = 1e-15;
/// Bits of the smallest sub-bitmap of a split sub-filter: one cache line.
pub const LINE_BITS: u32 = 512;
/// Bits of the largest sub-bitmap of a split sub-filter: one page.
pub const PAGE_BITS: u32 = 8 * 4096;

/// The geometry of one sub-filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Bits of one sub-bitmap, a multiple of 64; a power of two where there are several.
    pub sub_bitmap_bits: u32,
    /// Bits that an item sets, k.
    pub num_hashes: u32,
    /// Number of sub-bitmaps.
    pub num_sub_bitmaps: u64,
}

impl Shape {
    /// Number of bits of the sub-filter.
    pub fn num_bits(&self) -> u64 {
        u64::from(self.sub_bitmap_bits) * self.num_sub_bitmaps
    }

    /// Whether the sub-filter is one sub-bitmap.
    pub fn is_undivided(&self) -> bool {
        self.num_sub_bitmaps == 1
    }

    /// The false-positive rate after `items` distinct items were added.
    pub fn false_positive_rate(&self, items: f64) -> f64 {
        let model = self.model();
        if self.is_undivided() {
            model.false_positive_rate_after(items as u64)
        } else {
            model.false_positive_rate(items / self.num_sub_bitmaps as f64)
        }
    }

    pub(crate) fn model(&self) -> Model {
        Model::new(self.sub_bitmap_bits, self.num_hashes)
    }
}
