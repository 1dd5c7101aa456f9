//! What a page holds, as a sorted list: the form in which pages are split, merged, grown and saved.
//!
//! Of equal marks a page stores three in slots, as if they were different items, and counts the
//! rest. So a multiset of a few copies an item costs nothing special, and one item
//! added a million times costs a counter of 16 bytes. The same holds for marks that have lost all
//! their bits: in one bucket they are all equal, so however many there are, they cannot swell a
//! page.

pub(crate) use crate::alloc::{try_push, try_vec};
use crate::error::AddError;
use crate::growing::mark::{Mark, MAX_LENGTH};
use crate::growing::plan::Plan;

/// Equal marks that are stored in slots.
pub const COPIES: usize = 3;

/// Copies of a mark beyond those in slots. A count that has reached the end of its range stays
/// there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Surplus {
    pub mark: Mark,
    pub copies: u32,
}

/// Sorted marks, at most [`COPIES`] of each, and what there is beyond.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Entries {
    pub marks: Vec<Mark>,
    pub surplus: Vec<Surplus>,
}

impl Entries {
    /// An empty list with room for `marks` marks and `surplus` counters.
    pub fn with_room(marks: usize, surplus: usize) -> Result<Self, AddError> {
        Ok(Self {
            marks: try_vec(marks)?,
            surplus: try_vec(surplus)?,
        })
    }

    /// Adds one copy of a mark.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn insert(&mut self, mark: Mark) -> Result<(), AddError> {
        let place = self.marks.partition_point(|m| *m < mark);
        if self.marks[place..]
            .iter()
            .take_while(|m| **m == mark)
            .count()
            >= COPIES
        {
            return self.add_surplus(mark, 1);
        }
        self.marks
            .try_reserve(1)
            .map_err(|_| AddError::OutOfMemory)?;
        self.marks.insert(place, mark);
        Ok(())
    }

    fn add_surplus(&mut self, mark: Mark, copies: u32) -> Result<(), AddError> {
        let place = self.surplus.partition_point(|s| s.mark < mark);
        match self.surplus.get_mut(place) {
            Some(there) if there.mark == mark => {
                there.copies = there.copies.saturating_add(copies);
            }
            _ => {
                self.surplus
                    .try_reserve(1)
                    .map_err(|_| AddError::OutOfMemory)?;
                self.surplus.insert(place, Surplus { mark, copies });
            }
        }
        Ok(())
    }

    /// Takes away what has another payload than these. Returns whether there was any.
    pub fn retain_payloads(&mut self, alive: u16) -> bool {
        let is_alive = |mark: Mark| alive >> mark.payload() & 1 == 1;
        let before = self.marks.len();
        self.marks.retain(|mark| is_alive(*mark));
        self.surplus.retain(|surplus| is_alive(surplus.mark));
        self.marks.len() < before
    }

    /// How many copies of a mark there are.
    pub fn copies_of(&self, mark: Mark) -> u64 {
        let first = self.marks.partition_point(|m| *m < mark);
        let equal = self.marks[first..].iter().take_while(|m| **m == mark);
        let surplus = self.surplus.iter().filter(|s| s.mark == mark);
        equal.count() as u64 + surplus.map(|s| u64::from(s.copies)).sum::<u64>()
    }

    /// Gives all copies of a mark another payload.
    pub fn set_payload(&mut self, mark: Mark, payload: u8) -> Result<(), AddError> {
        let changed = Mark::of_parts(mark.fingerprint(), payload);
        for there in self.marks.iter_mut().filter(|m| **m == mark) {
            *there = changed;
        }
        for there in self.surplus.iter_mut().filter(|s| s.mark == mark) {
            there.mark = changed;
        }
        self.normalise()
    }

    /// Those of the two pages that one is split into, each mark without its first bit.
    pub fn split(&self) -> Result<[Self; 2], AddError> {
        // In order are those of the low half, marks of no length, which go to both, and the rest.
        let second = self.marks.partition_point(|m| m.bits() >> 63 == 0);
        let (low, rest) = self.marks.split_at(second);
        let both = rest.iter().take_while(|m| m.length() == 0).count();
        let (both, high) = rest.split_at(both);
        let mut halves = [
            Self::with_room(low.len() + both.len(), self.surplus.len())?,
            Self::with_room(high.len() + both.len(), self.surplus.len())?,
        ];
        for (half, marks) in halves.iter_mut().zip([low, high]) {
            half.marks.extend(both);
            half.marks
                .extend(marks.iter().map(|mark| mark.without_first_bit()));
        }
        for surplus in &self.surplus {
            for (half, mark) in parts(surplus.mark).into_iter().flatten() {
                halves[half].surplus.push(Surplus { mark, ..*surplus });
            }
        }
        // Marks that have lost the same bit are still in order, and as many are equal.
        if !both.is_empty() {
            for half in &mut halves {
                half.normalise()?;
            }
        }
        Ok(halves)
    }

    /// Those of the page that two become.
    pub fn merged(halves: [&Self; 2]) -> Result<Self, AddError> {
        let [low, high] = halves;
        let mut both = Self::with_room(
            low.marks.len() + high.marks.len(),
            low.surplus.len() + high.surplus.len(),
        )?;
        for (half, bit) in halves.into_iter().zip([false, true]) {
            both.marks
                .extend(half.marks.iter().map(|m| m.with_first_bit(bit)));
            let surplus = half.surplus.iter();
            both.surplus.extend(surplus.map(|s| Surplus {
                mark: s.mark.with_first_bit(bit),
                ..*s
            }));
        }
        // Marks of full length have lost a bit and may be equal or out of order now.
        both.normalise()?;
        Ok(both)
    }

    /// Replaces each mark of less than `length` bits by all longer ones that match the same, so
    /// that each belongs to one bucket. Returns whether that is done: it is not where there would
    /// be more than `most` of them.
    pub fn lengthen(&mut self, length: u8, most: usize) -> Result<bool, AddError> {
        let is_short = |mark: &&Mark| mark.is_shorter_than(length);
        let short = self.marks.iter().filter(is_short);
        let longer = short.map(|mark| 1usize << (length - mark.length())).sum();
        if longer == 0 {
            return Ok(true);
        }
        if longer > most {
            return Ok(false);
        }
        let mut marks = try_vec(longer)?;
        let mut surplus = try_vec(self.surplus.len() + longer)?;
        for mark in self.marks.iter().filter(is_short) {
            for_each_longer(*mark, length, &mut |mark| marks.push(mark));
        }
        for there in &self.surplus {
            // Each of these stands for a mark above, so there is room.
            for_each_longer(there.mark, length, &mut |mark| {
                surplus.push(Surplus { mark, ..*there })
            });
        }
        self.surplus = surplus;
        // Few marks are short: the others stay in order.
        self.marks.retain(|mark| !mark.is_shorter_than(length));
        marks.sort_unstable();
        merge(&mut self.marks, &marks)?;
        let mut runs = self.marks.windows(COPIES + 1);
        if !self.surplus.is_empty() || runs.any(|run| run[0] == run[COPIES]) {
            self.normalise()?;
        }
        Ok(true)
    }

    /// Whether a page of them, merged, holds them as they were before: none is lengthened, and none
    /// has lost its last bit.
    pub fn keep_their_bits(&self, plan: &Plan) -> bool {
        if self.marks.is_empty() {
            return true;
        }
        let (shortest, longest) = self.lengths();
        shortest >= plan.bucket_bits(self.marks.len()) && longest < MAX_LENGTH
    }

    /// Marks of no more than `length` bits.
    pub fn count_up_to(&self, length: u8) -> usize {
        let is_short = |mark: &&Mark| mark.is_shorter_than(length + 1);
        self.marks.iter().filter(is_short).count()
    }

    /// The lengths of the shortest and the longest mark, of which there is one at least.
    pub fn lengths(&self) -> (u8, u8) {
        // Those of the highest and of the lowest delimiter, of all of them together.
        let mut delimiters = 0;
        for mark in &self.marks {
            let fingerprint = mark.fingerprint();
            delimiters |= fingerprint & fingerprint.wrapping_neg();
        }
        let (above, below) = (delimiters.leading_zeros(), delimiters.trailing_zeros());
        (above as u8, 63 - below as u8)
    }

    /// Sorts, adds up equal counters, and counts what is there more often than it is stored.
    pub fn normalise(&mut self) -> Result<(), AddError> {
        sort_nearly_sorted(&mut self.marks);
        sort_nearly_sorted(&mut self.surplus);
        self.surplus.dedup_by(|next, first| {
            let is_same = next.mark == first.mark;
            if is_same {
                first.copies = first.copies.saturating_add(next.copies);
            }
            is_same
        });
        let (mut kept, mut run) = (0, 0);
        for n in 0..self.marks.len() {
            let mark = self.marks[n];
            run = if kept > 0 && self.marks[kept - 1] == mark {
                run + 1
            } else {
                1
            };
            if run > COPIES {
                self.add_surplus(mark, 1)?;
            } else {
                self.marks[kept] = mark;
                kept += 1;
            }
        }
        self.marks.truncate(kept);
        Ok(())
    }

    /// Whether each copy is counted: no counter is at its end.
    pub fn are_counted(&self) -> bool {
        self.surplus.iter().all(|s| s.copies < u32::MAX)
    }

    /// How many they are, each copy counted.
    pub fn items(&self) -> u64 {
        let surplus = self.surplus.iter().map(|s| u64::from(s.copies));
        self.marks.len() as u64 + surplus.sum::<u64>()
    }
}

/// Where a mark goes in a split: to one half, or to both.
fn parts(mark: Mark) -> [Option<(usize, Mark)>; 2] {
    match mark.split_first_bit() {
        Some((bit, rest)) => [Some((usize::from(bit), rest)), None],
        None => [Some((0, mark)), Some((1, mark))],
    }
}

/// Calls `each` with the marks of `length` bits that match what a shorter one matches, or with a
/// longer one itself.
pub fn for_each_longer(mark: Mark, length: u8, each: &mut impl FnMut(Mark)) {
    if mark.length() >= length {
        each(mark);
    } else {
        for half in mark.halves() {
            for_each_longer(half, length, each);
        }
    }
}

/// Merges a sorted list into another one.
fn merge<T: Copy + Ord>(list: &mut Vec<T>, more: &[T]) -> Result<(), AddError> {
    list.try_reserve(more.len())
        .map_err(|_| AddError::OutOfMemory)?;
    let mut before = list.len();
    list.extend_from_slice(more);
    // From the end on, so that nothing is overwritten that is still to be read.
    for (n, value) in more.iter().enumerate().rev() {
        while before > 0 && list[before - 1] > *value {
            before -= 1;
            list[before + n + 1] = list[before];
        }
        list[before + n] = *value;
    }
    Ok(())
}

/// Insertion sort: lists that need it are sorted but for a few elements, which are near their
/// places. (The standard library's stable sort allocates, and its other one is quick only if all is
/// in order.)
fn sort_nearly_sorted<T: Copy + Ord>(list: &mut [T]) {
    for end in 1..list.len() {
        let (value, mut place) = (list[end], end);
        while place > 0 && list[place - 1] > value {
            list[place] = list[place - 1];
            place -= 1;
        }
        list[place] = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const LENGTH: u8 = 6;

    fn marks() -> impl Strategy<Value = Vec<Mark>> {
        let mark = (any::<u64>(), 2..=8u8, 0..=1u8);
        let mark = mark.prop_map(|(path, length, payload)| Mark::new(path, length, payload));
        prop::collection::vec(mark, 0..100)
    }

    proptest! {
        #[test]
        fn short_marks_become_the_longer_ones_that_match_the_same(marks in marks()) {
            let mut entries = Entries::default();
            let mut expected = BTreeMap::new();
            for mark in &marks {
                entries.insert(*mark).unwrap();
                for_each_longer(*mark, LENGTH, &mut |mark| *expected.entry(mark).or_insert(0) += 1);
            }
            prop_assert!(entries.lengthen(LENGTH, usize::MAX).unwrap());
            for (mark, copies) in &expected {
                prop_assert_eq!(entries.copies_of(*mark), *copies);
            }
            prop_assert_eq!(entries.items(), expected.values().sum::<u64>());
            prop_assert!(entries.marks.is_sorted());
            prop_assert!(entries.marks.windows(COPIES + 1).all(|run| run[0] < run[COPIES]));
            prop_assert!(entries.surplus.is_sorted_by(|one, other| one.mark < other.mark));
        }
    }
}
