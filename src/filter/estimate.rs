//! What a filter tells of itself from its set bits alone: how many items it holds, and how often it errs now.
//!
//! With X of m bits set in nb sub-bitmaps of B bits, the number of items is estimated by
//!
//! ```text
//!   n = ln(1 - X/m) / ln(1 - a/nb)      a = 1 - (1-1/B)^k, the share of a sub-bitmap that one item sets
//! ```
//!
//! (each item spares a bit with probability 1 - a/nb, so E[1 - X/m] = (1 - a/nb)^n). Its bias is below 0.01 % and its standard
//! deviation 0.025 % at a million items; the textbook's -m/k * ln(1 - X/m) is 0.5 % low for 64-byte sub-bitmaps.
//!
//! The expected false-positive rate is what the sub-bitmaps weigh (see [`super::fill_guard`]), whoever filled them. While that is too little to
//! be told from its rounding it is the model's at the estimated load, within 0.3 % of it where the items are fair; the naive (X/m)^k is 14 to 46 % too low.
//!
//! These numbers are for people to read. They decide nothing, so logarithms of the C library are allowed here.

use super::fill_guard::UNIT;
use super::model::power;
use super::scalable::Filter;
use super::sizing::MIN_ERROR_RATE;
use super::split_bloom::{Description, SplitBloom};

/// From this share of the error rate on, what is lost by rounding each weight down is below a thousandth of the sum.
const LEAST_UNITS: f64 = 1024.0 / UNIT as f64;

impl SplitBloom {
    /// Items that must have been added, from the set bits.
    pub fn estimated_items(&self) -> f64 {
        let shape = self.description().shape;
        // With every bit set the estimate is infinite; half a bit clear stands for that.
        let set = (self.set_bits() as f64).min(shape.num_bits() as f64 - 0.5);
        let spared = power(
            1.0 - 1.0 / f64::from(shape.sub_bitmap_bits),
            u64::from(shape.num_hashes),
        );
        let by_one = (1.0 - spared) / shape.num_sub_bitmaps as f64;
        (-set / shape.num_bits() as f64).ln_1p() / (-by_one).ln_1p()
    }

    /// The share of absent items that it takes for present now. Cost: up to 50 microseconds.
    pub fn expected_false_positive_rate(&self) -> f64 {
        let Description {
            shape, error_rate, ..
        } = self.description();
        let units = self.fill().weight() as f64 / UNIT as f64 / shape.num_sub_bitmaps as f64;
        if self.set_bits() == 0 {
            0.0
        } else if shape.is_undivided() {
            let share = self.set_bits() as f64 / shape.num_bits() as f64;
            power(share, u64::from(shape.num_hashes))
        } else if units >= LEAST_UNITS {
            (units * error_rate.max(MIN_ERROR_RATE)).min(1.0)
        } else {
            shape.false_positive_rate(self.estimated_items())
        }
    }
}

impl Filter {
    /// Items that must have been added, from the set bits of all sub-filters.
    pub fn estimated_items(&self) -> f64 {
        self.sub_filters()
            .iter()
            .map(SplitBloom::estimated_items)
            .sum()
    }

    /// The share of absent items that it takes for present now: those that any sub-filter does.
    pub fn expected_false_positive_rate(&self) -> f64 {
        let spared: f64 = self
            .sub_filters()
            .iter()
            .map(|s| 1.0 - s.expected_false_positive_rate())
            .product();
        1.0 - spared
    }

    /// The share of its bits that is set.
    pub fn fill_ratio(&self) -> f64 {
        self.set_bits() as f64 / self.num_bits() as f64
    }

    /// Number of bits that are set.
    pub fn set_bits(&self) -> u64 {
        self.sub_filters().iter().map(SplitBloom::set_bits).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::hash::Seed;
    use super::super::scalable::{Growth, Parameters, SizeLimit};
    use super::*;

    fn filled(items: u64, capacity: u64, error_rate: f64, growth: Growth) -> Filter {
        let parameters = Parameters {
            error_rate,
            capacity,
            growth,
            seed: Seed(3),
        };
        let mut filter = Filter::new(parameters, SizeLimit::Unlimited).unwrap();
        let items: Vec<[u8; 8]> = (0..items).map(u64::to_le_bytes).collect();
        let items = items.iter().map(<[u8; 8]>::as_slice);
        filter
            .add_many(items, SizeLimit::Unlimited, |_| ())
            .unwrap();
        filter
    }

    #[test]
    fn the_number_of_items_is_estimated_within_a_fifth_of_a_percent() {
        for (items, error_rate, growth) in [
            (1_000_000, 0.01, Growth::Fixed),
            (500_000, 0.0001, Growth::Fixed),
            (700_000, 0.01, Growth::Times(2)),
        ] {
            let estimate = filled(items, 1_000_000, error_rate, growth).estimated_items();
            let off = estimate / items as f64 - 1.0;
            assert!(off.abs() < 0.002, "{items}: {estimate}");
        }
    }

    #[test]
    fn the_expected_false_positive_rate_is_the_one_measured() {
        for (items, capacity, growth) in [
            (300_000, 300_000, Growth::Fixed),
            (400_000, 300_000, Growth::Fixed),
            (100_000, 1_000, Growth::Times(2)),
        ] {
            let filter = filled(items.min(capacity), capacity, 0.01, growth);
            let probes = 2_000_000u64;
            let found = (1 << 40..(1 << 40) + probes)
                .filter(|i: &u64| filter.contains(&i.to_le_bytes()))
                .count();
            let (expected, measured) = (
                filter.expected_false_positive_rate(),
                found as f64 / probes as f64,
            );
            // 20 000 hits have a standard deviation of 0.7 %, a small filter's own share of luck a little more.
            assert!(
                (measured / expected - 1.0).abs() < 0.05,
                "{expected} {measured}"
            );
        }
    }

    #[test]
    fn an_empty_filter_expects_nothing_and_a_saturated_one_stays_finite() {
        let empty = filled(0, 100, 0.01, Growth::Fixed);
        assert_eq!(empty.estimated_items(), 0.0);
        assert_eq!(empty.expected_false_positive_rate(), 0.0);
        assert_eq!(empty.fill_ratio(), 0.0);
        let full = filled(2_000, 1_000, 0.999, Growth::Fixed);
        assert!(full.estimated_items().is_finite());
        assert!(full.expected_false_positive_rate() <= 1.0);
    }
}
