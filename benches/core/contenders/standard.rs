//! A standard Bloom filter: a flat array of words, with an item's probes anywhere in it.
//!
//! It has the same bits, hash and number of probes as splitbloom's filter, so that both do the same
//! work. (One more probe would be optimal in some cases; its false-positive rate is below the
//! requested one regardless.) It is as fast as we could make it:
//! - double hashing, whose probes do not depend on each other (over so many bits it is as accurate
//!   as any other scheme);
//! - a lookup stops at the first clear bit;
//! - an insert has no branches: whether a bit was clear is unpredictable, and a misprediction,
//!   resolved only when the word arrives from memory, would delay the other cache misses.

use crate::case::Case;
use crate::contender::Contender;
use splitbloom_filter::hash::{multiply_high, ItemHash, Seed};
use splitbloom_foundation::prefetch::prefetch;
use splitbloom_rig::Outcome;

/// Any seed will do.
pub const SEED: Seed = Seed(0x5EED);

pub struct Standard {
    words: Vec<u64>,
    num_bits: u64,
    num_hashes: u32,
}

/// The position of a bit.
#[derive(Clone, Copy)]
struct Place {
    word: usize,
    mask: u64,
}

impl Standard {
    pub fn empty(case: &Case) -> Self {
        let words = vec![0; case.num_bits.div_ceil(64) as usize];
        Self { words, num_bits: case.num_bits, num_hashes: case.num_hashes }
    }

    /// A filter of this size with copies of these bits.
    pub fn copied(&self, case: &Case) -> Self {
        let mut copies = Self::empty(case);
        for words in copies.words.chunks_mut(self.words.len()) {
            words.copy_from_slice(&self.words[..words.len()]);
        }
        copies
    }

    /// The positions of an item's bits.
    #[inline]
    fn probes(&self, hash: ItemHash) -> impl Iterator<Item = Place> {
        let num_bits = self.num_bits;
        let mut x = hash.place;
        (0..self.num_hashes).map(move |_| {
            let bit = multiply_high(x, num_bits);
            x = x.wrapping_add(hash.probes);
            Place { word: (bit / 64) as usize, mask: 1 << (bit % 64) }
        })
    }

    #[inline]
    pub fn contains_hash(&self, hash: ItemHash) -> bool {
        self.probes(hash).all(|place| self.words[place.word] & place.mask != 0)
    }

    #[inline]
    pub fn insert_hash(&mut self, hash: ItemHash) -> bool {
        let mut newly_set = 0;
        for place in self.probes(hash) {
            let word = &mut self.words[place.word];
            newly_set |= !*word & place.mask;
            *word |= place.mask;
        }
        newly_set != 0
    }

    /// Prefetches all lines that hold bits of an item.
    #[inline]
    pub fn prefetch(&self, hash: ItemHash) {
        for place in self.probes(hash) {
            prefetch(&self.words[place.word]);
        }
    }
}

impl Contender for Standard {
    fn copies(&self, case: &Case, _items: u64) -> Outcome<Box<dyn Contender>> {
        Ok(Box::new(self.copied(case)))
    }

    #[inline]
    fn contains(&self, item: &[u8]) -> bool {
        self.contains_hash(ItemHash::of(item, SEED))
    }

    #[inline]
    fn insert(&mut self, item: &[u8]) -> bool {
        self.insert_hash(ItemHash::of(item, SEED))
    }
}
