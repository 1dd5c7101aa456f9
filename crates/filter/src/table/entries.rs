//! The entries of a page as a sorted list: the form in which pages are split, merged, rewritten and
//! decoded.
//!
//! Of equal fingerprints a page stores three in slots, as if they were different, and counts the
//! rest. So a few copies an item cost nothing special, and an item added a million times costs a
//! counter of 16 bytes. The same holds for fingerprints that have lost all their bits: within a
//! bucket they are all equal, so any number of them fits a page.

use crate::error::AddError;
use crate::table::fingerprint::{Fingerprint, MAX_LENGTH};
use crate::table::path::Path;
use crate::table::plan::Plan;
use splitbloom_foundation::alloc::try_vec;

/// The maximum number of equal fingerprints in slots.
pub const COPIES: usize = 3;

/// The number of copies of a fingerprint beyond those in slots. It saturates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Surplus {
    pub fingerprint: Fingerprint,
    pub copies: u32,
}

/// Bytes of a counter, in a page as in its record.
pub const SURPLUS_BYTES: usize = 12;

impl Surplus {
    /// Its bytes: the fingerprint, and the copies.
    pub fn bytes(self) -> [u8; SURPLUS_BYTES] {
        let mut bytes = [0; SURPLUS_BYTES];
        bytes[..8].copy_from_slice(&self.fingerprint.bits().to_le_bytes());
        bytes[8..].copy_from_slice(&self.copies.to_le_bytes());
        bytes
    }

    /// The counter at the start of `bytes`; `None` if they are too short, or no counter.
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let (bits, rest) = bytes.split_first_chunk()?;
        let fingerprint = Fingerprint::from_bits(u64::from_le_bytes(*bits))?;
        Some(Self { fingerprint, copies: u32::from_le_bytes(*rest.first_chunk()?) })
    }
}

/// Sorted fingerprints, at most [`COPIES`] equal ones, and counters of further copies.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Entries {
    pub fingerprints: Vec<Fingerprint>,
    pub surplus: Vec<Surplus>,
}

impl Entries {
    /// An empty list with capacity for `fingerprints` fingerprints and `surplus` counters.
    pub fn with_room(fingerprints: usize, surplus: usize) -> Result<Self, AddError> {
        Ok(Self { fingerprints: try_vec(fingerprints)?, surplus: try_vec(surplus)? })
    }

    /// Adds one copy of a fingerprint.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn insert(&mut self, fingerprint: Fingerprint) -> Result<(), AddError> {
        let place = self.fingerprints.partition_point(|m| *m < fingerprint);
        // The list is sorted, so all of them are equal if the last one is.
        if self.fingerprints.get(place + COPIES - 1) == Some(&fingerprint) {
            return self.add_surplus(fingerprint);
        }
        self.fingerprints.try_reserve(1)?;
        self.fingerprints.insert(place, fingerprint);
        Ok(())
    }

    /// Counts one copy beyond those in slots.
    fn add_surplus(&mut self, fingerprint: Fingerprint) -> Result<(), AddError> {
        let place = self.surplus.partition_point(|s| s.fingerprint < fingerprint);
        match self.surplus.get_mut(place) {
            Some(there) if there.fingerprint == fingerprint => {
                there.copies = there.copies.saturating_add(1);
            }
            _ => {
                self.surplus.try_reserve(1)?;
                self.surplus.insert(place, Surplus { fingerprint, copies: 1 });
            }
        }
        Ok(())
    }

    /// Drops entries whose payload is dead. Returns whether there were any.
    pub fn retain_payloads(&mut self, alive: u16) -> bool {
        let is_alive = |fingerprint: Fingerprint| alive >> fingerprint.payload() & 1 == 1;
        let before = self.fingerprints.len();
        self.fingerprints.retain(|fingerprint| is_alive(*fingerprint));
        self.surplus.retain(|surplus| is_alive(surplus.fingerprint));
        self.fingerprints.len() < before
    }

    /// The number of copies of a fingerprint.
    pub fn copies_of(&self, fingerprint: Fingerprint) -> u64 {
        let first = self.fingerprints.partition_point(|m| *m < fingerprint);
        let equal = self.fingerprints[first..].iter().take_while(|m| **m == fingerprint);
        let surplus = self.surplus.iter().filter(|s| s.fingerprint == fingerprint);
        equal.count() as u64 + surplus.map(|s| u64::from(s.copies)).sum::<u64>()
    }

    /// Gives all copies of a fingerprint another payload.
    pub fn set_payload(&mut self, fingerprint: Fingerprint, payload: u8) -> Result<(), AddError> {
        let changed = Fingerprint::of_parts(fingerprint.without_payload(), payload);
        for there in self.fingerprints.iter_mut().filter(|m| **m == fingerprint) {
            *there = changed;
        }
        let surplus = self.surplus.iter_mut();
        for there in surplus.filter(|s| s.fingerprint == fingerprint) {
            there.fingerprint = changed;
        }
        self.normalise()
    }

    /// The entries of the two halves of a split page, each without its first bit.
    pub fn split(&self) -> Result<[Self; 2], AddError> {
        // The order is: those of the low half, those of no length, which go to both halves, and the
        // rest.
        let second = self.fingerprints.partition_point(|m| m.bits() >> 63 == 0);
        let (low, rest) = self.fingerprints.split_at(second);
        let both = rest.iter().take_while(|m| m.length() == 0).count();
        let (both, high) = rest.split_at(both);
        let mut halves = [
            Self::with_room(low.len() + both.len(), self.surplus.len())?,
            Self::with_room(high.len() + both.len(), self.surplus.len())?,
        ];
        for (half, fingerprints) in halves.iter_mut().zip([low, high]) {
            half.fingerprints.extend(both);
            let shorter = fingerprints.iter().map(|m| m.without_first_bit());
            half.fingerprints.extend(shorter);
        }
        for surplus in &self.surplus {
            match surplus.fingerprint.split_first_bit() {
                Some((bit, fingerprint)) => {
                    halves[usize::from(bit)].surplus.push(Surplus { fingerprint, ..*surplus });
                }
                None => halves.iter_mut().for_each(|half| half.surplus.push(*surplus)),
            }
        }
        // Fingerprints that have all lost the same bit stay in order, and as many are equal.
        if !both.is_empty() {
            for half in &mut halves {
                half.normalise()?;
            }
        }
        Ok(halves)
    }

    /// The entries of the page that two buddies are merged into.
    pub fn merged(halves: [&Self; 2]) -> Result<Self, AddError> {
        let [low, high] = halves;
        let mut both = Self::with_room(
            low.fingerprints.len() + high.fingerprints.len(),
            low.surplus.len() + high.surplus.len(),
        )?;
        for (half, bit) in halves.into_iter().zip([false, true]) {
            both.fingerprints.extend(half.fingerprints.iter().map(|m| m.with_first_bit(bit)));
            let surplus = half.surplus.iter();
            both.surplus.extend(
                surplus.map(|s| Surplus { fingerprint: s.fingerprint.with_first_bit(bit), ..*s }),
            );
        }
        // Fingerprints of full length have lost their last bit and may be equal or out of order
        // now.
        both.normalise()?;
        Ok(both)
    }

    /// Replaces each fingerprint of less than `length` bits by all longer ones that match the same
    /// items, so that each belongs to one bucket. Returns false, and changes nothing, if these
    /// would be more than `most`.
    pub fn lengthen(&mut self, length: u8, most: usize) -> Result<bool, AddError> {
        let is_short = |fingerprint: &&Fingerprint| fingerprint.is_shorter_than(length);
        let short = self.fingerprints.iter().filter(is_short);
        let longer = short.map(|fingerprint| 1usize << (length - fingerprint.length())).sum();
        if longer == 0 {
            return Ok(true);
        }
        if longer > most {
            return Ok(false);
        }
        let mut fingerprints = try_vec(longer)?;
        let mut surplus = try_vec(self.surplus.len() + longer)?;
        for fingerprint in self.fingerprints.iter().filter(is_short) {
            for_each_longer(*fingerprint, length, &mut |fingerprint| {
                fingerprints.push(fingerprint)
            });
        }
        for there in &self.surplus {
            // Each counter belongs to a fingerprint counted above, so there is capacity.
            for_each_longer(there.fingerprint, length, &mut |fingerprint| {
                surplus.push(Surplus { fingerprint, ..*there })
            });
        }
        self.surplus = surplus;
        // Few fingerprints are short: the others stay in order.
        self.fingerprints.retain(|fingerprint| !fingerprint.is_shorter_than(length));
        fingerprints.sort_unstable();
        merge(&mut self.fingerprints, &fingerprints)?;
        let mut runs = self.fingerprints.windows(COPIES + 1);
        if !self.surplus.is_empty() || runs.any(|run| run[0] == run[COPIES]) {
            self.normalise()?;
        }
        Ok(true)
    }

    /// Whether the page at `start` and `depth` would hold these entries unchanged after a merge:
    /// none is lengthened, and none has lost its last bit.
    pub fn keep_their_bits(&self, plan: &Plan, start: Path, depth: u8) -> bool {
        if self.fingerprints.is_empty() {
            return true;
        }
        let (shortest, longest) = self.lengths();
        let bucket_bits = plan.bucket_bits(start, depth, self.fingerprints.len(), longest);
        shortest >= bucket_bits && longest < MAX_LENGTH
    }

    /// The number of fingerprints of at most `length` bits.
    pub fn count_up_to(&self, length: u8) -> usize {
        let is_short = |fingerprint: &&Fingerprint| fingerprint.is_shorter_than(length + 1);
        self.fingerprints.iter().filter(is_short).count()
    }

    /// The lengths of the shortest and the longest fingerprint. There is at least one.
    pub fn lengths(&self) -> (u8, u8) {
        // The highest and the lowest bit of all delimiters.
        let mut delimiters = 0;
        for fingerprint in &self.fingerprints {
            let bits = fingerprint.without_payload();
            delimiters |= bits & bits.wrapping_neg();
        }
        let (above, below) = (delimiters.leading_zeros(), delimiters.trailing_zeros());
        (above as u8, 63 - below as u8)
    }

    /// Sorts, adds up equal counters, and moves copies beyond [`COPIES`] into counters.
    pub fn normalise(&mut self) -> Result<(), AddError> {
        sort_nearly_sorted(&mut self.fingerprints);
        sort_nearly_sorted(&mut self.surplus);
        self.surplus.dedup_by(|next, first| {
            let is_same = next.fingerprint == first.fingerprint;
            if is_same {
                first.copies = first.copies.saturating_add(next.copies);
            }
            is_same
        });
        let (mut kept, mut run) = (0, 0);
        for n in 0..self.fingerprints.len() {
            let fingerprint = self.fingerprints[n];
            run = if kept > 0 && self.fingerprints[kept - 1] == fingerprint { run + 1 } else { 1 };
            if run > COPIES {
                self.add_surplus(fingerprint)?;
            } else {
                self.fingerprints[kept] = fingerprint;
                kept += 1;
            }
        }
        self.fingerprints.truncate(kept);
        Ok(())
    }

    /// Whether every counter is exact, not saturated.
    pub fn are_counted(&self) -> bool {
        self.surplus.iter().all(|s| s.copies < u32::MAX)
    }

    /// The number of items, each copy counted.
    pub fn items(&self) -> u64 {
        let surplus = self.surplus.iter().map(|s| u64::from(s.copies));
        self.fingerprints.len() as u64 + surplus.sum::<u64>()
    }
}

/// Calls `each` with all fingerprints of `length` bits that together match what `fingerprint`
/// matches; with itself if it is at least as long.
pub fn for_each_longer(fingerprint: Fingerprint, length: u8, each: &mut impl FnMut(Fingerprint)) {
    if fingerprint.length() >= length {
        each(fingerprint);
    } else {
        for half in fingerprint.halves() {
            for_each_longer(half, length, each);
        }
    }
}

/// Merges a sorted list into another.
fn merge<T: Copy + Ord>(list: &mut Vec<T>, more: &[T]) -> Result<(), AddError> {
    list.try_reserve(more.len())?;
    let mut before = list.len();
    list.extend_from_slice(more);
    // From the end, so that nothing is overwritten before it is read.
    for (n, value) in more.iter().enumerate().rev() {
        while before > 0 && list[before - 1] > *value {
            before -= 1;
            list[before + n + 1] = list[before];
        }
        list[before + n] = *value;
    }
    Ok(())
}

/// Insertion sort: the lists are sorted except for a few elements near their places. (The standard
/// library's stable sort allocates, and its unstable one is fast only if everything is in order.)
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

    fn fingerprints() -> impl Strategy<Value = Vec<Fingerprint>> {
        let fingerprint = (any::<u64>(), 2..=8u8, 0..=1u8);
        let fingerprint =
            fingerprint.prop_map(|(path, length, payload)| Fingerprint::new(path, length, payload));
        prop::collection::vec(fingerprint, 0..100)
    }

    proptest! {
        #[test]
        fn short_ones_become_the_longer_ones_that_match_the_same(fingerprints in fingerprints()) {
            let mut entries = Entries::default();
            let mut expected = BTreeMap::new();
            for fingerprint in &fingerprints {
                entries.insert(*fingerprint).unwrap();
                for_each_longer(*fingerprint, LENGTH, &mut |longer| {
                    *expected.entry(longer).or_insert(0) += 1;
                });
            }
            prop_assert!(entries.lengthen(LENGTH, usize::MAX).unwrap());
            for (fingerprint, copies) in &expected {
                prop_assert_eq!(entries.copies_of(*fingerprint), *copies);
            }
            prop_assert_eq!(entries.items(), expected.values().sum::<u64>());
            prop_assert!(entries.fingerprints.is_sorted());
            prop_assert!(entries.fingerprints.windows(COPIES + 1).all(|run| run[0] < run[COPIES]));
            let surplus = entries.surplus.iter().map(|s| s.fingerprint);
            prop_assert!(surplus.is_sorted_by(|one, other| one < other));
        }
    }
}
