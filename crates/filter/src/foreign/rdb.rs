//! RedisBloom's filters as its module saves them: RDB files, DUMP, replication's full copies.

use super::fields::{Fields, Source};
use super::layer::{array_bits, Description, Layer};
use super::layers::{Layers, Options, USUAL_GROWTH};
use super::probes::Keys;
use crate::alloc::try_push;
use crate::bytes::within;
use crate::error::DecodeError;

/// The encoding versions that are known.
pub const VERSIONS: std::ops::RangeInclusive<u32> = 0..=4;

/// Reads a Bloom filter of RedisBloom's encoding `version`.
///
/// Costs one copy of the bits. Allocates the segments that have a set bit, in addition to the
/// server's own copy of one array at a time.
///
/// # Errors
/// `Format` for other versions, `Length` if fields are missing, a `Field` out of range or that
/// contradicts another one, `OutOfMemory`.
pub fn read_bloom(
    version: u32,
    fields: &mut Source<'_, impl Fields>,
) -> Result<Layers, DecodeError> {
    if !VERSIONS.contains(&version) {
        return Err(DecodeError::Format);
    }
    let items = fields.unsigned()?;
    let num_layers = fields.unsigned()?;
    let options = match version {
        0..=1 => 0,
        _ => fields.narrow("options")?,
    };
    let growth = match version {
        0..=3 => USUAL_GROWTH,
        _ => fields.narrow("growth")?,
    };
    within("number of layers", num_layers > 0)?;
    let mut layers = Vec::new();
    let mut sum = Some(0u64);
    for _ in 0..num_layers {
        let layer = read_layer(version, fields)?;
        sum = sum.and_then(|sum| sum.checked_add(layer.description().items));
        try_push(&mut layers, layer)?;
    }
    within("items", sum == Some(items))?;
    within("options", options & Options::SIP == 0)?;
    Layers::new(Options(options), growth, Keys::default(), layers)
}

fn read_layer(version: u32, fields: &mut Source<'_, impl Fields>) -> Result<Layer, DecodeError> {
    let entries = fields.unsigned()?;
    let error_rate = fields.double()?;
    let hashes = fields.narrow("number of hashes")?;
    let bits_per_item = fields.double()?;
    let (bits, n2) = match version {
        // A product that is not a number of bits is refused with the description.
        0 => ((entries as f64 * bits_per_item) as u64, 0),
        _ => (fields.unsigned()?, fields.narrow("n2")?),
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
    let array = fields.string()?;
    let array = array.as_ref();
    let len = array.len() as u64;
    // Arrays of today are whole words; those of before 2.2.5 may end in a part of one, and later
    // versions save them as they came.
    let lengths = bits.div_ceil(8)..=bits.div_ceil(64) * 8;
    within("number of bits", lengths.contains(&len))?;
    layer.take(0, array)?;
    layer.set_items(fields.unsigned()?);
    Ok(layer)
}
