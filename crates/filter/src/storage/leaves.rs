//! The segments of a large sub-filter: allocated, copied, moved and freed one at a time.
//!
//! ```text
//!   leaves ──► leaf ──► segment ──► words    a segment is 64 KiB, the last one as long as needed
//!   sorted     64 of    64-byte              a leaf holds 64 of them, 4 MiB of bits
//!              them     lines                an untouched segment is not allocated: all clear
//! ```
//!
//! At 64 KiB the pointers add 0.037 %, and 64 KiB is a size class of jemalloc, so nothing is lost
//! to rounding. Speed does not decide: 16 KiB to 1 MiB behind pointers measured 182.0 ns an item,
//! one flat block 181.5.
//!
//! Memory follows what is touched, never what is declared: with a table of all segments, 142 bytes
//! of a hostile dump (a sub-filter of 2^47 bits and its last, short segment) would cost a megabyte.
//! The leaves are sorted. Once the filter has filled up, leaf `n` is at index `n`, so the search
//! looks there first.

use super::segment::{Segment, SEGMENT_LINES};
use super::shared::Shared;
use super::size::size_class;
use super::{relocate_box, try_boxed, Mover, LINE_WORDS, SEGMENT_WORDS};
use crate::error::AddError;
use std::alloc::Layout;

/// Segments in one leaf.
const LEAF_SEGMENTS: u64 = 64;
/// The state of one segment in a leaf.
enum Slot {
    Empty,
    Own(Segment),
    /// Shared with a copy; neither may write to it.
    Common(Shared<Segment>),
}

/// The memory bound of [`crate::codec`] for hostile bytes depends on this size.
const _: () = assert!(size_of::<Slot>() == 24);

/// Up to `LEAF_SEGMENTS` adjacent segments; the first has the number `LEAF_SEGMENTS * number`.
struct Leaf {
    number: u64,
    slots: Box<[Slot]>,
}

/// Lazily allocated segments.
pub struct Leaves {
    leaves: Vec<Leaf>,
    num_words: u64,
    allocated: u64,
    /// Segments that are shared with a copy, or were.
    common: u64,
    set_bits: u64,
}

impl Slot {
    #[inline]
    fn segment(&self) -> Option<&Segment> {
        match self {
            Self::Own(segment) => Some(segment),
            Self::Common(segment) => Some(segment),
            Self::Empty => None,
        }
    }

    #[inline]
    fn own_segment_mut(&mut self) -> Option<&mut Segment> {
        match self {
            Self::Own(segment) => Some(segment),
            Self::Empty | Self::Common(_) => None,
        }
    }

    /// Turns a shared segment into an own one if the copy no longer has it. Returns whether it did.
    fn reclaim(&mut self) -> bool {
        match std::mem::replace(self, Self::Empty) {
            Self::Common(common) => match common.try_into_inner() {
                Ok(segment) => {
                    *self = Self::Own(segment);
                    true
                }
                Err(common) => {
                    *self = Self::Common(common);
                    false
                }
            },
            other => {
                *self = other;
                false
            }
        }
    }
}

impl Leaves {
    /// `num_words` words, all clear. It allocates nothing.
    pub fn new(num_words: u64) -> Self {
        Self {
            leaves: Vec::new(),
            num_words,
            allocated: 0,
            common: 0,
            set_bits: 0,
        }
    }

    /// Number of set bits, as far as they were counted.
    pub fn set_bits(&self) -> u64 {
        self.set_bits
    }

    /// Counts bits that were set.
    pub fn count_set_bits(&mut self, new: u64) {
        self.set_bits += new;
    }

    /// Number of segments once every bit is in use.
    pub fn reserved(&self) -> u64 {
        self.num_words.div_ceil(SEGMENT_WORDS as u64)
    }

    /// Number of segments that are allocated.
    pub fn allocated(&self) -> u64 {
        self.allocated
    }

    /// Words of segment `index`: `SEGMENT_WORDS`, or fewer in the last one.
    pub fn len_of(&self, index: u64) -> usize {
        let before = index * SEGMENT_WORDS as u64;
        self.num_words
            .saturating_sub(before)
            .min(SEGMENT_WORDS as u64) as usize
    }

    /// The words of segment `index`, if it is allocated.
    #[inline]
    pub fn get(&self, index: u64) -> Option<&[u64]> {
        self.segment(index).map(Segment::words)
    }

    /// The words of segment `index` for writing, if it is allocated and not shared: see
    /// [`Leaves::allocate`].
    #[inline]
    pub fn get_mut(&mut self, index: u64) -> Option<&mut [u64]> {
        self.segment_mut(index).map(Segment::words_mut)
    }

    /// Line `number`, counted over all segments, if its segment is allocated.
    #[inline]
    pub fn line(&self, number: u64) -> Option<&[u64; LINE_WORDS]> {
        let segment = self.segment(number / SEGMENT_LINES)?;
        segment.line((number % SEGMENT_LINES) as usize)
    }

    /// Line `number`, counted over all segments, for writing, if its segment is allocated and not
    /// shared, and its leaf is at the index of its number.
    #[inline(always)]
    pub fn line_mut(&mut self, number: u64) -> Option<&mut [u64; LINE_WORDS]> {
        let index = number / SEGMENT_LINES;
        let leaf = self.leaves.get_mut((index / LEAF_SEGMENTS) as usize)?;
        if leaf.number != index / LEAF_SEGMENTS {
            return None;
        }
        let slot = leaf.slots.get_mut((index % LEAF_SEGMENTS) as usize)?;
        let segment = slot.own_segment_mut()?;
        segment.line_mut((number % SEGMENT_LINES) as usize)
    }

    #[inline]
    fn segment(&self, index: u64) -> Option<&Segment> {
        let number = index / LEAF_SEGMENTS;
        let leaf = match self.leaves.get(number as usize) {
            Some(leaf) if leaf.number == number => leaf,
            _ => &self.leaves[self.search(number).ok()?],
        };
        leaf.slots.get((index % LEAF_SEGMENTS) as usize)?.segment()
    }

    #[inline]
    fn segment_mut(&mut self, index: u64) -> Option<&mut Segment> {
        let place = self.find(index / LEAF_SEGMENTS).ok()?;
        let leaf = self.leaves.get_mut(place)?;
        let slot = leaf.slots.get_mut((index % LEAF_SEGMENTS) as usize)?;
        slot.own_segment_mut()
    }

    /// The index of leaf `number`, or the index at which to insert it.
    #[inline(always)]
    fn find(&self, number: u64) -> Result<usize, usize> {
        match self.leaves.get(number as usize) {
            Some(leaf) if leaf.number == number => Ok(number as usize),
            _ => self.search(number),
        }
    }

    #[cold]
    fn search(&self, number: u64) -> Result<usize, usize> {
        self.leaves
            .binary_search_by_key(&number, |leaf| leaf.number)
    }

    /// Makes segment `index`, which is below [`Leaves::reserved`], allocated and writable: clear if
    /// it was not allocated, an own copy if it was shared. Returns its words. On an error nothing
    /// visible has changed.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn allocate(&mut self, index: u64) -> Result<&mut [u64], AddError> {
        let len = self.len_of(index);
        let slot = self.slot(index)?;
        let (mut is_new, mut was_common) = (false, slot.reclaim());
        match slot {
            Slot::Own(_) => {}
            Slot::Empty => {
                *slot = Slot::Own(Segment::clear(len)?);
                is_new = true;
            }
            Slot::Common(common) => {
                *slot = Slot::Own(common.try_clone()?);
                was_common = true;
            }
        }
        self.allocated += u64::from(is_new);
        self.common -= u64::from(was_common);
        self.get_mut(index).ok_or(AddError::OutOfMemory)
    }

    /// The slot of segment `index`, in a leaf that is created if it is missing.
    fn slot(&mut self, index: u64) -> Result<&mut Slot, AddError> {
        let number = index / LEAF_SEGMENTS;
        let place = match self.find(number) {
            Ok(place) => place,
            Err(place) => {
                let len = (self.reserved() - number * LEAF_SEGMENTS).min(LEAF_SEGMENTS) as usize;
                self.insert_leaf(place, number, len)?;
                place
            }
        };
        Ok(&mut self.leaves[place].slots[(index % LEAF_SEGMENTS) as usize])
    }

    fn insert_leaf(&mut self, place: usize, number: u64, len: usize) -> Result<(), AddError> {
        let slots = try_boxed(len, |to| to.resize_with(len, || Slot::Empty))?;
        // The first leaf is usually the only one, so the list grows by one; after that it doubles.
        let reserved = match self.leaves.len() {
            0 => self.leaves.try_reserve_exact(1),
            _ => self.leaves.try_reserve(1),
        };
        reserved.map_err(|_| AddError::OutOfMemory)?;
        self.leaves.insert(place, Leaf { number, slots });
        Ok(())
    }

    /// Makes all leaves, so that each is at the index of its number, where [`Leaves::line_mut`]
    /// looks. Allocates no segment.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub fn make_leaves(&mut self) -> Result<(), AddError> {
        for number in 0..self.reserved().div_ceil(LEAF_SEGMENTS) {
            self.slot(number * LEAF_SEGMENTS)?;
        }
        Ok(())
    }

    /// Takes the segments of leaves of as many words, which it does not have itself.
    ///
    /// # Errors
    /// `OutOfMemory`, and the segments that remained are lost.
    pub fn absorb(&mut self, other: Self) -> Result<(), AddError> {
        for leaf in other.leaves {
            let first = leaf.number * LEAF_SEGMENTS;
            for (index, slot) in (first..).zip(leaf.slots) {
                if slot.segment().is_some() {
                    *self.slot(index)? = slot;
                }
            }
        }
        self.allocated += other.allocated;
        self.common += other.common;
        self.set_bits += other.set_bits;
        Ok(())
    }

    /// The first allocated segment at or after `index`.
    pub fn next_allocated(&self, index: u64) -> Option<u64> {
        let (Ok(place) | Err(place)) = self.find(index / LEAF_SEGMENTS);
        self.leaves[place..].iter().find_map(|leaf| {
            let first = leaf.number * LEAF_SEGMENTS;
            let from = index.saturating_sub(first) as usize;
            let mut slots = leaf.slots.iter().enumerate().skip(from);
            slots
                .find(|(_, slot)| slot.segment().is_some())
                .map(|(slot, _)| first + slot as u64)
        })
    }

    /// A copy that shares the segments; whichever of the two writes to one first gets a copy of it.
    /// So a copy of any size is quick, and takes memory only as it is needed, 64 KiB at a time.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub fn try_clone(&mut self) -> Result<Self, AddError> {
        let mut copy = Self::new(self.num_words);
        copy.set_bits = self.set_bits;
        for leaf in &mut self.leaves {
            copy.insert_leaf(copy.leaves.len(), leaf.number, leaf.slots.len())?;
            let to = copy.leaves.last_mut().ok_or(AddError::OutOfMemory)?;
            for (to, from) in to.slots.iter_mut().zip(&mut leaf.slots) {
                let common = match std::mem::replace(from, Slot::Empty) {
                    Slot::Empty => continue,
                    Slot::Common(common) => common,
                    Slot::Own(segment) => match Shared::try_new(segment) {
                        Ok(common) => {
                            self.common += 1;
                            common
                        }
                        Err(segment) => {
                            *from = Slot::Own(segment);
                            return Err(AddError::OutOfMemory);
                        }
                    },
                };
                *to = Slot::Common(common.clone());
                *from = Slot::Common(common);
                copy.allocated += 1;
                copy.common += 1;
            }
        }
        Ok(copy)
    }

    /// Bytes that the allocator holds for `num_words` words once every segment is touched.
    pub fn reserved_bytes(num_words: u64) -> u64 {
        let full = num_words / SEGMENT_WORDS as u64;
        let rest = num_words % SEGMENT_WORDS as u64;
        let leaves = num_words
            .div_ceil(SEGMENT_WORDS as u64)
            .div_ceil(LEAF_SEGMENTS);
        let segments = full * size_class(8 * SEGMENT_WORDS as u64)
            + size_class(8 * rest.next_multiple_of(LINE_WORDS as u64));
        // The list of leaves doubles as it grows.
        let list = size_class(leaves.next_power_of_two() * size_of::<Leaf>() as u64);
        let slots = leaves * size_class(LEAF_SEGMENTS * size_of::<Slot>() as u64);
        segments + list + slots
    }

    /// Visits every kind of allocation: its layout and its number. Shared segments are visited in
    /// both filters.
    pub fn visit_allocations(&self, visit: &mut dyn FnMut(Layout, u64)) {
        if let (Ok(layout), 1..) = (
            Layout::array::<Leaf>(self.leaves.capacity()),
            self.leaves.capacity(),
        ) {
            visit(layout, 1);
        }
        for leaf in &self.leaves {
            visit(Layout::for_value(&*leaf.slots), 1);
        }
        if self.common > 0 {
            visit(Shared::<Segment>::layout(), self.common);
        }
        // The full segments are all of one size; the last one may be shorter.
        let last = self.reserved() - 1;
        let last_is_there = u64::from(self.get(last).is_some());
        let kinds = [(0, self.allocated - last_is_there), (last, last_is_there)];
        for (index, times) in kinds.into_iter().filter(|(_, times)| *times > 0) {
            if let Some(layout) = Segment::layout(self.len_of(index)) {
                visit(layout, times);
            }
        }
    }

    /// Passes segment `index` through `mover` if it is allocated and not shared. A segment that a
    /// copy no longer has counts as not shared.
    pub fn relocate(&mut self, index: u64, mover: &mut impl Mover) {
        if let Ok(slot) = self.slot(index) {
            let was_common = slot.reclaim();
            self.common -= u64::from(was_common);
        }
        if let Some(segment) = self.segment_mut(index) {
            segment.relocate(mover);
        }
    }

    /// Passes all allocations but the segments through `mover`.
    pub fn relocate_leaves(&mut self, mover: &mut impl Mover) {
        self.leaves = mover.relocate(std::mem::take(&mut self.leaves));
        for leaf in &mut self.leaves {
            leaf.slots = relocate_box(std::mem::take(&mut leaf.slots), mover);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_allocated_before_it_is_asked_for() {
        let segments = Leaves::new(1 << 41);
        assert_eq!(segments.allocated(), 0);
        assert_eq!(segments.reserved(), 1 << 28);
        assert!(segments.get(0).is_none());
        assert_eq!(segments.next_allocated(0), None);
        let mut bytes = 0;
        segments.visit_allocations(&mut |layout, times| bytes += layout.size() as u64 * times);
        assert_eq!(bytes, 0);
    }

    #[test]
    fn a_segment_is_clear_aligned_and_just_as_long_as_needed() {
        let mut segments = Leaves::new(SEGMENT_WORDS as u64 * 2 + 3);
        for index in 0..3 {
            segments.allocate(index).unwrap();
            segments.allocate(index).unwrap();
            let words = segments.get(index).unwrap();
            assert_eq!(words.as_ptr() as usize % 64, 0);
            assert!(words.iter().all(|w| *w == 0));
        }
        assert_eq!(segments.allocated(), 3);
        assert_eq!(segments.len_of(1), SEGMENT_WORDS);
        assert_eq!(segments.len_of(2), 3);
        assert_eq!(segments.get(2).unwrap().len(), 8, "whole lines");
        assert!(segments.get(3).is_none());
    }

    #[test]
    fn the_search_for_the_next_segment_crosses_leaves() {
        let mut segments = Leaves::new(SEGMENT_WORDS as u64 * 20_000);
        for index in [4096, 5, 19_999, 4095] {
            segments.allocate(index).unwrap();
        }
        let found: Vec<u64> = std::iter::successors(segments.next_allocated(0), |i| {
            segments.next_allocated(i + 1)
        })
        .collect();
        assert_eq!(found, [5, 4095, 4096, 19_999]);
        assert_eq!(segments.next_allocated(20_000), None);
    }

    #[test]
    fn memory_follows_what_is_touched_not_what_is_declared() {
        let mut segments = Leaves::new((1 << 41) + 1);
        segments.allocate(1 << 28).unwrap();
        let mut bytes = 0;
        segments.visit_allocations(&mut |layout, times| bytes += layout.size() as u64 * times);
        assert!(bytes < 1024, "{bytes}");
    }

    #[test]
    fn segments_allocated_in_any_order_are_found() {
        let mut segments = Leaves::new(SEGMENT_WORDS as u64 * 1_000);
        for i in 0..1_000 {
            let index = i * 7 % 1_000;
            assert!(segments.get(index).is_none());
            segments.allocate(index).unwrap();
            segments.get_mut(index).unwrap()[0] = index + 1;
        }
        assert!((0..1_000).all(|index| segments.get(index).unwrap()[0] == index + 1));
    }

    #[test]
    fn a_copy_has_the_same_words_and_its_own_where_one_of_the_two_writes() {
        let mut segments = Leaves::new(SEGMENT_WORDS as u64 * 5000 + 1);
        segments.allocate(4999).unwrap();
        segments.allocate(5000).unwrap();
        segments.get_mut(4999).unwrap()[17] = 42;
        segments.get_mut(5000).unwrap()[0] = 43;
        let mut copy = segments.try_clone().unwrap();
        assert_eq!(copy.allocated(), 2);
        assert_eq!(copy.get(4999).unwrap()[17], 42);
        assert_eq!(copy.get(5000).unwrap()[0], 43);
        assert!(copy.get_mut(4999).is_none(), "both have it");

        copy.allocate(4999).unwrap();
        copy.get_mut(4999).unwrap()[17] = 0;
        assert_eq!(segments.get(4999).unwrap()[17], 42);
        let before = segments.get(4999).unwrap().as_ptr();
        segments.allocate(4999).unwrap();
        segments.get_mut(4999).unwrap()[17] += 1;
        assert_eq!(
            segments.get(4999).unwrap().as_ptr(),
            before,
            "nobody else has it any more"
        );
        assert_eq!(copy.get(4999).unwrap()[17], 0);

        drop(segments);
        assert_eq!(copy.get(5000).unwrap()[0], 43);
    }
}
