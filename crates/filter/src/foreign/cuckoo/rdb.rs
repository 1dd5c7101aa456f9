//! RedisBloom's cuckoo filters as RDB files and DUMP hold them.
//!
//! ```text
//!   version 4     layers buckets items deletes bucket_size iterations expansion
//!                 then for each layer, oldest first:  buckets slots
//!   1 to 3        layers buckets items
//!                 then for each layer:  slots
//! ```
//!
//! Versions 1 to 3 are of RedisBloom before 2.2, which hashed to 32 bits. Since then RedisBloom
//! looks for their items under hashes of 64 bits, and misses them.

use super::series::CuckooSeries;
use super::shape::{bucket_slots, Hashing, Shape};
use super::Remainder;
use crate::codec::within;
use crate::counting::CountingFilter;
use crate::error::DecodeError;
use crate::foreign::rdb::Fields;

/// The encoding versions that are known.
pub const VERSIONS: std::ops::RangeInclusive<u32> = 1..=4;
/// The first that stores how a filter was created.
const WITH_PARAMETERS: u32 = 4;

/// How a filter was created.
struct Parameters {
    deletes: u64,
    bucket_size: u16,
    max_iterations: u16,
    expansion: u16,
}

/// What versions before 4 created, which grew by layers of one size; as RedisBloom reads it since.
const EARLIER: Parameters = Parameters {
    deletes: 0,
    bucket_size: 2,
    max_iterations: 20,
    expansion: 1,
};

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
    fields: &mut impl Fields,
    remainder: Remainder,
) -> Result<CountingFilter, DecodeError> {
    if !VERSIONS.contains(&version) {
        return Err(DecodeError::Format);
    }
    let (layers, buckets) = (unsigned(fields)?, unsigned(fields)?);
    unsigned(fields)?; // items: see `CuckooSeries::items`
    let has_parameters = version >= WITH_PARAMETERS;
    let (hashing, parameters) = match has_parameters {
        false => (Hashing::Narrow, EARLIER),
        true => (
            Hashing::Wide,
            Parameters {
                deletes: unsigned(fields)?,
                bucket_size: narrow("bucket size", unsigned(fields)?)?,
                max_iterations: narrow("iterations", unsigned(fields)?)?,
                expansion: narrow("expansion", unsigned(fields)?)?,
            },
        ),
    };
    let shape = Shape {
        buckets,
        bucket_size: bucket_slots(parameters.bucket_size),
        expansion: parameters.expansion,
        layers: narrow("layers", layers)?,
        hashing,
    };
    let shape = shape.checked()?;
    let mut series = CuckooSeries::new(shape);
    for index in 0..shape.layers {
        let layer = shape.layer(index);
        if has_parameters {
            within("buckets of a layer", unsigned(fields)? == layer.buckets)?;
        }
        let slots = fields.string().ok_or(DecodeError::Length)?;
        let slots = slots.as_ref();
        within(
            "slots of a layer",
            slots.len() as u64 == shape.slots_of(layer),
        )?;
        series.fill(layer.start, slots)?;
    }
    let (iterations, deletes) = (parameters.max_iterations, parameters.deletes);
    CountingFilter::of_series(series, iterations, deletes, remainder)
}

fn unsigned(fields: &mut impl Fields) -> Result<u64, DecodeError> {
    fields.unsigned().ok_or(DecodeError::Length)
}

fn narrow(field: &'static str, number: u64) -> Result<u16, DecodeError> {
    number.try_into().map_err(|_| DecodeError::Field(field))
}
