//! Whether chance explains how many replies were 1.

use std::ops::RangeInclusive;

/// A run makes some thousand checks; chance fails one of them in 10^13, e^-30.
const LIMIT: f64 = 30.0;

/// Whether `ones` of `len` independent replies may be 1 if each is with a probability in `range`.
///
/// Chernoff's bound: with probability `p`, a fraction `f` or one farther from `p` occurs with a
/// probability of at most `e^(-len D(f, p))`, where `D` is the relative entropy. It holds for any
/// number of replies: for the 512 of one turn, 37 false positives pass at a rate of 0.015
/// (mean 8), and for five million a rate of 0.0154 does.
pub fn explains(ones: u64, len: u64, range: RangeInclusive<f64>) -> bool {
    let fraction = ones as f64 / len.max(1) as f64;
    let nearest = fraction.clamp(*range.start(), *range.end());
    len as f64 * relative_entropy(fraction, nearest) <= LIMIT
}

/// Of a coin with probability `f` to one with probability `p`; infinite if only `f` allows a side.
fn relative_entropy(f: f64, p: f64) -> f64 {
    let side = |f: f64, p: f64| if f == 0.0 { 0.0 } else { f * (f / p).ln() };
    side(f, p) + side(1.0 - f, 1.0 - p)
}
