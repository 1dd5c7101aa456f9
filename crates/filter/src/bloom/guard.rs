//! The fill guard: closes a sub-filter whose false-positive rate is too high, whatever its items.
//!
//! An absent item falls into one of `n` sub-bitmaps and finds all its bits set there with
//! probability `(p/B)^k`, where `p` of the `B` bits are set. The false-positive rate is the mean of
//! that over all sub-bitmaps, and the guard keeps the sum:
//!
//! ```text
//!   weight of a sub-bitmap      (p/B)^k / error rate * 2^20, rounded down
//!   weight of the sub-filter    the sum; n * 2^20 at exactly the error rate
//!   closed                      at the weight that `capacity` fair items reach only at six
//!                               standard deviations, see [`limit`]
//! ```
//!
//! The items of an honest user weigh what the model predicts. An attacker who knows the seed can
//! choose items that share no bits, which raises the rate to six times at 1 % within the capacity;
//! or items that crowd into few sub-bitmaps, where some 85 of them set all 512 bits of one. A limit
//! on the number of set bits would detect crowding only when almost half of all absent items are
//! false positives. The weight detects both.
//!
//! A weight is an integer, computed by IEEE operations only, so the sum depends neither on the
//! order of the items nor on the machine. A replica, or a server that loads the filter and weighs
//! its bits, closes it at the same item.

use crate::bloom::shape::{Shape, LINE_BITS, MIN_ERROR_RATE};
use crate::bloom::sub_bitmap::Inserted;
use crate::math::whole;

/// The weight of a sub-bitmap whose false-positive rate is the error rate. Rounding loses at most a
/// millionth of it, and 2^38 sub-bitmaps, the maximum, weigh 2^58.
pub const UNIT: u64 = 1 << 20;
/// The highest limit, in units a sub-bitmap. The item that reaches it multiplies the weight by at
/// most `(1 + k/p)^k` in its sub-bitmap, 1.2 where a few sub-bitmaps hold all the weight (from 0.1
/// to 1e-15: 1.07 to 1.19), so the rate stays within twice the error rate.
const MAX_UNITS: f64 = 5.0 / 3.0;
/// Standard deviations from the expected weight of `capacity` items to the limit: fair items exceed
/// six once in 10^9.
const DEVIATIONS: f64 = 6.0;
/// A fiftieth above the expected weight, because false positives among the added items are not
/// counted. At an error rate of 1 % some 0.2 % more items are added until `capacity` are counted,
/// and they weigh 0.8 % more.
const FOR_MISTAKEN: f64 = 1.02;

/// The maximum number of probes that [`LINE_RATES`] covers.
const MAX_LISTED: usize = 8;
/// The false-positive rate of a line, by probes and set bits: `(p/512)^k`. It is a table because
/// computing it depends on the line that comes from memory, and the dependent instructions would
/// occupy the reorder buffer that the next items need.
static LINE_RATES: [[f64; LINE_BITS as usize + 1]; MAX_LISTED + 1] = {
    let mut rates = [[1.0; LINE_BITS as usize + 1]; MAX_LISTED + 1];
    let mut k = 1;
    while k <= MAX_LISTED {
        let mut set_bits = 0;
        while set_bits <= LINE_BITS as usize {
            rates[k][set_bits] = rates[k - 1][set_bits] * (set_bits as f64 / LINE_BITS as f64);
            set_bits += 1;
        }
        k += 1;
    }
    rates
};

/// Weighs the sub-bitmaps of a sub-filter. It costs one division to create, so it is not stored.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    shape: Shape,
    /// Weight of a full sub-bitmap.
    weight_of_ones: f64,
}

impl Scale {
    /// The scale of a sub-filter of this shape.
    #[inline(always)]
    pub fn new(shape: Shape, error_rate: f64) -> Self {
        Self { shape, weight_of_ones: UNIT as f64 / error_rate.max(MIN_ERROR_RATE) }
    }

    /// The weight that an item added.
    #[inline(always)]
    pub fn gained(&self, inserted: Inserted) -> u64 {
        let after = inserted.set_bits();
        self.gained_between(after - inserted.new_bits(), after)
    }

    /// The weight that a sub-bitmap gains from `before` set bits to `after`.
    #[inline(always)]
    pub fn gained_between(&self, before: u32, after: u32) -> u64 {
        self.weigh(after) - self.weigh(before)
    }

    /// The maximum weight that an item adds: `p^k` rises ever more steeply, so it is that of the
    /// last k bits of a sub-bitmap.
    #[inline(always)]
    pub fn max_gained(&self) -> u64 {
        /// For weights that were rounded down.
        const ROUNDING: u64 = 2;
        let bits = self.shape.sub_bitmap_bits;
        let before = self.exactly(bits.saturating_sub(self.shape.num_hashes));
        whole(self.weight_of_ones - before) + ROUNDING
    }

    /// At most 2^60, above every limit and far from overflow: at an error rate of 1e-15 a full
    /// sub-bitmap would weigh 2^70.
    #[inline(always)]
    fn weigh(&self, set_bits: u32) -> u64 {
        whole(self.exactly(set_bits))
    }

    #[inline(always)]
    fn exactly(&self, set_bits: u32) -> f64 {
        let is_split_into_lines =
            self.shape.sub_bitmap_bits == LINE_BITS && !self.shape.is_undivided();
        match LINE_RATES.get(self.shape.num_hashes as usize) {
            Some(rates) if is_split_into_lines => {
                self.weight_of_ones * rates[set_bits.min(LINE_BITS) as usize]
            }
            _ => self.multiplied(set_bits),
        }
    }

    /// Scales the weight itself, because the limit of an undivided sub-filter is computed and
    /// stored that way.
    fn multiplied(&self, set_bits: u32) -> f64 {
        let share = f64::from(set_bits) * (1.0 / f64::from(self.shape.sub_bitmap_bits));
        (0..self.shape.num_hashes).fold(self.weight_of_ones, |weight, _| weight * share)
    }
}

/// The weight at exactly the error rate. It is the limit of a sub-filter whose sub-bitmaps are not
/// evenly full, after a fold to a number that does not divide theirs: it weighs more than as many
/// random items, and [`limit`] leaves room only for the deviations of random items.
pub fn limit_of_uneven(shape: &Shape) -> u64 {
    shape.num_sub_bitmaps.saturating_mul(UNIT)
}

/// The weight at which the guard closes a sub-filter: the mean of `capacity` random items, and six
/// standard deviations.
///
/// Random items exceed six deviations once in 10^9 large filters. Small filters of low error rates,
/// where few sub-bitmaps carry most of the weight, exceed them more often (64 sub-bitmaps at 1e-6
/// once in 10^5 filters, at 1e-15 once in 10^3) and then close a few percent short of their
/// capacity.
pub fn limit(shape: &Shape, capacity: u64, error_rate: f64) -> u64 {
    let limit = if shape.is_undivided() {
        Scale::new(*shape, error_rate).weigh(max_set_bits(shape, capacity))
    } else {
        let n = shape.num_sub_bitmaps as f64;
        let rate = shape.model().false_positive_rate_moments(capacity as f64 / n);
        let sum = n * rate.mean * FOR_MISTAKEN + DEVIATIONS * (n * rate.variance).sqrt();
        (sum * UNIT as f64 / error_rate.max(MIN_ERROR_RATE)) as u64
    };
    limit.max(1)
}

/// Whether the guard closes the sub-filter before its false-positive rate exceeds twice the error
/// rate, whatever items are chosen.
pub fn is_guarded(shape: &Shape, capacity: u64, error_rate: f64) -> bool {
    if shape.is_undivided() {
        // The item that reaches the limit may set k bits.
        let set_bits = max_set_bits(shape, capacity) - 1 + shape.num_hashes;
        let weight = Scale::new(*shape, error_rate).weigh(set_bits.min(shape.sub_bitmap_bits));
        weight <= 2 * UNIT
    } else {
        let units = limit(shape, capacity, error_rate) as f64 / UNIT as f64;
        units <= MAX_UNITS * shape.num_sub_bitmaps as f64
    }
}

/// The number of set bits that `capacity` random items exceed in an undivided sub-filter only at
/// six standard deviations.
fn max_set_bits(shape: &Shape, capacity: u64) -> u32 {
    let bits = shape.model().set_bits_after(capacity);
    let most = (bits.mean + DEVIATIONS * bits.variance.sqrt()).ceil() as u32;
    most.clamp(1, shape.sub_bitmap_bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::MAX_WHOLE;

    const LINES: Shape = Shape { sub_bitmap_bits: 512, num_hashes: 6, num_sub_bitmaps: 100 };
    const ONE_LINE: Shape = Shape { num_sub_bitmaps: 1, ..LINES };

    #[test]
    fn a_sub_bitmap_weighs_its_false_positive_rate() {
        for shape in [LINES, ONE_LINE] {
            let scale = Scale::new(shape, 0.01);
            assert_eq!(scale.weigh(0), 0);
            // (1/2)^6 = 1/64, over 0.01.
            assert_eq!(scale.weigh(256), (1 << 20) * 100 / 64);
            assert_eq!(scale.weigh(512), 100 << 20);
        }
    }

    #[test]
    fn a_weight_looked_up_is_the_one_multiplied_but_for_rounding() {
        for (num_hashes, error_rate) in (1..=9).flat_map(|k| [(k, 0.3), (k, 0.01), (k, 0.0043)]) {
            let scale = |num_sub_bitmaps| {
                let shape = Shape { num_hashes, num_sub_bitmaps, ..LINES };
                Scale::new(shape, error_rate)
            };
            for set_bits in 0..=512 {
                let (looked_up, multiplied) =
                    (scale(100).weigh(set_bits), scale(1).weigh(set_bits));
                assert!(looked_up.abs_diff(multiplied) <= 1, "{num_hashes} {set_bits}");
            }
        }
    }

    #[test]
    fn what_is_gained_does_not_depend_on_the_steps() {
        for shape in [LINES, ONE_LINE] {
            let scale = Scale::new(shape, 0.0003);
            let steps = [(0, 6), (6, 11), (11, 200), (200, 230), (230, 230)];
            let one_by_one = steps.map(|(before, after)| {
                let gained = scale.gained(Inserted::new(after - before, after));
                assert_eq!(gained, scale.gained_between(before, after));
                gained
            });
            assert_eq!(one_by_one.iter().sum::<u64>(), scale.weigh(230));
        }
    }

    #[test]
    fn no_item_gains_more_than_the_most_and_one_gains_about_that() {
        for (bits, num_hashes, error_rate) in [
            (512, 6, 0.01),
            (512, 8, 0.004_3),
            (512, 1, 0.9),
            (64, 64, 0.5),
            (2048, 20, 1e-6),
            (512, 6, 1e-15),
        ] {
            let shape = Shape { sub_bitmap_bits: bits, num_hashes, ..LINES };
            let scale = Scale::new(shape, error_rate);
            let most = scale.max_gained();
            for after in 1..=bits {
                let before = after.saturating_sub(num_hashes);
                assert!(scale.gained_between(before, after) <= most, "{shape:?}");
            }
            let of_last = scale.gained_between(bits - num_hashes, bits);
            let is_weighed_in_full = scale.weigh(bits) < MAX_WHOLE as u64;
            assert!(!is_weighed_in_full || most - of_last <= 3, "{shape:?}");
        }
    }

    #[test]
    fn the_heaviest_sub_bitmap_is_far_from_overflow() {
        // The rate of a sub-filter so late in a series that it underflows to 0.
        for shape in [LINES, ONE_LINE] {
            assert_eq!(Scale::new(shape, 0.0).weigh(512), 1 << 60);
        }
    }
}
