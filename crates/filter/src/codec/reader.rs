//! Records from bytes, field by field, each checked against its range.

use super::format::{BLOCKED_LAYOUT, MAX_BITS, MAX_HASHES};
use crate::bloom::blocked_bloom::Header;
use crate::bloom::guard::UNIT;
use crate::bloom::shape::{Shape, LINE_BITS, PAGE_BITS};
use crate::bloom::sizing::MAX_CAPACITY;
use crate::error::DecodeError;
use crate::parts::SegmentBits;
use crate::storage::SEGMENT_BITS;

/// The bytes not yet read.
pub struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    /// All of these bytes.
    pub fn of(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }

    pub fn take(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(DecodeError::Length)?;
        self.0 = rest;
        Ok(taken)
    }

    /// Two keys of 16 bytes.
    pub fn keys(&mut self) -> Result<[[u8; 16]; 2], DecodeError> {
        Ok([self.array()?, self.array()?])
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(DecodeError::Length)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub fn u8(&mut self) -> Result<u8, DecodeError> {
        self.array().map(u8::from_le_bytes)
    }

    pub fn u16(&mut self) -> Result<u16, DecodeError> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Result<u32, DecodeError> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Result<u64, DecodeError> {
        self.array().map(u64::from_le_bytes)
    }

    pub fn f64(&mut self) -> Result<f64, DecodeError> {
        self.u64().map(f64::from_bits)
    }

    /// The header of a blocked sub-filter.
    pub(crate) fn header(&mut self) -> Result<Header, DecodeError> {
        match self.u8()? {
            BLOCKED_LAYOUT => {}
            unknown => return Err(DecodeError::Layout(unknown)),
        }
        let shape = self.shape()?;
        let (capacity, error_rate) = (self.capacity()?, self.f64()?);
        // It is 0 where that of a ten-thousandth sub-filter underflows.
        within(
            "error rate of a sub-filter",
            (0.0..1.0).contains(&error_rate),
        )?;
        let (guard_limit, items) = (self.u64()?, self.u64()?);
        // No looser than any that sizing makes.
        let most = 2 * UNIT * shape.num_sub_bitmaps;
        within("guard limit", (1..=most).contains(&guard_limit))?;
        within("items", items <= capacity)?;
        Ok(Header {
            shape,
            capacity,
            error_rate,
            guard_limit,
            items,
        })
    }

    /// A segment record, after its kind.
    pub(super) fn segment(&mut self) -> Result<SegmentBits<'a>, DecodeError> {
        let (bloom, number) = (self.u32()? as usize, self.u64()?);
        let len = self.u32()? as usize;
        Ok(SegmentBits {
            bloom,
            number,
            bytes: self.take(len)?,
        })
    }

    /// A number of items to reserve.
    pub fn capacity(&mut self) -> Result<u64, DecodeError> {
        let capacity = self.u64()?;
        within("capacity", (1..=MAX_CAPACITY).contains(&capacity)).map(|()| capacity)
    }

    fn shape(&mut self) -> Result<Shape, DecodeError> {
        let (sub_bitmap_bits, num_hashes) = (self.u32()?, self.u32()?);
        let num_sub_bitmaps = self.u64()?;
        let one = num_sub_bitmaps == 1
            && sub_bitmap_bits.is_multiple_of(64)
            && (64..=SEGMENT_BITS).contains(&sub_bitmap_bits);
        let many = sub_bitmap_bits.is_power_of_two()
            && (LINE_BITS..=PAGE_BITS).contains(&sub_bitmap_bits)
            && (1..=MAX_BITS / u64::from(sub_bitmap_bits)).contains(&num_sub_bitmaps);
        within("sub-bitmap", one || many)?;
        within("number of hashes", (1..=MAX_HASHES).contains(&num_hashes))?;
        Ok(Shape {
            sub_bitmap_bits,
            num_hashes,
            num_sub_bitmaps,
        })
    }
}

/// Refuses a field for which the condition does not hold.
pub fn within(field: &'static str, holds: bool) -> Result<(), DecodeError> {
    if holds {
        Ok(())
    } else {
        Err(DecodeError::Field(field))
    }
}
