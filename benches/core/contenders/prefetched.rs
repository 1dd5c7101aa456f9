//! The standard filter with splitbloom's batching: hash all items, prefetch all their lines, then
//! probe.
//!
//! Most Bloom filters do not do this. It separates the two sources of splitbloom's advantage in
//! batches: prefetching, and touching one or a few lines per item instead of k.

use super::standard::{Standard, SEED};
use crate::case::Case;
use crate::contender::Contender;
use crate::items::BATCH;
use splitbloom_filter::hash::ItemHash;
use splitbloom_rig::Outcome;
use std::ops::RangeInclusive;

pub struct Prefetched(Standard);

impl Prefetched {
    /// Hashes as many items as fit and prefetches their lines.
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
    const NAME: &'static str = "standard, prefetched";
    const PLAUSIBLE_RATE: RangeInclusive<f64> = Standard::PLAUSIBLE_RATE;
    const ONLY_IN_BATCHES: bool = true;

    fn empty(case: &Case) -> Outcome<Self> {
        Standard::empty(case).map(Self)
    }

    fn of_copies(tile: &Self, case: &Case, items: u64) -> Outcome<Self> {
        Standard::of_copies(&tile.0, case, items).map(Self)
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
        mut on_result: impl FnMut(bool),
    ) {
        let mut hashes = [ItemHash::default(); BATCH];
        loop {
            let prefetched = self.prefetch(&mut batch, &mut hashes);
            if prefetched.is_empty() {
                return;
            }
            for hash in prefetched {
                on_result(self.0.contains_hash(*hash));
            }
        }
    }

    #[inline]
    fn insert_batch<'a>(
        &mut self,
        mut batch: impl Iterator<Item = &'a [u8]>,
        mut on_result: impl FnMut(bool),
    ) {
        let mut hashes = [ItemHash::default(); BATCH];
        loop {
            let prefetched = self.prefetch(&mut batch, &mut hashes);
            if prefetched.is_empty() {
                return;
            }
            for hash in prefetched {
                on_result(self.0.insert_hash(*hash));
            }
        }
    }
}
