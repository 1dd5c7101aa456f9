//! Weighted sums of tables.

use super::table::Table;
use super::{Shape, MAX_COUNT};
use crate::counters::{Counters, LINE_CELLS};
use splitbloom_foundation::alloc::{try_vec, OutOfMemory};

/// Why there is no sum of some sketches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeError {
    /// They differ in width or depth.
    Dimensions,
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

/// The sum so far, once `value` has been added `weight` times. Sums are of 64 bits with a sign, as
/// RedisBloom's: a sum that goes beyond them on the way overflows, even if it would come back.
fn add(sum: i64, value: i64, weight: i64) -> Result<i64, MergeError> {
    let product = value.checked_mul(weight);
    product.and_then(|product| sum.checked_add(product)).ok_or(MergeError::Overflow)
}

impl Table {
    /// The sum of `sketches`, each counted as often as its weight says, in a sketch of `shape`. A
    /// weight may be negative. An estimate of the sum is at least the sum of the exact counts if no
    /// weight is negative. Cost: a step for each counter of each sketch.
    ///
    /// # Errors
    /// What keeps them from being added.
    pub fn merged(shape: Shape, sketches: &[(&Self, i64)]) -> Result<Self, MergeError> {
        if sketches.iter().any(|(sketch, _)| sketch.shape != shape) {
            return Err(MergeError::Dimensions);
        }
        let mut counters = Counters::new(shape.cells())?;
        let mut sums = try_vec(counters.len_of(0))?;
        for index in 0..counters.reserved() {
            sum_up(&mut sums, index, counters.len_of(index), sketches)?;
            counters.put(index, lines_of(&sums)?)?;
        }
        Ok(Self::of(shape, count_of(sketches), counters))
    }
}

/// The weighted sum of the counts, as far as it fits. It is out of range only where counters have
/// stopped that it does not stop with, so it refuses no sum that the counters allow.
fn count_of(sketches: &[(&Table, i64)]) -> u64 {
    let products =
        sketches.iter().map(|(sketch, weight)| i128::from(sketch.count) * i128::from(*weight));
    let sum = products.fold(0, i128::saturating_add);
    u64::try_from(sum.max(0)).unwrap_or(MAX_COUNT)
}

/// Sums segment `index` of `sketches`, of `len` counters, into `sums`, which has room: one after
/// the other, so that the sums stay in the caches. There are no sums if all counters are 0.
fn sum_up(
    sums: &mut Vec<i64>,
    index: usize,
    len: usize,
    sketches: &[(&Table, i64)],
) -> Result<(), MergeError> {
    sums.clear();
    for (sketch, weight) in sketches {
        for (number, line) in sketch.counters.lines(index) {
            sums.resize(len, 0);
            for (sum, counter) in sums[number * LINE_CELLS..].iter_mut().zip(line) {
                *sum = add(*sum, (*counter).into(), *weight)?;
            }
        }
    }
    Ok(())
}

/// The lines of counters that `sums` are.
fn lines_of(
    sums: &[i64],
) -> Result<impl Iterator<Item = [u32; LINE_CELLS]> + Clone + '_, MergeError> {
    if sums.iter().any(|sum| u32::try_from(*sum).is_err()) {
        return Err(MergeError::Overflow);
    }
    Ok(sums.chunks(LINE_CELLS).map(|sums| {
        let mut line = [0; LINE_CELLS];
        line.iter_mut().zip(sums).for_each(|(counter, sum)| *counter = *sum as u32);
        line
    }))
}
