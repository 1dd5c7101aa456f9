//! Count-min sketches, plain and with windows: counters in a map, a hash and a division for each
//! row.

use super::murmur::short_murmur;
use super::number;
use super::slices::Slices;
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
    pub fn new(width: u64, depth: u64) -> Self {
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
            if number(counter) != 0 {
                self.counters.insert(cell, number(counter) as u32);
            }
        }
    }

    /// As RedisBloom saves it.
    pub fn of_fields(from: &mut impl Fields) -> Option<Self> {
        let mut plain = Self::new(from.unsigned()?, from.unsigned()?);
        plain.count = from.unsigned()?.min(MAX_COUNT);
        let bytes = plain.bytes(i64::MAX as u64)?;
        let string = from.string()?;
        if string.as_ref().len() as u64 != bytes {
            return None;
        }
        plain.put(0, string.as_ref());
        Some(plain)
    }

    /// Reads a slice with the dimensions of this one, whose table has `bytes` bytes.
    fn read_slice(&self, bytes: u64, from: &mut impl Fields) -> Option<Self> {
        let mut sketch = self.clone();
        sketch.count = from.unsigned()?.min(MAX_COUNT);
        let mut least = 0;
        for _ in 0..from.unsigned()? {
            let index = from.unsigned()?;
            if index < least || index >= bytes.div_ceil(SEGMENT) {
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

    fn cells(&self, item: &[u8]) -> Vec<u64> {
        let cell = |row| row * self.width + short_murmur(item, row) % self.width;
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
    empty: Plain,
    pub slices: Slices<Plain>,
}

impl PlainWindow {
    pub fn of_fields(from: &mut impl Fields) -> Option<Self> {
        let empty = Plain::new(from.unsigned()?, from.unsigned()?);
        let slices = Slices::new(from.unsigned()?, from.unsigned()?, from.unsigned()?)?;
        let bytes = empty.bytes(((512 << 20) - 3 * SEGMENT) / (slices.slices + 1))?;
        if empty.depth > 1_024 {
            return None;
        }
        let slices = slices.read(from, |from| empty.read_slice(bytes, from))?;
        Some(Self { empty, slices })
    }

    pub fn estimate(&self, now: u64, item: &[u8]) -> u64 {
        let sum: u64 = self.slices.live(now).map(|sketch| sketch.estimate(item)).sum();
        sum.min(u32::MAX.into())
    }

    pub fn count(&self, now: u64) -> u64 {
        let counts = self.slices.live(now).map(|sketch| sketch.count);
        counts.fold(0, |sum, count| sum.saturating_add(count).min(MAX_COUNT))
    }

    pub fn increment(&mut self, now: u64, item: &[u8], increment: u64) -> u64 {
        self.slices.current(now, || self.empty.clone()).increment(item, increment);
        self.estimate(now, item)
    }
}
