//! What every contender implements.

use crate::case::Case;
use splitbloom_rig::Outcome;
use std::ops::RangeInclusive;

pub trait Contender: Sized {
    /// Its column heading.
    const NAME: &'static str;
    /// Its false-positive rate at capacity, relative to the requested one. A rate outside this
    /// range means a bug in the filter or in the benchmark.
    const PLAUSIBLE_RATE: RangeInclusive<f64>;
    /// Whether it differs from another contender only in batches.
    const ONLY_IN_BATCHES: bool = false;

    /// An empty filter.
    ///
    /// # Errors
    /// Out of memory.
    fn empty(case: &Case) -> Outcome<Self>;

    /// A filter that repeats the bits of a smaller one and counts as holding `items` items.
    ///
    /// # Errors
    /// Out of memory.
    fn of_copies(tile: &Self, case: &Case, items: u64) -> Outcome<Self>;

    /// Whether the item is (probably) present.
    fn contains(&self, item: &[u8]) -> bool;

    /// Inserts an item; returns whether it was new. A refused item counts as not new, which the
    /// caller notices.
    fn insert(&mut self, item: &[u8]) -> bool;

    /// Looks up all items of a batch; one by one unless overridden.
    #[inline]
    fn contains_batch<'a>(
        &self,
        batch: impl Iterator<Item = &'a [u8]>,
        mut on_result: impl FnMut(bool),
    ) {
        for item in batch {
            on_result(self.contains(item));
        }
    }

    /// Inserts all items of a batch.
    #[inline]
    fn insert_batch<'a>(
        &mut self,
        batch: impl Iterator<Item = &'a [u8]>,
        mut on_result: impl FnMut(bool),
    ) {
        for item in batch {
            on_result(self.insert(item));
        }
    }
}
