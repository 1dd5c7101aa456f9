//! Sketches against a naive twin, against what RedisBloom wrote, and against a list of times.

mod golden;
mod hostile;
mod plain;
mod range;
mod windows;

use super::*;
use splitbloom_foundation::fields::Field;
use splitbloom_oracles::count_min::{Misfit, Plain};

/// Count number `cell`, row after row, of a sketch without a window.
pub(super) fn counter(sketch: &CountMinSketch, cell: u64) -> u64 {
    let counters = &whole(sketch).counters;
    by_size!(sketch.shape().cell_size(), N => cell::count_in(&counters.get::<N>(cell)))
}

/// The counters of a sketch without a window.
pub(super) fn whole(sketch: &CountMinSketch) -> &Table {
    match &sketch.body {
        Body::Whole(table) => table,
        Body::Window(_) => panic!("it has a window"),
    }
}

/// Whether a sketch has the counters of its twin.
pub(super) fn is_like(twin: &Plain, sketch: &CountMinSketch) -> bool {
    let twins = |cell| twin.counters.get(&cell).copied().unwrap_or(0);
    let mut cells = 0..twin.width * twin.depth;
    sketch.count(0) == twin.count && cells.all(|cell| counter(sketch, cell) == twins(cell))
}

/// What the twin returns for an increment, as the sketch does.
pub(super) fn counted(by_twin: Result<u64, Misfit>) -> Counted {
    by_twin.map_err(|misfit| match misfit {
        Misfit::TooLarge => RangeError::Overflow,
        Misfit::Negative => RangeError::Underflow,
    })
}

pub(super) fn sketch(width: u64, depth: u64) -> CountMinSketch {
    sized(width, depth, CellSize::Four)
}

pub(super) fn sized(width: u64, depth: u64, size: CellSize) -> CountMinSketch {
    CountMinSketch::new(Shape::new(width, depth, size).unwrap(), None).unwrap()
}

/// Counts items in a sketch without a window, and returns what becomes of each.
pub(super) fn increment_many(
    sketch: &mut CountMinSketch,
    items: &[(Vec<u8>, i64)],
    out_of_range: OutOfRange,
) -> Vec<Counted> {
    let mut answers = Vec::new();
    let pairs = items.iter().map(|(item, by)| (item.as_slice(), *by));
    let open = sketch.open(0, drop).unwrap();
    open.increment_many(pairs, out_of_range, |counted| answers.push(counted)).unwrap();
    answers
}

/// Counts an item.
pub(super) fn increment(sketch: &mut CountMinSketch, item: &[u8], by: i64) -> Counted {
    increment_many(sketch, &[(item.to_vec(), by)], OutOfRange::Skip)[0]
}

/// The estimates of items in a sketch without a window.
pub(super) fn estimate_many<'a>(
    sketch: &CountMinSketch,
    items: impl Iterator<Item = &'a [u8]>,
) -> Vec<u64> {
    let mut estimates = Vec::new();
    sketch.estimate_many(items, 0, |estimate| estimates.push(estimate)).unwrap();
    estimates
}

/// The estimate of an item.
pub(super) fn estimate(sketch: &CountMinSketch, item: &[u8]) -> u64 {
    estimate_many(sketch, std::iter::once(item))[0]
}

/// The fields of a sketch as a server saves them by default.
pub(super) fn fields(sketch: &CountMinSketch) -> Vec<Field> {
    let mut fields = Vec::new();
    sketch.save(&mut fields).unwrap();
    fields
}
