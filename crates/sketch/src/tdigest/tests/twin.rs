//! A digest as one list, searched from its beginning, as MergingDigest does: the specification.

use super::*;
use std::f64::consts::PI;

/// Means and weights in ascending order.
pub struct Twin {
    compression: f64,
    pub nodes: Vec<(f64, f64)>,
    pub min: f64,
    pub max: f64,
}

impl Twin {
    pub fn new(compression: u64) -> Self {
        let (min, max) = (f64::MAX, f64::MIN);
        Self { compression: compression as f64, nodes: Vec::new(), min, max }
    }

    pub fn weight(&self) -> f64 {
        self.nodes.iter().map(|node| node.1).sum()
    }

    pub fn add(&mut self, number: f64) {
        if self.nodes.len() as f64 >= 6.0 * self.compression + 9.0 {
            self.join();
        }
        let place = self.nodes.iter().take_while(|node| node.0 < number).count();
        self.nodes.insert(place, (number, 1.0));
        self.min = self.min.min(number);
        self.max = self.max.max(number);
    }

    fn normalizer(&self) -> f64 {
        let total = self.weight();
        self.compression / (2.0 * PI * total * total.max(2.0).ln())
    }

    /// It answers from this one, where no number lies next to a node that can take it.
    pub fn settled(mut self) -> Self {
        let (total, normalizer) = (self.weight(), self.normalizer());
        let mut before = 0.0;
        let mut takes = false;
        for (node, next) in self.nodes.iter().zip(self.nodes.iter().skip(1)) {
            let may_take = |q: f64| (node.1 + 1.0) * normalizer <= q * (1.0 - q);
            let fits = may_take(before / total) && may_take((before + node.1 + 1.0) / total);
            takes |= node.1 > 1.0 && next.1 == 1.0 && fits;
            before += node.1;
        }
        if takes {
            self.join();
        }
        self
    }

    fn join(&mut self) {
        let (total, normalizer) = (self.weight(), self.normalizer());
        let mut joined = vec![self.nodes[0]];
        let mut before = 0.0;
        for (mean, weight) in &self.nodes[1..] {
            let open = joined.last_mut().unwrap();
            let sum = open.1 + weight;
            let may_join = |q: f64| sum * normalizer <= q * (1.0 - q);
            if may_join(before / total) && may_join((before + sum) / total) {
                *open = (open.0 + (mean - open.0) * weight / sum, sum);
            } else {
                before += open.1;
                joined.push((*mean, *weight));
            }
        }
        self.nodes = joined;
    }

    pub fn quantile(&self, q: f64) -> f64 {
        let (nodes, total) = (&self.nodes, self.weight());
        let (first, last) = (nodes[0], nodes[nodes.len() - 1]);
        let rank = q * total;
        if nodes.len() == 1 {
            return first.0;
        }
        if rank < 1.0 {
            return self.min;
        }
        if first.1 > 1.0 && rank < first.1 / 2.0 {
            return self.min + (rank - 1.0) / (first.1 / 2.0 - 1.0) * (first.0 - self.min);
        }
        // Unlike MergingDigest's, not a fraction 0 / 0 if the last node has a weight of 2.
        if rank > total - 1.0 || last.1 == 2.0 && rank == total - 1.0 {
            return self.max;
        }
        if last.1 > 1.0 && total - rank <= last.1 / 2.0 {
            let part = (total - rank - 1.0) / (last.1 / 2.0 - 1.0);
            return self.max - part * (self.max - last.0);
        }
        let mut middle = first.1 / 2.0;
        for (left, right) in nodes.iter().zip(&nodes[1..]) {
            let next = middle + (left.1 + right.1) / 2.0;
            if next <= rank {
                middle = next;
                continue;
            }
            if left.1 == 1.0 && rank - middle < 0.5 {
                return left.0;
            }
            if right.1 == 1.0 && next - rank <= 0.5 {
                return right.0;
            }
            let from_left = rank - middle - if left.1 == 1.0 { 0.5 } else { 0.0 };
            let to_right = next - rank - if right.1 == 1.0 { 0.5 } else { 0.0 };
            let mean = (left.0 * to_right + right.0 * from_left) / (to_right + from_left);
            return mean.clamp(left.0, right.0);
        }
        unreachable!()
    }

    pub fn cdf(&self, x: f64) -> f64 {
        match self.weight_beside(x) {
            Ok(below) => below / self.weight(),
            Err(above) => 1.0 - above / self.weight(),
        }
    }

    /// The weight below `x`, or the one above it.
    fn weight_beside(&self, x: f64) -> Result<f64, f64> {
        let (nodes, total) = (&self.nodes, self.weight());
        let (first, last) = (nodes[0], nodes[nodes.len() - 1]);
        if x < self.min {
            return Ok(0.0);
        }
        if x > self.max {
            return Err(0.0);
        }
        if nodes.len() == 1 {
            return Ok(total / 2.0);
        }
        if x < first.0 {
            let part = (x - self.min) / (first.0 - self.min);
            let below = if part == 0.0 { 0.5 } else { 1.0 + part * (first.1 / 2.0 - 1.0) };
            return Ok(below);
        }
        if x > last.0 {
            let part = (self.max - x) / (self.max - last.0);
            let above = if part == 0.0 { 0.5 } else { 1.0 + part * (last.1 / 2.0 - 1.0) };
            return Err(above);
        }
        let mut before = 0.0;
        for (index, (left, right)) in nodes.iter().zip(&nodes[1..]).enumerate() {
            if left.0 == x {
                let equal = nodes[index..].iter().filter(|node| node.0 == x);
                return Ok(before + equal.map(|node| node.1).sum::<f64>() / 2.0);
            }
            if x < right.0 {
                let (left_is_single, right_is_single) = (left.1 == 1.0, right.1 == 1.0);
                if left_is_single && right_is_single {
                    return Ok(before + 1.0);
                }
                let left_excluded = if left_is_single { 0.5 } else { 0.0 };
                let right_excluded = if right_is_single { 0.5 } else { 0.0 };
                let between = (left.1 + right.1) / 2.0 - left_excluded - right_excluded;
                let base = before + left.1 / 2.0 + left_excluded;
                return Ok(base + between * (x - left.0) / (right.0 - left.0));
            }
            before += left.1;
        }
        Err(0.5)
    }

    pub fn rank(&self, x: f64) -> i64 {
        let rank = self.weight_beside(x).unwrap_or_else(|above| self.weight() - above);
        match x < self.min {
            true => -1,
            false if rank - rank.floor() > 0.5 => rank.ceil() as i64,
            false => rank.floor() as i64,
        }
    }

    pub fn trimmed_mean(&self, low: f64, high: f64) -> f64 {
        if self.nodes.len() == 1 {
            return self.nodes[0].0;
        }
        let (low, high) = ((self.weight() * low).floor(), (self.weight() * high).ceil());
        let (mut sum, mut weight, mut before) = (0.0, 0.0, 0.0);
        for node in &self.nodes {
            let part = (before + node.1).min(high) - low.max(before);
            if part > 0.0 {
                sum += node.0 * part;
                weight += part;
            }
            before += node.1;
        }
        sum / weight
    }
}

impl Twin {
    /// Whether a digest has its nodes.
    pub fn is_like(&self, digest: &TDigest) -> bool {
        let nodes = digest.nodes().map(|node| (node.mean, node.weight as f64));
        nodes.eq(self.nodes.iter().copied())
            && digest.min().unwrap_or(f64::MAX) == self.min
            && digest.max().unwrap_or(f64::MIN) == self.max
    }
}
