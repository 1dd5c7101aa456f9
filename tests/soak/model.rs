//! What one player knows of its keys: the items that were acknowledged.

use crate::harness::Random;
use std::collections::BTreeMap;
use std::ops::Range;

/// Rates that filters are made with.
pub const RATES: [&str; 4] = ["0.1", "0.01", "0.001", "0.0001"];

/// A filter as it must be at least.
#[derive(Clone)]
pub struct Known {
    pub rate: &'static str,
    items: Vec<Range<u64>>,
}

#[derive(Default)]
pub struct Model {
    pub keys: BTreeMap<String, Known>,
}

impl Known {
    pub fn new(rate: &'static str) -> Known {
        Known {
            rate,
            items: Vec::new(),
        }
    }

    /// These were acknowledged.
    pub fn add(&mut self, numbers: Range<u64>) {
        match self.items.last_mut() {
            _ if numbers.is_empty() => {}
            Some(last) if last.end == numbers.start => last.end = numbers.end,
            _ => self.items.push(numbers),
        }
    }

    pub fn count(&self) -> u64 {
        self.items.iter().map(|range| range.end - range.start).sum()
    }

    /// All of them, in ranges.
    pub fn ranges(&self) -> &[Range<u64>] {
        &self.items
    }

    /// Some of them, drawn with replacement.
    pub fn sample(&self, random: &mut Random, size: usize) -> Vec<u64> {
        if self.items.is_empty() {
            return Vec::new();
        }
        let one = |_| {
            let range = random.pick(&self.items).clone();
            range.start + random.below(range.end - range.start)
        };
        (0..size).map(one).collect()
    }
}

impl Model {
    /// One of the keys, if there are any.
    pub fn any(&self, random: &mut Random) -> Option<String> {
        let keys: Vec<&String> = self.keys.keys().collect();
        (!keys.is_empty()).then(|| (*random.pick(&keys)).clone())
    }
}
