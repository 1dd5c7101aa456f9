//! Zipf-distributed items: number `n`, counted from 1, with a probability in proportion to `n^-s`.

use splitbloom_harness::splitmix64;
use splitbloom_rig::urls::write_url;

/// How items are written.
#[derive(Clone, Copy)]
pub enum Items {
    /// `item:` and the number.
    Short,
    /// 60 bytes on average, of which many have the first ones in common.
    Urls,
}

impl Items {
    /// What tables call them.
    pub fn name(self) -> &'static str {
        match self {
            Self::Short => "item:n",
            Self::Urls => "URLs",
        }
    }

    /// The item of a number.
    pub fn item(self, number: usize) -> Vec<u8> {
        match self {
            Self::Short => format!("item:{number}").into_bytes(),
            Self::Urls => {
                let mut url = Vec::new();
                write_url(number as u64, &mut url);
                url.pop(); // the line feed
                url
            }
        }
    }
}

pub struct Zipf {
    /// The sum of the weights up to each number.
    sums: Vec<f64>,
}

impl Zipf {
    /// The numbers below `distinct`, counted from 0, with the exponent `s`.
    pub fn new(distinct: usize, s: f64) -> Self {
        let mut sum = 0.0;
        let weights = (1..=distinct).map(|n| (n as f64).powf(-s));
        let sums = weights.map(|weight| {
            sum += weight;
            sum
        });
        Self { sums: sums.collect() }
    }

    /// The number that a counter draws.
    pub fn draw(&self, counter: u64) -> usize {
        let uniform = (splitmix64(counter) >> 11) as f64 / (1u64 << 53) as f64;
        let at = uniform * self.sums.last().copied().unwrap_or_default();
        self.sums.partition_point(|sum| *sum <= at).min(self.sums.len() - 1)
    }

    /// How often each number is among `draws` draws.
    pub fn counts(&self, draws: u64) -> Vec<u64> {
        let mut counts = vec![0; self.sums.len()];
        (0..draws).for_each(|counter| counts[self.draw(counter)] += 1);
        counts
    }
}
