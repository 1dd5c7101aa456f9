//! The fill of a sub-filter: its items, and the weight of the bits they set (see
//! [`crate::bloom::guard`]).

use crate::bloom::guard::Scale;
use crate::bloom::sub_bitmap::Inserted;

/// Counts the items of a sub-filter and the weight of their bits, and tells when it is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill {
    capacity: u64,
    limit: u64,
    items: u64,
    weight: u64,
}

impl Fill {
    /// The fill of a sub-filter without set bits that has counted `items`. It is full at `capacity`
    /// items or a weight of `limit`.
    pub fn new(capacity: u64, limit: u64, items: u64) -> Self {
        Self { capacity, limit, items, weight: 0 }
    }

    /// The capacity, in items.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The weight at which the guard closes it.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Closes it at a weight of `limit`, if that is lower.
    pub fn limit_to(&mut self, limit: u64) {
        self.limit = self.limit.min(limit);
    }

    /// The number of items that were new.
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Sets the number of items (an estimate after a union), at most `capacity`: a header with more
    /// would be refused when it is read.
    pub fn set_items(&mut self, items: u64) {
        self.items = items.min(self.capacity);
    }

    /// The sum of the weights of all sub-bitmaps.
    pub fn weight(&self) -> u64 {
        self.weight
    }

    /// The weight as a share of the limit: 0 when empty, 1 or more when closed.
    pub fn share_of_limit(&self) -> f64 {
        self.weight as f64 / self.limit as f64
    }

    /// Whether the sub-filter takes no more items: it has reached its capacity, or the guard has
    /// closed it.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.items >= self.capacity || self.is_closed()
    }

    /// Whether the guard has closed it.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.weight >= self.limit
    }

    /// Whether any `items` more items fit, so that it is not full before the last of them is added.
    #[inline(always)]
    pub fn has_room_for(&self, items: u64, scale: Scale) -> bool {
        let weight = items.saturating_mul(scale.max_gained());
        self.items.saturating_add(items) <= self.capacity
            && self.weight.saturating_add(weight) < self.limit
    }

    /// Counts an item by what it changed.
    #[inline(always)]
    pub fn count(&mut self, inserted: Inserted, scale: Scale) {
        self.items += u64::from(inserted.is_new());
        self.weight = self.weight.saturating_add(scale.gained(inserted));
    }

    /// Adds the counts of another fill with this limit, from other sub-bitmaps.
    pub fn count_all(&mut self, other: &Self) {
        self.items += other.items;
        self.weight = self.weight.saturating_add(other.weight);
    }

    /// Adds the weight of bits set by items that are already counted.
    pub fn count_bits(&mut self, before: u32, after: u32, scale: Scale) {
        let gained = scale.gained_between(before, after);
        self.weight = self.weight.saturating_add(gained);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bloom::guard::UNIT;
    use crate::bloom::shape::Shape;

    const LINES: Shape = Shape { sub_bitmap_bits: 512, num_hashes: 6, num_sub_bitmaps: 100 };

    fn scale() -> Scale {
        Scale::new(LINES, 0.01)
    }

    #[test]
    fn it_is_full_at_its_capacity_and_closed_at_its_limit() {
        let mut fill = Fill::new(3, 100 * UNIT, 1);
        fill.count(Inserted::new(6, 6), scale());
        fill.count(Inserted::NOTHING, scale());
        assert!(!fill.is_full());
        fill.count(Inserted::new(1, 511), scale());
        assert!(fill.is_full() && !fill.is_closed());
        assert_eq!(fill.items(), 3);

        let mut fill = Fill::new(1_000, 100 * UNIT, 0);
        fill.count_bits(0, 511, scale());
        assert!(!fill.is_full());
        fill.count(Inserted::new(1, 512), scale());
        assert!(fill.is_closed() && fill.is_full());
        assert_eq!(fill.share_of_limit(), 1.0);
    }

    #[test]
    fn there_is_room_for_items_that_can_fill_it_only_with_the_last() {
        let most = scale().max_gained();
        for (capacity, limit, room) in [(5, u64::MAX, 5), (100, 3 * most + 1, 3)] {
            let mut fill = Fill::new(capacity, limit, 0);
            for left in (1..=room).rev() {
                assert!(fill.has_room_for(left, scale()) && !fill.has_room_for(left + 1, scale()));
                assert!(!fill.is_full());
                fill.items += 1;
                fill.weight += most;
            }
            assert!(!fill.has_room_for(1, scale()));
        }
    }

    #[test]
    fn bits_of_items_counted_already_weigh_and_count_no_items() {
        let (mut at_once, mut merged) = (Fill::new(9, 9, 1), Fill::new(9, 9, 1));
        at_once.count_bits(0, 256, scale());
        merged.count_bits(0, 12, scale());
        merged.count_bits(12, 256, scale());
        assert_eq!(at_once, merged);
        assert_eq!(merged.items(), 1);
    }

    #[test]
    fn the_heaviest_sub_bitmaps_do_not_overflow_the_weight() {
        let mut fill = Fill::new(100, u64::MAX, 0);
        for _ in 0..100 {
            fill.count_bits(0, 512, Scale::new(LINES, 0.0));
        }
        assert_eq!(fill.weight(), u64::MAX);
        assert!(fill.is_closed());
    }
}
