//! The union of two sub-filters of one shape: the bits of both.

use crate::bloom::blocked_bloom::BlockedBloom;
use crate::bloom::shape::Shape;
use crate::error::AddError;
use crate::math::power;

impl BlockedBloom {
    /// Allocates the memory for a union with `other`, of the same shape.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub(crate) fn make_room_for(&mut self, other: &Self) -> Result<(), AddError> {
        let mut next = other.segments().next_allocated(0);
        while let Some(segment) = next {
            let others = other.segments();
            self.segments_mut().make_room_for(segment, others)?;
            next = other.segments().next_allocated(segment + 1);
        }
        Ok(())
    }

    /// Sets the bits of another sub-filter of the same shape, for which
    /// [`BlockedBloom::make_room_for`] has allocated memory. Returns whether any was new.
    ///
    /// The number of items is an estimate from then on, from the set bits; at least that of either,
    /// at most their sum and the capacity.
    pub(crate) fn unite(&mut self, other: &Self) -> bool {
        let before = self.set_bits();
        let mut next = other.segments().next_allocated(0);
        while let Some(segment) = next {
            if let Some(view) = other.segments().view(segment) {
                for (place, words) in view.runs() {
                    self.set(segment, place, words.iter().copied());
                }
            }
            next = other.segments().next_allocated(segment + 1);
        }
        let has_changed = self.set_bits() > before;
        if has_changed {
            let (own, others) = (self.fill().items(), other.fill().items());
            let (least, most) = (own.max(others), own.saturating_add(others));
            let estimate = items_that_set(self.set_bits(), self.header().shape, least, most);
            self.set_items(estimate.min(self.fill().capacity()));
        }
        has_changed
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
