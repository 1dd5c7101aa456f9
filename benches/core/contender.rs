//! What every contender must be able to do.

use crate::case::Case;
use crate::rig::Outcome;
use std::ops::RangeInclusive;

pub trait Contender: Sized {
    /// The heading of its column.
    const NAME: &'static str;
    /// Its false-positive rate at capacity, in units of the one asked for: outside of it something is wrong with the filter or with
    /// what is measured.
    const PLAUSIBLE_RATE: RangeInclusive<f64>;
    /// Whether it differs from another contender in batches alone.
    const ONLY_IN_BATCHES: bool = false;

    /// An empty filter.
    ///
    /// # Errors
    /// No memory.
    fn empty(case: &Case) -> Outcome<Self>;

    /// A filter whose bits are those of a smaller one again and again, and that counts as holding `items` items.
    ///
    /// # Errors
    /// No memory.
    fn of_copies(tile: &Self, case: &Case, items: u64) -> Outcome<Self>;

    /// Whether the item is (probably) present.
    fn contains(&self, item: &[u8]) -> bool;

    /// Inserts an item; answers whether it was new. One that is refused counts as not new, which the caller will notice.
    fn insert(&mut self, item: &[u8]) -> bool;

    /// Asks for all items of a batch. One after another, for those that know nothing better.
    #[inline]
    fn contains_batch<'a>(
        &self,
        batch: impl Iterator<Item = &'a [u8]>,
        mut answer: impl FnMut(bool),
    ) {
        for item in batch {
            answer(self.contains(item));
        }
    }

    /// Inserts all items of a batch.
    #[inline]
    fn insert_batch<'a>(
        &mut self,
        batch: impl Iterator<Item = &'a [u8]>,
        mut answer: impl FnMut(bool),
    ) {
        for item in batch {
            answer(self.insert(item));
        }
    }
}
