//! The capacity of each partition, such that none of them overflows.
//!
//! n items fall into P partitions. If the checksum spreads them evenly (p = 1/P each), the number X
//! of items in a partition is binomial, with mean μ = n·p and variance σ² = μ·(1−p). One item moves
//! X from its mean by at most 1−p, so by Bernstein's inequality
//!
//! ```text
//!   P(X ≥ μ + s)  ≤  exp( −s² / (2·(σ² + (1−p)·s/3)) )
//! ```
//!
//! and P times that is at most δ for, with L = ln(P/δ),
//!
//! ```text
//!   s  =  (1−p)·L/3 + √( ((1−p)·L/3)² + 2·σ²·L )
//! ```
//!
//! (S. Boucheron, G. Lugosi, P. Massart, "Concentration Inequalities", 2013, section 2.8). The
//! bound holds for every n and P. For partitions large enough to be useful it costs about 0.1 %
//! more memory than the exact quantile.

use super::Partitions;

/// The probability that any partition overflows.
pub const OVERFLOW_CHANCE: f64 = 1e-6;

/// The capacity of each partition for a total of `items`; at least 1, at most `items`.
pub fn capacity_of_each(items: u64, partitions: Partitions) -> u64 {
    let count = f64::from(partitions.count());
    let (mean, others) = (items as f64 / count, 1.0 - 1.0 / count);
    let log = (count / OVERFLOW_CHANCE).ln();
    let third = others * log / 3.0;
    let slack = third + (third * third + 2.0 * mean * others * log).sqrt();
    ((mean + slack).ceil() as u64).min(items).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Partitions;

    /// P(X > `max`) of a binomial X, summed from the first term above `max`; the terms decrease
    /// from there on.
    fn tail(trials: u64, chance: f64, max: u64) -> f64 {
        let log_factorial = |n: u64| -> f64 { (1..=n).map(|k| (k as f64).ln()).sum() };
        let first = max + 1;
        if first > trials {
            return 0.0;
        }
        let log_first =
            log_factorial(trials) - log_factorial(first) - log_factorial(trials - first)
                + first as f64 * chance.ln()
                + (trials - first) as f64 * (-chance).ln_1p();
        let odds = chance / (1.0 - chance);
        let (mut term, mut sum) = (log_first.exp(), 0.0);
        for successes in first..=trials {
            sum += term;
            term *= odds * (trials - successes) as f64 / (successes + 1) as f64;
            if term < sum * 1e-17 {
                break;
            }
        }
        sum
    }

    fn each(items: u64, partitions: u64) -> u64 {
        capacity_of_each(items, Partitions::new(partitions).unwrap())
    }

    #[test]
    fn the_exact_probability_of_an_overflow_is_below_the_bound() {
        for items in [1, 2, 10, 100, 1_000, 30_000, 1_000_000] {
            for partitions in [2, 4, 16, 64, 1024, 16_384] {
                let capacity = each(items, partitions);
                let chance = partitions as f64 * tail(items, 1.0 / partitions as f64, capacity);
                assert!(chance < OVERFLOW_CHANCE, "{items} in {partitions}: {chance}");
            }
        }
    }

    #[test]
    fn large_partitions_are_within_a_hundredth_of_the_smallest_capacity() {
        for (items, partitions) in [(1_000_000, 16), (1_000_000, 64), (10_000_000, 1024)] {
            let less = each(items, partitions) * 99 / 100;
            let chance = partitions as f64 * tail(items, 1.0 / partitions as f64, less);
            assert!(chance > OVERFLOW_CHANCE, "{items} in {partitions}: {chance}");
        }
    }

    #[test]
    fn a_single_partition_is_as_large_as_the_whole() {
        assert_eq!(each(12_345, 1), 12_345);
    }

    #[test]
    fn a_capacity_is_at_least_one_and_at_most_the_number_of_items() {
        assert_eq!(each(3, 1024), 3);
        assert_eq!(each(0, 1024), 1);
        assert_eq!(each(u64::MAX, 1), u64::MAX);
    }
}
