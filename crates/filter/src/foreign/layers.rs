//! The layers of a Bloom filter from another module, and what is left of the error rate for items
//! that come after them.
//!
//! A false positive of the layers is one of the filter, and so is one of the table that follows
//! them. So the table gets the requested rate less the rate of the layers:
//!
//! ```text
//!   requested   the rate of the first layer; twice that if the filter grows, as RedisBloom gives
//!               its first layer half, the next a quarter, and so on
//!   layers      the sum of fill^hashes, from the bits that are set; or, if that is more, the rate
//!               that the number of items leads to: their bits may still arrive
//!   table       requested - layers, but at least a 64th of requested
//! ```
//!
//! The rate is fixed when the first new item arrives, since it decides the length of fingerprints.
//! Layers within their capacity stay within the requested rate, and so does the sum, except for the
//! floor of a 64th. Six full layers leave just that. Each further halving would cost a bit per
//! item. Layers that have used up their share get the 64th on top, and what RedisBloom overfilled
//! stays above the requested rate.
//!
//! # Many items at once
//! The cache misses of a group overlap: a group visits one layer after another, newest first, and
//! each of them in rounds of a few probes. Half of the bits are set, so two probes rule out three
//! quarters of the absent items; prefetching the lines of all probes would cost more memory
//! bandwidth than it saves.

use super::layer::Layer;
use super::probes::{all_set, Hashing, Keys, Pair, Probe, ROUND};
use crate::bytes::{within, Reader, Sink};
use crate::error::{AddError, DecodeError};
use crate::hash::{ItemHash, Seed, GROUP};
use splitbloom_foundation::alloc::{size_class, try_vec};

/// The growth factor in versions of RedisBloom that did not store one.
pub(super) const USUAL_GROWTH: u32 = 2;
/// The least share of the error rate that new items get.
const LEAST_SHARE: f64 = 1.0 / 64.0;
/// The lowest error rate of a table ([`crate::table`]).
const LEAST_RATE: f64 = 1e-12;

/// An option, as RedisBloom calls it: items are hashed to 64 bits.
const BITS_64: u32 = 4;
/// The filter does not grow.
pub(super) const FIXED: u32 = 8;
/// An option of ours: the filter is from valkey-bloom, and its hash keys are stored with it.
pub(super) const SIP: u32 = 1 << 31;

/// The sub-filters of a Bloom filter of RedisBloom or valkey-bloom, oldest first, and what these
/// modules store of how it was created. Nothing is added to them.
#[derive(Default)]
pub struct Layers {
    /// What RedisBloom stores of how the filter was created: a set of the options above.
    options: u32,
    growth: u32,
    /// What valkey-bloom hashes with, if the filter is from there.
    keys: Keys,
    /// The error rate of the table; 0 without a table.
    pub(crate) table_rate: f64,
    /// The layers, oldest first.
    pub(crate) each: Vec<Layer>,
}

/// The room to reserve for `len` layers.
fn room_for(len: usize) -> usize {
    match len {
        0 => 0,
        len => len.next_power_of_two(),
    }
}

impl Layers {
    /// The layers of a filter, at least one.
    ///
    /// # Errors
    /// `Field` if `layers` is empty; `OutOfMemory`.
    pub(super) fn new(
        options: u32,
        growth: u32,
        keys: Keys,
        each: Vec<Layer>,
    ) -> Result<Self, DecodeError> {
        within("number of layers", !each.is_empty())?;
        let mut layers = Self { options, growth, keys, ..Self::default() };
        layers.reserve(each.len())?;
        layers.each.extend(each);
        Ok(layers)
    }

    /// The same without any layer.
    pub(crate) fn without_layers(&self) -> Self {
        Self { each: Vec::new(), ..*self }
    }

    /// Bytes of a list of `len` layers.
    pub(crate) fn bytes_of_list(len: usize) -> u64 {
        size_class((room_for(len) * size_of::<Layer>()) as u64)
    }

    /// Makes room for `more` layers.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub(crate) fn reserve(&mut self, more: usize) -> Result<(), AddError> {
        let len = self.each.len();
        Ok(self.each.try_reserve_exact(room_for(len + more) - len)?)
    }

    /// The layers, oldest first.
    #[inline]
    pub fn each(&self) -> &[Layer] {
        &self.each
    }

    /// What RedisBloom stores of how the filter was created.
    pub fn options(&self) -> u32 {
        self.options
    }

    /// Whether the filter is from valkey-bloom, not from RedisBloom.
    pub fn is_from_valkey(&self) -> bool {
        self.options & SIP != 0
    }

    /// Whether the filter refuses items beyond its capacity.
    pub fn is_fixed(&self) -> bool {
        self.options & FIXED != 0
    }

    /// How many times larger each layer is than the one before; 0 if the filter does not grow.
    pub fn factor(&self) -> u32 {
        match self.is_fixed() {
            true => 0,
            false => self.growth,
        }
    }

    #[inline]
    pub(crate) fn hashing(&self) -> Hashing {
        let has = |option| self.options & option != 0;
        match (has(SIP), has(BITS_64)) {
            (true, _) => Hashing::Sip(self.keys),
            (false, true) => Hashing::Bits64,
            (false, false) => Hashing::Bits32,
        }
    }

    /// Whether the item is (probably) in a layer, newest first.
    pub fn contains(&self, item: &[u8]) -> bool {
        let pair = self.hashing().pair(item);
        self.each.iter().rev().any(|layer| layer.contains(pair))
    }

    /// Items that the layers were made for.
    pub fn capacity(&self) -> u64 {
        let entries = self.each.iter().map(|layer| layer.description().entries);
        entries.fold(0, u64::saturating_add)
    }

    /// Whether the filter refuses new items when `others` have been added to its table.
    pub(crate) fn is_full(&self, others: u64) -> bool {
        let newest = self.each.last().map(Layer::description);
        newest.is_some_and(|newest| {
            self.is_fixed() && newest.items.saturating_add(others) >= newest.entries
        })
    }

    /// The error rate that the filter was made for: that of its first layer, or, if it grows, twice
    /// that.
    pub fn error_rate(&self) -> f64 {
        let rate = self.each.first();
        let rate = rate.map_or(0.0, |layer| layer.description().error_rate);
        let requested = if self.is_fixed() { rate } else { 2.0 * rate };
        requested.min(1.0 - f64::EPSILON)
    }

    /// The error rate of the table, or the rate that a table would have if it began now.
    pub fn table_error_rate(&self) -> f64 {
        if self.table_rate > 0.0 {
            return self.table_rate;
        }
        let rate = |layer: &Layer| layer.false_positive_rate().max(layer.rate_of_items());
        let requested = self.error_rate();
        let layers: f64 = self.each.iter().map(rate).sum();
        let left = requested - layers;
        left.max(requested * LEAST_SHARE).max(LEAST_RATE)
    }

    /// A copy, which shares the segments until one of the two changes them.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub(crate) fn try_clone(&mut self) -> Result<Self, AddError> {
        let mut each = try_vec(self.each.len())?;
        for layer in &mut self.each {
            each.push(layer.try_clone()?);
        }
        Ok(Self { each, ..*self })
    }

    /// Writes the fields of a head record that follow the seed.
    pub(crate) fn write_head(&self, to: &mut impl Sink) {
        to.u32(self.options);
        to.u32(self.growth);
        if self.is_from_valkey() {
            to.bytes(self.keys.as_flattened());
        }
    }

    /// No layers yet, for a filter of this head that is about to be loaded.
    ///
    /// # Errors
    /// `Length`.
    pub(crate) fn read_head(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut layers = Self { options: reader.u32()?, growth: reader.u32()?, ..Self::default() };
        if layers.is_from_valkey() {
            layers.keys = [reader.array()?, reader.array()?];
        }
        Ok(layers)
    }
}

/// The hashes of a group of items: those of the layers, and those of the table.
#[derive(Default)]
pub(crate) struct Pairs {
    pairs: [Pair; GROUP],
    hashes: [ItemHash; GROUP],
    len: usize,
}

impl Pairs {
    /// Hashes the next items, as many as fit; none at the end.
    #[inline]
    pub fn read<'a>(
        &mut self,
        items: &mut impl Iterator<Item = &'a [u8]>,
        layers: &Layers,
        seed: Seed,
    ) -> &[ItemHash] {
        self.len = 0;
        let hashing = layers.hashing();
        let places = self.pairs.iter_mut().zip(&mut self.hashes);
        for ((pair, hash), item) in places.zip(items) {
            *pair = hashing.pair(item);
            *hash = ItemHash::of(item, seed);
            self.len += 1;
        }
        self.hashes()
    }

    /// The hashes of the table.
    pub fn hashes(&self) -> &[ItemHash] {
        &self.hashes[..self.len]
    }

    /// Which items of the group are in the layers, or in the bit set `known` (bit 0 for the first).
    #[inline]
    pub fn find_in(&self, layers: &Layers, known: u32) -> u32 {
        let (all, mut found) = ((1 << self.len) - 1, known);
        for layer in layers.each().iter().rev() {
            let wanted = all & !found;
            if wanted == 0 {
                break;
            }
            found |= those_in(layer, &self.pairs, wanted);
        }
        found
    }
}

/// The items of a set, one bit for each.
#[inline]
fn each(mut set: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let first = (set != 0).then(|| set.trailing_zeros() as usize);
        set &= set.wrapping_sub(1);
        first
    })
}

/// Which of the items in the bit set `wanted` are in `layer`.
#[inline]
fn those_in(layer: &Layer, pairs: &[Pair; GROUP], wanted: u32) -> u32 {
    let mut probes = [[Probe::NONE; ROUND]; GROUP];
    let mut left = wanted;
    let hashes = layer.hashes() as usize;
    for from in (0..hashes).step_by(ROUND) {
        let len = ROUND.min(hashes - from);
        for n in each(left) {
            layer.fetch_all(pairs[n], from, &mut probes[n][..len]);
        }
        for n in each(left) {
            left &= !(u32::from(!all_set(&probes[n][..len])) << n);
        }
        if left == 0 {
            break;
        }
    }
    left
}
