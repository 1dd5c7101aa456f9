//! Many items at once, so that the cache misses of a group overlap.
//!
//! A group visits one layer after another, newest first, and each of them in rounds of a few
//! probes. Half of the bits are set, so two probes rule out three quarters of the absent items;
//! prefetching the lines of all probes would cost more memory bandwidth than it saves.

use super::layer::Layer;
use super::layers::Layers;
use super::probes::{all_set, Pair, Probe, ROUND};
use crate::hash::{ItemHash, Seed, GROUP};

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
