//! The geometry of one sub-filter: the number and size of its sub-bitmaps, and the bits an item
//! sets. [`crate::bloom::sizing`] chooses it, and it is stored with the sub-filter.

use crate::bytes::{within, Reader};
use crate::error::DecodeError;
use crate::math::model::Model;
use crate::storage::SEGMENT_BITS;

/// Smaller rates are sized as this one. In a sub-bitmap of 4 KiB with some 400 items, equal 64-bit
/// halves of the hash alone let one absent item in 2^64/400 = 5e16 through; a promised rate must
/// stay well above that 2e-17.
pub const MIN_ERROR_RATE: f64 = 1e-15;
/// Bits of the smallest sub-bitmap of a split sub-filter: one cache line.
pub const LINE_BITS: u32 = 512;
/// Bits of the largest sub-bitmap of a split sub-filter: one page.
pub const PAGE_BITS: u32 = 8 * 4096;
/// Bits of the largest sub-filter: 2^40 items at the smallest error rate take 2^46.4.
pub(crate) const MAX_BITS: u64 = 1 << 47;
/// The smallest error rate needs 50 hashes; 64 is the next round number.
const MAX_HASHES: u32 = 64;

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

    /// The shape that was written.
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (sub_bitmap_bits, num_hashes) = (reader.u32()?, reader.u32()?);
        let num_sub_bitmaps = reader.u64()?;
        let one = num_sub_bitmaps == 1
            && sub_bitmap_bits.is_multiple_of(64)
            && (64..=SEGMENT_BITS).contains(&sub_bitmap_bits);
        let many = sub_bitmap_bits.is_power_of_two()
            && (LINE_BITS..=PAGE_BITS).contains(&sub_bitmap_bits)
            && (1..=MAX_BITS / u64::from(sub_bitmap_bits)).contains(&num_sub_bitmaps);
        within("sub-bitmap", one || many)?;
        within("number of hashes", (1..=MAX_HASHES).contains(&num_hashes))?;
        Ok(Self { sub_bitmap_bits, num_hashes, num_sub_bitmaps })
    }
}
