//! Weighted sums of sketches.

use super::cell::{bits, by_size, count_in, put};
use super::table::Table;
use super::{CountMinSketch, Shape, MAX_COUNT};
use crate::body::Body;
use crate::counters::{Counters, LINE_BYTES};
use splitbloom_foundation::alloc::{try_vec, OutOfMemory};

/// Why sketches cannot be summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeError {
    /// They differ in width or depth.
    Dimensions,
    /// Their counters differ in size.
    CellSize,
    /// One has a window.
    Window,
    /// A counter would be negative or too large.
    Overflow,
    /// The allocator refused.
    OutOfMemory,
}

impl From<OutOfMemory> for MergeError {
    fn from(_: OutOfMemory) -> Self {
        Self::OutOfMemory
    }
}

impl Shape {
    /// Checks that sketches of this shape and the `other` can be added.
    ///
    /// # Errors
    /// `Dimensions`, or else `CellSize`.
    pub fn check_equal(&self, other: &Self) -> Result<(), MergeError> {
        match (self.width(), self.depth()) == (other.width(), other.depth()) {
            false => Err(MergeError::Dimensions),
            true if self.cell_size() != other.cell_size() => Err(MergeError::CellSize),
            true => Ok(()),
        }
    }
}

/// The sum so far, once `value` has been added `weight` times. Sums are of 64 bits with a sign, as
/// RedisBloom's: a sum that goes beyond them on the way overflows, even if it would come back.
fn add(sum: i64, value: i64, weight: i64) -> Result<i64, MergeError> {
    let product = value.checked_mul(weight);
    product.and_then(|product| sum.checked_add(product)).ok_or(MergeError::Overflow)
}

impl CountMinSketch {
    /// Its counters, unless it has a window: sums have none.
    fn table(&self) -> Result<&Table, MergeError> {
        match &self.body {
            Body::Whole(table) => Ok(table),
            Body::Window(_) => Err(MergeError::Window),
        }
    }

    /// Checks that the sketch can be added to others of `shape`.
    ///
    /// # Errors
    /// `Window`, `Dimensions` or `CellSize`.
    pub fn check_addable(&self, shape: &Shape) -> Result<(), MergeError> {
        self.table().and_then(|_| self.shape.check_equal(shape))
    }

    /// The sum of `sketches`, each counted as often as its weight says, in a sketch of `shape`. A
    /// weight may be negative. An estimate of the sum is at least the sum of the exact counts if no
    /// weight is negative. Cost: a step for each counter of each sketch.
    ///
    /// # Errors
    /// What keeps them from being added.
    pub fn merged(shape: Shape, sketches: &[(&Self, i64)]) -> Result<Self, MergeError> {
        sketches.iter().try_for_each(|(sketch, _)| sketch.check_addable(&shape))?;
        let tables = sketches.iter().filter_map(|(sketch, weight)| {
            let table = sketch.table().ok()?;
            Some((table, *weight))
        });
        let counters = by_size!(shape.cell_size(), N => sum_of::<N>(shape, tables.clone()))?;
        let table = Table::of(shape, count_of(tables), counters);
        Ok(Self { shape, body: Body::Whole(table) })
    }
}

/// The sums of counters of `N` bytes.
fn sum_of<'a, const N: usize>(
    shape: Shape,
    tables: impl Iterator<Item = (&'a Table, i64)> + Clone,
) -> Result<Counters, MergeError> {
    let mut counters = Counters::new(shape.bytes())?;
    let mut sums = try_vec(counters.len_of(0) / N)?;
    for index in 0..counters.reserved() {
        sum_up::<N>(&mut sums, index, counters.len_of(index) / N, tables.clone())?;
        counters.put(index, lines_of::<N>(&sums)?)?;
    }
    Ok(counters)
}

/// The weighted sum of the counts, as far as it fits. It is out of range only where counters have
/// stopped at their maximum and it has not, so it refuses no sum that the counters allow.
fn count_of<'a>(tables: impl Iterator<Item = (&'a Table, i64)>) -> u64 {
    let products = tables.map(|(table, weight)| i128::from(table.count()) * i128::from(weight));
    let sum = products.fold(0, i128::saturating_add);
    u64::try_from(sum.max(0)).unwrap_or(MAX_COUNT)
}

/// Sums segment `index` of `tables`, of `len` counters, into `sums`, which has room: one after
/// the other, so that the sums stay in the caches. There are no sums if all counters are 0.
fn sum_up<'a, const N: usize>(
    sums: &mut Vec<i64>,
    index: usize,
    len: usize,
    tables: impl Iterator<Item = (&'a Table, i64)>,
) -> Result<(), MergeError> {
    sums.clear();
    for (table, weight) in tables {
        for (number, line) in table.counters.lines(index) {
            sums.resize(len, 0);
            let sums = &mut sums[number * LINE_BYTES / N..];
            for (sum, counter) in sums.iter_mut().zip(line.as_chunks::<N>().0) {
                // No counter is above 2^63 - 1.
                *sum = add(*sum, count_in(counter) as i64, weight)?;
            }
        }
    }
    Ok(())
}

/// The lines of counters that `sums` are.
fn lines_of<const N: usize>(
    sums: &[i64],
) -> Result<impl Iterator<Item = [u8; LINE_BYTES]> + Clone + '_, MergeError> {
    // A negative sum has the highest bit.
    if sums.iter().any(|sum| *sum as u64 >> bits::<N>() != 0) {
        return Err(MergeError::Overflow);
    }
    Ok(sums.chunks(LINE_BYTES / N).map(|sums| {
        let mut line = [0; LINE_BYTES];
        let counters = line.as_chunks_mut::<N>().0.iter_mut();
        counters.zip(sums).for_each(|(counter, sum)| put(counter, *sum as u64));
        line
    }))
}
