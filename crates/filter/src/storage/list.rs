//! The touched units of many segments, while there are few; and how they are read: a [`View`] of a
//! segment is all of its words, or those of its units in a list.
//!
//! A *unit* is what an item touches: a sub-bitmap, which never straddles two segments. A list is
//! one block: the words of its units in order of arrival, and from its end backwards, their
//! numbers.
//!
//! ```text
//!   unit 0 │ unit 1 │ unit 2 │ … free … │ number 2 │ numbers 1, 0 │ count          at most 8 KiB
//! ```
//!
//! A unit of one line takes 68 bytes, where its segment takes 64 KiB. A list is as large as the
//! size class of its units, so its memory depends only on their number.
//!
//! A list takes at most an eighth of a segment. Adding an item to a list takes 0.3 to 0.5 µs, and
//! to a segment some 0.05 µs. Filling a filter took a tenth longer in all with lists of up to half
//! a segment, and a twentieth with a quarter.
//!
//! A number has 32 bits: the bits above are the same for all units of a list. The search is linear:
//! the processor compares several numbers at a time, in lines that it prefetches. A sorted list,
//! with each unit after its number, took several times as long: each step of a binary search is a
//! cache miss, and an insertion moves half of the list.

use super::{LINE_WORDS, SEGMENT_WORDS};
use crate::error::AddError;
use splitbloom_foundation::alloc::{size_class, try_vec, Mover};
use splitbloom_foundation::prefetch::prefetch;
use std::alloc::Layout;

/// The share of the memory of its segments that a list may take.
const PART: usize = 8;
/// The maximum number of units of a list: 120 of one line fit.
pub const MAX_UNITS: usize = 128;

/// How the words of a sub-filter are divided into units.
#[derive(Clone, Copy)]
pub struct Units {
    words: usize,
}

impl Units {
    /// Units of `words` words. A segment is a whole number of them, a power of two, unless there is
    /// only one segment.
    pub fn of(words: usize) -> Self {
        Self { words }
    }

    /// The number of words of a unit.
    pub fn words(self) -> usize {
        self.words
    }

    /// The number of units of a segment.
    pub fn per_segment(self) -> u64 {
        (SEGMENT_WORDS / self.words).max(1) as u64
    }

    /// The segment of a unit.
    pub fn segment_of(self, unit: u64) -> u64 {
        unit / self.per_segment()
    }

    /// The first word of a unit in its segment. The low bits of its number suffice.
    pub fn place_of(self, unit: u64) -> usize {
        (unit % self.per_segment()) as usize * self.words
    }

    /// The index in a segment of the unit of this number, if it is in that segment.
    pub fn index_in(self, segment: u64, number: u32) -> Option<u32> {
        let index = number.wrapping_sub((segment * self.per_segment()) as u32);
        (u64::from(index) < self.per_segment()).then_some(index)
    }

    /// The maximum number of units of a list that stands for `words` words, or for a segment if
    /// that is less.
    pub fn max_in(self, words: usize) -> usize {
        let room = words.min(SEGMENT_WORDS) / PART;
        (room.saturating_sub(2) * 2 / (2 * self.words + 1)).min(MAX_UNITS)
    }

    /// The number of words of a list of `units` units.
    fn list_words(self, units: usize) -> usize {
        units * self.words + units.div_ceil(2) + 1
    }
}

/// A list of units.
pub struct List(Vec<u64>);

impl List {
    /// No units.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// A copy.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn try_clone(&self) -> Result<Self, AddError> {
        let mut copy = try_vec(self.0.len())?;
        copy.extend_from_slice(&self.0);
        Ok(Self(copy))
    }

    /// A list of those units whose numbers `keep` accepts.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn part(&self, units: Units, keep: impl Fn(u32) -> bool) -> Result<Self, AddError> {
        let mut part = Self::new();
        part.reserve(self.numbers().filter(|number| keep(*number)).count(), units)?;
        for (number, words) in self.each(units).filter(|(number, _)| keep(*number)) {
            part.push(number, units)?.copy_from_slice(words);
        }
        Ok(part)
    }

    /// The number of units.
    pub fn len(&self) -> usize {
        self.0.last().map_or(0, |len| *len as usize)
    }

    /// The words at the end, with two numbers each, the last ones first.
    fn number_words(&self) -> &[u64] {
        let end = self.0.len().saturating_sub(1);
        &self.0[end - self.len().div_ceil(2)..end]
    }

    /// The numbers of the units, in the order of the list.
    pub fn numbers(&self) -> impl Iterator<Item = u32> + Clone + '_ {
        let pairs = self.number_words().iter().rev();
        let numbers = pairs.flat_map(|pair| [*pair as u32, (*pair >> 32) as u32]);
        numbers.take(self.len())
    }

    /// The number of the unit at this index.
    fn number(&self, index: usize) -> Option<u32> {
        let pair = self.number_words().iter().rev().nth(index / 2)?;
        Some((*pair >> (index % 2 * 32)) as u32)
    }

    /// Each unit: its number and its words.
    pub fn each(&self, units: Units) -> impl Iterator<Item = (u32, &[u64])> + Clone {
        self.numbers().zip(self.0.chunks(units.words()))
    }

    /// Prefetches the numbers; in a full list their position is known from its length.
    pub fn prefetch(&self, units: Units) {
        let numbers = self.0.len() / (2 * units.words() + 1) / LINE_WORDS + 1;
        self.0.rchunks(LINE_WORDS).take(numbers).for_each(|line| prefetch(&line[0]));
    }

    /// The index of the unit with this number.
    pub fn find(&self, number: u32) -> Option<usize> {
        /// The number of pairs that are compared together.
        const TOGETHER: usize = 8;
        const ONES: u64 = 0x1_0000_0001;
        let (wanted, pairs) = (u64::from(number) * ONES, self.number_words());
        // Whether one of the two equals the number: subtracting 1 from 0 borrows.
        let is_in = |pair: u64| (pair ^ wanted).wrapping_sub(ONES) & !(pair ^ wanted) & ONES << 31;
        for (chunk, first) in pairs.chunks(TOGETHER).zip((0..).step_by(TOGETHER)) {
            if chunk.iter().fold(0, |all, pair| all | is_in(*pair)) == 0 {
                continue;
            }
            for (pair, at) in chunk.iter().zip(first..) {
                let index = 2 * (pairs.len() - 1 - at);
                if *pair as u32 == number {
                    return Some(index);
                }
                // The second half of an odd list's last pair is not in use.
                if (*pair >> 32) as u32 == number && index + 1 < self.len() {
                    return Some(index + 1);
                }
            }
        }
        None
    }

    /// The words of the unit at this index.
    pub fn words(&self, index: usize, units: Units) -> Option<&[u64]> {
        let at = index * units.words();
        self.0.get(at..at + units.words())
    }

    /// The same for writing.
    pub fn words_mut(&mut self, index: usize, units: Units) -> Option<&mut [u64]> {
        let at = index * units.words();
        self.0.get_mut(at..at + units.words())
    }

    /// Appends a unit of zeros. Returns its words.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing has changed.
    pub fn push(&mut self, number: u32, units: Units) -> Result<&mut [u64], AddError> {
        let index = self.len();
        self.reserve(index + 1, units)?;
        let last = self.0.len() - 1;
        self.0[last] = index as u64 + 1;
        let pair = &mut self.0[last - 1 - index / 2];
        let before = if index.is_multiple_of(2) { 0 } else { *pair & u64::from(u32::MAX) };
        *pair = before | u64::from(number) << (index % 2 * 32);
        let words = self.words_mut(index, units);
        let words = words.ok_or(AddError::OutOfMemory)?;
        words.fill(0);
        Ok(words)
    }

    /// Reserves capacity for `len` units, and for as many more as the size class allows.
    fn reserve(&mut self, len: usize, units: Units) -> Result<(), AddError> {
        let (old, needed) = (self.0.len(), units.list_words(len));
        if len == 0 || needed <= old {
            return Ok(());
        }
        let new = size_class(8 * needed as u64) as usize / 8;
        self.0.try_reserve_exact(new - old)?;
        let numbers = self.number_words().len() + usize::from(old > 0);
        self.0.resize(new, 0);
        self.0.copy_within(old - numbers..old, new - numbers);
        Ok(())
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

/// Units of a list in ascending order.
#[derive(Clone, Copy)]
pub struct Sorted<'a> {
    list: &'a List,
    units: Units,
    /// Their indices in the list.
    order: [u8; MAX_UNITS],
    next: u8,
    end: u8,
}

const _: () = assert!(MAX_UNITS <= u8::MAX as usize);

impl<'a> Sorted<'a> {
    /// Those units whose numbers `keep` accepts.
    pub fn of(list: &'a List, units: Units, keep: impl Fn(u32) -> bool) -> Self {
        let (mut entries, mut len) = ([0; MAX_UNITS], 0);
        let kept = list.numbers().zip(0..).filter(|(number, _)| keep(*number));
        for (to, (number, index)) in entries.iter_mut().zip(kept) {
            *to = u64::from(number) << 8 | index;
            len += 1;
        }
        entries[..len].sort_unstable();
        let order = entries.map(|entry| entry as u8);
        Self { list, units, order, next: 0, end: len as u8 }
    }

    fn get(&self, at: u8) -> Option<(u32, &'a [u64])> {
        let index = self.order[..self.end.into()].get(usize::from(at))?;
        let (list, index) = (self.list, usize::from(*index));
        Some((list.number(index)?, list.words(index, self.units)?))
    }

    /// Takes the units of the first segment from the others. Returns the number of one of them,
    /// and all.
    pub fn take_segment(&mut self) -> Option<(u32, Self)> {
        let (first, _) = self.get(self.next)?;
        let segment = u64::from(first) / self.units.per_segment();
        let start = self.next;
        while self
            .get(self.next)
            .is_some_and(|(number, _)| self.units.segment_of(number.into()) == segment)
        {
            self.next += 1;
        }
        Some((first, Self { next: start, end: self.next, ..*self }))
    }
}

impl<'a> Iterator for Sorted<'a> {
    type Item = (u32, &'a [u64]);

    fn next(&mut self) -> Option<Self::Item> {
        let unit = self.get(self.next)?;
        self.next += 1;
        Some(unit)
    }
}

/// A view of the words of a segment.
#[derive(Clone, Copy)]
pub enum View<'a> {
    /// All of them are allocated.
    Whole(&'a [u64]),
    /// Some units of the segment, which has `len` words, are allocated.
    Some { sorted: Sorted<'a>, len: usize },
}

impl<'a> View<'a> {
    /// The number of words, allocated or not.
    pub fn num_words(&self) -> usize {
        match self {
            Self::Whole(words) => words.len(),
            Self::Some { len, .. } => *len,
        }
    }

    /// Whether no bit is set.
    pub fn is_clear(&self) -> bool {
        let mut words = self.runs().flat_map(|(_, words)| words);
        words.all(|word| *word == 0)
    }

    /// The runs of allocated words, each with its index in the segment, in ascending order: all
    /// other words are 0.
    pub fn runs(&self) -> impl Iterator<Item = (usize, &'a [u64])> + Clone + use<'a> {
        let (whole, some) = match *self {
            Self::Whole(words) => (Some((0, words)), None),
            Self::Some { sorted, .. } => (None, Some(sorted)),
        };
        let some = some.into_iter().flat_map(|sorted| {
            sorted.map(move |(number, words)| (sorted.units.place_of(number.into()), words))
        });
        whole.into_iter().chain(some)
    }

    /// The units that have a set bit, each with its index in the segment, in ascending order.
    pub fn touched(
        &self,
        units: Units,
    ) -> impl Iterator<Item = (usize, &'a [u64])> + Clone + use<'a> {
        let (whole, some) = match *self {
            Self::Whole(words) => (words, None),
            Self::Some { sorted, .. } => (&[][..], Some(sorted)),
        };
        let index = move |number: u32| units.place_of(number.into()) / units.words();
        let some = some.into_iter().flatten().map(move |(number, words)| (index(number), words));
        let each = whole.chunks(units.words()).enumerate().chain(some);
        each.filter(|(_, words)| words.iter().any(|word| *word != 0))
    }

    /// All words, allocated or not.
    #[cfg(test)]
    pub fn to_words(&self) -> Vec<u64> {
        let mut all = vec![0; self.num_words()];
        for (place, words) in self.runs() {
            all[place..place + words.len()].copy_from_slice(words);
        }
        all
    }
}
