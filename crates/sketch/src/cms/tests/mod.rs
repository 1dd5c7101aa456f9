//! Sketches against a naive twin, against what RedisBloom wrote, and against a list of times.

mod golden;
mod hostile;
mod plain;
mod range;
mod windows;

use super::*;
use splitbloom_foundation::fields::Field;
use splitbloom_oracles::count_min::{Misfit, Plain};

/// Whether a sketch has the counters of its twin.
pub(super) fn is_like(twin: &Plain, sketch: &Table) -> bool {
    let counter = |cell| twin.counters.get(&cell).copied().unwrap_or(0);
    let mut cells = 0..twin.width * twin.depth;
    sketch.count() == twin.count && cells.all(|cell| sketch.counter(cell) == counter(cell))
}

/// What the twin returns for an increment, as the sketch does.
pub(super) fn counted(by_twin: Result<u64, Misfit>) -> Counted {
    by_twin.map_err(|misfit| match misfit {
        Misfit::TooLarge => RangeError::Overflow,
        Misfit::Negative => RangeError::Underflow,
    })
}

pub(super) fn sketch(width: u64, depth: u64) -> Table {
    sized(width, depth, CellSize::Four)
}

pub(super) fn sized(width: u64, depth: u64, size: CellSize) -> Table {
    Table::new(Shape::new(width, depth, size).unwrap()).unwrap()
}

/// Counts an item.
pub(super) fn increment(sketch: &mut Table, item: &[u8], by: i64) -> Counted {
    sketch.increment(item, by, OutOfRange::Skip).unwrap()
}

/// The fields of a sketch as a server saves them by default.
pub(super) fn fields(sketch: &Table) -> Vec<Field> {
    let mut fields = Vec::new();
    sketch.save(Version::Zero, &mut fields).unwrap();
    fields
}
