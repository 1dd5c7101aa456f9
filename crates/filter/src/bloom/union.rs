//! The union of sub-filters: the bits of all. Those of a larger one are folded as they are read
//! ([`crate::bloom::fold`]).

use crate::alloc::try_vec;
use crate::bloom::blocked_bloom::BlockedBloom;
use crate::bloom::guard::UNIT;
use crate::bloom::shape::Shape;
use crate::bloom::sub_bitmap;
use crate::error::AddError;
use crate::math::power;
use crate::storage::SEGMENT_WORDS;

impl BlockedBloom {
    /// Allocates the memory for a union with `other`, which has `factor` times as many sub-bitmaps
    /// of the same size.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub(crate) fn make_room_for(&mut self, other: &Self, factor: u64) -> Result<(), AddError> {
        for segment in other.allocated_segments() {
            let others = other.segments();
            if factor == 1 {
                self.segments_mut().make_room_for(segment, others)?;
                continue;
            }
            let mut last = None;
            for (unit, words) in other.sub_bitmaps_of(segment) {
                let unit = unit / factor;
                if last != Some(unit) && words.iter().any(|word| *word != 0) {
                    self.segments_mut().allocate(unit)?;
                    last = Some(unit);
                }
            }
        }
        Ok(())
    }

    /// Sets the bits of another sub-filter, for which [`BlockedBloom::make_room_for`] has allocated
    /// memory. Returns whether any was new.
    ///
    /// The number of items is an estimate from then on, from the set bits; at least that of either,
    /// at most their sum and the capacity.
    pub(crate) fn unite(&mut self, other: &Self, factor: u64) -> bool {
        let before = self.set_bits();
        self.set_all(other, factor);
        let has_changed = self.set_bits() > before;
        if has_changed {
            let (own, others) = (self.fill().items(), other.fill().items());
            let (least, most) = (own.max(others), own.saturating_add(others));
            let estimate = items_that_set(self.set_bits(), self.header().shape, least, most);
            self.set_items(estimate.min(self.fill().capacity()));
        }
        has_changed
    }

    /// Sets the bits of another sub-filter, counts and weighs them.
    pub(super) fn set_all(&mut self, other: &Self, factor: u64) {
        for segment in other.allocated_segments() {
            if factor == 1 {
                let runs = other.segments().view(segment);
                for (place, words) in runs.into_iter().flat_map(|view| view.runs()) {
                    self.set(segment, place, words.iter().copied());
                }
            } else {
                for (unit, words) in other.sub_bitmaps_of(segment) {
                    self.set_sub_bitmap(unit / factor, words);
                }
            }
        }
    }

    /// The segments that are allocated, whole or in part.
    fn allocated_segments(&self) -> impl Iterator<Item = u64> + '_ {
        let next = |from| self.segments().next_allocated(from);
        std::iter::successors(next(0), move |segment| next(segment + 1))
    }

    /// The allocated sub-bitmaps of a segment, with their numbers, in ascending order.
    fn sub_bitmaps_of(&self, segment: u64) -> impl Iterator<Item = (u64, &[u64])> + '_ {
        let len = self.sub_bitmap_words();
        let first = segment * (SEGMENT_WORDS / len).max(1) as u64;
        let runs = self.segments().view(segment).into_iter().flat_map(|view| view.runs());
        runs.flat_map(move |(place, words)| {
            let first = first + (place / len) as u64;
            (first..first + (words.len() / len) as u64).zip(words.chunks_exact(len))
        })
    }

    /// The false-positive rate after a union with others, each with its factor, and the estimated
    /// number of items; `None` if they have no bit that this one lacks. It costs what reading them
    /// and the segments that they touch costs, and 64 KiB.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn rate_of_union(
        &self,
        others: &[(&Self, u64)],
    ) -> Result<Option<(f64, u64)>, AddError> {
        let (header, len) = (self.header(), self.sub_bitmap_words());
        let mut union = try_vec(SEGMENT_WORDS)?;
        let (mut weight, mut set_bits) = (self.fill().weight(), self.set_bits());
        let mut next = 0;
        let touched = |from: u64, (other, factor): &(&Self, u64)| {
            let first = other.segments().next_allocated(from.saturating_mul(*factor));
            first.map(|segment| segment / factor)
        };
        while let Some(segment) = others.iter().filter_map(|other| touched(next, other)).min() {
            union.clear();
            union.resize(SEGMENT_WORDS, 0);
            let first = segment * (SEGMENT_WORDS / len).max(1) as u64;
            let mut or = |other: &Self, factor: u64| {
                // Of the segments that fold into this one, those that are allocated.
                let next = |from| other.segments().next_allocated(from);
                let its = std::iter::successors(next(segment * factor), |last| next(last + 1));
                for segment in its.take_while(|its| its / factor == segment) {
                    for (unit, words) in other.sub_bitmaps_of(segment) {
                        let place = (unit / factor).saturating_sub(first) as usize * len;
                        let to = union.get_mut(place..).unwrap_or_default();
                        to.iter_mut().zip(words).for_each(|(to, from)| *to |= from);
                    }
                }
            };
            others.iter().for_each(|(other, factor)| or(other, *factor));
            let weigh = |set| self.scale().gained_between(0, set);
            let mut own = self.sub_bitmaps_of(segment).peekable();
            for (unit, words) in (first..).zip(union.chunks_mut(len)) {
                let mut before = 0;
                if let Some((_, own)) = own.next_if(|(number, _)| *number == unit) {
                    before = sub_bitmap::count_ones(own);
                    words.iter_mut().zip(own).for_each(|(to, from)| *to |= from);
                }
                let after = sub_bitmap::count_ones(words);
                weight = weight.saturating_add(weigh(after) - weigh(before));
                set_bits += u64::from(after - before);
            }
            next = segment + 1;
        }
        if set_bits == self.set_bits() {
            return Ok(None);
        }
        let all = others.iter().map(|(other, _)| *other).chain([self]);
        let items = all.map(|other| other.fill().items());
        let least = items.clone().max().unwrap_or(0);
        let most = items.fold(0, u64::saturating_add);
        let units = weight as f64 / UNIT as f64 / header.shape.num_sub_bitmaps as f64;
        // A union that may be the one of so many items, by chance, is like a filter that they were
        // added to one by one.
        let is_fair = most <= header.capacity && weight < header.guard_limit;
        let units = if is_fair { units.min(1.0) } else { units };
        let items = items_that_set(set_bits, header.shape, least, most);
        Ok(Some(((units * header.error_rate).min(1.0), items)))
    }
}

/// The number of items, between `least` and `most`, that set `bits` bits on average: see
/// [`crate::bloom::estimate`]. It is stored, and decides when the sub-filter is full, so every
/// machine must get the same number: only IEEE multiplications, and no logarithm.
fn items_that_set(bits: u64, shape: Shape, mut least: u64, mut most: u64) -> u64 {
    let all = shape.num_bits() as f64;
    let spared = power(1.0 - 1.0 / f64::from(shape.sub_bitmap_bits), u64::from(shape.num_hashes));
    let spared_by_one = 1.0 - (1.0 - spared) / shape.num_sub_bitmaps as f64;
    // Rounds to the nearest integer.
    let half_an_item = (1.0 - spared) * f64::from(shape.sub_bitmap_bits) / 2.0;
    let wanted = bits as f64 - half_an_item;
    while least < most {
        let middle = least + (most - least) / 2;
        if all * (1.0 - power(spared_by_one, middle)) < wanted {
            least = middle + 1;
        } else {
            most = middle;
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::{ItemHash, Seed};

    fn item(n: u64) -> ItemHash {
        ItemHash::of(&n.to_le_bytes(), Seed(1))
    }

    fn filled(items: std::ops::Range<u64>, capacity: u64, error_rate: f64) -> BlockedBloom {
        let mut bloom = BlockedBloom::new(capacity, error_rate);
        items.for_each(|n| assert!(bloom.insert(item(n)).is_ok()));
        bloom
    }

    fn united(mut one: BlockedBloom, other: &BlockedBloom) -> BlockedBloom {
        one.make_room_for(other, 1).unwrap();
        one.unite(other, 1);
        one
    }

    #[test]
    fn a_union_has_the_bits_and_the_weight_of_a_sub_filter_with_all_the_items() {
        for (capacity, error_rate) in [(9, 0.1), (300, 0.01), (100_000, 0.01), (100_000, 1e-9)] {
            let half = capacity / 2;
            let all = filled(0..capacity, capacity, error_rate);
            for one in [filled(0..half, capacity, error_rate), filled(0..0, capacity, error_rate)] {
                let other = filled(half / 2..capacity, capacity, error_rate);
                let is_all = one.set_bits() > 0;
                let union = united(one, &other);
                let expected = if is_all { &all } else { &other };
                assert_eq!(union.set_bits(), expected.set_bits());
                assert_eq!(union.fill().weight(), expected.fill().weight());
                let (segments, others) = (union.segments(), expected.segments());
                assert!(
                    (0..segments.reserved()).all(|i| segments.words_of(i) == others.words_of(i))
                );
                let (items, exact) = (union.fill().items(), expected.fill().items());
                let off = items.abs_diff(exact) as f64;
                assert!(off <= 2.0 + 0.02 * exact as f64, "{items} of {exact}");
            }
        }
    }

    #[test]
    fn a_union_with_what_is_there_changes_nothing() {
        let mut bloom = filled(0..5_000, 10_000, 0.01);
        let header = bloom.header();
        for other in [filled(0..3_000, 10_000, 0.01), filled(0..0, 10_000, 0.01)] {
            bloom.make_room_for(&other, 1).unwrap();
            assert!(!bloom.unite(&other, 1));
            assert_eq!(bloom.header(), header);
        }
    }

    #[test]
    fn a_union_of_two_full_sub_filters_counts_no_more_than_the_capacity() {
        let one = filled(0..1_000, 1_000, 0.01);
        let union = united(one, &filled(1_000..2_000, 1_000, 0.01));
        assert_eq!(union.fill().items(), 1_000);
        assert!(union.fill().is_full() && union.fill().is_closed());
        assert!((0..2_000).all(|n| union.contains(item(n))));
    }
}
