//! Count-min sketches, plain and with windows: counters in a map, a hash and a division for each
//! row. Arithmetic is in numbers that overflow nothing.

use super::murmur::short_murmur;
use super::slices::Slices;
use super::{must, number};
use splitbloom_foundation::fields::{Field, Fields};
use std::collections::BTreeMap;

/// Bytes of a segment of a windowed sketch.
const SEGMENT: u64 = 65_536;
/// The largest sum of increments, and the largest counter of 8 bytes.
const MAX_COUNT: u64 = i64::MAX as u64;

/// The first bytes of a dump before the number that ends in the encoding version: a module's value,
/// a number of eight bytes, and the name `CMSk-TYPE` (of a dump of RedisBloom's).
const DUMP_HEAD: [u8; 9] = [0x07, 0x81, 0x08, 0xc4, 0xa4, 0xf9, 0x36, 0x0f, 0x10];

/// A sketch.
#[derive(Clone, Debug)]
pub struct Plain {
    pub width: u64,
    pub depth: u64,
    /// Bytes of a counter.
    pub size: u64,
    pub count: u64,
    /// The counters that are not 0.
    pub counters: BTreeMap<u64, u64>,
}

/// Why an increment was not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfit {
    TooLarge,
    Negative,
}

impl Plain {
    pub fn new(width: u64, depth: u64, size: u64) -> Self {
        Self { width, depth, size, count: 0, counters: BTreeMap::new() }
    }

    /// The largest value of a counter.
    pub fn most(&self) -> u64 {
        ((1_u128 << (8 * self.size)) - 1).min(MAX_COUNT.into()) as u64
    }

    /// Bytes of its counters; `None` without counters, or if they are more than `most`.
    fn bytes(&self, most: u64) -> Option<u64> {
        must(self.width > 0 && self.depth > 0)?;
        let bytes = self.width.checked_mul(self.depth)?.checked_mul(self.size);
        bytes.filter(|bytes| *bytes <= most)
    }

    /// Puts counters, from number `first` on, unless one is too large.
    fn put(&mut self, first: u64, bytes: &[u8]) -> Option<()> {
        for (cell, counter) in (first..).zip(bytes.chunks(self.size as usize).map(number)) {
            must(counter <= self.most())?;
            if counter != 0 {
                self.counters.insert(cell, counter);
            }
        }
        Some(())
    }

    /// As RedisBloom saves it in an encoding version; version 0 may have the fields of version 1
    /// after a 0.
    pub fn of_fields(version: u64, from: &mut impl Fields) -> Option<Self> {
        let first = from.unsigned()?;
        let has_size = version == 1 || first == 0;
        let width = if version == 0 && first == 0 { from.unsigned()? } else { first };
        let mut plain = Self::new(width, from.unsigned()?, 4);
        plain.count = from.unsigned()?;
        if has_size {
            plain.size = from.unsigned()?;
            must([1, 2, 4, 8].contains(&plain.size) && plain.count <= MAX_COUNT)?;
        }
        plain.count = plain.count.min(MAX_COUNT);
        let bytes = plain.bytes(i64::MAX as u64)?;
        let string = from.string()?;
        must(string.as_ref().len() as u64 == bytes)?;
        plain.put(0, string.as_ref())?;
        Some(plain)
    }

    /// The fields in which RedisBloom saves it from Redis 8.12 on: encoding version 1.
    pub fn fields(&self) -> Vec<Field> {
        let counter = |cell| self.counters.get(&cell).copied().unwrap_or(0).to_le_bytes();
        let counters = (0..self.width * self.depth).map(counter);
        let string = counters.flat_map(|counter| counter.into_iter().take(self.size as usize));
        let numbers = [self.width, self.depth, self.count, self.size].map(Field::Unsigned);
        numbers.into_iter().chain([Field::String(string.collect())]).collect()
    }

    /// The same as DUMP has them, before the version of the file format and the checksum.
    pub fn dump(&self) -> Vec<u8> {
        let long = |number: u64| [0x81].into_iter().chain(number.to_be_bytes());
        let mut dump = DUMP_HEAD.to_vec();
        dump.push(1);
        for field in self.fields() {
            match field {
                Field::Unsigned(number) => dump.extend([2].into_iter().chain(long(number))),
                Field::String(bytes) => {
                    dump.extend([5].into_iter().chain(long(bytes.len() as u64)).chain(bytes));
                }
                Field::Signed(_) | Field::Double(_) => unreachable!("there is no such field"),
            }
        }
        dump.push(0);
        dump
    }

    /// Reads a slice with the dimensions of this one, whose table has `bytes` bytes.
    fn read_slice(&self, bytes: u64, from: &mut impl Fields) -> Option<Self> {
        let mut sketch = self.clone();
        sketch.count = from.unsigned()?.min(MAX_COUNT);
        let mut least = 0;
        for _ in 0..from.unsigned()? {
            let index = from.unsigned()?;
            must((least..bytes.div_ceil(SEGMENT)).contains(&index))?;
            least = index + 1;
            let string = from.string()?;
            let len = SEGMENT.min(bytes - index * SEGMENT);
            must(string.as_ref().len() as u64 == len)?;
            sketch.put(index * SEGMENT / self.size, string.as_ref())?;
        }
        Some(sketch)
    }

    fn cells(&self, item: &[u8]) -> Vec<u64> {
        let cell = |row| row * self.width + short_murmur(item, row) % self.width;
        (0..self.depth).map(cell).collect()
    }

    fn counter(&self, cell: u64) -> u64 {
        self.counters.get(&cell).copied().unwrap_or(0)
    }

    pub fn estimate(&self, item: &[u8]) -> u64 {
        let cells = self.cells(item).into_iter();
        cells.map(|cell| self.counter(cell)).min().unwrap_or(0)
    }

    /// Adds to the count of `item`, if the sum and all its counters stay within their bounds.
    pub fn increment(&mut self, item: &[u8], by: i64) -> Result<u64, Misfit> {
        let cells = self.cells(item);
        let bounded = cells.iter().map(|cell| (self.counter(*cell), self.most()));
        for (number, most) in bounded.chain([(self.count, MAX_COUNT)]) {
            match i128::from(number) + i128::from(by) {
                ..0 => return Err(Misfit::Negative),
                sum if sum > i128::from(most) => return Err(Misfit::TooLarge),
                _ => {}
            }
        }
        self.count = self.count.checked_add_signed(by).expect("it is within bounds");
        for cell in cells {
            let counter = self.counters.entry(cell).or_default();
            *counter = counter.checked_add_signed(by).expect("it is within bounds");
        }
        Ok(self.estimate(item))
    }

    /// Adds to the count of `item`, as before Redis 8.12: sum and counters stop at their bounds.
    pub fn raise(&mut self, item: &[u8], by: u64) -> u64 {
        self.count = self.count.saturating_add(by).min(MAX_COUNT);
        for cell in self.cells(item) {
            let most = self.most();
            let counter = self.counters.entry(cell).or_default();
            *counter = counter.saturating_add(by).min(most);
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
        let (width, size) = match from.unsigned()? {
            0 => {
                let size = from.unsigned().filter(|size| [1, 2, 4, 8].contains(size))?;
                (from.unsigned()?, size)
            }
            width => (width, 4),
        };
        let empty = Plain::new(width, from.unsigned()?, size);
        let slices = Slices::new(from.unsigned()?, from.unsigned()?, from.unsigned()?)?;
        let bytes = empty.bytes(((512 << 20) - 3 * SEGMENT) / (slices.slices + 1))?;
        must(empty.depth <= 1_024)?;
        let slices = slices.read(from, |from| empty.read_slice(bytes, from))?;
        Some(Self { empty, slices })
    }

    pub fn estimate(&self, now: u64, item: &[u8]) -> u64 {
        let estimates = self.slices.live(now).map(|sketch| u128::from(sketch.estimate(item)));
        estimates.sum::<u128>().min(MAX_COUNT.into()) as u64
    }

    pub fn count(&self, now: u64) -> u64 {
        let counts = self.slices.live(now).map(|sketch| sketch.count);
        counts.fold(0, |sum, count| sum.saturating_add(count).min(MAX_COUNT))
    }

    /// The current slice alone must have room.
    pub fn increment(&mut self, now: u64, item: &[u8], by: i64) -> Result<u64, Misfit> {
        self.slices.current(now, || self.empty.clone()).increment(item, by)?;
        Ok(self.estimate(now, item))
    }
}
