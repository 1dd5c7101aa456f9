//! Counters in rows: a whole sketch, or one slice of a window.

use super::{add_counts, Shape, MAX_COUNT, SATURATED};
use crate::batch::Groups;
use crate::counters::{Counters, CACHED_SEGMENTS};
use crate::rows::Rows;
use splitbloom_foundation::alloc::{Mover, OutOfMemory};
use std::alloc::Layout;
use std::num::NonZeroU64;
use xxhash_rust::xxh3::Xxh3;

/// Counts of all time, or those of one slice.
pub struct Table {
    pub(super) shape: Shape,
    rows: Rows,
    pub(super) count: u64,
    pub(super) counters: Counters,
}

impl Table {
    /// An empty sketch. Allocates a list of segments, but none of these.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(shape: Shape) -> Result<Self, OutOfMemory> {
        Ok(Self::of(shape, 0, Counters::new(shape.cells())?))
    }

    /// A sketch of these counters. The sum of a saved one may be above [`MAX_COUNT`]: RedisBloom's
    /// went on to 2^64.
    pub(super) fn of(shape: Shape, count: u64, counters: Counters) -> Self {
        let count = count.min(MAX_COUNT);
        Self { shape, rows: Rows::new(shape.width(), shape.depth()), count, counters }
    }

    /// Its dimensions.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The sum of all increments, at most [`MAX_COUNT`].
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Its counters, row after row.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Adds `increment` to the count of `item`. Returns the estimate; [`SATURATED`] if the counters
    /// end there. Cost: a step for each row.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing has changed.
    pub fn increment(&mut self, item: &[u8], increment: u64) -> Result<u32, OutOfMemory> {
        let Self { rows, counters, count, .. } = self;
        if !counters.owns_all() {
            let mut owned = Ok(());
            rows.visit(item, |cell| owned = owned.and_then(|()| counters.own(cell)));
            owned?;
        }
        let mut estimate = SATURATED;
        let mut add =
            |counter: Option<&mut u32>| estimate = estimate.min(self::add(counter, increment));
        match counters.single_mut() {
            Some(counters) => rows.visit(item, |cell| add(counters.get_mut(cell as usize))),
            None => rows.visit(item, |cell| add(counters.get_mut(cell))),
        }
        *count = add_counts(*count, increment);
        Ok(estimate)
    }

    /// Adds to the counts of `items`, and calls `answer` with the estimate of each after it: as
    /// [`Table::increment`], one after the other.
    ///
    /// # Errors
    /// `OutOfMemory`: those answered have been counted, and no others.
    pub fn increment_many<'a>(
        &mut self,
        mut items: impl Iterator<Item = (&'a [u8], u64)>,
        mut answer: impl FnMut(u32),
    ) -> Result<(), OutOfMemory> {
        if !self.is_large() {
            return items.try_for_each(|(item, increment)| {
                answer(self.increment(item, increment)?);
                Ok(())
            });
        }
        let mut groups = Groups::of(items, self.rows)?;
        while let Some(group) = groups.next(|cell| self.counters.prefetch(cell)) {
            for (increment, cells) in group.items() {
                answer(self.increment_cells(cells, increment)?);
            }
        }
        Ok(())
    }

    /// The same for one item, whose counters are `cells`.
    #[inline]
    pub(super) fn increment_cells(
        &mut self,
        cells: &[u64],
        increment: u64,
    ) -> Result<u32, OutOfMemory> {
        let Self { counters, count, .. } = self;
        if !counters.owns_all() {
            cells.iter().try_for_each(|cell| counters.own(*cell))?;
        }
        let each = cells.iter().map(|cell| add(counters.get_mut(*cell), increment));
        let estimate = each.fold(SATURATED, u32::min);
        *count = add_counts(*count, increment);
        Ok(estimate)
    }

    /// The estimate of the count of `item`. Cost: a step for each row.
    pub fn estimate(&self, item: &[u8]) -> u32 {
        let mut estimate = SATURATED;
        let mut take = |counter| estimate = estimate.min(counter);
        match self.counters.single() {
            Some(counters) => self.rows.visit(item, |cell| take(counters[cell as usize])),
            None => self.rows.visit(item, |cell| take(self.counters.get(cell))),
        }
        estimate
    }

    /// Calls `answer` with the estimate of each of `items`.
    ///
    /// # Errors
    /// `OutOfMemory`, before the first answer.
    pub fn estimate_many<'a>(
        &self,
        items: impl Iterator<Item = &'a [u8]>,
        mut answer: impl FnMut(u32),
    ) -> Result<(), OutOfMemory> {
        if !self.is_large() {
            items.for_each(|item| answer(self.estimate(item)));
            return Ok(());
        }
        let mut groups = Groups::of(items.map(|item| (item, ())), self.rows)?;
        while let Some(group) = groups.next(|cell| self.counters.prefetch(cell)) {
            group.items().for_each(|((), cells)| answer(self.smallest(cells)));
        }
        Ok(())
    }

    /// The smallest of some counters.
    pub(super) fn smallest(&self, cells: &[u64]) -> u32 {
        cells.iter().fold(SATURATED, |least, cell| least.min(self.counters.get(*cell)))
    }

    /// Whether the counters of a batch are to be prefetched.
    fn is_large(&self) -> bool {
        self.counters.reserved() > CACHED_SEGMENTS
    }

    /// A copy, which shares memory with this one.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub fn try_clone(&mut self) -> Result<Self, OutOfMemory> {
        Ok(Self::of(self.shape, self.count, self.counters.try_clone()?))
    }

    /// A hash of everything but which zeros are allocated.
    pub fn digest(&self) -> u128 {
        let mut hash = Xxh3::new();
        self.write_digest(&mut hash);
        hash.digest128()
    }

    pub(super) fn write_digest(&self, hash: &mut Xxh3) {
        for number in [self.shape.width(), self.shape.depth(), self.count] {
            hash.update(&number.to_le_bytes());
        }
        self.counters.write_digest(hash);
    }

    /// The number of allocations.
    pub fn allocations(&self) -> usize {
        1 + self.counters.allocated()
    }

    /// Visits every kind of allocation: its layout and their number.
    pub fn visit_allocations(&self, visit: &mut dyn FnMut(Layout, u64)) {
        self.counters.visit_allocations(visit);
    }

    /// Passes its memory through `mover`, from segment `from` on, until it says stop. Returns where
    /// to continue, which is never 0.
    pub fn relocate(&mut self, from: u64, mover: &mut impl Mover) -> Option<NonZeroU64> {
        self.counters.relocate(from, mover)
    }
}

/// Adds `increment` to a counter that is writable. Returns the sum, at most [`SATURATED`].
#[inline]
fn add(counter: Option<&mut u32>, increment: u64) -> u32 {
    counter.map_or(SATURATED, |counter| {
        *counter = counter.saturating_add(u32::try_from(increment).unwrap_or(SATURATED));
        *counter
    })
}
