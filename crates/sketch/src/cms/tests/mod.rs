//! Sketches against a naive twin, against what RedisBloom wrote, and against a list of times.

mod golden;
mod hostile;
mod plain;
mod windows;

use super::*;
use splitbloom_foundation::fields::Field;
use splitbloom_foundation::murmur::murmur32;
use std::collections::HashMap;

/// A sketch as one array, with a division and a hash for each row: the specification.
pub(super) struct Twin {
    width: u64,
    depth: u64,
    count: u64,
    counters: HashMap<u64, u32>,
}

impl Twin {
    pub fn new(width: u64, depth: u64) -> Self {
        Self { width, depth, count: 0, counters: HashMap::new() }
    }

    fn cells(&self, item: &[u8]) -> Vec<u64> {
        let cell = |row| row * self.width + u64::from(murmur32(item, row as u32)) % self.width;
        (0..self.depth).map(cell).collect()
    }

    pub fn increment(&mut self, item: &[u8], increment: u64) -> u32 {
        self.count = self.count.saturating_add(increment).min(i64::MAX as u64);
        for cell in self.cells(item) {
            let counter = self.counters.entry(cell).or_default();
            let increment = u32::try_from(increment).unwrap_or(u32::MAX);
            *counter = counter.saturating_add(increment);
        }
        self.estimate(item)
    }

    pub fn estimate(&self, item: &[u8]) -> u32 {
        let cells = self.cells(item).into_iter();
        let counters = cells.map(|cell| self.counters.get(&cell).copied().unwrap_or(0));
        counters.min().unwrap()
    }

    /// Whether a sketch has its counters.
    pub fn is_like(&self, sketch: &Table) -> bool {
        let cells = 0..self.width * self.depth;
        let mut counters = cells.map(|cell| (sketch.counters().get(cell), cell));
        sketch.count() == self.count
            && counters
                .all(|(counter, cell)| counter == self.counters.get(&cell).copied().unwrap_or(0))
    }
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
