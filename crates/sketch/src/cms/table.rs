//! Counters in rows: a whole sketch, or one slice of a window.

use super::cell::{bits, by_size, count_in, put};
use super::range::{Counted, OutOfRange, RangeError};
use super::{Shape, MAX_COUNT};
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
        Ok(Self::of(shape, 0, Counters::new(shape.bytes())?))
    }

    /// A sketch of these counters. A saved sum may be above [`MAX_COUNT`]: RedisBloom's went on to
    /// 2^64 before Redis 8.12.
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

    /// Count number `cell`, row after row.
    pub fn counter(&self, cell: u64) -> u64 {
        by_size!(self.shape.cell_size(), N => count_in(&self.counters.get::<N>(cell)))
    }

    /// Adds `by`, which may be negative, to the count of `item`. Cost: a step for each row.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing has changed.
    pub fn increment(
        &mut self,
        item: &[u8],
        by: i64,
        out_of_range: OutOfRange,
    ) -> Result<Counted, OutOfMemory> {
        let size = self.shape.cell_size();
        by_size!(size, N => self.increment_one::<N>(item, by, out_of_range))
    }

    #[inline]
    fn increment_one<const N: usize>(
        &mut self,
        item: &[u8],
        by: i64,
        out_of_range: OutOfRange,
    ) -> Result<Counted, OutOfMemory> {
        let Self { rows, ref mut counters, .. } = *self;
        let count = match sum_after(self.count, by, out_of_range) {
            Ok(count) => count,
            Err(error) => return Ok(Err(error)),
        };
        let mut sums = Sums::new();
        if !counters.owns_all() {
            let mut owned = Ok(());
            rows.visit(item, |cell| owned = owned.and_then(|()| counters.own::<N>(cell)));
            owned?;
        }
        match counters.single_mut() {
            Some(cells) => {
                rows.visit(item, |cell| sums.add::<N>(by, cells.get_mut(cell as usize)));
            }
            None => rows.visit(item, |cell| sums.add::<N>(by, counters.get_mut(cell))),
        }
        if sums.all >> bits::<N>() != 0 {
            let visit = move |visit: &mut dyn FnMut(u64)| rows.visit(item, visit);
            return Ok(self.take_back::<N>(by, count, out_of_range, visit));
        }
        self.count = count;
        Ok(Ok(sums.least))
    }

    /// Adds to the counts of `items`, and calls `answer` with what becomes of each: as
    /// [`Table::increment`], one after the other.
    ///
    /// # Errors
    /// `OutOfMemory`: those answered have been counted, and no others.
    pub fn increment_many<'a>(
        &mut self,
        items: impl Iterator<Item = (&'a [u8], i64)>,
        out_of_range: OutOfRange,
        answer: impl FnMut(Counted),
    ) -> Result<(), OutOfMemory> {
        let size = self.shape.cell_size();
        by_size!(size, N => self.increment_each::<N>(items, out_of_range, answer))
    }

    fn increment_each<'a, const N: usize>(
        &mut self,
        mut items: impl Iterator<Item = (&'a [u8], i64)>,
        out_of_range: OutOfRange,
        mut answer: impl FnMut(Counted),
    ) -> Result<(), OutOfMemory> {
        // One item is not worth setting up a batch.
        if !self.is_large() || items.size_hint().1 == Some(1) {
            return items.try_for_each(|(item, by)| {
                answer(self.increment_one::<N>(item, by, out_of_range)?);
                Ok(())
            });
        }
        let mut groups = Groups::of(items, self.rows)?;
        while let Some(group) = groups.next(|cell| self.counters.prefetch::<N>(cell)) {
            for (by, cells) in group.items() {
                answer(self.increment_cells::<N>(cells, by, out_of_range)?);
            }
        }
        Ok(())
    }

    /// The same for one item, whose counters, of `N` bytes, are `cells`.
    #[inline]
    pub(super) fn increment_cells<const N: usize>(
        &mut self,
        cells: &[u64],
        by: i64,
        out_of_range: OutOfRange,
    ) -> Result<Counted, OutOfMemory> {
        let count = match sum_after(self.count, by, out_of_range) {
            Ok(count) => count,
            Err(error) => return Ok(Err(error)),
        };
        let mut sums = Sums::new();
        let counters = &mut self.counters;
        if !counters.owns_all() {
            cells.iter().try_for_each(|cell| counters.own::<N>(*cell))?;
        }
        cells.iter().for_each(|cell| sums.add::<N>(by, counters.get_mut(*cell)));
        if sums.all >> bits::<N>() != 0 {
            let visit = move |visit: &mut dyn FnMut(u64)| cells.iter().copied().for_each(visit);
            return Ok(self.take_back::<N>(by, count, out_of_range, visit));
        }
        self.count = count;
        Ok(Ok(sums.least))
    }

    /// Takes an increment back that has been added to each of an item's counters, which `visit`
    /// visits, and does not fit; or all of it that does not. Then `count` is the sum of increments.
    #[cold]
    fn take_back<const N: usize>(
        &mut self,
        by: i64,
        count: u64,
        out_of_range: OutOfRange,
        visit: impl FnOnce(&mut dyn FnMut(u64)),
    ) -> Counted {
        let stops = out_of_range == OutOfRange::Saturate && by > 0;
        let (max, mut least) = (self.shape.cell_size().max(), u64::MAX);
        visit(&mut |cell| {
            if let Some(cell) = self.counters.get_mut::<N>(cell) {
                put(cell, count_in(cell).wrapping_sub(by as u64));
                if stops {
                    put(cell, count_in(cell).saturating_add(by as u64).min(max));
                }
                least = least.min(count_in(cell));
            }
        });
        if !stops {
            return Err(RangeError::of(by));
        }
        self.count = count;
        Ok(least)
    }

    /// The estimate of the count of `item`. Cost: a step for each row.
    pub fn estimate(&self, item: &[u8]) -> u64 {
        by_size!(self.shape.cell_size(), N => self.estimate_one::<N>(item))
    }

    #[inline]
    fn estimate_one<const N: usize>(&self, item: &[u8]) -> u64 {
        let mut estimate = u64::MAX;
        let mut take = |cell: &[u8; N]| estimate = estimate.min(count_in(cell));
        match self.counters.single() {
            Some(cells) => self.rows.visit(item, |cell| take(&cells[cell as usize])),
            None => self.rows.visit(item, |cell| take(&self.counters.get(cell))),
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
        answer: impl FnMut(u64),
    ) -> Result<(), OutOfMemory> {
        by_size!(self.shape.cell_size(), N => self.estimate_each::<N>(items, answer))
    }

    fn estimate_each<'a, const N: usize>(
        &self,
        items: impl Iterator<Item = &'a [u8]>,
        mut answer: impl FnMut(u64),
    ) -> Result<(), OutOfMemory> {
        if !self.is_large() {
            items.for_each(|item| answer(self.estimate_one::<N>(item)));
            return Ok(());
        }
        let mut groups = Groups::of(items.map(|item| (item, ())), self.rows)?;
        while let Some(group) = groups.next(|cell| self.counters.prefetch::<N>(cell)) {
            group.items().for_each(|((), cells)| answer(self.smallest::<N>(cells)));
        }
        Ok(())
    }

    /// The smallest of some counters of `N` bytes.
    pub(super) fn smallest<const N: usize>(&self, cells: &[u64]) -> u64 {
        let counts = cells.iter().map(|cell| count_in(&self.counters.get::<N>(*cell)));
        counts.fold(u64::MAX, u64::min)
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
        self.shape.write_digest(hash);
        hash.update(&self.count.to_le_bytes());
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

/// The sum of increments `count` after one more; [`MAX_COUNT`] at most.
///
/// # Errors
/// The increment does not fit, and is not to be counted.
#[inline]
fn sum_after(count: u64, by: i64, out_of_range: OutOfRange) -> Result<u64, RangeError> {
    // A negative sum wraps around to one that is too large.
    match count.wrapping_add(by as u64) {
        sum @ 0..=MAX_COUNT => Ok(sum),
        _ if out_of_range == OutOfRange::Saturate && by > 0 => Ok(MAX_COUNT),
        _ => Err(RangeError::of(by)),
    }
}

/// An item's counters after an increment.
struct Sums {
    /// The smallest of them.
    least: u64,
    /// The bits of all of them: if one does not fit, some are beyond those of a counter.
    all: u64,
}

impl Sums {
    fn new() -> Self {
        Self { least: u64::MAX, all: 0 }
    }

    /// Adds `by` to a counter that is writable. A sum that does not fit wraps around, so that
    /// subtracting the increment restores the counter. (To look at all counters before the first is
    /// written would hash the item twice, or keep where they are.)
    #[inline]
    fn add<const N: usize>(&mut self, by: i64, cell: Option<&mut [u8; N]>) {
        if let Some(cell) = cell {
            let sum = count_in(cell).wrapping_add(by as u64);
            put(cell, sum);
            self.least = self.least.min(sum);
            self.all |= sum;
        }
    }
}
