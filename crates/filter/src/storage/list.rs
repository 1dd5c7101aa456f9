//! The touched units of many segments, while they are few.
//!
//! A *unit* is what an item touches at once: a sub-bitmap, which never straddles two segments. A
//! list holds units one after the other, each after its number, in ascending order:
//!
//! ```text
//!   number │ words of the unit │ number │ words of the unit │ …    at most 32 KiB
//! ```
//!
//! A unit of one line takes 72 bytes, where the segment that it lies in takes 64 KiB. A list is as
//! large as the size class of its units, so its memory depends on what is in it alone, not on the
//! order in which that came.
//!
//! At its longest a list takes half of a segment; beyond that the segment itself is no dearer soon.
//! To insert a unit into it moves 16 KiB on average, which takes half a microsecond, as long as the
//! kernel takes for a page that is touched for the first time.

use super::{size_class, Mover, SEGMENT_WORDS};
use crate::error::AddError;
use std::alloc::Layout;

/// The most bytes of a list.
const MOST_BYTES: usize = SEGMENT_WORDS * 8 / 2;

/// How the words of a sub-filter are divided into units.
#[derive(Clone, Copy)]
pub struct Units {
    words: usize,
}

impl Units {
    /// Units of `words` words. A segment is whole units; a last one may be shorter.
    pub fn of(words: usize) -> Self {
        Self { words }
    }

    /// Words of a unit.
    pub fn words(self) -> usize {
        self.words
    }

    /// Units of a segment.
    pub fn per_segment(self) -> u64 {
        (SEGMENT_WORDS / self.words).max(1) as u64
    }

    /// The segment of a unit.
    pub fn segment_of(self, unit: u64) -> u64 {
        unit / self.per_segment()
    }

    /// The first word of a unit in its segment.
    pub fn place_of(self, unit: u64) -> usize {
        (unit % self.per_segment()) as usize * self.words
    }

    /// The most units of a list that stands for so many words: no more bytes than half of theirs.
    pub fn most_in(self, words: usize) -> usize {
        MOST_BYTES.min(words * 8 / 2) / (8 * self.record())
    }

    /// Words of a unit and its number.
    fn record(self) -> usize {
        1 + self.words
    }
}

/// A list of units.
pub struct List(Vec<u64>);

/// Units of a list.
#[derive(Clone, Copy)]
pub struct Records<'a> {
    words: &'a [u64],
    units: Units,
}

impl List {
    /// No units.
    pub fn new() -> Self {
        Self(Vec::new())
    }

    /// A list of these units.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn of(records: Records<'_>) -> Result<Self, AddError> {
        let mut list = Self::new();
        list.reserve(records.words.len())?;
        list.0.extend_from_slice(records.words);
        Ok(list)
    }

    /// The units.
    pub fn records(&self, units: Units) -> Records<'_> {
        let words = &self.0;
        Records { words, units }
    }

    /// The words of a unit, for writing.
    pub fn get_mut(&mut self, unit: u64, units: Units) -> Option<&mut [u64]> {
        let at = self.records(units).find(unit).ok()? * units.record();
        self.0.get_mut(at + 1..at + units.record())
    }

    /// Inserts a clear unit as number `index` of the list.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing has changed.
    pub fn insert(&mut self, index: usize, unit: u64, units: Units) -> Result<(), AddError> {
        let (record, len) = (units.record(), self.0.len());
        let at = index * record;
        self.reserve(len + record)?;
        self.0.resize(len + record, 0);
        self.0.copy_within(at..len, at + record);
        self.0[at..at + record].fill(0);
        self.0[at] = unit;
        Ok(())
    }

    /// Makes room for `len` words in all, and for as many more as the allocator adds anyway.
    fn reserve(&mut self, len: usize) -> Result<(), AddError> {
        let room = size_class(8 * len as u64) as usize / 8;
        self.0
            .try_reserve_exact(room.saturating_sub(self.0.len()))
            .map_err(|_| AddError::OutOfMemory)
    }

    /// The layout of its allocation.
    pub fn layout(&self) -> Option<Layout> {
        Layout::array::<u64>(self.0.capacity()).ok()
    }

    /// Passes it through `mover`.
    pub fn relocate(&mut self, mover: &mut impl Mover) {
        self.0 = mover.relocate(std::mem::take(&mut self.0));
    }
}

impl<'a> Records<'a> {
    /// Number of units.
    pub fn len(self) -> usize {
        self.words.len() / self.units.record()
    }

    /// The number of unit `index` of the list.
    pub fn number(self, index: usize) -> Option<u64> {
        self.words.get(index * self.units.record()).copied()
    }

    /// The segment of unit `index` of the list.
    pub fn segment(self, index: usize) -> Option<u64> {
        self.number(index).map(|unit| self.units.segment_of(unit))
    }

    /// The index of a unit, or the one at which to insert it.
    pub fn find(self, unit: u64) -> Result<usize, usize> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.words[middle * self.units.record()].cmp(&unit) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Ok(middle),
            }
        }
        Err(low)
    }

    /// The words of a unit.
    pub fn get(self, unit: u64) -> Option<&'a [u64]> {
        let at = self.find(unit).ok()? * self.units.record();
        self.words.get(at + 1..at + self.units.record())
    }

    /// Those of its units from `unit` on, and those before.
    pub fn split(self, unit: u64) -> (Self, Self) {
        let (Ok(index) | Err(index)) = self.find(unit);
        let (before, after) = self.words.split_at(index * self.units.record());
        let units = self.units;
        let part = |words| Self { words, units };
        (part(before), part(after))
    }

    /// Each unit: its number and its words.
    pub fn each(self) -> impl Iterator<Item = (u64, &'a [u64])> + Clone {
        let records = self.words.chunks_exact(self.units.record());
        records.filter_map(|record| record.split_first().map(|(unit, words)| (*unit, words)))
    }
}
