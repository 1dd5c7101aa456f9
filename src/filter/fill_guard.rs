//! When a sub-filter is too full, whoever filled it: the false-positive rate that its bits have, kept up to date with every new item.
//!
//! An absent item falls into one of `n` sub-bitmaps and meets only set bits there with probability `(p/B)^k`, where `p` of its `B`
//! bits are set. So the false-positive rate is the mean of that over all sub-bitmaps, and the guard keeps the sum:
//!
//! ```text
//!   weight of a sub-bitmap      (p/B)^k / error rate * 2^20, rounded down
//!   weight of the sub-filter    the sum; n * 2^20 when the false-positive rate is exactly the error rate
//!   closed                      from the weight on that chance reaches with `capacity` items only at six standard deviations,
//!                               see `Shape::guard_limit`
//! ```
//!
//! The items of an honest user weigh what the model says. Someone who knows the seed may choose items that share no bits, which
//! drives the rate up six times at 1 % with no more items than the capacity; or items that crowd into few sub-bitmaps, which some 85
//! items fill with ones each: a limit on the number of set bits sees the second only when almost half of all absent items are taken
//! for present. Either way the weight says what it has come to.
//!
//! A weight is a whole number, from IEEE operations only, so that the sum does not depend on the order of the items or the machine: a
//! replica and a server that loaded the filter, which weighs the bits it reads, close it at the same item.

use super::model::power;
use super::sizing::{Shape, MIN_ERROR_RATE};

/// The weight of a sub-bitmap whose false-positive rate is the error rate. Rounding loses at most a millionth of that; and 2^38
/// sub-bitmaps, the most there can be, weigh 2^58.
pub const UNIT: u64 = 1 << 20;
/// No limit is above this many units a sub-bitmap. One item more than that multiplies the weight by at most
/// `(1 + k/p)^k` in the sub-bitmap it falls into, 1.2 where a few hold everything (from 0.1 to 1e-15: 1.07 to 1.19): twice the error rate in all.
pub const MOST_UNITS: f64 = 5.0 / 3.0;
/// Above every limit, and far from overflow: a sub-bitmap of all ones weighs 2^70 at an error rate of 1e-15.
const MOST_WEIGHT: f64 = (1u64 << 60) as f64;

/// The weights of the sub-bitmaps of one sub-filter, and their sum.
#[derive(Clone, Copy, Debug)]
pub struct FillGuard {
    num_hashes: u32,
    /// 1/B.
    share_of_bit: f64,
    /// Weight of a sub-bitmap of all ones.
    weight_of_ones: f64,
    limit: u64,
    weight: u64,
}

impl FillGuard {
    /// For an empty sub-filter that is closed from the weight `limit` on.
    pub fn new(shape: Shape, error_rate: f64, limit: u64) -> Self {
        Self {
            num_hashes: shape.num_hashes,
            share_of_bit: 1.0 / f64::from(shape.sub_bitmap_bits),
            weight_of_ones: UNIT as f64 / error_rate.max(MIN_ERROR_RATE),
            limit,
            weight: 0,
        }
    }

    /// The weight from which on it is closed.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// The sum of the weights of all sub-bitmaps.
    pub fn weight(&self) -> u64 {
        self.weight
    }

    /// Whether the sub-filter must take no more items.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.weight >= self.limit
    }

    /// How near it is to being closed: 0 when empty, from 1 on closed.
    pub fn share_of_limit(&self) -> f64 {
        self.weight as f64 / self.limit as f64
    }

    /// The weight of a sub-bitmap of which so many bits are set.
    #[inline]
    pub fn weigh(&self, set_bits: u32) -> u64 {
        let share = f64::from(set_bits) * self.share_of_bit;
        let weight = power(share, u64::from(self.num_hashes)) * self.weight_of_ones;
        // Through a signed number, which processors convert to in one step.
        weight.min(MOST_WEIGHT) as i64 as u64
    }

    /// Notes that a sub-bitmap with `before` set bits has `after` now, which are not fewer.
    #[inline]
    pub fn note(&mut self, before: u32, after: u32) {
        let gained = self.weigh(after) - self.weigh(before);
        self.weight = self.weight.saturating_add(gained);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape {
        sub_bitmap_bits: 512,
        num_hashes: 6,
        num_sub_bitmaps: 100,
    };

    #[test]
    fn a_sub_bitmap_weighs_its_false_positive_rate() {
        let guard = FillGuard::new(SHAPE, 0.01, 1);
        assert_eq!(guard.weigh(0), 0);
        // (1/2)^6 = 1/64, over 0.01.
        assert_eq!(guard.weigh(256), (1 << 20) * 100 / 64);
        assert_eq!(guard.weigh(512), 100 << 20);
    }

    #[test]
    fn the_weight_does_not_depend_on_the_steps_it_came_by() {
        let (mut one, mut many) = (
            FillGuard::new(SHAPE, 0.0003, 1),
            FillGuard::new(SHAPE, 0.0003, 1),
        );
        one.note(0, 400);
        for (before, after) in [(0, 6), (6, 11), (11, 200), (200, 399), (399, 400)] {
            many.note(before, after);
        }
        assert_eq!(one.weight(), many.weight());
    }

    #[test]
    fn it_closes_at_its_limit() {
        let mut guard = FillGuard::new(SHAPE, 0.01, 100 << 20);
        guard.note(0, 511);
        assert!(!guard.is_closed());
        guard.note(511, 512);
        assert!(guard.is_closed());
    }

    #[test]
    fn the_heaviest_sub_bitmaps_do_not_overflow_the_sum() {
        // An error rate of 0 is that of a sub-filter too far out for a double.
        let mut guard = FillGuard::new(SHAPE, 0.0, u64::MAX);
        for _ in 0..100 {
            guard.note(0, 512);
        }
        assert_eq!(guard.weight(), u64::MAX);
        assert!(guard.is_closed());
    }
}
