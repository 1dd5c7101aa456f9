//! A second reader of saved count-min sketches, plain and with windows, written from the formats'
//! description alone: counters in a map, a hash and a division for each row.

use super::redisbloom::short_murmur;
use splitbloom_foundation::fields::Fields;
use std::collections::BTreeMap;

/// Bytes of a segment of a windowed sketch.
const SEGMENT: u64 = 65_536;
/// Where the sum of increments stops.
const MAX_COUNT: u64 = i64::MAX as u64;

/// A sketch.
#[derive(Clone, Debug)]
pub struct Plain {
    pub width: u64,
    pub depth: u64,
    pub count: u64,
    /// The counters that are not 0.
    pub counters: BTreeMap<u64, u32>,
}

impl Plain {
    fn empty(width: u64, depth: u64) -> Self {
        Self { width, depth, count: 0, counters: BTreeMap::new() }
    }

    /// Bytes of its counters, if it may be.
    fn bytes(&self, most: u64) -> Option<u64> {
        if self.width == 0 || self.depth == 0 {
            return None;
        }
        let bytes = self.width.checked_mul(self.depth)?.checked_mul(4);
        bytes.filter(|bytes| *bytes <= most)
    }

    /// Puts counters, from number `first` on.
    fn put(&mut self, first: u64, bytes: &[u8]) {
        for (cell, counter) in (first..).zip(bytes.chunks(4)) {
            let digits = counter.iter().rev();
            let counter = digits.fold(0, |number, byte| number << 8 | u32::from(*byte));
            if counter != 0 {
                self.counters.insert(cell, counter);
            }
        }
    }

    /// As RedisBloom saves it.
    pub fn of_fields(from: &mut impl Fields) -> Option<Self> {
        let mut plain = Self::empty(from.unsigned()?, from.unsigned()?);
        plain.count = from.unsigned()?.min(MAX_COUNT);
        let bytes = plain.bytes(i64::MAX as u64)?;
        let string = from.string()?;
        if string.as_ref().len() as u64 != bytes {
            return None;
        }
        plain.put(0, string.as_ref());
        Some(plain)
    }

    fn cells(&self, item: &[u8]) -> Vec<u64> {
        let cell = |row| row * self.width + short_murmur(item, row as u32) % self.width;
        (0..self.depth).map(cell).collect()
    }

    pub fn estimate(&self, item: &[u8]) -> u64 {
        let cells = self.cells(item).into_iter();
        let counters = cells.map(|cell| self.counters.get(&cell).copied().unwrap_or(0));
        u64::from(counters.min().unwrap_or(0))
    }

    pub fn increment(&mut self, item: &[u8], increment: u64) -> u64 {
        self.count = self.count.saturating_add(increment).min(MAX_COUNT);
        for cell in self.cells(item) {
            let counter = self.counters.entry(cell).or_default();
            let sum = u128::from(*counter) + u128::from(increment);
            *counter = sum.min(u128::from(u32::MAX)) as u32;
        }
        self.estimate(item)
    }
}

/// A windowed sketch.
#[derive(Clone, Debug)]
pub struct PlainWindow {
    pub seconds: u64,
    pub slices: u64,
    pub latest: u64,
    empty: Plain,
    /// By the number of the slice, counted from 1970.
    sketches: BTreeMap<u64, Plain>,
}

impl PlainWindow {
    pub fn of_fields(from: &mut impl Fields) -> Option<Self> {
        let empty = Plain::empty(from.unsigned()?, from.unsigned()?);
        let (seconds, slices) = (from.unsigned()?, from.unsigned()?);
        if !(1..=315_360_000).contains(&seconds) || !(2..=14).contains(&slices) {
            return None;
        }
        let bytes = empty.bytes(((512 << 20) - 3 * SEGMENT) / (slices + 1))?;
        if empty.depth > 1_024 {
            return None;
        }
        let latest = from.unsigned()?;
        let mut window = Self { seconds, slices, latest, empty, sketches: BTreeMap::new() };
        for age in (0..=slices).rev() {
            let sketch = match from.unsigned()? {
                0 => continue,
                1 => window.read_slice(bytes, from)?,
                _ => return None,
            };
            window.sketches.insert(window.slice(latest).checked_sub(age)?, sketch);
        }
        (latest < 1 << 53).then_some(window)
    }

    fn read_slice(&self, bytes: u64, from: &mut impl Fields) -> Option<Plain> {
        let mut sketch = self.empty.clone();
        sketch.count = from.unsigned()?.min(MAX_COUNT);
        let segments = bytes.div_ceil(SEGMENT);
        let present = from.unsigned()?;
        let mut least = 0;
        for _ in 0..present {
            let index = from.unsigned()?;
            if index < least || index >= segments {
                return None;
            }
            least = index + 1;
            let string = from.string()?;
            let len = SEGMENT.min(bytes - index * SEGMENT);
            if string.as_ref().len() as u64 != len {
                return None;
            }
            sketch.put(index * SEGMENT / 4, string.as_ref());
        }
        Some(sketch)
    }

    /// The slice that a time lies in.
    fn slice(&self, time: u64) -> u64 {
        (u128::from(time) * u128::from(self.slices) / (u128::from(self.seconds) * 1000)) as u64
    }

    fn live(&self, now: u64) -> impl Iterator<Item = &Plain> {
        let now = now.min((1 << 53) - 1).max(self.latest);
        let oldest = self.slice(now).saturating_sub(self.slices);
        self.sketches.range(oldest..).map(|(_, sketch)| sketch)
    }

    pub fn estimate(&self, now: u64, item: &[u8]) -> u64 {
        let sum: u64 = self.live(now).map(|sketch| sketch.estimate(item)).sum();
        sum.min(u32::MAX.into())
    }

    pub fn count(&self, now: u64) -> u64 {
        self.live(now).fold(0, |sum, sketch| sum.saturating_add(sketch.count).min(MAX_COUNT))
    }

    pub fn increment(&mut self, now: u64, item: &[u8], increment: u64) -> u64 {
        self.latest = now.min((1 << 53) - 1).max(self.latest);
        let slice = self.slice(self.latest);
        let empty = &self.empty;
        let sketch = self.sketches.entry(slice).or_insert_with(|| empty.clone());
        sketch.increment(item, increment);
        self.estimate(self.latest, item)
    }
}
