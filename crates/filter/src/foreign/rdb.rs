//! RedisBloom's filters as its module saves them: RDB files, DUMP, replication's full copies.
//!
//! The server returns one field at a time. Each field is checked before the next is read, so an
//! array of bits is read only once its length is known, and none is kept in one piece.

use super::layer::{array_bits, Description, Layer};
use super::{ForeignFilter, Options, USUAL_GROWTH};
use crate::codec::within;
use crate::error::DecodeError;
use crate::hash::Seed;

/// The encoding versions that are known.
pub const VERSIONS: std::ops::RangeInclusive<u32> = 0..=4;

/// The fields of a value, in order. Each is `None` at the end, or where the file is damaged.
pub trait Fields {
    /// A string.
    type String: AsRef<[u8]>;

    /// The next field, an unsigned number.
    fn unsigned(&mut self) -> Option<u64>;

    /// The next field, a double.
    fn double(&mut self) -> Option<f64>;

    /// The next field, a string.
    fn string(&mut self) -> Option<Self::String>;
}

/// Reads a Bloom filter of RedisBloom's encoding `version`. What is added to it is hashed with
/// `seed`.
///
/// Costs one copy of the bits. Allocates the segments that have a set bit, in addition to the
/// server's own copy of one array at a time.
///
/// # Errors
/// `Format` for other versions, `Length` if fields are missing, a `Field` out of range or that
/// contradicts another one, `OutOfMemory`.
pub fn read_bloom(
    version: u32,
    fields: &mut impl Fields,
    seed: Seed,
) -> Result<ForeignFilter, DecodeError> {
    if !VERSIONS.contains(&version) {
        return Err(DecodeError::Format);
    }
    let items = unsigned(fields)?;
    let num_layers = unsigned(fields)?;
    let options = match version {
        0..=1 => 0,
        _ => narrow("options", unsigned(fields)?)?,
    };
    let growth = match version {
        0..=3 => USUAL_GROWTH,
        _ => narrow("growth", unsigned(fields)?)?,
    };
    within("number of layers", num_layers > 0)?;
    let mut layers = Vec::new();
    let mut sum = Some(0u64);
    for _ in 0..num_layers {
        let layer = read_layer(version, fields)?;
        sum = sum.and_then(|sum| sum.checked_add(layer.description().items));
        let room = layers.try_reserve(1);
        room.map_err(|_| DecodeError::OutOfMemory)?;
        layers.push(layer);
    }
    within("items", sum == Some(items))?;
    within("options", options & Options::SIP == 0)?;
    ForeignFilter::of_layers(Options(options), growth, layers, seed)
}

fn read_layer(version: u32, fields: &mut impl Fields) -> Result<Layer, DecodeError> {
    let entries = unsigned(fields)?;
    let error_rate = double(fields)?;
    let hashes = narrow("number of hashes", unsigned(fields)?)?;
    let bits_per_item = double(fields)?;
    let (bits, n2) = match version {
        // A product that is not a number of bits is refused with the description.
        0 => ((entries as f64 * bits_per_item) as u64, 0),
        _ => (unsigned(fields)?, narrow("n2", unsigned(fields)?)?),
    };
    let bits = array_bits(bits, n2);
    let mut layer = Layer::new(Description {
        entries,
        error_rate,
        hashes,
        bits_per_item,
        bits,
        n2,
        items: 0,
    })?;
    let array = fields.string().ok_or(DecodeError::Length)?;
    let array = array.as_ref();
    let len = array.len() as u64;
    // Arrays of today are whole words; those of before 2.2.5 may end in a part of one, and later
    // versions save them as they came.
    let lengths = bits.div_ceil(8)..=bits.div_ceil(64) * 8;
    within("number of bits", lengths.contains(&len))?;
    layer.take(0, array)?;
    layer.set_items(unsigned(fields)?);
    Ok(layer)
}

fn unsigned(fields: &mut impl Fields) -> Result<u64, DecodeError> {
    fields.unsigned().ok_or(DecodeError::Length)
}

fn double(fields: &mut impl Fields) -> Result<f64, DecodeError> {
    fields.double().ok_or(DecodeError::Length)
}

/// A number that must fit a smaller type.
fn narrow<T: TryFrom<u64>>(field: &'static str, value: u64) -> Result<T, DecodeError> {
    T::try_from(value).map_err(|_| DecodeError::Field(field))
}
