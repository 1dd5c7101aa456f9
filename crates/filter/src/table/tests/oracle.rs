//! The specification: a plain multiset of hash prefixes, without pages, lines and slots.
//!
//! Two things that a table does affect its results, so they are done here too: it replaces prefixes
//! that are shorter than a bucket's number by all longer ones, and it gives up pages that saturate.

use crate::table::path::Path;
use std::collections::BTreeMap;

/// A multiset of prefixes.
#[derive(Default)]
pub struct Oracle {
    /// The number of entries of each prefix, which is its length and its bits.
    prefixes: BTreeMap<(u8, u64), u64>,
    /// Prefixes below which everything is found and nothing counted.
    saturated: Vec<(u8, u64)>,
    /// Items added and not removed, copies included.
    items: u64,
}

fn prefix(path: Path, length: u8) -> (u8, u64) {
    (length, path.0.checked_shr(64 - u32::from(length)).unwrap_or(0))
}

impl Oracle {
    pub fn insert(&mut self, path: Path, length: u8) {
        if !self.is_saturated(path) {
            *self.prefixes.entry(prefix(path, length)).or_default() += 1;
            self.items += 1;
        }
    }

    fn is_saturated(&self, path: Path) -> bool {
        let mut saturated = self.saturated.iter();
        saturated.any(|(length, bits)| prefix(path, *length).1 == *bits)
    }

    fn matching(&self, path: Path) -> impl DoubleEndedIterator<Item = ((u8, u64), u64)> + '_ {
        let lengths = 1..=64;
        lengths.filter_map(move |length| {
            let key = prefix(path, length);
            self.prefixes.get(&key).map(|copies| (key, *copies))
        })
    }

    pub fn count(&self, path: Path) -> u64 {
        if self.is_saturated(path) {
            return 1;
        }
        self.matching(path).map(|(_, copies)| copies).sum()
    }

    /// Removes the longest prefix of the path.
    pub fn remove(&mut self, path: Path) -> bool {
        if self.is_saturated(path) {
            return true;
        }
        let longest = self.matching(path).next_back();
        let Some((key, copies)) = longest else {
            return false;
        };
        match copies {
            1 => self.prefixes.remove(&key),
            _ => self.prefixes.insert(key, copies - 1),
        };
        self.items = self.items.saturating_sub(1);
        // With the last item all prefixes go, unless something is not counted.
        if self.items == 0 && self.saturated.is_empty() {
            self.prefixes.clear();
        }
        true
    }

    pub fn len(&self) -> u64 {
        self.items
    }

    /// Replaces each prefix that is shorter than `length` and covers paths beginning with the first
    /// `depth` bits of `start` by its two halves, and so on.
    pub fn lengthen(&mut self, start: Path, depth: u8, length: u8) {
        for short in 0..length {
            // `start` has zeros below `depth`.
            let (_, first) = prefix(start, short);
            let last = first | !(u64::MAX << short.saturating_sub(depth));
            let keys = self.prefixes.range((short, first)..=(short, last));
            let keys: Vec<_> = keys.map(|(key, copies)| (*key, *copies)).collect();
            for ((length, bits), copies) in keys {
                self.prefixes.remove(&(length, bits));
                for half in [2 * bits, 2 * bits + 1] {
                    *self.prefixes.entry((length + 1, half)).or_default() += copies;
                }
            }
        }
    }

    /// Saturates all paths that begin with the first `depth` bits of `start`.
    pub fn saturate(&mut self, start: Path, depth: u8) {
        if !self.is_saturated(start) {
            self.lengthen(start, depth, depth);
            self.prefixes.retain(|(length, bits), _| {
                *length < depth
                    || prefix(Path(bits << (64 - length)), depth) != prefix(start, depth)
            });
            self.saturated.push(prefix(start, depth));
        }
    }

    /// The sum of 2^-length, each weighted by its cell.
    pub fn rate(&self) -> f64 {
        let all = self.prefixes.keys().chain(&self.saturated);
        all.map(|(length, bits)| {
            assert!(*length >= 3, "a prefix lies in one cell");
            let share = Path(bits << (64 - length)).share() as f64 / 32.0;
            share * 0.5f64.powi(i32::from(*length))
        })
        .sum()
    }
}
