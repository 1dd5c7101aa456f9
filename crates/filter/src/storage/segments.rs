//! The bits of one sub-filter, in segments small enough to be allocated, copied, moved and freed
//! one at a time.
//!
//! A server may hold millions of small filters. So up to three words, enough for ten items, are
//! stored inside the sub-filter. Up to a page, the bits are one block of exactly the words needed,
//! which takes less than a microsecond to copy, so copies do not share it. Larger sub-filters have
//! `Leaves`, which copies share.
//!
//! The words that an item touches, a sub-bitmap, are a *unit*. While few units of a large
//! sub-filter are touched, only these are allocated.

use super::leaves::Leaves;
use super::list::Units;
use super::{View, LINE_WORDS, SEGMENT_WORDS};
use crate::error::AddError;
use splitbloom_foundation::alloc::{
    relocate_box, relocate_one, size_class, try_boxed, try_boxed_one, Mover,
};
use splitbloom_foundation::segment::words_of_segment;
use std::alloc::Layout;
use std::ops::Range;

/// The maximum number of words stored inside the sub-filter.
const INLINE_WORDS: usize = 3;
/// The number of words of the largest single block: a page.
const BLOCK_WORDS: u64 = 4096 / 8;

/// The lazily allocated words of one sub-filter.
pub struct Segments(Storage);

enum Storage {
    /// All words, present from the start.
    Inline { len: u8, words: [u64; INLINE_WORDS] },
    /// All words, or none until an item touches them.
    Block { num_words: u16, unit_words: u16, words: Box<[u64]> },
    /// A boxed array of one, because [`Mover`] moves slices.
    Leaves { num_words: u64, unit_words: u16, leaves: Option<Box<[Leaves; 1]>> },
}

impl Segments {
    /// `num_words` words in units of `unit_words`, at most a segment; a segment is a whole number
    /// of units unless there is only one. All 0; allocates nothing.
    pub fn new(num_words: u64, unit_words: usize) -> Self {
        let unit_words = unit_words.clamp(1, SEGMENT_WORDS) as u16;
        Self(if num_words <= INLINE_WORDS as u64 {
            Storage::Inline { len: num_words as u8, words: [0; INLINE_WORDS] }
        } else if num_words <= BLOCK_WORDS {
            Storage::Block { num_words: num_words as u16, unit_words, words: Box::default() }
        } else {
            Storage::Leaves { num_words, unit_words, leaves: None }
        })
    }

    /// The leaves, if any unit in them is touched.
    #[inline(always)]
    fn leaves(&self) -> Option<&Leaves> {
        match &self.0 {
            Storage::Leaves { leaves, .. } => leaves.as_ref().map(|one| &one[0]),
            _ => None,
        }
    }

    #[inline(always)]
    fn leaves_mut(&mut self) -> Option<&mut Leaves> {
        match &mut self.0 {
            Storage::Leaves { leaves, .. } => leaves.as_mut().map(|one| &mut one[0]),
            _ => None,
        }
    }

    fn num_words(&self) -> u64 {
        match self.0 {
            Storage::Inline { len, .. } => len.into(),
            Storage::Block { num_words, .. } => num_words.into(),
            Storage::Leaves { num_words, .. } => num_words,
        }
    }

    /// The number of segments once every bit is in use.
    pub fn reserved(&self) -> u64 {
        self.num_words().div_ceil(SEGMENT_WORDS as u64)
    }

    /// The number of segments that are allocated, whole or in part.
    pub fn allocated(&self) -> u64 {
        match &self.0 {
            Storage::Inline { .. } => 1,
            Storage::Block { words, .. } => u64::from(!words.is_empty()),
            Storage::Leaves { .. } => self.leaves().map_or(0, |leaves| leaves.allocated),
        }
    }

    /// The number of set bits: counted here if there are few words, otherwise kept.
    pub fn set_bits(&self) -> u64 {
        if let Some(leaves) = self.leaves() {
            return leaves.set_bits;
        }
        let words = self.get(0).unwrap_or_default();
        words.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Counts `new` bits that were set, where [`Segments::set_bits`] does not count them itself.
    #[inline(always)]
    pub fn count_set_bits(&mut self, new: u64) {
        if let Some(leaves) = self.leaves_mut() {
            leaves.set_bits += new;
        }
    }

    /// Whether a part is shared with a copy, or was.
    pub fn is_shared(&self) -> bool {
        self.leaves().is_some_and(|leaves| leaves.shared > 0)
    }

    /// The number of words of segment `index`: `SEGMENT_WORDS`, or fewer in the last one.
    pub fn len_of(&self, index: u64) -> usize {
        words_of_segment(index, self.num_words())
    }

    /// The words of segment `index`, if it is allocated whole.
    #[inline]
    pub fn get(&self, index: u64) -> Option<&[u64]> {
        let words = match &self.0 {
            Storage::Inline { len, words } => &words[..usize::from(*len)],
            Storage::Block { words, .. } => words,
            Storage::Leaves { leaves, .. } => return leaves.as_ref()?[0].get(index),
        };
        (index == 0 && !words.is_empty()).then_some(words)
    }

    /// The words of segment `index` for writing, if it is allocated whole and not shared with a
    /// copy: see [`Segments::allocate`].
    #[inline]
    pub fn get_mut(&mut self, index: u64) -> Option<&mut [u64]> {
        let words = match &mut self.0 {
            Storage::Inline { len, words } => &mut words[..usize::from(*len)],
            Storage::Block { words, .. } => words,
            Storage::Leaves { leaves, .. } => return leaves.as_mut()?[0].get_mut(index),
        };
        (index == 0 && !words.is_empty()).then_some(words)
    }

    /// Line `number`, counted over all segments, if its segment is allocated whole.
    #[inline(always)]
    pub fn line(&self, number: u64) -> Option<&[u64; LINE_WORDS]> {
        match &self.0 {
            Storage::Inline { .. } => None,
            Storage::Block { words, .. } => words.as_chunks().0.get(number as usize),
            Storage::Leaves { leaves, .. } => leaves.as_ref()?[0].line(number),
        }
    }

    /// Line `number`, counted over all segments, for writing, if its segment is allocated whole and
    /// not shared, and its leaf is at the index of its number.
    #[inline(always)]
    pub fn line_mut(&mut self, number: u64) -> Option<&mut [u64; LINE_WORDS]> {
        match &mut self.0 {
            Storage::Inline { .. } => None,
            Storage::Block { words, .. } => words.as_chunks_mut().0.get_mut(number as usize),
            Storage::Leaves { leaves, .. } => leaves.as_mut()?[0].line_mut(number),
        }
    }

    /// The words of unit `number`, if they are allocated, also in a segment that is not whole.
    #[cold]
    pub fn unit(&self, number: u64) -> Option<&[u64]> {
        match &self.0 {
            Storage::Inline { .. } => self.get(number),
            Storage::Block { unit_words, words, .. } => {
                words.get(unit_of(words.len(), *unit_words, number)?)
            }
            Storage::Leaves { .. } => self.leaves()?.unit(number),
        }
    }

    /// Prefetches what the lookup of unit `number` reads, in a segment that is not allocated whole.
    #[cold]
    pub fn prefetch(&self, number: u64) {
        if let Some(leaves) = self.leaves() {
            leaves.prefetch(number);
        }
    }

    /// The words of unit `number` for writing, if they are allocated and not shared with a copy.
    pub fn unit_mut(&mut self, number: u64) -> Option<&mut [u64]> {
        match &mut self.0 {
            Storage::Inline { len, words } => {
                words.get_mut(..(*len).into()).filter(|_| number == 0)
            }
            Storage::Block { unit_words, words, .. } => {
                words.get_mut(unit_of(words.len(), *unit_words, number)?)
            }
            Storage::Leaves { leaves, .. } => leaves.as_mut()?[0].unit_mut(number),
        }
    }

    /// The allocated part of segment `index`; `None` if it has none.
    pub fn view(&self, index: u64) -> Option<View<'_>> {
        match &self.0 {
            Storage::Leaves { .. } => self.leaves()?.view(index),
            _ => self.get(index).map(View::Whole),
        }
    }

    /// The allocated segments from `from` on, each with its allocated part.
    pub fn views(&self, from: u64) -> impl Iterator<Item = (u64, View<'_>)> {
        let leaves = self.leaves().into_iter().flat_map(move |leaves| leaves.views(from));
        let single = match self.0 {
            Storage::Leaves { .. } => None,
            _ => self.get(from).map(|words| (from, View::Whole(words))),
        };
        single.into_iter().chain(leaves)
    }

    /// How a segment is divided into units, if it has several.
    pub fn units(&self) -> Option<Units> {
        let (num_words, unit_words) = match self.0 {
            Storage::Inline { .. } => return None,
            Storage::Block { num_words, unit_words, .. } => (num_words.into(), unit_words),
            Storage::Leaves { num_words, unit_words, .. } => (num_words, unit_words),
        };
        let segment = num_words.min(SEGMENT_WORDS as u64);
        (u64::from(unit_words) < segment).then(|| Units::of(unit_words.into()))
    }

    /// All words of segment `index`, if any of it is allocated.
    #[cfg(test)]
    pub(crate) fn words_of(&self, index: u64) -> Option<Vec<u64>> {
        self.view(index).map(|view| view.to_words())
    }

    /// Makes unit `number`, of a segment below [`Segments::reserved`], allocated and writable: 0 if
    /// it was not allocated, a copy if it was shared. Returns its words.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub fn allocate(&mut self, number: u64) -> Result<&mut [u64], AddError> {
        match &mut self.0 {
            Storage::Block { num_words, words, .. } if words.is_empty() => {
                let len = usize::from(*num_words);
                *words = try_boxed(len, |words| words.resize(len, 0))?;
            }
            Storage::Inline { .. } | Storage::Block { .. } => {}
            Storage::Leaves { .. } => return self.touched_leaves()?.allocate(number),
        }
        self.unit_mut(number).ok_or(AddError::OutOfMemory)
    }

    /// Makes those units of segment `index` writable that have a set bit in `runs`: bytes of the
    /// segment from the beginning of a unit on, each run with the index of its first word.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub fn make_room<'a>(
        &mut self,
        index: u64,
        runs: impl Iterator<Item = (usize, &'a [u8])> + Clone,
    ) -> Result<(), AddError> {
        let units = match self.0 {
            Storage::Leaves { unit_words, .. } => Units::of(unit_words.into()),
            _ => return self.allocate(0).map(|_| ()),
        };
        let first = index * units.per_segment();
        let each = runs.flat_map(|(place, bytes)| {
            let first = first + (place / units.words()) as u64;
            bytes.chunks(8 * units.words()).zip(first..)
        });
        let touched = each.filter(|(bytes, _)| bytes.iter().any(|byte| *byte != 0));
        self.touched_leaves()?.make_room(index, touched.map(|(_, unit)| unit))
    }

    /// Makes the units of segment `index` writable that have a set bit in `other`, of equal length.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub fn make_room_for(&mut self, index: u64, other: &Self) -> Result<(), AddError> {
        match (&self.0, other.leaves()) {
            (Storage::Leaves { .. }, Some(others)) => {
                let units = others.units_in(index);
                self.touched_leaves()?.make_room(index, units)
            }
            (Storage::Leaves { .. }, None) => Ok(()),
            _ => self.allocate(0).map(|_| ()),
        }
    }

    /// The leaves, created if they are missing.
    fn touched_leaves(&mut self) -> Result<&mut Leaves, AddError> {
        let Storage::Leaves { num_words, unit_words, leaves } = &mut self.0 else {
            return Err(AddError::OutOfMemory);
        };
        let leaves = match leaves {
            Some(leaves) => leaves,
            None => {
                let units = Units::of(usize::from(*unit_words));
                leaves.insert(try_boxed_one(Leaves::new(*num_words, units))?)
            }
        };
        Ok(&mut leaves[0])
    }

    /// Prepares for writing single segments: see [`Leaves::make_leaves`].
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub(crate) fn make_leaves(&mut self) -> Result<(), AddError> {
        match self.0 {
            Storage::Leaves { .. } => self.touched_leaves()?.make_leaves(),
            _ => Ok(()),
        }
    }

    /// Moves the segments of `other`, of as many words, into this one, which has none of them.
    ///
    /// # Errors
    /// `OutOfMemory`, and segments are lost.
    pub(crate) fn absorb(&mut self, other: Self) -> Result<(), AddError> {
        match (self.leaves_mut(), other.0) {
            (Some(own), Storage::Leaves { leaves, .. }) => leaves.map_or(Ok(()), |one| {
                let [others] = *one;
                own.absorb(others)
            }),
            (_, others) => {
                self.0 = others;
                Ok(())
            }
        }
    }

    /// The first allocated segment at or after `index`.
    pub fn next_allocated(&self, index: u64) -> Option<u64> {
        match &self.0 {
            Storage::Leaves { .. } => self.leaves()?.next_allocated(index),
            _ => (index == 0 && self.allocated() == 1).then_some(0),
        }
    }

    /// A copy. A large one shares the segments; whichever of the two filters writes to one first
    /// copies it. So a copy of any size is quick, and takes memory only as it is needed.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub fn try_clone(&mut self) -> Result<Self, AddError> {
        Ok(Self(match &mut self.0 {
            Storage::Inline { len, words } => Storage::Inline { len: *len, words: *words },
            Storage::Block { num_words, unit_words, words } => Storage::Block {
                num_words: *num_words,
                unit_words: *unit_words,
                words: try_boxed(words.len(), |to| to.extend_from_slice(words))?,
            },
            Storage::Leaves { num_words, unit_words, leaves } => Storage::Leaves {
                num_words: *num_words,
                unit_words: *unit_words,
                leaves: match leaves {
                    None => None,
                    Some(one) => Some(try_boxed_one(one[0].try_clone()?)?),
                },
            },
        }))
    }

    /// The bytes that the allocator holds once every bit is in use.
    pub fn reserved_bytes(&self) -> u64 {
        match self.0 {
            Storage::Inline { .. } => 0,
            Storage::Block { num_words, .. } => size_class(8 * u64::from(num_words)),
            Storage::Leaves { num_words, .. } => {
                size_class(size_of::<Leaves>() as u64) + Leaves::reserved_bytes(num_words)
            }
        }
    }

    /// Visits every kind of allocation: its layout and their number. Shared segments are visited in
    /// both filters.
    pub fn visit_allocations(&self, visit: &mut dyn FnMut(Layout, u64)) {
        match &self.0 {
            Storage::Block { words, .. } if !words.is_empty() => {
                visit(Layout::for_value(&**words), 1);
            }
            Storage::Leaves { leaves: Some(leaves), .. } => {
                visit(Layout::for_value(&**leaves), 1);
                leaves[0].visit_allocations(visit);
            }
            _ => {}
        }
    }

    /// Passes all allocations through `mover`, from segment `from` on, until it says stop, but at
    /// least one segment. Returns the segment to continue from, or `None` at the end.
    pub fn relocate(&mut self, from: u64, mover: &mut impl Mover) -> Option<u64> {
        match &mut self.0 {
            Storage::Leaves { leaves, .. } => {
                if from == 0 {
                    *leaves = leaves.take().and_then(|one| relocate_one(one, mover));
                }
                leaves.as_mut()?[0].relocate(from, mover)
            }
            Storage::Block { words, .. } if from == 0 && !words.is_empty() => {
                *words = relocate_box(std::mem::take(words), mover);
                mover.should_stop().then_some(1)
            }
            _ => None,
        }
    }
}

/// The range of unit `number` in `len` words.
fn unit_of(len: usize, unit_words: u16, number: u64) -> Option<Range<usize>> {
    let start = usize::try_from(number).ok()?.checked_mul(unit_words.into())?;
    let end = (start + usize::from(unit_words)).min(len);
    (start < end).then_some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allocations(segments: &Segments) -> Vec<usize> {
        let mut sizes = Vec::new();
        segments.visit_allocations(&mut |layout, times| {
            sizes.extend((0..times).map(|_| layout.size()));
        });
        sizes
    }

    #[test]
    fn three_words_or_fewer_take_no_allocation() {
        for num_words in 1..=INLINE_WORDS {
            let mut segments = Segments::new(num_words as u64, num_words);
            segments.allocate(0).unwrap()[num_words - 1] = 5;
            let mut copy = segments.try_clone().unwrap();
            copy.get_mut(0).unwrap()[0] = 6;
            assert_eq!(segments.get(0).unwrap()[num_words - 1], 5);
            assert_eq!(segments.get(0).unwrap().len(), segments.len_of(0));
            assert_eq!((segments.reserved(), segments.next_allocated(0)), (1, Some(0)));
            assert!(allocations(&segments).is_empty() && segments.reserved_bytes() == 0);
            assert_eq!((segments.get(1), segments.next_allocated(1)), (None, None));
        }
    }

    #[test]
    fn a_page_or_less_is_one_block_of_the_words_needed() {
        for num_words in [4, 17, BLOCK_WORDS] {
            let mut segments = Segments::new(num_words, SEGMENT_WORDS);
            assert_eq!((segments.reserved(), segments.allocated()), (1, 0));
            assert!(allocations(&segments).is_empty() && segments.get(0).is_none());
            assert_eq!(segments.next_allocated(0), None);
            segments.allocate(0).unwrap()[0] = 5;
            assert_eq!(segments.allocated(), 1);
            assert_eq!(allocations(&segments), [8 * num_words as usize]);
            assert_eq!(segments.get(0).unwrap().len(), segments.len_of(0));
            assert_eq!((segments.next_allocated(0), segments.next_allocated(1)), (Some(0), None));
            assert_eq!(segments.get_mut(0).unwrap()[0], 5);
            assert_eq!(segments.get(1), None);
        }
    }

    #[test]
    fn a_copy_of_a_block_lives_its_own_life() {
        let mut segments = Segments::new(20, 20);
        assert!(allocations(&segments.try_clone().unwrap()).is_empty());
        segments.allocate(0).unwrap()[3] = 1;
        let mut copy = segments.try_clone().unwrap();
        copy.get_mut(0).unwrap()[3] = 2;
        assert_eq!((segments.get(0).unwrap()[3], copy.get(0).unwrap()[3]), (1, 2));
    }

    #[test]
    fn what_is_reserved_is_what_is_allocated_in_the_end() {
        const SEGMENT: u64 = SEGMENT_WORDS as u64;
        for num_words in [1, 13, 512, 513, 8191, SEGMENT, 3 * SEGMENT + 9, 200 * SEGMENT + 1] {
            let mut segments = Segments::new(num_words, SEGMENT_WORDS);
            for index in 0..segments.reserved() {
                segments.allocate(index).unwrap();
            }
            let held = allocations(&segments).into_iter();
            let held: u64 = held.map(|size| size_class(size as u64)).sum();
            let reserved = segments.reserved_bytes();
            assert!(held <= reserved, "{num_words}: {held} of {reserved}");
            // Rounding up affects the last leaf and the list of leaves.
            assert!(reserved - held <= 4096, "{num_words}: {held} of {reserved}");
        }
    }
}
