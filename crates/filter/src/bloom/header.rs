//! The header of a sub-filter: all that is stored of it besides its bits.

use crate::bloom::guard::UNIT;
use crate::bloom::shape::{Shape, LINE_BITS, PAGE_BITS};
use crate::bloom::sizing::MAX_CAPACITY;
use crate::bytes::{within, Reader, Sink};
use crate::error::DecodeError;
use crate::storage::SEGMENT_BITS;

/// The layout kind of a blocked Bloom filter.
const LAYOUT: u8 = 1;
/// Bits of the largest sub-filter: 2^40 items at the smallest error rate take 2^46.4.
const MAX_BITS: u64 = 1 << 47;
/// The smallest error rate asks for 50 hashes; 64 is the next round number.
const MAX_HASHES: u32 = 64;

/// What decides where bits lie and when the sub-filter is full.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Header {
    /// Its geometry.
    pub shape: Shape,
    /// The capacity, in items.
    pub capacity: u64,
    /// The error rate, that is the false-positive rate at capacity.
    pub error_rate: f64,
    /// The weight at which it is full, see [`limit`](crate::bloom::guard::limit).
    pub guard_limit: u64,
    /// Number of items that were new.
    pub items: u64,
}

impl Header {
    /// Writes the layout kind and all fields.
    pub(crate) fn write(&self, to: &mut impl Sink) {
        to.u8(LAYOUT);
        to.u32(self.shape.sub_bitmap_bits);
        to.u32(self.shape.num_hashes);
        to.u64(self.shape.num_sub_bitmaps);
        to.u64(self.capacity);
        to.f64(self.error_rate);
        to.u64(self.guard_limit);
        to.u64(self.items);
    }

    /// The header that was written.
    ///
    /// # Errors
    /// `Length`; `Layout` if it is another kind; a `Field` out of range.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        reader.layout(LAYOUT)?;
        let shape = read_shape(reader)?;
        let capacity = reader.u64()?;
        within("capacity", (1..=MAX_CAPACITY).contains(&capacity))?;
        let error_rate = reader.f64()?;
        // It is 0 where that of a ten-thousandth sub-filter underflows.
        let is_rate = (0.0..1.0).contains(&error_rate);
        within("error rate of a sub-filter", is_rate)?;
        let (guard_limit, items) = (reader.u64()?, reader.u64()?);
        // No looser than any that sizing makes.
        let most = 2 * UNIT * shape.num_sub_bitmaps;
        within("guard limit", (1..=most).contains(&guard_limit))?;
        within("items", items <= capacity)?;
        Ok(Self { shape, capacity, error_rate, guard_limit, items })
    }
}

fn read_shape(reader: &mut Reader<'_>) -> Result<Shape, DecodeError> {
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
    Ok(Shape { sub_bitmap_bits, num_hashes, num_sub_bitmaps })
}
