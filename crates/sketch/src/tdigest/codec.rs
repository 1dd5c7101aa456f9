//! RedisBloom's encoding: what a server keeps under the type `TDIS-TYPE`, encoding version 0.
//!
//! ```text
//!   double   compression, min, max
//!   integer  capacity, merged nodes, unmerged nodes, passes
//!   double   weight of the merged nodes, of the unmerged ones
//!   double   the means of the merged nodes in ascending order, then their weights
//! ```
//!
//! The compression and the weights are integers. The capacity is `6 δ + 10`. RedisBloom makes a
//! pass before it saves, so there are no unmerged nodes. Of an empty digest, `min` is the largest
//! `f64` and `max` the smallest.
//!
//! RedisBloom gets infinite means when it adds numbers near the largest `f64`. They are read as the
//! smallest or the largest number added.

use super::answers::Joined;
use super::nodes::Nodes;
use super::{Compression, Node, TDigest, MAX_PASSES, MAX_WEIGHT};
use crate::error::DecodeError;
use crate::read::{check, double, unsigned};
use splitbloom_foundation::alloc::try_push;
use splitbloom_foundation::fields::{FieldSink, Fields};

/// The server's type.
pub const TYPE_NAME: &str = "TDIS-TYPE";

impl TDigest {
    /// Gives the fields that RedisBloom saves to `sink`. Allocates nothing.
    pub fn encode(&self, sink: &mut impl FieldSink) {
        for number in [f64::from(self.compression.get()), self.min, self.max] {
            sink.double(number);
        }
        let counts = [self.compression.capacity(), self.num_nodes(), 0].map(|count| count as u64);
        counts.into_iter().chain([self.passes]).for_each(|count| sink.unsigned(count));
        sink.double(self.weight() as f64);
        sink.double(0.0);
        self.nodes().for_each(|node| sink.double(node.mean));
        self.nodes().for_each(|node| sink.double(node.weight as f64));
    }

    /// The digest that was saved as these fields. Memory is allocated as they are read.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn decode(fields: &mut impl Fields) -> Result<Self, DecodeError> {
        let compression = compression(double(fields)?)?;
        let (min, max) = (double(fields)?, double(fields)?);
        check("the capacity", unsigned(fields)? == compression.capacity() as u64)?;
        let count = unsigned(fields)?;
        check("the number of merged nodes", count <= compression.capacity() as u64)?;
        check("the number of unmerged nodes", unsigned(fields)? == 0)?;
        let passes = unsigned(fields)?;
        check("the number of passes", passes <= MAX_PASSES)?;
        let weight = double(fields)?;
        check("the weight of unmerged nodes", double(fields)? == 0.0)?;
        check_ends(min, max, count)?;
        let mut means = Vec::new();
        for _ in 0..count {
            let low = means.last().copied().unwrap_or(min);
            try_push(&mut means, mean(double(fields)?, min, low, max)?)?;
        }
        let (mut weights, mut sum) = (Vec::new(), 0);
        for _ in 0..count {
            let read = double(fields)?;
            let is_whole = read >= 1.0 && read.fract() == 0.0 && read <= MAX_WEIGHT as f64;
            check("the weight of a node", is_whole && read as u64 <= MAX_WEIGHT - sum)?;
            sum += read as u64;
            try_push(&mut weights, read as u64)?;
        }
        check("the weight of merged nodes", is_sum(weight, sum))?;
        let nodes = means.iter().zip(&weights).map(|(&mean, &weight)| Node { mean, weight });
        let nodes = Nodes::try_of(nodes)?;
        let joined = Joined::default();
        Ok(Self { compression, min, max, passes, nodes, fresh: Vec::new(), joined })
    }
}

/// Whether `weight` was saved for nodes that weigh `sum`. RedisBloom rounds each above 2^53.
fn is_sum(weight: f64, sum: u64) -> bool {
    let slack = match sum {
        0..=0x20_0000_0000_0000 => 0.0,
        _ => sum as f64 * f64::EPSILON,
    };
    (sum as f64 - weight).abs() <= slack
}

fn compression(read: f64) -> Result<Compression, DecodeError> {
    let whole = (read.fract() == 0.0).then_some(read as u64); // saturates
    whole.and_then(Compression::saved).ok_or(DecodeError::Field("the compression"))
}

/// Checks the smallest and the largest number of a digest of `count` nodes.
fn check_ends(min: f64, max: f64, count: u64) -> Result<(), DecodeError> {
    let is_good = match count {
        0 => min == f64::MAX && max == f64::MIN,
        _ => min.is_finite() && max.is_finite() && min <= max,
    };
    check("the smallest or the largest number", is_good)
}

/// The mean that was saved as `read`, of a node that comes after one of mean `low`.
fn mean(read: f64, min: f64, low: f64, max: f64) -> Result<f64, DecodeError> {
    let mean = if read.is_infinite() { read.clamp(min, max) } else { read };
    check("the mean of a node", (low..=max).contains(&mean))?; // it does not contain NaN
    Ok(mean)
}
