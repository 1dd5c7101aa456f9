//! RedisBloom's Bloom filters as its module saves them (RDB files, DUMP, full copies to replicas),
//! and as its BF.SCANDUMP returns and its BF.LOADCHUNK takes them: a header with iterator 1, and
//! then the arrays of all sub-filters, oldest first, as one run of bytes cut into pieces.
//!
//! A piece comes with the iterator of the byte after it, counted from 1. Pieces have no magic, no
//! checksum and no order, may be of any size and come again, and nothing says which is the last. So
//! a filter answers at any time from the pieces so far, and accepts further ones for ever. A piece
//! sets bits and never clears one: present items stay present.

use super::layer::{array_bits, Description, Layer};
use super::layers::{Layers, SIP, USUAL_GROWTH};
use super::probes::Keys;
use super::{Fields, Source};
use crate::bytes::{within, Reader};
use crate::error::{ensure, DecodeError};
use splitbloom_foundation::alloc::{try_push, try_vec};

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
    ensure(VERSIONS.contains(&version), DecodeError::Format)?;
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
    for _ in 0..num_layers {
        try_push(&mut layers, read_layer(version, fields)?)?;
    }
    within("items", items_of(&layers) == Some(items))?;
    within("options", options & SIP == 0)?;
    Layers::new(options, growth, Keys::default(), layers)
}

fn read_layer(version: u32, fields: &mut Source<'_, impl Fields>) -> Result<Layer, DecodeError> {
    let entries = fields.unsigned()?;
    let error_rate = fields.double()?;
    let hashes = fields.narrow("number of hashes")?;
    let bits_per_item = fields.double()?;
    let (bits, n2) = match version {
        // `Description::check` refuses a product that is not a number of bits.
        0 => ((entries as f64 * bits_per_item) as u64, 0),
        _ => (fields.unsigned()?, fields.narrow("n2")?),
    };
    let bits = array_bits(bits, n2);
    let mut layer =
        Layer::new(Description { entries, error_rate, hashes, bits_per_item, bits, n2, items: 0 })?;
    let array = fields.string()?;
    let array = array.as_ref();
    let len = array.len() as u64;
    // Arrays of today are whole words. Those from before 2.2.5 may end in a part of a word, and
    // later versions save them unchanged.
    let lengths = bits.div_ceil(8)..=bits.div_ceil(64) * 8;
    within("number of bits", lengths.contains(&len))?;
    layer.take(0, array)?;
    layer.about.items = fields.unsigned()?;
    Ok(layer)
}

/// Items of all layers; `None` if the sum overflows.
fn items_of(layers: &[Layer]) -> Option<u64> {
    layers.iter().map(|layer| layer.description().items).try_fold(0, u64::checked_add)
}

/// The iterator of a header.
pub const HEADER: u64 = 1;

/// The layers that a header begins. They have no set bit, and allocate nothing but their list.
///
/// # Errors
/// `Length`, a `Field` out of range or that contradicts another one, `OutOfMemory`.
pub fn read_header(header: &[u8]) -> Result<Layers, DecodeError> {
    let mut reader = Reader(header);
    let (items, num_layers) = (reader.u64()?, reader.u32()? as usize);
    within("number of layers", num_layers > 0)?;
    let layout = layout_of(header.len(), num_layers);
    let (has_growth, has_wide_entries) = layout.ok_or(DecodeError::Length)?;
    let options = reader.u32()?;
    within("options", options & SIP == 0)?;
    let growth = if has_growth { reader.u32()? } else { USUAL_GROWTH };
    let mut layers = try_vec(num_layers)?;
    while !reader.is_at_end() {
        let (bytes, bits, items) = (reader.u64()?, reader.u64()?, reader.u64()?);
        let (error_rate, bits_per_item) = (reader.f64()?, reader.f64()?);
        let hashes = reader.u32()?;
        let entries = if has_wide_entries { reader.u64()? } else { reader.u32()?.into() };
        let n2 = reader.u8()?;
        let bits = array_bits(bits, n2);
        let about = Description { entries, error_rate, hashes, bits_per_item, bits, n2, items };
        let layer = Layer::new(about)?;
        within("number of bits", bytes == layer.num_bytes())?;
        layers.push(layer);
    }
    within("items", items_of(&layers) == Some(items))?;
    Layers::new(options, growth, Keys::default(), layers)
}

/// Whether a header of this length has the growth factor, and numbers of entries of 64 bits: those
/// of today have both, older ones lack the high half of the entries, or that and the growth factor.
/// For any number of layers above 0, the three lengths differ.
fn layout_of(len: usize, num_layers: usize) -> Option<(bool, bool)> {
    let mut known = [(true, true), (true, false), (false, false)].into_iter();
    known.find(|(has_growth, has_wide_entries)| {
        let head = 16 + 4 * usize::from(*has_growth);
        let layer = 49 + 4 * usize::from(*has_wide_entries);
        let layers = num_layers.checked_mul(layer);
        layers.and_then(|layers| layers.checked_add(head)) == Some(len)
    })
}

impl Layers {
    /// Takes a piece of the arrays, which ends before byte `iterator`, counted from 1.
    ///
    /// # Errors
    /// `Order` if the piece is not within one of the arrays; `OutOfMemory`. No bit has changed.
    pub(crate) fn take_piece(&mut self, iterator: u64, piece: &[u8]) -> Result<(), DecodeError> {
        let end = iterator.checked_sub(1);
        let start = end.and_then(|end| end.checked_sub(piece.len() as u64));
        let mut at = start.ok_or(DecodeError::Order)?;
        for layer in &mut self.each {
            let Some(rest) = layer.num_bytes().checked_sub(at) else {
                at -= layer.num_bytes();
                continue;
            };
            if piece.len() as u64 <= rest && rest > 0 {
                return layer.take(at, piece);
            }
            ensure(rest == 0, DecodeError::Order)?;
            at = 0;
        }
        Err(DecodeError::Order)
    }
}
