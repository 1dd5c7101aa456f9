//! What one player knows about its keys: the acknowledged items.

use crate::harness::Random;
use std::collections::BTreeMap;
use std::ops::Range;

/// Error rates of the filters.
pub const RATES: [&str; 4] = ["0.1", "0.01", "0.001", "0.0001"];

/// The items that a filter must contain.
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

    /// Adds acknowledged items.
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

    /// All items, as ranges.
    pub fn ranges(&self) -> &[Range<u64>] {
        &self.items
    }

    /// Some of the items, drawn with replacement.
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
    /// A random key, if there are any.
    pub fn random_key(&self, random: &mut Random) -> Option<String> {
        let keys: Vec<&String> = self.keys.keys().collect();
        (!keys.is_empty()).then(|| (*random.pick(&keys)).clone())
    }
}
