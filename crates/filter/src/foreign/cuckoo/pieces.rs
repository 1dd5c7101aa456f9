//! What RedisBloom's CF.SCANDUMP answers, and its CF.LOADCHUNK takes: a header with iterator 1, and
//! then the slots of all layers, oldest first, as one run of bytes cut into pieces.
//!
//! ```text
//!   header   items:8 buckets:8 deletes:8 layers:8 bucket_size:2 iterations:2 expansion:2
//!   piece    slots; it comes with the iterator of the slot after it, counted from 1
//! ```
//!
//! Pieces have no magic, no checksum and no order, may be of any size and come again, and nothing
//! says which is the last. So a filter answers at any time from what has come, and takes further
//! pieces for ever. A piece replaces the slots that were there.

use super::series::CuckooSeries;
use super::shape::{bucket_slots, Hashing, Shape};
use super::Remainder;
use crate::codec::Reader;
use crate::counting::CountingFilter;
use crate::error::DecodeError;
use crate::size_limit::SizeLimit;

/// The filter that a header begins. Its slots are empty and take no memory before they come.
///
/// # Errors
/// `Length`, a `Field` out of range or that contradicts another one, `OverLimit` if it takes more
/// than `limit` with all its slots, `OutOfMemory`.
pub fn begin(
    header: &[u8],
    remainder: Remainder,
    limit: SizeLimit,
) -> Result<CountingFilter, DecodeError> {
    let mut reader = Reader::of(header);
    reader.u64()?; // items: see `CuckooSeries::items`
    let (buckets, deletes, layers) = (reader.u64()?, reader.u64()?, reader.u64()?);
    let (bucket_size, iterations, expansion) = (reader.u16()?, reader.u16()?, reader.u16()?);
    if !reader.is_at_end() {
        return Err(DecodeError::Length);
    }
    let layers = layers.try_into();
    let shape = Shape {
        buckets,
        bucket_size: bucket_slots(bucket_size),
        expansion,
        layers: layers.map_err(|_| DecodeError::Field("layers"))?,
        hashing: Hashing::Wide,
    };
    let series = CuckooSeries::new(shape.checked()?);
    let filter = CountingFilter::of_series(series, iterations, deletes, remainder)?;
    if filter.bytes() > limit.most_bytes() {
        return Err(DecodeError::OverLimit);
    }
    Ok(filter)
}

impl CountingFilter {
    /// Takes a piece of RedisBloom's, which ends before slot `iterator`, counted from 1.
    ///
    /// # Errors
    /// `Order` if there is no such place in the slots, the filter is not from RedisBloom, or it
    /// waits for a chunk of ours; `OutOfMemory`. Nothing has changed.
    pub fn take_piece(&mut self, iterator: u64, piece: &[u8]) -> Result<(), DecodeError> {
        let series = self.series_mut().ok_or(DecodeError::Order)?;
        let end = iterator.checked_sub(1).filter(|end| *end <= series.slots());
        let start = end.and_then(|end| end.checked_sub(piece.len() as u64));
        series.fill(start.ok_or(DecodeError::Order)?, piece)
    }
}
