//! The probability model of one sub-bitmap: its false-positive rate, and how full it is.
//!
//! After `j` items, `t = k*j` probes have fallen on `B` bits. A bit is still clear with probability
//! `(1-1/B)^t`, and any two bits with `(1-2/B)^t`, so the share of set bits has
//!
//! ```text
//!   mean      p = 1 - (1-1/B)^t
//!   variance  v = (1-1/B)*(1-2/B)^t + (1-1/B)^t/B - (1-1/B)^2t
//! ```
//!
//! and the probability that an absent item finds all its bits set is, to second order,
//!
//! ```text
//!   E[share^k] = p^k + k(k-1)/2 * p^(k-2) * v
//! ```
//!
//! The textbook's p^k alone is 0.9 % low for 6 probes in 512 bits (Bose et al., "On the
//! false-positive rate of Bloom filters", 2008). The number of items `j` in a sub-bitmap is Poisson
//! distributed around the mean load, and the false-positive rate of a filter of many sub-bitmaps is
//! the mean of the above over that distribution (Putze, Sanders, Singler, "Cache-, hash- and
//! space-efficient Bloom filters", 2007).
//!
//! Sizing decides where bits lie, so all machines must compute the same integers. This file uses
//! only additions, multiplications, divisions and square roots, which IEEE 754 rounds exactly, and
//! no function of a C library.

use super::power;

/// One sub-bitmap of `bits` bits in which an item sets `hashes` bits.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    bits: f64,
    hashes: u32,
}

/// Mean and variance of a count.
#[derive(Clone, Copy, Debug)]
pub struct Moments {
    /// The mean.
    pub mean: f64,
    /// The variance.
    pub variance: f64,
}

impl Model {
    /// Sub-bitmaps of `bits` bits, of which an item sets `hashes`, or fewer.
    pub fn new(bits: u32, hashes: u32) -> Self {
        Self { bits: f64::from(bits), hashes }
    }

    /// The false-positive rate of a sub-bitmap that holds exactly `items` items.
    pub fn false_positive_rate_after(&self, items: u64) -> f64 {
        let (one, two) = self.clear_after(items);
        self.all_set(one, two)
    }

    /// The number of set bits of a sub-bitmap that holds exactly `items` items.
    pub fn set_bits_after(&self, items: u64) -> Moments {
        let (one, two) = self.clear_after(items);
        Moments {
            mean: self.bits * (1.0 - one),
            variance: self.bits * self.bits * self.variance_of_share(one, two),
        }
    }

    /// The false-positive rate over many sub-bitmaps that hold `load` items on average. It takes
    /// about 10 ns for each number of items that matters, some 24 times the square root of the
    /// load.
    pub fn false_positive_rate(&self, load: f64) -> f64 {
        let mut sum = 0.0;
        let weights = self.over_poisson(load, |weight, one, two| {
            sum += weight * self.all_set(one, two);
        });
        sum / weights
    }

    /// The mean and variance, from one sub-bitmap to another, of the false-positive rate among many
    /// that hold `load` items on average.
    pub fn false_positive_rate_moments(&self, load: f64) -> Moments {
        let (mut mean, mut square) = (0.0, 0.0);
        let weights = self.over_poisson(load, |weight, one, two| {
            mean += weight * self.all_set(one, two);
            square += weight * self.share_to_the(2 * self.hashes, one, two);
        });
        let mean = mean / weights;
        Moments { mean, variance: (square / weights - mean * mean).max(0.0) }
    }

    /// The probabilities that a bit, and that two bits are still clear after `items` items.
    fn clear_after(&self, items: u64) -> (f64, f64) {
        let throws = items.saturating_mul(u64::from(self.hashes));
        (power(1.0 - 1.0 / self.bits, throws), power(1.0 - 2.0 / self.bits, throws))
    }

    fn variance_of_share(&self, one: f64, two: f64) -> f64 {
        ((1.0 - 1.0 / self.bits) * two + one / self.bits - one * one).max(0.0)
    }

    /// The probability that all probes of an absent item find their bit set.
    fn all_set(&self, one: f64, two: f64) -> f64 {
        self.share_to_the(self.hashes, one, two)
    }

    /// The mean of the share of set bits to the power `exponent`, which is at least 1.
    fn share_to_the(&self, exponent: u32, one: f64, two: f64) -> f64 {
        let share = 1.0 - one;
        if exponent == 1 {
            return share;
        }
        let k = f64::from(exponent);
        let below = power(share, u64::from(exponent) - 2);
        let second = k * (k - 1.0) / 2.0 * self.variance_of_share(one, two);
        (below * (share * share + second)).min(1.0)
    }

    /// Calls `visit(weight, (1-1/B)^(k*j), (1-2/B)^(k*j))` for every number of items `j` that
    /// matters under a Poisson distribution of mean `load`, and returns the sum of the weights.
    /// They are relative, which needs no exponential.
    ///
    /// Stopping ten standard deviations below the mean omits less than 1e-23 of the weight.
    /// Stopping fifteen deviations and sixty items above it omits less than 1e-25, which matters
    /// because full sub-bitmaps weigh up to 1/(error rate) times as much.
    fn over_poisson(&self, load: f64, mut visit: impl FnMut(f64, f64, f64)) -> f64 {
        let deviation = load.sqrt();
        let first = (load - 10.0 * deviation - 10.0).max(0.0) as u64;
        let last = (load + 15.0 * deviation + 60.0) as u64;
        let (one_item, two_item) = self.clear_after(1);
        let (mut one, mut two) = (power(one_item, first), power(two_item, first));
        let (mut weight, mut weights) = (1.0, 0.0);
        for items in first..=last {
            visit(weight, one, two);
            weights += weight;
            weight *= load / (items + 1) as f64;
            one *= one_item;
            two *= two_item;
        }
        weights
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64, relative: f64) -> bool {
        (a / b - 1.0).abs() <= relative
    }

    #[test]
    fn an_empty_sub_bitmap_has_no_false_positives() {
        assert_eq!(Model::new(512, 6).false_positive_rate(0.0), 0.0);
        assert_eq!(Model::new(512, 6).false_positive_rate_after(0), 0.0);
        assert_eq!(Model::new(512, 6).set_bits_after(0).mean, 0.0);
    }

    #[test]
    fn one_item_in_a_tiny_sub_bitmap_is_exact() {
        // Two probes in 64 bits: X is 2 with 63/64, else 1; E[(X/64)^2] = (63/64*4 + 1/64)/4096.
        let expected = (63.0 / 64.0 * 4.0 + 1.0 / 64.0) / 4096.0;
        assert!(close(Model::new(64, 2).false_positive_rate_after(1), expected, 1e-12));
    }

    #[test]
    fn the_mean_fill_under_poisson_load_has_a_closed_form() {
        // The sum over j of Poisson(j; L) q^j is exp(-L*(1-q)).
        for (bits, hashes, load) in [(512, 6, 51.6), (1024, 10, 68.4), (16384, 29, 370.0)] {
            let b = f64::from(bits);
            let q = (1.0 - 1.0 / b).powi(hashes);
            let model = Model::new(bits, hashes as u32);
            let expected = b * (1.0 - (-load * (1.0 - q)).exp());
            let mut got = 0.0;
            let weights =
                model.over_poisson(load, |weight, one, _| got += weight * b * (1.0 - one));
            let got = got / weights;
            assert!(close(got, expected, 1e-12), "{got} {expected}");
        }
    }

    #[test]
    fn the_model_agrees_with_throwing_probes_at_random() {
        // 40 000 sub-bitmaps of 512 bits, a Poisson load of 51.6 by multinomial placing, 6 probes
        // each: the mean of (set/512)^6 has a relative standard error near 0.4 %.
        let (sub_bitmaps, load, hashes) = (40_000u64, 51.6, 6u32);
        let mut set = vec![[0u64; 8]; sub_bitmaps as usize];
        let mut state = 1u64;
        let mut random = |n: u64| {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            crate::hash::multiply_high(z ^ (z >> 31), n)
        };
        for _ in 0..(sub_bitmaps as f64 * load) as u64 {
            let words = &mut set[random(sub_bitmaps) as usize];
            for _ in 0..hashes {
                let bit = random(512) as usize;
                words[bit / 64] |= 1 << (bit % 64);
            }
        }
        let rates = set
            .iter()
            .map(|w| (f64::from(w.iter().map(|x| x.count_ones()).sum::<u32>()) / 512.0).powi(6));
        let (mut mean, mut square) = (0.0, 0.0);
        for rate in rates {
            mean += rate / sub_bitmaps as f64;
            square += rate * rate / sub_bitmaps as f64;
        }
        let expected = Model::new(512, hashes).false_positive_rate_moments(load);
        assert!(close(mean, expected.mean, 0.02), "{mean} {expected:?}");
        let variance = square - mean * mean;
        assert!(close(variance, expected.variance, 0.05), "{variance} {expected:?}");
    }
}
