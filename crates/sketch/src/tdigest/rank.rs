//! From a number to its rank.

use super::answers::{Answers, Ranked};
use super::real::{part, scaled_part};

/// The weight on one side of a number, with half of what is equal to it.
enum Weight {
    Below(f64),
    Above(f64),
}

impl Answers<'_> {
    /// The fraction of the numbers that lie below `x`, with half of those equal to it; `None` if
    /// there are none, or `x` is not a number. Cost: two binary searches.
    ///
    /// As in MergingDigest, a node's numbers spread evenly from its middle to that of its
    /// neighbours, but a single is a step.
    pub fn cdf(&self, x: f64) -> Option<f64> {
        let total = self.digest.weight() as f64;
        Some(match self.weight_beside(x)? {
            Weight::Below(weight) => weight / total,
            Weight::Above(weight) => 1.0 - weight / total,
        })
    }

    /// The weight below `x`, or above it; `None` if there are no numbers, or `x` is not a number.
    fn weight_beside(&self, x: f64) -> Option<Weight> {
        let (first, last) = (self.nodes.first()?, self.nodes.last()?);
        let total = self.digest.weight() as f64;
        if x.is_nan() {
            return None;
        }
        if x < self.digest.min {
            return Some(Weight::Below(0.0));
        }
        if x > self.digest.max {
            return Some(Weight::Above(0.0));
        }
        if self.nodes.len() == 1 {
            return Some(Weight::Below(total / 2.0));
        }
        if x < first.mean {
            return Some(Weight::Below(tail(self.digest.min, x, first)));
        }
        if x > last.mean {
            // The same, seen from the other side.
            let last = Ranked { mean: -last.mean, ..*last };
            return Some(Weight::Above(tail(-self.digest.max, -x, &last)));
        }
        let before = self.nodes.partition_point(|node| node.mean < x);
        let after = self.nodes.partition_point(|node| node.mean <= x);
        if before != after && before + 1 == self.nodes.len() {
            // Whatever the last node weighs, one number is the largest.
            return Some(Weight::Above(0.5));
        }
        Some(Weight::Below(self.weight_between(x, before, after)?.min(total)))
    }

    /// The weight below `x`, which lies from the mean of the first node to that of the last, where
    /// the nodes from `before` up to `after` are equal to it.
    fn weight_between(&self, x: f64, before: usize, after: usize) -> Option<f64> {
        let (left, right) = (self.nodes.get(before.wrapping_sub(1)), self.nodes.get(before)?);
        if before != after {
            let end = self.nodes.get(after).map_or(self.digest.weight() as f64, |node| node.begin);
            return Some(right.begin.midpoint(end));
        }
        let left = left?;
        // A single's whole weight is at its mean.
        let base = if left.weight == 1.0 { right.begin } else { left.middle() };
        let top = if right.weight == 1.0 { right.begin } else { right.middle() };
        Some(base + scaled_part(top - base, left.mean, x, right.mean))
    }

    /// How many numbers lie below `x`, with half of those equal to it, rounded, halves down; -1 if
    /// `x` is below all of them. `None` if there are none.
    pub fn rank(&self, x: f64) -> Option<i64> {
        if x < self.digest.min()? {
            return Some(-1);
        }
        let rank = self.weight_below(x)?;
        let floor = rank.floor();
        Some(if rank - floor > 0.5 { floor + 1.0 } else { floor } as i64)
    }

    /// How many numbers lie above `x`, with half of those equal to it, rounded, halves down; -1 if
    /// `x` is above all of them. `None` if there are none.
    pub fn reverse_rank(&self, x: f64) -> Option<i64> {
        if x > self.digest.max()? {
            return Some(-1);
        }
        let rank = self.weight_below(x)?.round();
        Some((self.digest.weight() as i64 - rank as i64).max(0))
    }

    /// The weight below `x`, with half of what is equal to it. Exact among singles: no fraction is
    /// made of it on the way.
    fn weight_below(&self, x: f64) -> Option<f64> {
        Some(match self.weight_beside(x)? {
            Weight::Below(weight) => weight,
            Weight::Above(weight) => self.digest.weight() as f64 - weight,
        })
    }
}

/// The weight below `x`, which lies from the smallest number to the mean of the first node. One
/// number is the smallest.
fn tail(min: f64, x: f64, first: &Ranked) -> f64 {
    if x == min {
        return 0.5;
    }
    1.0 + part(min, x, first.mean) * (first.weight / 2.0 - 1.0)
}
