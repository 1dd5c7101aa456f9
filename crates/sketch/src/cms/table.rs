//! Counters in rows: a whole sketch, or one slice of a window.

use super::cell::{bits, count_in, max, put};
use super::range::{Counted, OutOfRange, RangeError};
use super::{add_counts, Shape, MAX_COUNT};
use crate::batch::{Groups, GROUP_CELLS};
use crate::body::Part;
use crate::counters::{Counters, CACHED_SEGMENTS};
use crate::rows::Rows;
use splitbloom_foundation::alloc::{Mover, OutOfMemory};
use std::alloc::Layout;
use std::num::NonZeroU64;
use xxhash_rust::xxh3::Xxh3;

/// Counts of all time, or those of one slice.
pub struct Table {
    rows: Rows,
    count: u64,
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
        Self { rows: Rows::new(shape.width(), shape.depth()), count, counters }
    }

    /// The sum of all increments, at most [`MAX_COUNT`].
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Adds `by`, which may be negative, to an item's counters, of `N` bytes. Cost: a step for
    /// each.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing has changed.
    #[inline]
    fn increment<const N: usize>(
        &mut self,
        cells: impl Cells,
        by: i64,
        out_of_range: OutOfRange,
    ) -> Result<Counted, OutOfMemory> {
        let count = match sum_after(self.count, by, out_of_range) {
            Ok(count) => count,
            Err(error) => return Ok(Err(error)),
        };
        let counters = &mut self.counters;
        let mut sums = Sums::new();
        if !counters.owns_all() {
            let mut owned = Ok(());
            cells.visit(|cell| owned = owned.and_then(|()| counters.own::<N>(cell)));
            owned?;
        }
        match counters.single_mut() {
            Some(all) => cells.visit(|cell| sums.add::<N>(by, all.get_mut(cell as usize))),
            None => cells.visit(|cell| sums.add::<N>(by, counters.get_mut(cell))),
        }
        if sums.all >> bits::<N>() != 0 {
            return Ok(self.take_back::<N>(cells, by, count, out_of_range));
        }
        self.count = count;
        Ok(Ok(sums.least))
    }

    /// Adds to the counts of `items`, one after the other, and calls `answer` with the outcome of
    /// each.
    ///
    /// # Errors
    /// `OutOfMemory`: the items with an answer have been counted, and no others.
    pub(super) fn increment_singly<'a, const N: usize>(
        &mut self,
        mut items: impl Iterator<Item = (&'a [u8], i64)>,
        out_of_range: OutOfRange,
        mut answer: impl FnMut(Counted),
    ) -> Result<(), OutOfMemory> {
        items.try_for_each(|(item, by)| {
            answer(self.increment::<N>(self.cells_of(item), by, out_of_range)?);
            Ok(())
        })
    }

    /// The same in groups. Adds the estimates of `others`, the other slices of a window, to each.
    ///
    /// # Errors
    /// As [`Table::increment_singly`].
    pub(super) fn increment_each<'a, 'o, const N: usize>(
        &mut self,
        others: impl Iterator<Item = &'o Self> + Clone,
        items: impl Iterator<Item = (&'a [u8], i64)>,
        out_of_range: OutOfRange,
        mut answer: impl FnMut(Counted),
    ) -> Result<(), OutOfMemory> {
        let mut groups = Groups::of(items, self.rows)?;
        let prefetch = |current: &Self, cell| {
            current.counters.prefetch::<N>(cell);
            others.clone().for_each(|other| other.counters.prefetch::<N>(cell));
        };
        while let Some(group) = groups.next(|cell| prefetch(self, cell)) {
            for (by, cells) in group.items() {
                let own = self.increment::<N>(cells, by, out_of_range)?;
                answer(own.map(|own| add_counts(own, sum::<N>(others.clone(), cells))));
            }
        }
        Ok(())
    }

    /// Takes back an increment that was added to each of an item's counters and does not fit; or,
    /// if they saturate, the part that does not fit. Then `count` is the sum of increments.
    #[cold]
    fn take_back<const N: usize>(
        &mut self,
        cells: impl Cells,
        by: i64,
        count: u64,
        out_of_range: OutOfRange,
    ) -> Counted {
        let stops = out_of_range == OutOfRange::Saturate && by > 0;
        let (max, mut least) = (max::<N>(), u64::MAX);
        cells.visit(|cell| {
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

    /// The estimate of an item's count: the smallest of its counters, of `N` bytes. Cost: a step
    /// for each.
    #[inline]
    pub(super) fn estimate<const N: usize>(&self, cells: impl Cells) -> u64 {
        let mut estimate = u64::MAX;
        let mut take = |cell: &[u8; N]| estimate = estimate.min(count_in(cell));
        match self.counters.single() {
            Some(all) => cells.visit(|cell| take(&all[cell as usize])),
            None => cells.visit(|cell| take(&self.counters.get(cell))),
        }
        estimate
    }

    /// The counters of an item.
    pub(super) fn cells_of<'a>(&self, item: &'a [u8]) -> Hashed<'a> {
        Hashed { item, rows: self.rows }
    }

    /// Whether the counters of a batch are to be prefetched: not if those of one item are more than
    /// a core fetches at once.
    pub(super) fn is_for_groups(&self) -> bool {
        self.counters.reserved() > CACHED_SEGMENTS && self.rows.depth() <= GROUP_CELLS
    }

    /// Hashes everything but which zeros are allocated, for a sketch of `shape`.
    pub(super) fn write_digest(&self, shape: Shape, hash: &mut Xxh3) {
        shape.write_digest(hash);
        hash.update(&self.count.to_le_bytes());
        self.counters.write_digest(hash);
    }
}

impl Part for Table {
    fn try_clone(&mut self) -> Result<Self, OutOfMemory> {
        Ok(Self { counters: self.counters.try_clone()?, ..*self })
    }

    fn allocations(&self) -> usize {
        1 + self.counters.allocated()
    }

    fn visit_allocations(&self, visit: &mut dyn FnMut(Layout, u64)) {
        self.counters.visit_allocations(visit);
    }

    fn relocate(&mut self, from: u64, mover: &mut impl Mover) -> Option<NonZeroU64> {
        self.counters.relocate(from, mover)
    }
}

/// Calls `answer` with the estimate of each of `items`: the sum over some slices of this shape.
///
/// # Errors
/// `OutOfMemory`, before the first answer.
pub(super) fn estimate_each<'a, 's, const N: usize>(
    slices: impl Iterator<Item = &'s Table> + Clone,
    shape: Shape,
    items: impl Iterator<Item = &'a [u8]>,
    mut answer: impl FnMut(u64),
) -> Result<(), OutOfMemory> {
    let rows = Rows::new(shape.width(), shape.depth());
    let mut groups = Groups::of(items.map(|item| (item, ())), rows)?;
    let prefetch = |cell| slices.clone().for_each(|slice| slice.counters.prefetch::<N>(cell));
    while let Some(group) = groups.next(prefetch) {
        group.items().for_each(|((), cells)| answer(sum::<N>(slices.clone(), cells)));
    }
    Ok(())
}

/// The sum of the estimates of some slices for an item whose counters, of `N` bytes, are `cells`.
fn sum<'s, const N: usize>(slices: impl Iterator<Item = &'s Table>, cells: &[u64]) -> u64 {
    slices.fold(0, |sum, slice| add_counts(sum, slice.estimate::<N>(cells)))
}

/// The numbers of an item's counters.
pub(super) trait Cells: Copy {
    /// Calls `visit` with each of them.
    fn visit(self, visit: impl FnMut(u64));
}

/// Counters whose numbers are known.
impl Cells for &[u64] {
    #[inline]
    fn visit(self, visit: impl FnMut(u64)) {
        self.iter().copied().for_each(visit);
    }
}

/// Counters whose numbers are computed at each visit, so that they need no memory.
#[derive(Clone, Copy)]
pub(super) struct Hashed<'a> {
    item: &'a [u8],
    rows: Rows,
}

impl Cells for Hashed<'_> {
    #[inline]
    fn visit(self, visit: impl FnMut(u64)) {
        self.rows.visit(self.item, visit);
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
