//! The standard filter with splitbloom's batching: hash all items, prefetch all their lines, then
//! probe.
//!
//! Most Bloom filters do not do this. It separates the two sources of splitbloom's advantage in
//! batches: prefetching, and touching one or a few lines per item instead of k.

use super::standard::{Standard, SEED};
use crate::case::Case;
use crate::contender::{Batch, Contender};
use crate::items::BATCH;
use splitbloom_filter::hash::ItemHash;
use splitbloom_rig::Outcome;

pub struct Prefetched(pub Standard);

impl Prefetched {
    /// Hashes the items of a batch, which fit, and prefetches their lines.
    #[inline]
    fn prefetch<'h>(&self, batch: Batch, hashes: &'h mut [ItemHash; BATCH]) -> &'h [ItemHash] {
        let len = batch.len();
        for (hash, item) in hashes.iter_mut().zip(batch) {
            *hash = ItemHash::of(item, SEED);
            self.0.prefetch(*hash);
        }
        &hashes[..len]
    }
}

impl Contender for Prefetched {
    fn copies(&self, case: &Case, _items: u64) -> Outcome<Box<dyn Contender>> {
        Ok(Box::new(Self(self.0.copied(case))))
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
    fn count_present(&self, batch: Batch) -> u64 {
        let mut hashes = [ItemHash::default(); BATCH];
        let hashes = self.prefetch(batch, &mut hashes).iter();
        hashes.map(|hash| u64::from(self.0.contains_hash(*hash))).sum()
    }

    #[inline]
    fn insert_all(&mut self, batch: Batch) -> u64 {
        let mut hashes = [ItemHash::default(); BATCH];
        let hashes = self.prefetch(batch, &mut hashes).iter();
        hashes.map(|hash| u64::from(self.0.insert_hash(*hash))).sum()
    }
}
