//! Sketches against a naive twin, against what RedisBloom wrote, and against a list of times.

mod golden;
mod hostile;
mod plain;
mod windows;

use super::*;
use splitbloom_foundation::fields::Field;
use splitbloom_oracles::count_min::Plain;

/// Whether a sketch has the counters of its twin.
pub(super) fn is_like(twin: &Plain, sketch: &Table) -> bool {
    let counter = |cell| twin.counters.get(&cell).copied().unwrap_or(0);
    let mut cells = 0..twin.width * twin.depth;
    sketch.count() == twin.count && cells.all(|cell| sketch.counters().get(cell) == counter(cell))
}

pub(super) fn sketch(width: u64, depth: u64) -> Table {
    Table::new(Shape::new(width, depth).unwrap()).unwrap()
}

/// The fields of a sketch as a server saves them.
pub(super) fn fields(sketch: &Table) -> Vec<Field> {
    let mut fields = Vec::new();
    sketch.save(&mut fields).unwrap();
    fields
}
