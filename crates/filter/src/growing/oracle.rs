//! The specification: a plain multiset of hash prefixes. No pages, no lines, no bits to shift.

use crate::growing::path::Path;
use std::collections::BTreeMap;

/// What a table holds, if marks never get shorter than their buckets.
#[derive(Default)]
pub struct Oracle {
    /// How many entries there are of each prefix: its length and its bits from the top.
    prefixes: BTreeMap<(u8, u64), u64>,
}

fn prefix(path: Path, length: u8) -> (u8, u64) {
    (length, path.0 >> (64 - length))
}

impl Oracle {
    pub fn insert(&mut self, path: Path, length: u8) {
        *self.prefixes.entry(prefix(path, length)).or_default() += 1;
    }

    fn matching(&self, path: Path) -> impl DoubleEndedIterator<Item = ((u8, u64), u64)> + '_ {
        let lengths = 1..=64;
        lengths.filter_map(move |length| {
            let key = prefix(path, length);
            self.prefixes.get(&key).map(|copies| (key, *copies))
        })
    }

    pub fn count(&self, path: Path) -> u64 {
        self.matching(path).map(|(_, copies)| copies).sum()
    }

    /// Removes the longest prefix of the path.
    pub fn remove(&mut self, path: Path) -> bool {
        let longest = self.matching(path).next_back();
        let Some((key, copies)) = longest else {
            return false;
        };
        match copies {
            1 => self.prefixes.remove(&key),
            _ => self.prefixes.insert(key, copies - 1),
        };
        true
    }

    pub fn len(&self) -> u64 {
        self.prefixes.values().sum()
    }

    /// The sum of 2^-length, each weighed by its cell.
    pub fn rate(&self) -> f64 {
        let weights = self.prefixes.keys().map(|(length, bits)| {
            let share = Path(bits << (64 - length)).share() as f64 / 32.0;
            share * 0.5f64.powi(i32::from(*length))
        });
        weights.sum()
    }
}
