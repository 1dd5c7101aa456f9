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
use splitbloom_rig::Outcome;
use std::ops::RangeInclusive;

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
            prefetch_read(&self.words[place.word]);
        }
    }
}

impl Contender for Standard {
    const NAME: &'static str = "standard";
    /// 0.71 to 0.88 of the requested rate by the standard formula, (1 - exp(-k/bits per item))^k.
    const PLAUSIBLE_RATE: RangeInclusive<f64> = 0.5..=1.1;

    fn empty(case: &Case) -> Outcome<Self> {
        Ok(Self {
            words: vec![0; case.num_bits.div_ceil(64) as usize],
            num_bits: case.num_bits,
            num_hashes: case.num_hashes,
        })
    }

    fn of_copies(tile: &Self, case: &Case, _items: u64) -> Outcome<Self> {
        let mut copies = Self::empty(case)?;
        for words in copies.words.chunks_mut(tile.words.len()) {
            words.copy_from_slice(&tile.words[..words.len()]);
        }
        Ok(copies)
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

#[inline]
#[allow(unsafe_code, reason = "an instruction that has no safe function")]
fn prefetch_read(word: &u64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch has no architectural effect and cannot fault; SSE is part of every x86-64.
    unsafe {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(word).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = word;
}
