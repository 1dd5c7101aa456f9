//! Bloom filters of valkey-bloom (1.0 and later): type `bloomfltr`, encoding version 1.
//!
//! ```text
//!   RDB, DUMP   layers expansion error_rate:f64 tightening:f64 seed_is_random
//!               then for each layer, oldest first: bitmap, capacity, of the last also items
//!   BF.LOAD     version:1 expansion:4 error_rate:f64 tightening:f64 seed_is_random:1 layers:8
//!               then for each layer: length:8 bitmap items:8 capacity:8
//!   bitmap      version:1 length:8 hashes:4 keys:32 bits      as the crate `bloomfilter` 3 has it
//! ```
//!
//! That crate's arithmetic places the bits (`probes`); everything else is as in a filter from
//! RedisBloom, with expansion 0 for one that does not grow.

#[cfg(test)]
mod tests;

use super::layer::{Description, Layer};
use super::layers::{Layers, FIXED, SIP};
use super::probes::Keys;
use super::{Fields, Source};
use crate::bytes::{within, Reader};
use crate::error::{ensure, DecodeError};
use splitbloom_foundation::alloc::try_push;
use std::f64::consts::LN_2;

/// The encoding version of its RDB fields, and the version of the bytes of BF.LOAD.
pub const VERSION: u8 = 1;
/// The version of a bitmap.
const BITMAP_VERSION: u8 = 1;

/// A filter as it is read, layer by layer.
struct Series {
    expansion: u32,
    /// The error rate of the next layer.
    error_rate: f64,
    tightening: f64,
    keys: Option<Keys>,
    layers: Vec<Layer>,
}

impl Series {
    fn new(expansion: u32, error_rate: f64, tightening: f64) -> Result<Self, DecodeError> {
        within("error rate", error_rate > 0.0 && error_rate < 1.0)?;
        within("tightening ratio", tightening > 0.0 && tightening < 1.0)?;
        Ok(Self { expansion, error_rate, tightening, keys: None, layers: Vec::new() })
    }

    fn push(&mut self, bitmap: &[u8], capacity: u64, items: u64) -> Result<(), DecodeError> {
        let mut reader = Reader(bitmap);
        within("version of a bitmap", reader.u8()? == BITMAP_VERSION)?;
        let (len, hashes, keys) =
            (reader.u64()?, reader.u32()?, [reader.array()?, reader.array()?]);
        within("seed", self.keys.is_none_or(|all| all == keys))?;
        self.keys = Some(keys);
        let bytes = usize::try_from(len).map_err(|_| DecodeError::Length)?;
        let bytes = reader.take(bytes)?;
        let bits = len.checked_mul(8).ok_or(DecodeError::Length)?;
        ensure(reader.is_at_end(), DecodeError::Length)?;
        within("items of a layer", items <= capacity)?;
        let best = (bits as f64 / capacity as f64 * LN_2).round().max(1.0);
        within("number of hashes", f64::from(hashes) == best)?;
        let mut layer = Layer::new(Description {
            entries: capacity,
            error_rate: self.error_rate,
            hashes,
            // valkey-bloom rounds to the nearest: this value, rounded up, leads to the same.
            bits_per_item: (f64::from(hashes) - 0.5) / LN_2,
            bits,
            n2: 0,
            items,
        })?;
        layer.take(0, bytes)?;
        try_push(&mut self.layers, layer)?;
        self.error_rate *= self.tightening;
        Ok(())
    }

    fn finish(self) -> Result<Layers, DecodeError> {
        let fixed = match self.expansion {
            0 => FIXED,
            _ => 0,
        };
        within("number of layers", fixed == 0 || self.layers.len() == 1)?;
        let keys = self.keys.unwrap_or_default();
        Layers::new(SIP | fixed, self.expansion, keys, self.layers)
    }
}

/// Reads a filter of valkey-bloom's encoding `version` of its RDB fields.
///
/// # Errors
/// `Format` for other versions, `Length` if fields are missing, a `Field` out of range or that
/// contradicts another one, `OutOfMemory`.
pub fn read_valkey(
    version: u32,
    fields: &mut Source<'_, impl Fields>,
) -> Result<Layers, DecodeError> {
    ensure(version == VERSION.into(), DecodeError::Format)?;
    let (layers, expansion) = (fields.unsigned()?, fields.narrow("expansion")?);
    let (error_rate, tightening) = (fields.double()?, fields.double()?);
    within("random seed", fields.unsigned()? <= 1)?;
    let mut series = Series::new(expansion, error_rate, tightening)?;
    for left in (0..layers).rev() {
        let (bitmap, capacity) = (fields.string()?, fields.unsigned()?);
        // All but the last are full.
        let items = match left {
            0 => fields.unsigned()?,
            _ => capacity,
        };
        series.push(bitmap.as_ref(), capacity, items)?;
    }
    series.finish()
}

/// Reads the value of a BF.LOAD, which valkey-bloom writes into append-only files.
///
/// # Errors
/// `Format` for other versions, `Length`, a `Field` out of range or that contradicts another one,
/// `OutOfMemory`.
pub fn parse_valkey(bytes: &[u8]) -> Result<Layers, DecodeError> {
    let mut reader = Reader(bytes);
    ensure(reader.u8()? == VERSION, DecodeError::Format)?;
    let (expansion, error_rate, tightening) = (reader.u32()?, reader.f64()?, reader.f64()?);
    within("random seed", reader.u8()? <= 1)?;
    let mut series = Series::new(expansion, error_rate, tightening)?;
    for _ in 0..reader.u64()? {
        let len = usize::try_from(reader.u64()?).map_err(|_| DecodeError::Length)?;
        let bitmap = reader.take(len)?;
        let (items, capacity) = (reader.u64()?, reader.u64()?);
        series.push(bitmap, capacity, items)?;
    }
    ensure(reader.is_at_end(), DecodeError::Length)?;
    series.finish()
}
