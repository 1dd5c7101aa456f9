//! How leaves grow, while few units are touched.
//!
//! An item touches one unit, a sub-bitmap, and items are spread evenly, so each of the first items
//! touches another segment. Their units go into lists ([`crate::storage::list`]), which become
//! leaves and segments as they fill up:
//!
//! ```text
//!   one list for all segments ──► two, each for some leaves ──► … ──► one for a leaf
//!                                                    ──► 64 slots, a list in each ──► segments
//! ```
//!
//! A full list is divided at the leaf in its middle. A list whose units are all in one leaf becomes
//! 64 slots, and a list in a slot becomes the segment. Each step costs some microseconds, in
//! proportion to the bytes of a list or segment. A filter that has filled up has no lists left, and
//! the path to a whole segment comes first; lists are out of line.
//!
//! Once an eighth of all lines is touched, all lists are gone. At an error rate of 1 % that is at
//! 0.3 % of the capacity, since a line has room for 47 items. Until then the sub-filter takes some
//! 80 bytes an item.

use super::slot::{empty_slots, segment_of, slot_of, slot_of_segment, Block, Slot};
use super::{Leaf, Leaves, LEAF_SEGMENTS, MAX_LEAVES};
use crate::error::AddError;
use crate::storage::list::{List, MAX_UNITS};
use crate::storage::SEGMENT_WORDS;
use splitbloom_foundation::alloc::try_boxed;
use splitbloom_foundation::segment::Segment;

impl Leaves {
    /// Makes a unit, of a segment below [`Leaves::reserved`], allocated and writable: 0 if it was
    /// not allocated, a copy if it was shared. Returns its words. After an error nothing visible
    /// has changed.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn allocate(&mut self, unit: u64) -> Result<&mut [u64], AddError> {
        let segment = self.units.segment_of(unit);
        loop {
            let place = self.place_for(segment / LEAF_SEGMENTS)?;
            if self.add_to_slot(place, unit)? {
                return self.unit_mut(unit).ok_or(AddError::OutOfMemory);
            } else if self.is_range(place) {
                self.divide(place)?;
            } else {
                self.fill_slot(place, segment)?;
            }
        }
    }

    /// Makes these units of segment `index`, which are sorted, writable. If there are many, it
    /// allocates the segment whole.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub fn make_room(
        &mut self,
        index: u64,
        mut units: impl Iterator<Item = u64> + Clone,
    ) -> Result<(), AddError> {
        if self.segment_mut(index).is_some() {
            return Ok(());
        }
        let number = index / LEAF_SEGMENTS;
        let is_in_range = match self.find(number) {
            Ok(place) => self.is_range(place),
            Err(_) => self.leaf_len(number) > 1,
        };
        if units.clone().nth(self.max_in_slot(is_in_range, index)).is_some() {
            let place = self.make_leaf(number)?;
            return self.fill_slot(place, index);
        }
        units.try_for_each(|unit| self.allocate(unit).map(|_| ()))
    }

    /// The maximum number of units in the list of a range, which has two segments or more, or in
    /// that of one segment.
    fn max_in_slot(&self, is_range: bool, segment: u64) -> usize {
        self.units.max_in(if is_range { SEGMENT_WORDS } else { self.len_of(segment) })
    }

    /// Makes a unit writable in its slot of the leaf at index `place`. Returns false if its list is
    /// full.
    fn add_to_slot(&mut self, place: usize, unit: u64) -> Result<bool, AddError> {
        let (units, segment) = (self.units, self.units.segment_of(unit));
        let most = self.max_in_slot(self.is_range(place), segment);
        let index = self.slot_of(place, segment);
        let slot = &mut self.leaves[place].slots[index];
        self.shared -= u64::from(slot.own(Block::try_clone)?);
        let mut first = List::new();
        let list = match slot {
            Slot::Empty => &mut first,
            Slot::Own(Block::List(list)) => list,
            Slot::Own(Block::Full(_)) => return Ok(true),
            Slot::Shared(_) => return Ok(false),
        };
        if list.find(unit as u32).is_some() {
            return Ok(true);
        } else if list.len() >= most {
            return Ok(false);
        }
        let is_known = list.numbers().any(|number| units.index_in(segment, number).is_some());
        list.push(unit as u32, units)?;
        self.allocated += u64::from(!is_known);
        if matches!(slot, Slot::Empty) {
            *slot = Slot::Own(Block::List(first));
        }
        Ok(true)
    }

    /// Allocates a segment whole, in the leaf at index `place`, which is not a range.
    fn fill_slot(&mut self, place: usize, segment: u64) -> Result<(), AddError> {
        let (units, len) = (self.units, self.len_of(segment));
        let index = self.slot_of(place, segment);
        let slot = &mut self.leaves[place].slots[index];
        self.shared -= u64::from(slot.own(Block::try_clone)?);
        let (is_new, whole) = match slot {
            Slot::Own(Block::Full(_)) | Slot::Shared(_) => return Ok(()),
            Slot::Empty => (true, Segment::clear(len)?),
            Slot::Own(Block::List(list)) => (false, segment_of(list, units, len, |_| true)?),
        };
        *slot = Slot::Own(Block::Full(whole));
        self.allocated += u64::from(is_new);
        self.full += 1;
        Ok(())
    }

    /// The index of leaf `number`, or of the range that contains it; it is created if it is
    /// missing.
    fn place_for(&mut self, number: u64) -> Result<usize, AddError> {
        let place = match self.find(number) {
            Ok(place) => return Ok(place),
            Err(place) => place,
        };
        let before = place.checked_sub(1).map(|before| &self.leaves[before]);
        let (number, len) = if self.units.max_in(SEGMENT_WORDS) > 0 {
            // A range may begin at the end of the leaf before it.
            let first = before.map_or(0, |before| before.number + 1);
            (first.max(number - number % MAX_LEAVES), 1)
        } else {
            (number, self.leaf_len(number))
        };
        self.insert_leaf(place, number, empty_slots(len)?)?;
        Ok(place)
    }

    pub(super) fn insert_leaf(
        &mut self,
        place: usize,
        number: u64,
        slots: Box<[Slot]>,
    ) -> Result<(), AddError> {
        // The first leaf is usually the only one, so the list first grows by one; later it doubles.
        match self.leaves.len() {
            0 => self.leaves.try_reserve_exact(1)?,
            _ => self.leaves.try_reserve(1)?,
        }
        self.leaves.insert(place, Leaf { number, slots });
        Ok(())
    }

    /// Divides a range whose list is full: at the leaf in the middle of its units, or into slots if
    /// all are in one leaf.
    fn divide(&mut self, place: usize) -> Result<(), AddError> {
        let list = self.list_of_range(place);
        let mut numbers = [0; MAX_UNITS];
        let len = numbers.len().min(list.len());
        let numbers = &mut numbers[..len];
        numbers.iter_mut().zip(list.numbers()).for_each(|(to, number)| *to = number);
        numbers.sort_unstable();
        let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else {
            return Ok(());
        };
        let [first, middle, last] =
            [*first, numbers[len / 2], *last].map(|number| self.leaf_of(place, number));
        match first == last {
            true => self.make_slots(place, first),
            false => self.split(place, middle.max(first + 1)),
        }
    }

    /// The number of units of a leaf.
    fn units_per_leaf(&self) -> u64 {
        LEAF_SEGMENTS * self.units.per_segment()
    }

    /// The unit with this number in the list of the leaf at index `place`, a range or not.
    pub(super) fn unit_in(&self, place: usize, number: u32) -> u64 {
        let first = self.leaves[place].number * self.units_per_leaf();
        first & !u64::from(u32::MAX) | u64::from(number)
    }

    /// The number of the leaf that has this unit.
    fn leaf_of(&self, place: usize, number: u32) -> u64 {
        self.unit_in(place, number) / self.units_per_leaf()
    }

    /// Splits a range: leaves from `number` on become a separate one.
    fn split(&mut self, place: usize, number: u64) -> Result<(), AddError> {
        let units = self.units;
        let first = (number * self.units_per_leaf()) as u32;
        let list = self.list_of_range(place);
        let is_right = |number| number >= first;
        let left = slot_of(list.part(units, |number| !is_right(number))?);
        let right = match self.leaf_len(number) {
            // The last leaf may have only one segment, and a short one.
            1 => slot_of_segment(list, units, self.len_of(number * LEAF_SEGMENTS), is_right)?,
            _ => slot_of(list.part(units, is_right)?),
        };
        let is_full = right.part().and_then(Block::segment).is_some();
        let right = try_boxed(1, |one| one.push(right))?;
        self.insert_leaf(place + 1, number, right)?;
        self.replace(place, 0, left);
        self.full += u64::from(is_full);
        Ok(())
    }

    /// Turns a range whose units are all in leaf `number` into that leaf.
    fn make_slots(&mut self, place: usize, number: u64) -> Result<(), AddError> {
        let (units, mut full) = (self.units, 0);
        let mut slots = empty_slots(self.leaf_len(number))?;
        let list = self.list_of_range(place);
        for (slot, segment) in slots.iter_mut().zip(number * LEAF_SEGMENTS..) {
            let is_its = |number| units.index_in(segment, number).is_some();
            *slot = slot_of_segment(list, units, self.len_of(segment), is_its)?;
            full += u64::from(slot.part().and_then(Block::segment).is_some());
        }
        self.replace(place, 0, Slot::Empty);
        self.leaves[place] = Leaf { number, slots };
        self.full += full;
        Ok(())
    }

    /// Replaces a slot.
    fn replace(&mut self, place: usize, slot: usize, by: Slot) {
        let slot = &mut self.leaves[place].slots[slot];
        self.shared -= u64::from(slot.is_shared());
        *slot = by;
    }

    /// The index of leaf `number`, which is created if it is missing, and separated from its range.
    fn make_leaf(&mut self, number: u64) -> Result<usize, AddError> {
        loop {
            let place = self.place_for(number)?;
            if !self.is_range(place) {
                return Ok(place);
            }
            let last = self.list_of_range(place).numbers().max();
            if self.leaves[place].number < number {
                self.split(place, number)?;
            } else if last.is_some_and(|last| self.leaf_of(place, last) > number) {
                self.split(place, number + 1)?;
            } else {
                self.make_slots(place, number)?;
            }
        }
    }

    /// Creates all leaves, so that each is at the index of its number, where [`Leaves::line_mut`]
    /// looks. Allocates no segment.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub fn make_leaves(&mut self) -> Result<(), AddError> {
        for number in 0..self.reserved().div_ceil(LEAF_SEGMENTS) {
            self.make_leaf(number)?;
        }
        Ok(())
    }

    /// Moves the segments of `other`, of as many words, into this one, which has none of them. Both
    /// have all leaves ([`Leaves::make_leaves`]).
    ///
    /// # Errors
    /// `OutOfMemory`, and the segments that remained are lost.
    pub fn absorb(&mut self, other: Self) -> Result<(), AddError> {
        for leaf in other.leaves {
            let place = self.make_leaf(leaf.number)?;
            let own = self.leaves[place].slots.iter_mut();
            for (own, slot) in own.zip(leaf.slots) {
                if slot.part().is_some() {
                    *own = slot;
                }
            }
        }
        self.allocated += other.allocated;
        self.full += other.full;
        self.shared += other.shared;
        self.set_bits += other.set_bits;
        Ok(())
    }
}
