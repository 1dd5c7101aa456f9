//! Decay: what is left of a bucket after units of other items.
//!
//! A unit of another item takes one from a bucket of count c with probability decay^c, and owns the
//! bucket once nothing is left: Yang et al., "HeavyKeeper: an accurate algorithm for finding top-k
//! elephant flows", USENIX ATC 2018. So a heavy item is hard to displace, and a light one is not.
//!
//! # Many units at once
//! Where most units miss, they are not drawn one by one: the number of misses before the next hit
//! has a geometric distribution, and takes one draw. What is left then has the same distribution as
//! after as many single units.
//!
//! # On every machine the same
//! Replicas may run on other processors. So powers are products, which IEEE 754 defines to the last
//! bit, and not `pow` or `ln`, which differ between libraries.

use super::random::Random;
use super::MAX_UNITS;
use splitbloom_foundation::alloc::{relocate_box, try_boxed, Mover, OutOfMemory};
use splitbloom_foundation::math::power;
use std::alloc::Layout;

/// How many counts have their powers kept, in 2 KiB: at the default decay of 0.9 a bucket of 256
/// loses to one unit in 5 × 10^11.
const KEPT: u32 = 256;
/// Only one draw in 2^53 is below this probability: buckets with a lower one do not decay.
const NEVER: f64 = 1.0 / (1_u64 << 53) as f64;
/// From this probability of a hit on, drawing unit by unit is as quick as a geometric draw, which
/// takes two products for each bit of the number of units.
const OFTEN: f64 = 0.25;

/// The powers of a decay.
pub(super) struct Decay {
    base: f64,
    powers: Box<[f64]>,
    /// The first count that does not decay, if there is one.
    stable: Option<u32>,
    /// How much a bucket may lose to [`MAX_UNITS`] units: the first count that loses less than one
    /// to them.
    most_lost: u32,
}

impl Decay {
    /// The powers of `base`, which is in [0, 1].
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(base: f64) -> Result<Self, OutOfMemory> {
        let powers = (0..KEPT).scan(1.0, |power, _| {
            let this = *power;
            *power *= base;
            Some(this)
        });
        let mut decay = Self {
            base,
            powers: try_boxed(KEPT as usize, |to| to.extend(powers))?,
            stable: None,
            most_lost: 0,
        };
        decay.stable = decay.first_below(NEVER);
        let rare = decay.first_below(1.0 / f64::from(MAX_UNITS));
        decay.most_lost = rare.unwrap_or(u32::MAX);
        Ok(decay)
    }

    /// The layout of the powers.
    pub fn layout(&self) -> Layout {
        Layout::for_value(&*self.powers)
    }

    /// Passes the powers through `mover`.
    pub fn relocate(&mut self, mover: &mut impl Mover) {
        self.powers = relocate_box(std::mem::take(&mut self.powers), mover);
    }

    /// The probability that a unit takes one from a bucket of `count`.
    #[inline]
    fn power(&self, count: u32) -> f64 {
        match self.powers.get(count as usize) {
            Some(power) => *power,
            None => self.computed_power(count),
        }
    }

    #[cold]
    fn computed_power(&self, count: u32) -> f64 {
        power(self.base, count.into())
    }

    /// The first count whose power is below `least`, by bisection.
    fn first_below(&self, least: f64) -> Option<u32> {
        if self.computed_power(u32::MAX) >= least {
            return None;
        }
        let (mut low, mut high) = (0, u32::MAX);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.computed_power(middle) < least {
                true => high = middle,
                false => low = middle + 1,
            }
        }
        Some(high)
    }

    /// Whether a unit of another item takes one from a bucket of `count`, above 0.
    #[inline]
    pub fn hits(&self, count: u32, random: &mut Random) -> bool {
        !self.is_stable(count) && random.unit() < self.power(count)
    }

    #[inline]
    fn is_stable(&self, count: u32) -> bool {
        self.stable.is_some_and(|stable| count >= stable)
    }

    /// The steps of [`Decay::wear`] for `units`, each as long as it takes to touch a bucket: one
    /// for each count that a bucket may lose, but at most one for every two units.
    pub fn steps(&self, units: u32) -> u32 {
        match self.base == 1.0 {
            true => 0,
            false => self.most_lost.min(units / 2),
        }
    }

    /// What is left of a bucket of `count`, above 0, after `units` of another item. If that is 0,
    /// also returns how many units are left, from the one that took the last count on: the new
    /// owner gets them all.
    ///
    /// At most 100 000 come at once. That takes up to 10 µs at a decay of 0.9, with some 90 hits,
    /// but up to a millisecond at one near 1, where nearly all of them hit. Each row does this.
    pub fn wear(&self, mut count: u32, mut units: u32, random: &mut Random) -> (u32, u32) {
        if self.is_stable(count) {
            return (count, 0);
        }
        if self.base == 1.0 {
            return match units.checked_sub(count) {
                Some(more) => (0, more + 1),
                None => (count - units, 0),
            };
        }
        let mut power = self.power(count);
        while units > 0 {
            if power < OFTEN {
                units -= misses(1.0 - power, units, random);
                if units == 0 {
                    break;
                }
            } else if random.unit() >= power {
                units -= 1;
                continue;
            }
            count -= 1;
            if count == 0 {
                return (0, units);
            }
            units -= 1;
            power = match self.powers.get(count as usize) {
                Some(power) => *power,
                None => power / self.base,
            };
        }
        (count, 0)
    }
}

/// How many units miss before the first hit, at most `units`, when each misses with probability
/// `miss`: the largest m with miss^m above a number drawn from [0, 1).
fn misses(miss: f64, units: u32, random: &mut Random) -> u32 {
    let drawn = random.unit();
    let bits = u32::BITS - units.leading_zeros();
    let mut squares = [miss; u32::BITS as usize];
    for bit in 1..bits as usize {
        squares[bit] = squares[bit - 1] * squares[bit - 1];
    }
    let (mut survival, mut misses) = (1.0, 0);
    for bit in (0..bits).rev() {
        let next = survival * squares[bit as usize];
        if next > drawn && misses + (1 << bit) <= units {
            survival = next;
            misses += 1 << bit;
        }
    }
    misses
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition: unit by unit.
    fn plain(base: f64, mut count: u32, units: u32, random: &mut Random) -> (u32, u32) {
        for left in (1..=units).rev() {
            if random.unit() < base.powi(count as i32) {
                count -= 1;
            }
            if count == 0 {
                return (0, left);
            }
        }
        (count, 0)
    }

    /// Means and variances of what is left: of the count, and of the units.
    fn moments(mut draw: impl FnMut() -> (u32, u32)) -> [f64; 4] {
        const DRAWS: f64 = 20_000.0;
        let mut sums = [0.0; 4];
        for _ in 0..DRAWS as u32 {
            let (count, units) = draw();
            let (count, units) = (f64::from(count), f64::from(units));
            for (sum, value) in sums.iter_mut().zip([count, count * count, units, units * units]) {
                *sum += value / DRAWS;
            }
        }
        let [count, count_square, units, units_square] = sums;
        [count, count_square - count * count, units, units_square - units * units]
    }

    #[test]
    fn many_units_leave_what_as_many_single_units_leave() {
        for (base, count, units) in [
            (0.9, 5, 3),
            (0.9, 10, 50),
            (0.9, 30, 2_000),
            (0.5, 4, 40),
            (0.999, 300, 500),
            (0.99, 280, 900),
        ] {
            let decay = Decay::new(base).unwrap();
            let (mut one, mut other, mut third) = (Random(1), Random(2), Random(3));
            let expected = moments(|| plain(base, count, units, &mut one));
            let at_once = moments(|| decay.wear(count, units, &mut other));
            let single = moments(|| {
                let mut left = (count, units);
                while left.0 > 0 && left.1 > 0 {
                    let count = left.0 - u32::from(decay.hits(left.0, &mut third));
                    left = (count, if count == 0 { left.1 } else { left.1 - 1 });
                }
                left
            });
            for (n, expected) in expected.into_iter().enumerate() {
                // Five standard errors of a mean of 20 000, and 10 % of a variance.
                let [_, variance, _, other_variance] = [at_once[0], at_once[1], 0.0, at_once[3]];
                let error = match n {
                    0 => 5.0 * (2.0 * variance / 20_000.0).sqrt() + 1e-9,
                    2 => 5.0 * (2.0 * other_variance / 20_000.0).sqrt() + 1e-9,
                    _ => 0.1 * expected + 0.01,
                };
                for found in [at_once[n], single[n]] {
                    let case = (base, count, units, n);
                    assert!((found - expected).abs() <= error, "{case:?} {found} {expected}");
                }
            }
        }
    }

    #[test]
    fn without_decay_each_unit_takes_one() {
        let decay = Decay::new(1.0).unwrap();
        let mut random = Random(0);
        assert_eq!(decay.stable, None);
        assert_eq!(decay.wear(5, 5, &mut random), (0, 1));
        assert_eq!(decay.wear(5, 8, &mut random), (0, 4));
        assert_eq!(decay.wear(5, 3, &mut random), (2, 0));
        assert_eq!(decay.wear(u32::MAX, 100_000, &mut random), (u32::MAX - 100_000, 0));
        assert_eq!(decay.wear(1, 1, &mut random), (0, 1));
        assert!(decay.hits(1, &mut random) && decay.hits(u32::MAX, &mut random));
    }

    #[test]
    fn a_heavy_bucket_does_not_decay_and_draws_nothing() {
        let decay = Decay::new(0.9).unwrap();
        // ln(2^-53) / ln(0.9) = 348.7
        assert_eq!(decay.stable, Some(349));
        let mut random = Random(0);
        assert_eq!(decay.wear(349, 100_000, &mut random), (349, 0));
        assert_eq!(random, Random(0));
        // Nothing but what is empty is stable if everything goes at the first unit.
        let none = Decay::new(0.0).unwrap();
        assert_eq!(none.stable, Some(1));
        assert_eq!(none.wear(1, 9, &mut random), (1, 0));
        assert!(!none.hits(1, &mut random));
    }

    #[test]
    fn powers_are_the_same_kept_and_computed() {
        for base in [0.0, 0.5, 0.9, 0.999, 1.0] {
            let decay = Decay::new(base).unwrap();
            for count in 0..KEPT {
                let (kept, computed) = (decay.power(count), decay.computed_power(count));
                assert!((kept - computed).abs() <= 1e-12 * kept, "{base} {count}");
            }
        }
    }

    #[test]
    fn misses_are_as_many_as_a_geometric_distribution_has() {
        let mut random = Random(9);
        for miss in [0.5, 0.9, 0.999] {
            let mean = |units| {
                let draws = (0..50_000).map(|_| f64::from(misses(miss, units, &mut random)));
                draws.sum::<f64>() / 50_000.0
            };
            let [all, few, one] = [1_000_000, 10, 1].map(mean);
            let expected = miss / (1.0 - miss);
            assert!((all / expected - 1.0).abs() < 0.03, "{miss}: {all}");
            // The sum of the probabilities that at least 1, 2, … miss.
            let truncated: f64 = (1..=10).map(|m| miss.powi(m)).sum();
            assert!((few / truncated - 1.0).abs() < 0.03, "{miss}: {few}");
            assert!((one / miss - 1.0).abs() < 0.03, "{miss}: {one}");
        }
    }
}
