//! How many items each partition is made for, so that none of them overflows.
//!
//! n items land in P partitions. Where the checksum spreads them like chance (p = 1/P each), a partition gets a number X of them that is
//! binomial, with mean μ = n·p and variance σ² = μ·(1−p). An item moves X away from its mean by 1−p at most, so Bernstein's inequality says
//!
//! ```text
//!   P(X ≥ μ + s)  ≤  exp( −s² / (2·(σ² + (1−p)·s/3)) )
//! ```
//!
//! and P times that is at most δ as soon as, with L = ln(P/δ),
//!
//! ```text
//!   s  =  (1−p)·L/3 + √( ((1−p)·L/3)² + 2·σ²·L )
//! ```
//!
//! (S. Boucheron, G. Lugosi, P. Massart, "Concentration Inequalities", 2013, section 2.8). The bound holds for every n and P, and costs some
//! 0.1 % of the memory over the exact quantile where partitions are large enough to be worth while.

use super::Partitions;

/// The chance that any partition overflows.
pub const OVERFLOW_CHANCE: f64 = 1e-6;

/// The capacity of each partition for so many items in all; at least 1, at most `items`.
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
    use crate::partition::Partitions;

    /// P(X > `most`) of a binomial X, summed from the term behind `most`; the terms fall from there on.
    fn tail(trials: u64, chance: f64, most: u64) -> f64 {
        let log_factorial = |n: u64| -> f64 { (1..=n).map(|k| (k as f64).ln()).sum() };
        let first = most + 1;
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
    fn the_exact_chance_of_an_overflow_is_below_what_was_promised() {
        for items in [1, 2, 10, 100, 1_000, 30_000, 1_000_000] {
            for partitions in [2, 4, 16, 64, 1024, 16_384] {
                let capacity = each(items, partitions);
                let chance = partitions as f64 * tail(items, 1.0 / partitions as f64, capacity);
                assert!(
                    chance < OVERFLOW_CHANCE,
                    "{items} in {partitions}: {chance}"
                );
            }
        }
    }

    #[test]
    fn less_than_a_hundredth_could_be_saved_where_partitions_are_large() {
        for (items, partitions) in [(1_000_000, 16), (1_000_000, 64), (10_000_000, 1024)] {
            let less = each(items, partitions) * 99 / 100;
            let chance = partitions as f64 * tail(items, 1.0 / partitions as f64, less);
            assert!(
                chance > OVERFLOW_CHANCE,
                "{items} in {partitions}: {chance}"
            );
        }
    }

    #[test]
    fn a_single_partition_is_as_large_as_the_whole() {
        assert_eq!(each(12_345, 1), 12_345);
    }

    #[test]
    fn no_partition_is_made_for_more_items_than_there_are_nor_for_none() {
        assert_eq!(each(3, 1024), 3);
        assert_eq!(each(0, 1024), 1);
        assert_eq!(each(u64::MAX, 1), u64::MAX);
    }
}
