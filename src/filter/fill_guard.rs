//! When a sub-filter is too full, whoever filled it: the false-positive rate that its bits have, which every new item changes.
//!
//! An absent item falls into one of `n` sub-bitmaps and meets only set bits there with probability `(p/B)^k`, where `p` of its `B`
//! bits are set. So the false-positive rate is the mean of that over all sub-bitmaps, and the guard goes by the sum:
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
use super::sub_bitmap::Inserted;

/// The weight of a sub-bitmap whose false-positive rate is the error rate. Rounding loses at most a millionth of that; and 2^38
/// sub-bitmaps, the most there can be, weigh 2^58.
pub const UNIT: u64 = 1 << 20;
/// No limit is above this many units a sub-bitmap. One item more than that multiplies the weight by at most
/// `(1 + k/p)^k` in the sub-bitmap it falls into, 1.2 where a few hold everything (from 0.1 to 1e-15: 1.07 to 1.19): twice the error rate in all.
pub const MOST_UNITS: f64 = 5.0 / 3.0;
/// What keeps a number of bits positive as a signed number.
const MOST_BITS: u32 = i32::MAX as u32;
/// More than rounding can take from a share: 64 multiplications, at most, of half a unit in the last place each, for two shares twice.
const ROUNDED: f64 = 1e-12;
/// Above every limit, and far from overflow: a sub-bitmap of all ones weighs 2^70 at an error rate of 1e-15.
const MOST_WEIGHT: f64 = (1u64 << 60) as f64;

/// What the sub-bitmaps of a sub-filter weigh, and when it is too much. The sum is kept in [`super::fill`].
#[derive(Clone, Copy, Debug)]
pub struct FillGuard {
    num_hashes: u32,
    /// 1/B.
    share_of_bit: f64,
    /// Weight of a sub-bitmap of all ones.
    weight_of_ones: f64,
    /// The most that one item can add: where it sets the last `k` bits, as weights grow ever faster.
    most_gained: u64,
    limit: u64,
}

impl FillGuard {
    /// For a sub-filter that is closed from the weight `limit` on.
    pub fn new(shape: Shape, error_rate: f64, limit: u64) -> Self {
        let share_of_bit = 1.0 / f64::from(shape.sub_bitmap_bits);
        let weight_of_ones = UNIT as f64 / error_rate.max(MIN_ERROR_RATE);
        let share_before = 1.0 - f64::from(shape.num_hashes) * share_of_bit;
        let share_gained = 1.0 - power(share_before, u64::from(shape.num_hashes)) + ROUNDED;
        Self {
            num_hashes: shape.num_hashes,
            share_of_bit,
            weight_of_ones,
            most_gained: ((weight_of_ones * share_gained) as u64).saturating_add(2), // two weights, each rounded down
            limit,
        }
    }

    /// The weight from which on it is closed.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Whether a sub-filter of this weight must take no more items.
    #[inline]
    pub fn is_closed(&self, weight: u64) -> bool {
        weight >= self.limit
    }

    /// How many items more leave a sub-filter of this weight open, whatever they are.
    pub fn room(&self, weight: u64) -> u64 {
        let free = self.limit.saturating_sub(1).saturating_sub(weight);
        // Where there is never any, as in small sub-filters, the division would come with every item.
        if free < self.most_gained {
            0
        } else {
            free / self.most_gained
        }
    }

    /// The weight of a sub-bitmap of which so many bits are set.
    pub fn weigh(&self, set_bits: u32) -> u64 {
        let [weight] = self.weights([set_bits]);
        weight
    }

    /// The weights of some sub-bitmaps, side by side. By repeated multiplication: squaring would save half of them, and wait for each.
    /// In plain loops over arrays, here and below, of which the compiler makes vectors.
    #[inline(always)]
    fn weights<const N: usize>(&self, set_bits: [u32; N]) -> [u64; N] {
        // Through signed numbers, which processors convert from in one step; no sub-bitmap has 2^31 bits.
        let shares = set_bits.map(|bits| f64::from((bits & MOST_BITS) as i32) * self.share_of_bit);
        let mut exact = [self.weight_of_ones; N];
        for _ in 0..self.num_hashes {
            for (weight, share) in exact.iter_mut().zip(&shares) {
                *weight *= share;
            }
        }
        let mut rounded = [0; N];
        for (rounded, weight) in rounded.iter_mut().zip(exact) {
            let bounded = if weight < MOST_WEIGHT {
                weight
            } else {
                MOST_WEIGHT
            };
            // Through a signed number, which processors convert to in one step.
            // SAFETY: not a NaN, which is not below anything; not negative, as neither factor is; and at most 2^60.
            *rounded = unsafe { bounded.to_int_unchecked::<i64>() as u64 };
        }
        rounded
    }

    /// What some items, at most eight, have added to the weight.
    #[inline(always)]
    pub fn gained<const N: usize>(&self, inserted: [Inserted; N]) -> u64 {
        const { assert!(N <= 8) }; // each gains at most 2^60
        let after = self.weights(inserted.map(Inserted::set_bits));
        let before = self.weights(inserted.map(|item| item.set_bits() - item.new_bits()));
        let mut gained = [0; N];
        for ((gained, after), before) in gained.iter_mut().zip(after).zip(before) {
            *gained = after - before;
        }
        gained.iter().sum()
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

    const ODD_SHAPE: Shape = Shape {
        sub_bitmap_bits: 4096,
        num_hashes: 30,
        num_sub_bitmaps: 7,
    };

    fn change(before: u32, after: u32) -> Inserted {
        Inserted::new(after - before, after)
    }

    #[test]
    fn a_sub_bitmap_weighs_its_false_positive_rate() {
        let guard = FillGuard::new(SHAPE, 0.01, 1);
        assert_eq!(guard.weigh(0), 0);
        // (1/2)^6 = 1/64, over 0.01.
        assert_eq!(guard.weigh(256), (1 << 20) * 100 / 64);
        assert_eq!(guard.weigh(512), 100 << 20);
    }

    #[test]
    fn what_is_gained_does_not_depend_on_the_steps() {
        let guard = FillGuard::new(SHAPE, 0.0003, 1);
        let steps = [(0, 6), (6, 11), (11, 200), (200, 230), (230, 230)];
        let together = guard.gained(steps.map(|(before, after)| change(before, after)));
        let one_by_one = steps.map(|(before, after)| guard.gained([change(before, after)]));
        assert_eq!(together, guard.weigh(230));
        assert_eq!(one_by_one.iter().sum::<u64>(), together);
    }

    #[test]
    fn it_closes_at_its_limit() {
        let guard = FillGuard::new(SHAPE, 0.01, 100 << 20);
        assert!(!guard.is_closed(guard.weigh(511)));
        assert!(guard.is_closed(guard.weigh(512)));
    }

    #[test]
    fn where_there_is_room_for_some_items_no_such_items_close_it() {
        for (shape, error_rate) in [
            (SHAPE, 0.01),
            (SHAPE, 0.0),
            (ODD_SHAPE, 1e-9),
            (ODD_SHAPE, 1e-12),
        ] {
            let full = FillGuard::new(shape, error_rate, 0).weigh(shape.sub_bitmap_bits);
            let guard = FillGuard::new(shape, error_rate, 10 * full);
            let before = shape.sub_bitmap_bits - 2 * shape.num_hashes;
            let between = before + shape.num_hashes;
            let heaviest = [
                change(before, between),
                change(between, shape.sub_bitmap_bits),
            ];
            let mut full_ones = 0;
            while guard.room(full_ones * full) >= 2 {
                assert!(!guard.is_closed(full_ones * full + guard.gained(heaviest)));
                full_ones += 1;
            }
            // At 0 any item may be too much.
            assert!(full_ones > 0 || error_rate == 0.0);
        }
    }

    #[test]
    fn the_heaviest_changes_do_not_overflow_a_sum() {
        // An error rate of 0 is that of a sub-filter too far out for a double.
        let guard = FillGuard::new(SHAPE, 0.0, u64::MAX);
        assert_eq!(guard.gained([change(0, 255); 8]), 1 << 63);
    }
}
