//! What one player knows about its keys: the acknowledged items.

use splitbloom_harness::{Family, Random};
use std::collections::BTreeMap;
use std::ops::Range;

/// Error rates of the filters.
pub const RATES: [&str; 4] = ["0.1", "0.01", "0.001", "0.0001"];

/// The items that a filter must contain.
#[derive(Clone)]
pub struct Known {
    pub family: Family,
    pub rate: &'static str,
    items: Vec<Range<u64>>,
    /// Copies beyond the first one of an item, in a counting filter.
    more_copies: BTreeMap<u64, u64>,
}

#[derive(Default)]
pub struct Model {
    pub keys: BTreeMap<String, Known>,
}

impl Known {
    pub fn new(family: Family, rate: &'static str) -> Known {
        Known { family, rate, items: Vec::new(), more_copies: BTreeMap::new() }
    }

    /// Adds acknowledged items.
    pub fn add(&mut self, numbers: Range<u64>) {
        match self.items.last_mut() {
            _ if numbers.is_empty() => {}
            Some(last) if last.end == numbers.start => last.end = numbers.end,
            _ => self.items.push(numbers),
        }
    }

    /// Adds another copy of an item.
    pub fn add_copy(&mut self, number: u64) {
        *self.more_copies.entry(number).or_default() += 1;
    }

    /// How many copies of an item there are.
    pub fn copies_of(&self, number: u64) -> u64 {
        1 + self.more_copies.get(&number).copied().unwrap_or(0)
    }

    /// How many copies there are of all items.
    pub fn copies(&self) -> u64 {
        self.count() + self.more_copies.values().sum::<u64>()
    }

    /// Takes away up to `most` items, with all of their copies, and returns each copy.
    pub fn take(&mut self, most: u64) -> Vec<u64> {
        let Some(last) = self.items.pop() else {
            return Vec::new();
        };
        let first = last.start.max(last.end.saturating_sub(most));
        if first > last.start {
            self.items.push(last.start..first);
        }
        let copies = |number| {
            let more = self.more_copies.remove(&number).unwrap_or(0);
            vec![number; 1 + more as usize]
        };
        (first..last.end).flat_map(copies).collect()
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
