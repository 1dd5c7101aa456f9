//! The union of sub-filters: the bits of all. Those of a larger one are folded as they are read,
//! those of a smaller one unfolded ([`crate::bloom::fold`]).

use crate::bloom::blocked_bloom::{BlockedBloom, Header};
use crate::bloom::fold::{set_all, Division};
use crate::bloom::guard::UNIT;
use crate::bloom::shape::Shape;
use crate::bloom::sub_bitmap;
use crate::error::AddError;
use crate::math::power;
use crate::storage::SEGMENT_WORDS;
use splitbloom_foundation::alloc::try_vec;
use std::iter;

impl BlockedBloom {
    /// Allocates the memory for a union with `other`, whose sub-bitmaps have the same size.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub(crate) fn make_room_for(&mut self, other: &Self) -> Result<(), AddError> {
        let num_sub_bitmaps = self.num_sub_bitmaps();
        for segment in other.allocated_segments() {
            if other.num_sub_bitmaps() == num_sub_bitmaps {
                self.segments_mut().make_room_for(segment, other.segments())?;
                continue;
            }
            for (number, words) in other.neighbours(segment, num_sub_bitmaps) {
                if words.iter().any(|word| *word != 0) {
                    self.segments_mut().allocate(number)?;
                }
            }
        }
        Ok(())
    }

    /// Sets the bits of another sub-filter, for which [`BlockedBloom::make_room_for`] has allocated
    /// memory. Returns whether any was new.
    ///
    /// From then on the number of items is an estimate from the set bits: at least the larger of
    /// both numbers, and at most the capacity and their sum, in which an item of `other` counts
    /// once for each sub-bitmap that it may be in.
    pub(crate) fn unite(&mut self, other: &Self) -> bool {
        let before = self.set_bits();
        self.take_bits_of(other);
        let has_changed = self.set_bits() > before;
        if has_changed {
            let own = self.fill().items();
            let others = other.most_items_in(self.num_sub_bitmaps());
            if other.is_uneven() || !other.division(self.num_sub_bitmaps()).is_exact() {
                self.close_at_its_rate();
            }
            self.estimate_items(own.max(other.fill().items()), own.saturating_add(others));
        }
        has_changed
    }

    /// A copy with the header `header`, of the same rate and more sub-bitmaps. It weighs its bits
    /// anew, and counts the items that would set as many.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn unfolded(&self, header: Header) -> Result<Self, AddError> {
        let mut unfolded = Self::from_header(Header { items: 0, ..header });
        unfolded.make_room_for(self)?;
        unfolded.unite(self);
        Ok(unfolded)
    }

    /// Sets the number of items to an estimate from its set bits, from `least` to `most`.
    pub(super) fn estimate_items(&mut self, least: u64, most: u64) {
        self.set_items(items_that_set(self.set_bits(), self.header().shape, least, most));
    }

    /// The number of items, times that of `num_sub_bitmaps` in which an item may set bits.
    pub(super) fn most_items_in(&self, num_sub_bitmaps: u64) -> u64 {
        self.fill().items().saturating_mul(self.division(num_sub_bitmaps).most_images())
    }

    /// How its sub-bitmaps are divided among those of a sub-filter of `num_sub_bitmaps`.
    pub(super) fn division(&self, num_sub_bitmaps: u64) -> Division {
        Division { from: self.num_sub_bitmaps(), to: num_sub_bitmaps }
    }

    /// Sets the bits of another sub-filter, counts and weighs them.
    fn take_bits_of(&mut self, other: &Self) {
        let (num_sub_bitmaps, len) = (self.num_sub_bitmaps(), self.sub_bitmap_words());
        for segment in other.allocated_segments() {
            if other.num_sub_bitmaps() == num_sub_bitmaps {
                let runs = other.segments().view(segment);
                for (place, words) in runs.into_iter().flat_map(|view| view.runs()) {
                    self.set(segment, place, words.iter().copied());
                }
            } else {
                for (number, words) in other.neighbours(segment, num_sub_bitmaps) {
                    for words in words.chunks_exact(len) {
                        self.set_sub_bitmap(number, words);
                    }
                }
            }
        }
    }

    /// The segments that are allocated, whole or in part.
    fn allocated_segments(&self) -> impl Iterator<Item = u64> + '_ {
        let next = |from| self.segments().next_allocated(from);
        iter::successors(next(0), move |segment| next(segment + 1))
    }

    /// The allocated sub-bitmaps of a segment, with their numbers, in ascending order.
    fn sub_bitmaps_of(&self, segment: u64) -> impl Iterator<Item = (u64, &[u64])> + '_ {
        let len = self.sub_bitmap_words();
        self.runs_of(segment).flat_map(move |(first, words)| {
            (first..first + (words.len() / len) as u64).zip(words.chunks_exact(len))
        })
    }

    /// The allocated sub-bitmaps of `segment` in runs without gaps, each with the number of its
    /// first sub-bitmap.
    pub(super) fn runs_of(&self, segment: u64) -> impl Iterator<Item = (u64, &[u64])> + '_ {
        let len = self.sub_bitmap_words();
        let first = segment * (SEGMENT_WORDS / len).max(1) as u64;
        let runs = self.segments().view(segment).into_iter().flat_map(|view| view.runs());
        runs.map(move |(place, words)| (first + (place / len) as u64, words))
    }

    /// The false-positive rate after a union with others, and the estimated number of items; `None`
    /// if it has all their bits and is not unfolded. Costs reading them and the segments that they
    /// touch, and 64 KiB.
    ///
    /// `before` is the sub-filter that this one is unfolded from; if it is not unfolded, this one.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn rate_of_union(
        &self,
        before: &Self,
        others: &[&Self],
    ) -> Result<Option<(f64, u64)>, AddError> {
        let (header, len) = (self.header(), self.sub_bitmap_words());
        let n = header.shape.num_sub_bitmaps;
        let in_segment = (SEGMENT_WORDS / len).max(1) as u64;
        // The first segment from `from` on that the items of `other` may be in.
        let touched = |from: u64, other: &Self| {
            let division = other.division(n);
            let first = division.of(from * in_segment..n).start;
            let segment = other.segments().next_allocated(first / in_segment)?;
            let of_it = division.first_image(segment * in_segment) / in_segment;
            Some(of_it.max(from)).filter(|segment| segment * in_segment < n)
        };
        let mut union = try_vec(SEGMENT_WORDS)?;
        let (mut weight, mut set_bits) = (self.fill().weight(), self.set_bits());
        let mut nexts = try_vec(others.len())?;
        nexts.extend(others.iter().map(|other| touched(0, other)));
        while let Some(segment) = nexts.iter().copied().flatten().min() {
            union.clear();
            union.resize(SEGMENT_WORDS, 0);
            let first = segment * in_segment;
            for (other, next) in others.iter().zip(&mut nexts) {
                if *next == Some(segment) {
                    other.unite_into(&mut union, first, n);
                    *next = touched(segment + 1, other);
                }
            }
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
        }
        if set_bits == self.set_bits() && before.num_sub_bitmaps() == n {
            return Ok(None);
        }
        let all = || others.iter().copied().chain([before]);
        // No sub-bitmap is in two unions: the union has the bits that adding all items to one
        // sub-filter would set.
        let is_exact = all().all(|bloom| bloom.num_sub_bitmaps().is_multiple_of(n));
        let least = all().map(|other| other.fill().items()).max().unwrap_or(0);
        let most = all().map(|other| other.most_items_in(n)).fold(0, u64::saturating_add);
        let units = weight as f64 / UNIT as f64 / header.shape.num_sub_bitmaps as f64;
        // By chance, `capacity` random items weigh more than the error rate in half of all filters.
        // They are accepted one by one, so they are in a union, and so is a filter that already has
        // all bits of the union.
        let has_all = |other: &&Self| {
            let times = n / other.num_sub_bitmaps();
            n.is_multiple_of(other.num_sub_bitmaps())
                && other.set_bits().saturating_mul(times) == set_bits
        };
        let may_be_fair = most <= header.capacity && is_exact || others.iter().any(has_all);
        let is_fair = may_be_fair && weight < header.guard_limit;
        let units = if is_fair { units.min(1.0) } else { units };
        let items = items_that_set(set_bits, header.shape, least, most);
        Ok(Some(((units * header.error_rate).min(1.0), items)))
    }
}

impl BlockedBloom {
    /// Sets its bits in `union`, the sub-bitmaps from `first` on of a sub-filter of `n`. Costs a
    /// read of each allocated sub-bitmap or, if this sub-filter is smaller, of each image.
    fn unite_into(&self, union: &mut [u64], first: u64, n: u64) {
        let (division, len) = (self.division(n), self.sub_bitmap_words());
        let end = n.min(first + (union.len() / len) as u64);
        if division.from < n {
            for (number, words) in (first..end).zip(union.chunks_mut(len)) {
                let its = division.of(number..number + 1);
                its.filter_map(|of| self.segments().unit(of)).for_each(|of| set_all(words, of));
            }
            return;
        }
        let its = division.of(first..end);
        let in_segment = (SEGMENT_WORDS / len).max(1) as u64;
        let next = |from| self.segments().next_allocated(from);
        let segments = iter::successors(next(its.start / in_segment), |at| next(at + 1));
        for segment in segments.take_while(|at| at * in_segment < its.end) {
            for (number, words) in self.neighbours(segment, n) {
                // At both ends, some images belong to a neighbouring segment.
                let place = number.checked_sub(first).map(|place| place as usize * len);
                if let Some(to) = place.and_then(|place| union.get_mut(place..place + len)) {
                    set_all(to, words);
                }
            }
        }
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
        one.make_room_for(other).unwrap();
        one.unite(other);
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
            bloom.make_room_for(&other).unwrap();
            assert!(!bloom.unite(&other));
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
