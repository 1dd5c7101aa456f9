//! Growth: the capacity and the error rate of each further sub-filter.
//!
//! A false positive in any sub-filter is one of the filter, so the error rates of the sub-filters
//! must add up to no more than the one asked for, however many there are (Almeida, Baquero,
//! Preguiça, Hutchison, "Scalable Bloom filters", 2007):
//!
//! ```text
//!   first           2/3                       so that a filter reserved at its size is small
//!   i-th after it   1/3 * (1-r) * r^(i-1)     r = 0.85; the sum over all i is 1/3
//! ```
//!
//! (A sub-filter's rate is never below 1e-15, see [`crate::bloom::shape::MIN_ERROR_RATE`].)
//!
//! The usual r = 0.5 halves the rate with every step, which costs 39.9 bits an item on average at a
//! million items grown from 100 at 1 %. Ratios near 0.85 cost about 25.
//!
//! # The series stays short
//! Each sub-filter costs every later lookup a cache line, and the next sub-filter a tighter error
//! rate. So whatever the expansion factor, a new sub-filter has at least half the capacity of all
//! before it: 10^9 items take at most 43 sub-filters, even from a capacity of 1 with a factor of 1.
//! By the share: reserved bits an item, averaged over the growth to 10^9 at 1 %, and number of
//! sub-filters:
//!
//! ```text
//!   1/8: 60, 132     1/4: 43, 73     1/2: 36, 43     1: 34, 26
//! ```
//!
//! A share of 1/2 costs a fifteenth more memory than a share of 1, with which a factor of 1 would
//! mean the same as 2. The minimum is 64 items because their bits take about as much as the
//! sub-filter's own 96 bytes.

use crate::bloom::sizing::MAX_CAPACITY;
use crate::math::power;

/// The share of the error rate that the first sub-filter of a growing filter gets.
const FIRST_SHARE: f64 = 2.0 / 3.0;
/// The ratio of the error rates of consecutive further sub-filters.
const TIGHTENING: f64 = 0.85;
/// A new sub-filter has at least the total capacity of those before it, divided by this.
const MOST_TO_ONE: u64 = 2;
/// The smallest capacity of a further sub-filter.
const LEAST_CAPACITY: u64 = 64;

/// The largest factor by which a filter grows.
pub const MAX_EXPANSION: u32 = 32_768;

/// What a filter does when it is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Refuses further items.
    Fixed,
    /// Adds a sub-filter of this many times the capacity of the last one, or more if the series
    /// would become long.
    Times(u32),
}

impl Growth {
    /// From the factor of clients, settings and files, where 0 means that the filter does not grow.
    pub fn from_factor(factor: u32) -> Self {
        match factor {
            0 => Self::Fixed,
            factor => Self::Times(factor),
        }
    }

    /// The factor, 0 if the filter does not grow.
    pub fn factor(self) -> u32 {
        match self {
            Self::Fixed => 0,
            Self::Times(factor) => factor,
        }
    }

    /// The error rate of sub-filter `index` of a filter of `error_rate`.
    pub(super) fn error_rate_of(self, error_rate: f64, index: usize) -> f64 {
        match (self, index) {
            (Self::Fixed, _) => error_rate,
            (Self::Times(_), 0) => error_rate * FIRST_SHARE,
            (Self::Times(_), index) => {
                error_rate
                    * (1.0 - FIRST_SHARE)
                    * (1.0 - TIGHTENING)
                    * power(TIGHTENING, index as u64 - 1)
            }
        }
    }

    /// The capacity of the next sub-filter, if the last one has the capacity `last` and all
    /// together have `total`; `None` if the filter does not grow.
    pub(super) fn next_capacity(self, last: u64, total: u64) -> Option<u64> {
        let Self::Times(factor) = self else {
            return None;
        };
        let capacity = last
            .saturating_mul(u64::from(factor))
            .max(total.div_ceil(MOST_TO_ONE))
            .max(LEAST_CAPACITY);
        Some(capacity.min(MAX_CAPACITY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_rates_of_all_sub_filters_never_add_up_to_more_than_asked_for() {
        let sum: f64 = (0..10_000)
            .map(|i| Growth::Times(2).error_rate_of(0.01, i))
            .sum();
        assert!(sum <= 0.01 * (1.0 + 1e-12), "{sum}");
        assert_eq!(Growth::Fixed.error_rate_of(0.01, 0), 0.01);
    }

    /// The number of sub-filters that `items` items take.
    fn sub_filters(growth: Growth, first: u64, items: u64) -> usize {
        let (mut last, mut total, mut count) = (first, first, 1);
        while total < items {
            last = growth.next_capacity(last, total).unwrap();
            total += last;
            count += 1;
        }
        count
    }

    #[test]
    fn a_series_is_short_whatever_the_expansion_factor() {
        for (factor, first, items, most) in [
            (1, 1, 40_000, 18),
            (1, 1, 1_000_000_000, 43),
            (1, 100, 1_000_000_000, 41),
            (2, 100, 1_000_000_000, 24),
            (10, 100, 1_000_000_000, 8),
        ] {
            assert_eq!(sub_filters(Growth::Times(factor), first, items), most);
        }
    }

    #[test]
    fn a_factor_of_two_or_more_decides_from_64_items_on() {
        for factor in [2, 3, 32_768] {
            let growth = Growth::Times(factor);
            let last = 64u64;
            let total = last + last.div_ceil(u64::from(factor)) * 2;
            assert_eq!(
                growth.next_capacity(last, total),
                Some(last * u64::from(factor))
            );
        }
        assert_eq!(Growth::Times(2).next_capacity(1, 1), Some(64));
        assert_eq!(
            Growth::Times(2).next_capacity(MAX_CAPACITY, MAX_CAPACITY),
            Some(MAX_CAPACITY)
        );
        assert_eq!(Growth::Fixed.next_capacity(100, 100), None);
    }
}
