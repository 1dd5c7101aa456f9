//! RedisBloom's cuckoo filters as RDB files and DUMP hold them, and as its CF.SCANDUMP returns and
//! its CF.LOADCHUNK takes them.
//!
//! ```text
//!   RDB, version 4   layers buckets items deletes bucket_size iterations expansion
//!                    then for each layer, oldest first:  buckets slots
//!   1 to 3           layers buckets items
//!                    then for each layer:  slots
//!
//!   header           items:8 buckets:8 deletes:8 layers:8 bucket_size:2 iterations:2 expansion:2
//!   piece            slots; it comes with the iterator of the slot after it, counted from 1
//! ```
//!
//! Versions 1 to 3 are of RedisBloom before 2.2, which hashed to 32 bits. Since then RedisBloom
//! looks for their items under hashes of 64 bits, and misses them.
//!
//! Pieces have no magic, no checksum and no order, may be of any size and come again, and nothing
//! says which is the last. So a filter answers at any time from the pieces so far, and accepts
//! further ones for ever. A piece replaces the slots that were there.

use super::series::CuckooSeries;
use super::shape::{bucket_slots, Hashing, Shape};
use crate::bytes::{within, Reader};
use crate::error::{ensure, DecodeError};
use crate::foreign::{Fields, Source};

/// The encoding versions that are known.
pub const VERSIONS: std::ops::RangeInclusive<u32> = 1..=4;
/// The first that stores how a filter was created.
const WITH_PARAMETERS: u32 = 4;

/// A cuckoo filter as it was read.
pub struct Cuckoo {
    /// Its slots.
    pub series: CuckooSeries,
    /// How many copies have been deleted.
    pub deleted: u64,
    /// How often an insert moved an entry at most. Until 2024 RedisBloom stored the low 16 bits of
    /// any number, which may be 0.
    pub max_iterations: u16,
}

/// How a filter was created.
struct Parameters {
    deleted: u64,
    bucket_size: u16,
    max_iterations: u16,
    expansion: u16,
}

/// Parameters in versions before 4, whose filters grew by layers of one size, as RedisBloom reads
/// them.
const EARLIER: Parameters =
    Parameters { deleted: 0, bucket_size: 2, max_iterations: 20, expansion: 1 };

impl Parameters {
    /// A filter of empty slots: `layers` layers, the oldest of which has `buckets` buckets.
    fn begin(self, buckets: u64, layers: u64, hashing: Hashing) -> Result<Cuckoo, DecodeError> {
        let layers = layers.try_into();
        let shape = Shape {
            buckets,
            bucket_size: bucket_slots(self.bucket_size),
            expansion: self.expansion,
            layers: layers.map_err(|_| DecodeError::Field("layers"))?,
            hashing,
        };
        Ok(Cuckoo {
            series: CuckooSeries::new(shape.checked()?),
            deleted: self.deleted,
            max_iterations: self.max_iterations,
        })
    }
}

/// Reads a cuckoo filter of RedisBloom's encoding `version`.
///
/// Costs one copy of the slots. Allocates the segments that hold an item, in addition to the
/// server's own copy of one layer at a time.
///
/// # Errors
/// `Format` for other versions, `Length` if fields are missing, a `Field` out of range or that
/// contradicts another one, `OutOfMemory`.
pub fn read_cuckoo(
    version: u32,
    fields: &mut Source<'_, impl Fields>,
) -> Result<Cuckoo, DecodeError> {
    ensure(VERSIONS.contains(&version), DecodeError::Format)?;
    let (layers, buckets) = (fields.unsigned()?, fields.unsigned()?);
    fields.unsigned()?; // items: see `CuckooSeries::items`
    let has_parameters = version >= WITH_PARAMETERS;
    let (hashing, parameters) = match has_parameters {
        false => (Hashing::Narrow, EARLIER),
        true => (
            Hashing::Wide,
            Parameters {
                deleted: fields.unsigned()?,
                bucket_size: fields.narrow("bucket size")?,
                max_iterations: fields.narrow("iterations")?,
                expansion: fields.narrow("expansion")?,
            },
        ),
    };
    let mut cuckoo = parameters.begin(buckets, layers, hashing)?;
    let shape = cuckoo.series.shape();
    for index in 0..shape.layers {
        let layer = shape.layer(index);
        if has_parameters {
            within("buckets of a layer", fields.unsigned()? == layer.buckets)?;
        }
        let slots = fields.string()?;
        let slots = slots.as_ref();
        within("slots of a layer", slots.len() as u64 == shape.slots_of(layer))?;
        cuckoo.series.fill(layer.start, slots)?;
    }
    Ok(cuckoo)
}

/// The filter that a header begins. Its slots are empty and take no memory before they come.
///
/// # Errors
/// `Length`, a `Field` out of range or that contradicts another one.
pub fn read_header(header: &[u8]) -> Result<Cuckoo, DecodeError> {
    let mut reader = Reader(header);
    reader.u64()?; // items: see `CuckooSeries::items`
    let (buckets, deleted, layers) = (reader.u64()?, reader.u64()?, reader.u64()?);
    let parameters = Parameters {
        deleted,
        bucket_size: reader.u16()?,
        max_iterations: reader.u16()?,
        expansion: reader.u16()?,
    };
    ensure(reader.is_at_end(), DecodeError::Length)?;
    parameters.begin(buckets, layers, Hashing::Wide)
}

impl CuckooSeries {
    /// Takes a piece of the slots, which ends before slot `iterator`, counted from 1.
    ///
    /// # Errors
    /// `Order` if the piece does not lie within the slots; `OutOfMemory`. Nothing has changed.
    pub(crate) fn take_piece(&mut self, iterator: u64, piece: &[u8]) -> Result<(), DecodeError> {
        let end = iterator.checked_sub(1).filter(|end| *end <= self.slots());
        let start = end.and_then(|end| end.checked_sub(piece.len() as u64));
        self.fill(start.ok_or(DecodeError::Order)?, piece)
    }
}
