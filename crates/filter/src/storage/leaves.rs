//! The segments of a large sub-filter: allocated, copied, moved and freed one at a time.
//!
//! ```text
//!   leaves ──► leaf ──► segment ──► words    a segment is 64 KiB, the last one as long as needed
//!   sorted     64 of    64-byte              a leaf holds 64 of them, 4 MiB of bits
//!              them     lines                an untouched segment is not allocated: all clear
//! ```
//!
//! At 64 KiB the pointers add 0.037 %, and 64 KiB is a size class of jemalloc, so nothing is lost
//! to rounding. Speed does not decide: 16 KiB to 1 MiB behind pointers took 182.0 ns an item, one
//! flat block 181.5.
//!
//! Memory depends on the units that are touched, not on the declared size: with a table of all
//! segments, 142 bytes of a hostile dump (a sub-filter of 2^47 bits and its last, short segment)
//! would cost a megabyte. The leaves are sorted. In a filter that has filled up, leaf `n` is at
//! index `n`, so the search looks there first. While few units are touched, lists stand for
//! segments: see [`growth`].

mod growth;
mod slot;

use super::list::{List, Sorted, Units};
use super::{View, LINE_WORDS, SEGMENT_WORDS};
use crate::error::AddError;
use slot::{empty_slots, Block, Slot};
use splitbloom_foundation::alloc::{relocate_box, size_class, Mover};
use splitbloom_foundation::segment::{words_of_segment, Segment, SEGMENT_LINES};
use splitbloom_foundation::shared::Shared;
use std::alloc::Layout;
use std::iter;

/// Segments in one leaf.
const LEAF_SEGMENTS: u64 = 64;
/// The maximum number of leaves in a range, so that 32 bits identify a unit.
const MAX_LEAVES: u64 = 1 << 16;

/// Up to `LEAF_SEGMENTS` adjacent segments, with a slot for each; the first has the number
/// `LEAF_SEGMENTS * number`.
///
/// Or a *range*: all segments from there up to the next leaf of the list, or to a multiple of
/// `MAX_LEAVES`, with one slot for all of them.
struct Leaf {
    number: u64,
    slots: Box<[Slot]>,
}

/// Lazily allocated segments.
pub struct Leaves {
    leaves: Vec<Leaf>,
    num_words: u64,
    units: Units,
    /// The number of segments that are allocated, whole or in part.
    pub allocated: u64,
    /// The number of segments that are allocated whole.
    full: u64,
    /// The number of segments and lists that are shared with a copy, or were.
    pub shared: u64,
    /// The number of set bits that were counted.
    pub set_bits: u64,
}

impl Leaves {
    /// Leaves for `num_words` words, all 0. Allocates nothing.
    pub fn new(num_words: u64, units: Units) -> Self {
        Self { leaves: Vec::new(), num_words, units, allocated: 0, full: 0, shared: 0, set_bits: 0 }
    }

    /// The number of segments once every bit is in use.
    pub fn reserved(&self) -> u64 {
        self.num_words.div_ceil(SEGMENT_WORDS as u64)
    }

    /// The number of words of segment `index`: `SEGMENT_WORDS`, or fewer in the last one.
    pub fn len_of(&self, index: u64) -> usize {
        words_of_segment(index, self.num_words)
    }

    /// The words of segment `index`, if it is allocated whole.
    #[inline]
    pub fn get(&self, index: u64) -> Option<&[u64]> {
        self.segment(index).map(Segment::words)
    }

    /// The words of segment `index` for writing, if it is allocated whole and not shared: see
    /// [`Leaves::allocate`].
    #[inline]
    pub fn get_mut(&mut self, index: u64) -> Option<&mut [u64]> {
        self.segment_mut(index).map(Segment::words_mut)
    }

    /// Line `number`, counted over all segments, if its segment is allocated whole.
    #[inline]
    pub fn line(&self, number: u64) -> Option<&[u64; LINE_WORDS]> {
        let segment = self.segment(number / SEGMENT_LINES)?;
        segment.line((number % SEGMENT_LINES) as usize)
    }

    /// Line `number`, counted over all segments, for writing, if its segment is allocated whole and
    /// not shared, and its leaf is at the index of its number.
    #[inline(always)]
    pub fn line_mut(&mut self, number: u64) -> Option<&mut [u64; LINE_WORDS]> {
        let index = number / SEGMENT_LINES;
        let leaf = self.leaves.get_mut((index / LEAF_SEGMENTS) as usize)?;
        if leaf.number != index / LEAF_SEGMENTS {
            return None;
        }
        let slot = leaf.slots.get_mut((index % LEAF_SEGMENTS) as usize)?;
        let segment = slot.own_mut()?.segment_mut()?;
        segment.line_mut((number % SEGMENT_LINES) as usize)
    }

    #[inline]
    fn segment(&self, index: u64) -> Option<&Segment> {
        let number = index / LEAF_SEGMENTS;
        let leaf = match self.leaves.get(number as usize) {
            Some(leaf) if leaf.number == number => leaf,
            _ => &self.leaves[self.search(number).ok()?],
        };
        leaf.slots.get((index % LEAF_SEGMENTS) as usize)?.part()?.segment()
    }

    #[inline]
    fn segment_mut(&mut self, index: u64) -> Option<&mut Segment> {
        let place = self.find(index / LEAF_SEGMENTS).ok()?;
        let leaf = self.leaves.get_mut(place)?;
        let slot = leaf.slots.get_mut((index % LEAF_SEGMENTS) as usize)?;
        slot.own_mut()?.segment_mut()
    }

    /// The index of leaf `number`, or of the range that contains it; otherwise the index at which
    /// to insert it.
    #[inline(always)]
    fn find(&self, number: u64) -> Result<usize, usize> {
        match self.leaves.get(number as usize) {
            Some(leaf) if leaf.number == number => Ok(number as usize),
            _ => self.search(number),
        }
    }

    #[cold]
    fn search(&self, number: u64) -> Result<usize, usize> {
        let after = self.leaves.partition_point(|leaf| leaf.number <= number);
        after.checked_sub(1).filter(|place| self.covers(*place, number)).ok_or(after)
    }

    /// Whether the leaf at index `place`, the last one that does not come after leaf `number`, is
    /// that leaf, or a range that contains it.
    fn covers(&self, place: usize, number: u64) -> bool {
        let first = self.leaves[place].number;
        first == number || self.is_range(place) && first / MAX_LEAVES == number / MAX_LEAVES
    }

    /// The number of segments of leaf `number`.
    fn leaf_len(&self, number: u64) -> usize {
        let before = number * LEAF_SEGMENTS;
        self.reserved().saturating_sub(before).min(LEAF_SEGMENTS) as usize
    }

    /// Whether the leaf at index `place` is a range. A leaf of one segment is not.
    fn is_range(&self, place: usize) -> bool {
        let leaf = &self.leaves[place];
        leaf.slots.len() < self.leaf_len(leaf.number)
    }

    /// The list of the range at index `place`, perhaps an empty one.
    fn list_of_range(&self, place: usize) -> &List {
        static NO_UNITS: List = List::new();
        let block = self.leaves[place].slots.first().and_then(Slot::part);
        block.and_then(Block::list).unwrap_or(&NO_UNITS)
    }

    /// The index of the slot of a segment in the leaf at index `place`.
    fn slot_of(&self, place: usize, segment: u64) -> usize {
        if self.is_range(place) {
            0
        } else {
            (segment % LEAF_SEGMENTS) as usize
        }
    }

    /// The slot of a segment that is allocated, whole or in part.
    fn block(&self, segment: u64) -> Option<&Block> {
        let place = self.find(segment / LEAF_SEGMENTS).ok()?;
        let slot = self.slot_of(place, segment);
        self.leaves[place].slots.get(slot)?.part()
    }

    /// The words of a unit, if it is allocated.
    #[cold]
    pub fn unit(&self, unit: u64) -> Option<&[u64]> {
        match self.block(self.units.segment_of(unit))? {
            Block::List(list) => list.words(list.find(unit as u32)?, self.units),
            Block::Full(segment) => {
                let words = segment.words().get(self.units.place_of(unit)..)?;
                Some(&words[..words.len().min(self.units.words())])
            }
        }
    }

    /// Prefetches what the lookup of a unit reads, in a segment that is not allocated whole.
    #[cold]
    pub fn prefetch(&self, unit: u64) {
        if let Some(Block::List(list)) = self.block(self.units.segment_of(unit)) {
            list.prefetch(self.units);
        }
    }

    /// The words of a unit for writing, if it is allocated and not shared: see
    /// [`Leaves::allocate`].
    pub fn unit_mut(&mut self, unit: u64) -> Option<&mut [u64]> {
        let (units, segment) = (self.units, self.units.segment_of(unit));
        let place = self.find(segment / LEAF_SEGMENTS).ok()?;
        let slot = self.slot_of(place, segment);
        match self.leaves[place].slots.get_mut(slot)? {
            Slot::Empty | Slot::Shared(_) => None,
            Slot::Own(Block::List(list)) => list.words_mut(list.find(unit as u32)?, units),
            Slot::Own(Block::Full(segment)) => {
                let words = segment.words_mut().get_mut(units.place_of(unit)..)?;
                let len = words.len().min(units.words());
                Some(&mut words[..len])
            }
        }
    }

    /// The allocated part of segment `index`; `None` if it has none.
    pub fn view(&self, index: u64) -> Option<View<'_>> {
        let (units, len) = (self.units, self.len_of(index));
        match self.block(index)? {
            Block::Full(segment) => Some(View::Whole(&segment.words()[..len])),
            Block::List(list) => {
                let is_its = |number| units.index_in(index, number).is_some();
                let view = View::Some { sorted: Sorted::of(list, units, is_its), len };
                list.numbers().any(is_its).then_some(view)
            }
        }
    }

    /// The allocated segments from `from` on, each with its allocated part. It sorts each list
    /// once, where [`Leaves::view`] does for each segment.
    pub fn views(&self, from: u64) -> impl Iterator<Item = (u64, View<'_>)> {
        let (Ok(first) | Err(first)) = self.find(from / LEAF_SEGMENTS);
        let places = first..self.leaves.len();
        let views = places.flat_map(move |place| {
            let leaf = &self.leaves[place];
            let slots = leaf.slots.iter().zip(leaf.number * LEAF_SEGMENTS..);
            slots.flat_map(move |(slot, segment)| self.views_of(slot, place, segment))
        });
        views.skip_while(move |(segment, _)| *segment < from)
    }

    /// The allocated segments of a slot of the leaf at index `place`: just `segment` if it has one.
    fn views_of<'a>(
        &'a self,
        slot: &'a Slot,
        place: usize,
        segment: u64,
    ) -> impl Iterator<Item = (u64, View<'a>)> {
        let block = slot.part();
        let whole = block.and_then(Block::segment).map(|whole| {
            let words = &whole.words()[..self.len_of(segment)];
            (segment, View::Whole(words))
        });
        let sorted = block.and_then(Block::list).map(|list| Sorted::of(list, self.units, |_| true));
        let some = sorted.into_iter().flat_map(move |mut rest| {
            iter::from_fn(move || {
                let (number, sorted) = rest.take_segment()?;
                let segment = self.units.segment_of(self.unit_in(place, number));
                Some((segment, View::Some { sorted, len: self.len_of(segment) }))
            })
        });
        whole.into_iter().chain(some)
    }

    /// The units of segment `index` that have a set bit.
    pub fn units_in(&self, index: u64) -> impl Iterator<Item = u64> + Clone + '_ {
        let first = index * self.units.per_segment();
        let view = self.view(index).into_iter();
        view.flat_map(move |view| view.touched(self.units))
            .map(move |(unit, _)| first + unit as u64)
    }

    /// The first allocated segment at or after `index`.
    pub fn next_allocated(&self, index: u64) -> Option<u64> {
        let (Ok(place) | Err(place)) = self.find(index / LEAF_SEGMENTS);
        (place..self.leaves.len()).find_map(|place| {
            let leaf = &self.leaves[place];
            if self.is_range(place) {
                let numbers = self.list_of_range(place).numbers();
                let units = numbers.map(|number| self.unit_in(place, number));
                let from = index * self.units.per_segment();
                let next = units.filter(|unit| *unit >= from).min()?;
                return Some(self.units.segment_of(next));
            }
            let first = leaf.number * LEAF_SEGMENTS;
            let from = index.saturating_sub(first) as usize;
            let mut slots = leaf.slots.iter().enumerate().skip(from);
            slots.find(|(_, slot)| slot.part().is_some()).map(|(slot, _)| first + slot as u64)
        })
    }

    /// A copy that shares the segments and lists; whichever of the two filters writes to one first
    /// copies it. So a copy of any size is quick, and takes memory only as it is needed, 64 KiB at
    /// a time.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub fn try_clone(&mut self) -> Result<Self, AddError> {
        let mut copy = Self::new(self.num_words, self.units);
        for (place, leaf) in self.leaves.iter_mut().enumerate() {
            let mut slots = empty_slots(leaf.slots.len())?;
            for (to, from) in slots.iter_mut().zip(&mut leaf.slots) {
                let was_shared = from.is_shared();
                *to = from.share()?;
                if to.is_shared() {
                    self.shared += u64::from(!was_shared);
                    copy.shared += 1;
                }
            }
            copy.insert_leaf(place, leaf.number, slots)?;
        }
        let Self { allocated, full, set_bits, .. } = *self;
        Ok(Self { allocated, full, set_bits, ..copy })
    }

    /// The bytes that the allocator holds for `num_words` words once every segment is touched.
    pub fn reserved_bytes(num_words: u64) -> u64 {
        let full = num_words / SEGMENT_WORDS as u64;
        let rest = num_words % SEGMENT_WORDS as u64;
        let leaves = num_words.div_ceil(SEGMENT_WORDS as u64).div_ceil(LEAF_SEGMENTS);
        let segments = full * size_class(8 * SEGMENT_WORDS as u64)
            + size_class(8 * rest.next_multiple_of(LINE_WORDS as u64));
        // The list of leaves doubles as it grows.
        let list = size_class(leaves.next_power_of_two() * size_of::<Leaf>() as u64);
        let slots = leaves * size_class(LEAF_SEGMENTS * size_of::<Slot>() as u64);
        segments + list + slots
    }

    /// Visits every kind of allocation: its layout and their number. Shared ones are visited in
    /// both filters.
    pub fn visit_allocations(&self, visit: &mut dyn FnMut(Layout, u64)) {
        if let (Ok(layout), 1..) =
            (Layout::array::<Leaf>(self.leaves.capacity()), self.leaves.capacity())
        {
            visit(layout, 1);
        }
        for leaf in &self.leaves {
            visit(Layout::for_value(&*leaf.slots), 1);
        }
        if self.shared > 0 {
            visit(Shared::<Block>::layout(), self.shared);
        }
        // The full segments are all of one size; the last segment may be shorter.
        let last = self.reserved() - 1;
        let last_is_there = u64::from(self.get(last).is_some());
        let kinds = [(0, self.full - last_is_there), (last, last_is_there)];
        for (index, times) in kinds.into_iter().filter(|(_, times)| *times > 0) {
            if let Some(layout) = Segment::layout(self.len_of(index)) {
                visit(layout, times);
            }
        }
        if self.full < self.allocated {
            let slots = self.leaves.iter().flat_map(|leaf| &leaf.slots);
            let lists = slots.filter_map(|slot| slot.part()?.list()?.layout());
            lists.for_each(|layout| visit(layout, 1));
        }
    }

    /// Passes all allocations through `mover`, from segment `from` on, until it says stop, but at
    /// least one segment. Returns the segment to continue from, or `None` at the end.
    pub fn relocate(&mut self, from: u64, mover: &mut impl Mover) -> Option<u64> {
        if from == 0 {
            self.leaves = mover.relocate(std::mem::take(&mut self.leaves));
            for leaf in &mut self.leaves {
                leaf.slots = relocate_box(std::mem::take(&mut leaf.slots), mover);
            }
        }
        let mut segment = from;
        while let Some(next) = self.relocate_next(segment, mover) {
            segment = next;
            if mover.should_stop() {
                return Some(segment);
            }
        }
        None
    }

    /// Passes the segment or list that contains the first allocated segment at or after `from`
    /// through `mover`, unless it is shared. One whose other owner has been dropped is not shared.
    /// Returns the number after its last segment; `None` if no segment follows `from`.
    fn relocate_next(&mut self, from: u64, mover: &mut impl Mover) -> Option<u64> {
        let segment = self.next_allocated(from)?;
        let place = self.find(segment / LEAF_SEGMENTS).ok()?;
        let index = self.slot_of(place, segment);
        let slot = self.leaves[place].slots.get_mut(index)?;
        self.shared -= u64::from(slot.reclaim());
        match slot {
            Slot::Empty | Slot::Shared(_) => {}
            Slot::Own(Block::Full(segment)) => segment.relocate(mover),
            Slot::Own(Block::List(list)) => list.relocate(mover),
        }
        let last = slot.part().and_then(Block::list).and_then(|list| list.numbers().max());
        let last = last.map(|last| self.units.segment_of(self.unit_in(place, last)));
        Some(last.unwrap_or(segment) + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};
    use std::iter::successors;

    #[test]
    fn nothing_is_allocated_before_it_is_asked_for() {
        let segments = Leaves::new(1 << 41, Units::of(SEGMENT_WORDS));
        assert_eq!(segments.allocated, 0);
        assert_eq!(segments.reserved(), 1 << 28);
        assert!(segments.get(0).is_none());
        assert_eq!(segments.next_allocated(0), None);
        let mut bytes = 0;
        segments.visit_allocations(&mut |layout, times| bytes += layout.size() as u64 * times);
        assert_eq!(bytes, 0);
    }

    #[test]
    fn a_segment_is_clear_aligned_and_just_as_long_as_needed() {
        let mut segments = Leaves::new(SEGMENT_WORDS as u64 * 2 + 3, Units::of(SEGMENT_WORDS));
        for index in 0..3 {
            segments.allocate(index).unwrap();
            segments.allocate(index).unwrap();
            let words = segments.get(index).unwrap();
            assert_eq!(words.as_ptr() as usize % 64, 0);
            assert!(words.iter().all(|w| *w == 0));
        }
        assert_eq!(segments.allocated, 3);
        assert_eq!(segments.len_of(1), SEGMENT_WORDS);
        assert_eq!(segments.len_of(2), 3);
        assert_eq!(segments.get(2).unwrap().len(), 8, "whole lines");
        assert!(segments.get(3).is_none());
    }

    #[test]
    fn the_search_for_the_next_segment_crosses_leaves() {
        let mut segments = Leaves::new(SEGMENT_WORDS as u64 * 20_000, Units::of(SEGMENT_WORDS));
        for index in [4096, 5, 19_999, 4095] {
            segments.allocate(index).unwrap();
        }
        let found: Vec<u64> =
            std::iter::successors(segments.next_allocated(0), |i| segments.next_allocated(i + 1))
                .collect();
        assert_eq!(found, [5, 4095, 4096, 19_999]);
        assert_eq!(segments.next_allocated(20_000), None);
    }

    #[test]
    fn memory_follows_what_is_touched_not_what_is_declared() {
        let mut segments = Leaves::new((1 << 41) + 1, Units::of(SEGMENT_WORDS));
        segments.allocate(1 << 28).unwrap();
        let mut bytes = 0;
        segments.visit_allocations(&mut |layout, times| bytes += layout.size() as u64 * times);
        assert!(bytes < 1024, "{bytes}");
    }

    #[test]
    fn segments_allocated_in_any_order_are_found() {
        let mut segments = Leaves::new(SEGMENT_WORDS as u64 * 1_000, Units::of(SEGMENT_WORDS));
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
        let mut segments = Leaves::new(SEGMENT_WORDS as u64 * 5000 + 1, Units::of(SEGMENT_WORDS));
        segments.allocate(4999).unwrap();
        segments.allocate(5000).unwrap();
        segments.get_mut(4999).unwrap()[17] = 42;
        segments.get_mut(5000).unwrap()[0] = 43;
        let mut copy = segments.try_clone().unwrap();
        assert_eq!(copy.allocated, 2);
        assert_eq!(copy.get(4999).unwrap()[17], 42);
        assert_eq!(copy.get(5000).unwrap()[0], 43);
        assert!(copy.get_mut(4999).is_none(), "both have it");

        copy.allocate(4999).unwrap();
        copy.get_mut(4999).unwrap()[17] = 0;
        assert_eq!(segments.get(4999).unwrap()[17], 42);
        let before = segments.get(4999).unwrap().as_ptr();
        segments.allocate(4999).unwrap();
        segments.get_mut(4999).unwrap()[17] += 1;
        assert_eq!(segments.get(4999).unwrap().as_ptr(), before, "nobody else has it any more");
        assert_eq!(copy.get(4999).unwrap()[17], 0);

        drop(segments);
        assert_eq!(copy.get(5000).unwrap()[0], 43);
    }

    const LINES: [usize; 3] = [1, 4, 64];

    /// A pseudo-random number.
    fn scrambled(n: u64) -> u64 {
        let n = (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (n ^ n >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 3
    }

    fn bytes_of(leaves: &Leaves) -> u64 {
        let mut bytes = 0;
        leaves.visit_allocations(&mut |layout, times| {
            bytes += size_class(layout.size() as u64) * times;
        });
        bytes
    }

    /// Checks the leaves against a model of a few lines.
    fn assert_holds(leaves: &Leaves, model: &BTreeMap<u64, u64>) {
        let units = leaves.units;
        for (unit, value) in model {
            assert_eq!(leaves.unit(*unit).map(|words| words[3]), Some(*value), "{unit}");
        }
        let mut segments: Vec<u64> = model.keys().map(|unit| units.segment_of(*unit)).collect();
        segments.dedup();
        let next = |from| leaves.next_allocated(from);
        let found = successors(next(0), |number| next(number + 1));
        assert!(found.eq(segments.iter().copied()));
        assert_eq!(leaves.allocated, segments.len() as u64);
        let in_views = segments.iter().flat_map(|segment| leaves.units_in(*segment));
        assert!(in_views.eq(model.keys().copied()));
        for segment in segments.into_iter().take(50) {
            let view = leaves.view(segment).unwrap();
            assert_eq!(view.num_words(), leaves.len_of(segment));
            let words = view.to_words();
            let first = segment * units.per_segment();
            let set = (first..first + units.per_segment()).filter_map(|unit| model.get(&unit));
            assert_eq!(words.iter().sum::<u64>(), set.sum::<u64>());
        }
    }

    #[test]
    fn whatever_units_are_touched_they_and_no_others_are_there() {
        for lines in LINES {
            // A segment; a leaf and a segment; many leaves of which some are touched.
            for (segments, touched) in [(1, 900), (65, 9_000), (5_000, 9_000), (1 << 20, 5_000)] {
                let units = Units::of(8 * lines);
                let num_words = segments * SEGMENT_WORDS as u64 - 64 * 8 * 3;
                let num_units = num_words / units.words() as u64;
                let mut leaves = Leaves::new(num_words, units);
                let mut model = BTreeMap::new();
                for n in 0..touched {
                    // A third of them are close to each other.
                    let unit = match n % 3 {
                        0 => scrambled(n) % num_units.min(3_000),
                        _ => scrambled(n) % num_units,
                    };
                    let words = leaves.allocate(unit).unwrap();
                    assert_eq!(words[3], model.get(&unit).copied().unwrap_or(0));
                    words[3] = n + 1;
                    model.insert(unit, n + 1);
                    if n.is_power_of_two() {
                        assert_holds(&leaves, &model);
                    }
                }
                assert_holds(&leaves, &model);
                let copy = leaves.try_clone().unwrap();
                for unit in model.keys().copied().step_by(3) {
                    leaves.allocate(unit).unwrap()[3] = 0;
                }
                assert_holds(&copy, &model);
                drop(leaves);
            }
        }
    }

    #[test]
    fn leaves_take_the_same_memory_in_whatever_order_their_units_come() {
        for touched in [40, 1_000, 30_000] {
            let (units, segments) = (Units::of(8), 700);
            let num_words = segments * SEGMENT_WORDS as u64;
            let numbers: BTreeSet<u64> =
                (0..touched).map(|n| scrambled(n) % (num_words / 8)).collect();
            let mut as_they_came = Leaves::new(num_words, units);
            (0..touched).for_each(|n| {
                as_they_came.allocate(scrambled(n) % (num_words / 8)).unwrap()[0] = 1;
            });
            let mut sorted = Leaves::new(num_words, units);
            for segment in 0..segments {
                let own = segment * units.per_segment()..(segment + 1) * units.per_segment();
                sorted.make_room(segment, numbers.range(own).copied()).unwrap();
            }
            assert_eq!(sorted.allocated, as_they_came.allocated);
            let (one, other) = (bytes_of(&sorted), bytes_of(&as_they_came));
            assert!(one.abs_diff(other) < one / 8, "{touched}: {one} and {other}");
        }
    }

    #[test]
    fn memory_follows_the_units_and_is_never_more_than_all_of_the_segments_take() {
        for segments in [1, 3, 200, 20_000] {
            let num_words = segments * SEGMENT_WORDS as u64 - 8 * 100;
            let mut leaves = Leaves::new(num_words, Units::of(8));
            let (all, mut before) = (Leaves::reserved_bytes(num_words), 0);
            for n in 0..(num_words / 8 * 3).min(100_000) {
                leaves.allocate(scrambled(n) % (num_words / 8)).unwrap();
                if n.is_power_of_two() {
                    let bytes = bytes_of(&leaves);
                    let most = 400 + 600 * (n + 1);
                    assert!(bytes <= most.min(all), "{bytes} for {n} of {segments}");
                    assert!(bytes >= before, "{bytes} for {n} of {segments}");
                    before = bytes;
                }
            }
        }
    }

    #[test]
    fn a_short_segment_alone_in_its_leaf_is_no_list_that_is_too_long_for_it() {
        let num_words = LEAF_SEGMENTS * SEGMENT_WORDS as u64 + 8 * 2;
        let mut leaves = Leaves::new(num_words, Units::of(8));
        let first_of_last = num_words / 8 - 2;
        let mut model = BTreeMap::new();
        let others = (0..).map(|n| scrambled(n) % first_of_last);
        for unit in [first_of_last, first_of_last + 1].into_iter().chain(others) {
            leaves.allocate(unit).unwrap()[3] = unit;
            model.insert(unit, unit);
            if leaves.leaves.len() > 1 {
                break;
            }
        }
        assert!(leaves.units.max_in(leaves.len_of(LEAF_SEGMENTS)) < 2);
        assert!(leaves.get(LEAF_SEGMENTS).is_some());
        assert_eq!(leaves.full, 1);
        assert_holds(&leaves, &model);
    }

    #[test]
    fn a_filter_that_has_filled_up_has_neither_lists_nor_ranges() {
        let num_words = 130 * SEGMENT_WORDS as u64 + 8 * 9;
        let mut leaves = Leaves::new(num_words, Units::of(8));
        for n in 0..num_words / 8 * 4 {
            leaves.allocate(scrambled(n) % (num_words / 8)).unwrap();
        }
        assert_eq!((leaves.full, leaves.allocated), (131, 131));
        let places = leaves.leaves.iter().zip(0..);
        assert!(places.into_iter().all(|(leaf, place)| leaf.number == place));
        assert!((0..num_words / 8).all(|line| leaves.line_mut(line).is_some()));
    }
}
