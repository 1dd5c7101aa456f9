//! Sizing: from a capacity and an error rate to sub-bitmaps, probes and bits.
//!
//! All k bits of an item lie in one sub-bitmap. Sub-bitmaps do not fill evenly, so a split filter
//! needs more bits than an undivided one; the larger the sub-bitmaps, the fewer. The size of a
//! sub-bitmap is the smallest power of two, from one cache line up, that costs at most 5 %:
//!
//! | error rate | sub-bitmap | k | bits per item | over undivided |
//! |---|---|---|---|---|
//! | 0.1 | 64 B | 3 | 4.84 | 0.6 % |
//! | 0.01 | 64 B | 6 | 9.92 | 3.4 % |
//! | 0.001 | 128 B | 10 | 14.97 | 4.2 % |
//! | 0.0001 | 256 B | 13 | 19.90 | 3.8 % |
//! | 0.000001 | 512 B | 19 | 30.03 | 4.4 % |
//!
//! A sub-filter of fewer than 64 such sub-bitmaps (4 KiB, one page, at 1 %) is not split: rounding
//! up to whole sub-bitmaps would cost more than 1/64 of it, and splitting so few lines gains
//! nothing. It is one sub-bitmap, as long as needed.
//!
//! # Sizes that fold
//! The sub-bitmap of an item is the integer part of `hash * n / 2^64`. So the union of `f`
//! neighbouring sub-bitmaps is, bit for bit, one of the filter that has `n / f` of them, for every
//! `f` that divides `n`. (Of other sizes, some items are in two.) So `n` has at most eight
//! significant binary digits: it is rounded up, by less than 1/128, to `o * 2^i` with `o` below
//! 256. Every divisor of such a number has at most eight digits, too, so a fold gives a size that
//! sizing chooses for some capacity (`Split::capacity_of`). Numbers without prime factors above 7
//! have more divisors, but are up to a twentieth apart at a thousand sub-bitmaps.
//!
//! The results are integers that decide where bits lie. They come from IEEE basic operations only
//! (see [`crate::math::model`]), are stored with the sub-filter, and are never computed again when
//! it is loaded.

use crate::bloom::guard;
use crate::bloom::shape::{Shape, MIN_ERROR_RATE, PAGE_BITS};
use crate::math::model::Model;
use crate::storage::SEGMENT_BITS;

/// The smallest capacity of a sub-filter, in items.
pub const MIN_CAPACITY: u64 = 1;
/// The largest capacity of a sub-filter, in items: 2^40 at 1 % take 1.4 TB.
pub const MAX_CAPACITY: u64 = 1 << 40;

/// The minimum number of sub-bitmaps of a split sub-filter.
const FEWEST_SUB_BITMAPS: u32 = 64;

/// Significant binary digits of the number of sub-bitmaps.
const DIGITS: u32 = 8;

/// For each size of sub-bitmap, in bits, the smallest error rate at which it costs at most 5 % over
/// undivided: found by bisection on [`Model`], and checked by a test. Below the last row a
/// sub-bitmap is a page.
const SUB_BITMAP_SIZES: [(u32, f64); 6] = [
    (512, 4.273e-3),
    (1024, 5.191e-4),
    (2048, 2.773e-5),
    (4096, 4.303e-7),
    (8192, 1.231e-9),
    (16_384, 3.142e-13),
];

/// The shape for `capacity` items at `error_rate`. Takes 1 to 200 microseconds, longer at smaller
/// rates.
///
/// `capacity` is clamped to `MIN_CAPACITY..=MAX_CAPACITY` and `error_rate` to `MIN_ERROR_RATE..1`.
pub fn shape_for(capacity: u64, error_rate: f64) -> Shape {
    let capacity = capacity.clamp(MIN_CAPACITY, MAX_CAPACITY);
    let error_rate = error_rate.clamp(MIN_ERROR_RATE, 1.0 - f64::EPSILON);
    let bits = sub_bitmap_bits(error_rate);
    undivided(capacity, error_rate, bits)
        .unwrap_or_else(|| Split::at(error_rate).shape_for(capacity))
}

/// The size of a sub-bitmap for an error rate.
fn sub_bitmap_bits(error_rate: f64) -> u32 {
    SUB_BITMAP_SIZES
        .iter()
        .find(|(_, least)| error_rate >= *least)
        .map_or(PAGE_BITS, |(bits, _)| *bits)
}

/// The best number of probes for an undivided filter, log2(1/error rate), rounded up. A split
/// filter needs that many or a few less, so the search walks down from it.
fn max_hashes(error_rate: f64) -> u32 {
    let (mut hashes, mut rate) = (1, 0.5);
    while rate > error_rate {
        rate *= 0.5;
        hashes += 1;
    }
    hashes
}

/// Walks the number of probes down from `most` while `cost` falls. Returns the best number and its
/// cost.
fn best_hashes(most: u32, cost: impl Fn(u32) -> f64) -> (u32, f64) {
    let mut best = (most, cost(most));
    for hashes in (1..most).rev() {
        let next = cost(hashes);
        if next >= best.1 && best.1.is_finite() {
            break;
        }
        best = (hashes, next);
    }
    best
}

/// The last number of `low..high` for which `holds` is true. It is taken to be true for `low`.
fn last_between(mut low: u64, mut high: u64, holds: impl Fn(u64) -> bool) -> u64 {
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// The shape of one sub-bitmap; `None` if it takes more bits than `FEWEST_SUB_BITMAPS` of
/// `split_bits`, or than a segment.
fn undivided(capacity: u64, error_rate: f64, split_bits: u32) -> Option<Shape> {
    let max_bits = max_undivided_bits(split_bits);
    let shape = |bits: u32, num_hashes: u32| Shape {
        sub_bitmap_bits: bits,
        num_hashes,
        num_sub_bitmaps: 1,
    };
    let fits = |bits: u32, hashes: u32| {
        let shape = shape(bits, hashes);
        shape.false_positive_rate(capacity as f64) <= error_rate
            && guard::is_guarded(&shape, capacity, error_rate)
    };
    let min_bits = |hashes: u32| {
        if !fits(max_bits, hashes) {
            return f64::INFINITY;
        }
        let does_not_fit = |bits| !fits(bits as u32, hashes);
        last_between(1, max_bits.into(), does_not_fit) as f64 + 1.0
    };
    let (num_hashes, bits) = best_hashes(max_hashes(error_rate) + 1, min_bits);
    // Memory comes in words, so the bits up to the next word are free.
    bits.is_finite().then(|| shape((bits as u32).next_multiple_of(64), num_hashes))
}

/// The most bits of an undivided sub-filter, whose sub-bitmaps would otherwise have `split_bits`.
fn max_undivided_bits(split_bits: u32) -> u32 {
    SEGMENT_BITS.min(FEWEST_SUB_BITMAPS * split_bits)
}

/// What split sub-filters of one error rate have in common.
pub(crate) struct Split {
    error_rate: f64,
    bits: u32,
    num_hashes: u32,
    bits_per_item: f64,
}

impl Split {
    /// Computes them for `error_rate`, which is clamped as in [`shape_for`]. Takes as long as that.
    pub(crate) fn at(error_rate: f64) -> Self {
        let error_rate = error_rate.clamp(MIN_ERROR_RATE, 1.0 - f64::EPSILON);
        let bits = sub_bitmap_bits(error_rate);
        let (num_hashes, bits_per_item) = best_hashes(max_hashes(error_rate), |hashes| {
            f64::from(bits) / load_at(bits, hashes, error_rate)
        });
        Self { error_rate, bits, num_hashes, bits_per_item }
    }

    /// The largest capacity, in items, for which [`shape_for`] chooses `shape`; `None` if it never
    /// chooses `shape`, or if `shape` is not split.
    pub(crate) fn capacity_of(&self, shape: &Shape) -> Option<u64> {
        let is_its = (shape.sub_bitmap_bits, shape.num_hashes) == (self.bits, self.num_hashes);
        // Fewer bits hold more items if they are not split.
        let most_undivided = u64::from(max_undivided_bits(self.bits));
        let n = shape.num_sub_bitmaps;
        let is_split = !shape.is_undivided() && shape.num_bits() >= most_undivided;
        if !is_its || !is_split || rounded(n) != n {
            return None;
        }
        let fits = |capacity| self.shape_for(capacity).num_sub_bitmaps <= n;
        // The guard may need a few per cent more sub-bitmaps, so the answer is at most this.
        let most = n as f64 * f64::from(self.bits) / self.bits_per_item;
        let (mut below, mut above) = (0, (most as u64 + 2).min(MAX_CAPACITY + 1));
        // Nearly always the answer is just below, so the first steps are small.
        let mut step = 1;
        while above > step && !fits(above - step) {
            above -= step;
            step *= 2;
        }
        if above > step {
            below = above - step;
        }
        let below = last_between(below, above, fits);
        // In as many bits, an undivided sub-filter never holds twice as many items.
        let is_chosen = below >= MIN_CAPACITY
            && self.shape_for(below) == *shape
            && (shape.num_bits() > 2 * most_undivided
                || undivided(below, self.error_rate, self.bits).is_none());
        is_chosen.then_some(below)
    }

    /// The shape for `capacity` items that is split, however few they are.
    pub(crate) fn shape_for(&self, capacity: u64) -> Shape {
        let capacity = capacity.min(MAX_CAPACITY);
        let exact = capacity as f64 * self.bits_per_item / f64::from(self.bits);
        let mut shape = Shape {
            sub_bitmap_bits: self.bits,
            num_hashes: self.num_hashes,
            num_sub_bitmaps: rounded((exact.ceil() as u64).max(1)),
        };
        // Below 0.1 %, up to a few hundred sub-bitmaps deviate by more than the guard may allow,
        // so they get the next number that is.
        while !guard::is_guarded(&shape, capacity, self.error_rate) {
            shape.num_sub_bitmaps = rounded(shape.num_sub_bitmaps + 1);
        }
        shape
    }
}

/// The least number of at most `DIGITS` significant binary digits that is not below `number`.
fn rounded(number: u64) -> u64 {
    let zeros = (u64::BITS - number.leading_zeros()).saturating_sub(DIGITS);
    // Rounding up to a power of two leaves one digit.
    number.next_multiple_of(1 << zeros)
}

/// The mean load, in items a sub-bitmap, at which the false-positive rate reaches `error_rate` from
/// below, within 1e-6.
///
/// The rate grows about as the 0.7 k-th power of the load. Square roots, which are exact, make it
/// nearly straight, and the secant (with the Illinois rule, so that both ends of the bracket move)
/// converges in about four steps.
fn load_at(bits: u32, hashes: u32, error_rate: f64) -> f64 {
    let model = Model::new(bits, hashes);
    let straight = |mut rate: f64| {
        let mut degree = hashes;
        while degree > 1 {
            rate = rate.sqrt();
            degree /= 2;
        }
        rate
    };
    let target = straight(error_rate * (1.0 - 5e-7));
    // No split filter holds more than 1.05/ln 2 = 1.5 times the load that sets half the bits,
    // except with one probe, where the load grows without bound as the rate nears 1: double until
    // the rate exceeds the target.
    let (mut low, mut low_gap) = (0.0, -target);
    let mut high = f64::from(bits) / f64::from(hashes);
    let mut high_gap = straight(model.false_positive_rate(high)) - target;
    while high_gap < 0.0 {
        (low, low_gap) = (high, high_gap);
        high *= 2.0;
        high_gap = straight(model.false_positive_rate(high)) - target;
    }
    let mut moved_low = None;
    for _ in 0..100 {
        let load = (low * high_gap - high * low_gap) / (high_gap - low_gap);
        let rate = model.false_positive_rate(load);
        if rate <= error_rate && rate >= error_rate * (1.0 - 1e-6) {
            return load;
        }
        let gap = straight(rate) - target;
        let below = gap < 0.0;
        if below {
            (low, low_gap) = (load, gap);
            high_gap *= if moved_low == Some(true) { 0.5 } else { 1.0 };
        } else {
            (high, high_gap) = (load, gap);
            low_gap *= if moved_low == Some(false) { 0.5 } else { 1.0 };
        }
        moved_low = Some(below);
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bloom::guard::UNIT;
    use crate::bloom::shape::LINE_BITS;

    /// Bits per item of the best undivided filter of unlimited size: the smallest
    /// k/-ln(1-rate^(1/k)).
    fn undivided_bits_per_item(rate: f64) -> f64 {
        (1..=64)
            .map(|k| f64::from(k) / -(1.0 - rate.powf(1.0 / f64::from(k))).ln())
            .fold(f64::INFINITY, f64::min)
    }

    fn split_bits_per_item(rate: f64, bits: u32) -> f64 {
        let (_, cost) = best_hashes(max_hashes(rate), |k| f64::from(bits) / load_at(bits, k, rate));
        cost
    }

    #[test]
    fn each_size_of_sub_bitmap_costs_five_percent_at_its_smallest_error_rate() {
        for (bits, least) in SUB_BITMAP_SIZES {
            let over = |rate: f64| split_bits_per_item(rate, bits) / undivided_bits_per_item(rate);
            assert!(over(least) <= 1.05, "{bits}: {}", over(least));
            assert!(over(least * 0.998) > 1.05, "{bits}: {}", over(least * 0.998));
        }
    }

    #[test]
    fn known_shapes_never_change() {
        // Stored filters hold bits placed by these numbers.
        let shape = |capacity, rate| {
            let s = shape_for(capacity, rate);
            (s.sub_bitmap_bits, s.num_hashes, s.num_sub_bitmaps)
        };
        assert_eq!(shape(1, 0.01), (64, 5, 1));
        assert_eq!(shape(100, 0.01), (1_024, 6, 1));
        assert_eq!(shape(1_000, 0.001), (14_400, 10, 1));
        assert_eq!(shape(1_000_000, 0.1), (512, 3, 9_472));
        assert_eq!(shape(1_000_000, 0.01), (512, 6, 19_456));
        assert_eq!(shape(1_000_000, 0.001), (1_024, 10, 14_656));
        assert_eq!(shape(1_000_000, 0.0001), (2_048, 13, 9_728));
        assert_eq!(shape(1_000_000, 0.000_001), (4_096, 19, 7_360));
        assert_eq!(shape(1_000_000, 1e-9), (16_384, 29, 2_704));
        assert_eq!(shape(1 << 40, 0.01), (512, 6, 21_340_618_752));
    }

    #[test]
    fn the_false_positive_rate_at_capacity_is_the_one_asked_for() {
        for rate in [0.9, 0.5, 0.1, 0.03, 0.01, 0.001, 1e-4, 1e-6, 1e-9, 1e-12, 1e-15] {
            for capacity in [1_000u64, 100_000, 10_000_000, 1 << 40] {
                let shape = shape_for(capacity, rate);
                let expected = shape.false_positive_rate(capacity as f64);
                // Never above; below only by what rounding up to words or whole sub-bitmaps costs.
                assert!(expected <= rate * 1.000_001, "{capacity} {rate}: {expected}");
                let granules = if shape.is_undivided() {
                    shape.num_bits() / 64
                } else {
                    shape.num_sub_bitmaps
                };
                let given_away =
                    (-0.5 * shape.num_bits() as f64 / capacity as f64 / granules.min(128) as f64)
                        .exp();
                // What the guard needs where few sub-bitmaps carry most of the weight.
                let for_the_guard = if granules < 1_000 && rate < 1e-3 { 0.5 } else { 0.999 };
                assert!(
                    expected >= rate * given_away * for_the_guard,
                    "{capacity} {rate}: {expected}"
                );
            }
        }
    }

    #[test]
    fn every_capacity_and_error_rate_has_a_valid_shape() {
        for exponent in 0..=41 {
            for capacity in [(1u64 << exponent) - 1, 1 << exponent, (1 << exponent) + 1] {
                for rate in [
                    f64::MIN_POSITIVE,
                    1e-18,
                    1e-7,
                    0.02,
                    0.37,
                    0.7,
                    0.999,
                    1.0 - f64::EPSILON / 2.0,
                ] {
                    let shape = shape_for(capacity, rate);
                    assert_eq!(shape.sub_bitmap_bits % 64, 0);
                    assert!((1..=64).contains(&shape.num_hashes));
                    assert!(shape.num_sub_bitmaps >= 1);
                    if shape.is_undivided() {
                        assert!((64..=SEGMENT_BITS).contains(&shape.sub_bitmap_bits));
                    } else {
                        assert!(shape.sub_bitmap_bits.is_power_of_two());
                        assert!((LINE_BITS..=PAGE_BITS).contains(&shape.sub_bitmap_bits));
                    }
                    let capacity = capacity.clamp(MIN_CAPACITY, MAX_CAPACITY);
                    let limit = guard::limit(&shape, capacity, rate);
                    assert!((1..=2 * UNIT * shape.num_sub_bitmaps).contains(&limit));
                    assert!(
                        guard::is_guarded(&shape, capacity, rate),
                        "{capacity} {rate}: {shape:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_largest_capacity_of_a_size_and_of_all_that_it_folds_to_is_found() {
        for rate in [0.25, 0.01, 1e-4, 1e-9] {
            for capacity in [5_000, 77_777, 1_000_000, 123_456_789, 1 << 40] {
                let shape = shape_for(capacity, rate);
                let Some(most) = Split::at(rate).capacity_of(&shape) else {
                    assert!(shape.is_undivided(), "{capacity} {rate}");
                    continue;
                };
                assert!(most >= capacity && shape_for(most, rate) == shape);
                let is_most = most == MAX_CAPACITY || shape_for(most + 1, rate) != shape;
                assert!(is_most, "{capacity} {rate}");
                let n = shape.num_sub_bitmaps;
                for factor in (2..1_000).filter(|factor| n.is_multiple_of(*factor)) {
                    let folded = Shape { num_sub_bitmaps: n / factor, ..shape };
                    let most = Split::at(rate).capacity_of(&folded);
                    assert!(most.is_some() || n / factor < 512, "{folded:?} {rate}");
                }
            }
        }
    }

    #[test]
    fn a_number_is_rounded_up_by_less_than_an_128th_and_so_are_its_divisors() {
        for number in (1..3_000).chain([19_372, 21_298_663_404]) {
            let up = rounded(number);
            assert!(up >= number && (up - number) * 128 < number.max(128));
            assert_eq!(rounded(up), up);
            let divisors = (1..200).filter(|factor| up.is_multiple_of(*factor));
            assert!(divisors.map(|factor| up / factor).all(|part| rounded(part) == part));
        }
    }

    #[test]
    fn the_guard_leaves_small_filters_half_as_much_again_and_large_ones_a_fiftieth() {
        let units = |capacity| {
            let shape = shape_for(capacity, 0.01);
            let limit = guard::limit(&shape, capacity, 0.01) as f64;
            limit / UNIT as f64 / shape.num_sub_bitmaps as f64
        };
        assert!((1.4..1.5).contains(&units(4_000)), "{}", units(4_000));
        // Up to 1/128 more sub-bitmaps than needed weigh up to a twentieth less.
        assert!((1.0..1.03).contains(&units(10_000_000)), "{}", units(10_000_000));
    }
}
