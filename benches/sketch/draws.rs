//! Numbers and items that are drawn.

use splitbloom_harness::splitmix64;
use splitbloom_rig::write_url;

/// Returns a number in [0, 1) that depends on `counter` alone.
pub fn uniform(counter: u64) -> f64 {
    (splitmix64(counter) >> 11) as f64 / (1u64 << 53) as f64
}

/// What tables call items, and the item of a number.
pub type Items = (&'static str, fn(usize) -> Vec<u8>);
/// `item:` and the number.
pub const SHORT: Items = ("item:n", |number| format!("item:{number}").into_bytes());
/// URLs of 60 bytes on average, many of which begin with the same bytes.
pub const URLS: Items = ("URLs", |number| {
    let mut url = Vec::new();
    write_url(number as u64, &mut url);
    url.pop(); // the line feed
    url
});

/// A Zipf distribution: number `n`, counted from 1, has a probability in proportion to `n^-s`.
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

    /// Returns the number that draw `counter` gives.
    pub fn draw(&self, counter: u64) -> usize {
        let at = uniform(counter) * self.sums.last().copied().unwrap_or_default();
        self.sums.partition_point(|sum| *sum <= at).min(self.sums.len() - 1)
    }

    /// How often each number is among `draws` draws.
    pub fn counts(&self, draws: u64) -> Vec<u64> {
        let mut counts = vec![0; self.sums.len()];
        (0..draws).for_each(|counter| counts[self.draw(counter)] += 1);
        counts
    }
}
