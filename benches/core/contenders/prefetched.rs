//! The undivided filter with what splitbloom does for a batch: hash all items, ask for all their lines, then read them.
//!
//! Most Bloom filters do not do this. It shows how much of splitbloom's advantage in batches is the prefetching and how much the
//! number of lines: k of them for every item here, one or a few there.

use super::undivided::{Undivided, SEED};
use crate::case::Case;
use crate::contender::Contender;
use crate::items::BATCH;
use crate::rig::Outcome;
use splitbloom::filter::hash::ItemHash;
use std::ops::RangeInclusive;

pub struct Prefetched(Undivided);

impl Prefetched {
    /// Hashes the next items, as many as fit, and asks for their lines.
    #[inline]
    fn prefetch<'a, 'h>(
        &self,
        items: &mut impl Iterator<Item = &'a [u8]>,
        hashes: &'h mut [ItemHash; BATCH],
    ) -> &'h [ItemHash] {
        let mut len = 0;
        for (hash, item) in hashes.iter_mut().zip(items) {
            *hash = ItemHash::of(item, SEED);
            self.0.prefetch(*hash);
            len += 1;
        }
        &hashes[..len]
    }
}

impl Contender for Prefetched {
    const NAME: &'static str = "undivided, prefetched";
    const PLAUSIBLE_RATE: RangeInclusive<f64> = Undivided::PLAUSIBLE_RATE;
    const ONLY_IN_BATCHES: bool = true;

    fn empty(case: &Case) -> Outcome<Self> {
        Undivided::empty(case).map(Self)
    }

    fn of_copies(tile: &Self, case: &Case, items: u64) -> Outcome<Self> {
        Undivided::of_copies(&tile.0, case, items).map(Self)
    }

    #[inline]
    fn contains(&self, item: &[u8]) -> bool {
        self.0.contains(item)
    }

    #[inline]
    fn insert(&mut self, item: &[u8]) -> bool {
        self.0.insert(item)
    }

    #[inline]
    fn contains_batch<'a>(
        &self,
        mut batch: impl Iterator<Item = &'a [u8]>,
        mut answer: impl FnMut(bool),
    ) {
        let mut hashes = [ItemHash::default(); BATCH];
        loop {
            let prefetched = self.prefetch(&mut batch, &mut hashes);
            if prefetched.is_empty() {
                return;
            }
            for hash in prefetched {
                answer(self.0.contains_hash(*hash));
            }
        }
    }

    #[inline]
    fn insert_batch<'a>(
        &mut self,
        mut batch: impl Iterator<Item = &'a [u8]>,
        mut answer: impl FnMut(bool),
    ) {
        let mut hashes = [ItemHash::default(); BATCH];
        loop {
            let prefetched = self.prefetch(&mut batch, &mut hashes);
            if prefetched.is_empty() {
                return;
            }
            for hash in prefetched {
                answer(self.0.insert_hash(*hash));
            }
        }
    }
}
