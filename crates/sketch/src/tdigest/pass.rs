//! A pass over the nodes that joins neighbours as far as the scale function allows.

use super::nodes::{Node, Nodes};
use super::real::moved_mean;
use super::{natural_log::natural_log, Compression};
use splitbloom_foundation::alloc::OutOfMemory;
use std::f64::consts::PI;

/// Joins `nodes`. The result is in `joined`, which has room for it.
///
/// A node may weigh up to `W q (1 - q) · 2π ln W / δ`. If the result has too many nodes, which
/// takes unions of unions of a small compression, then twice that, and so on: without a limit all
/// nodes are joined.
pub(super) fn join(nodes: &Nodes, compression: Compression, joined: &mut Nodes) {
    let mut normalizer = normalizer(nodes, compression);
    while !join_within(nodes, normalizer, compression.most_joined(), joined) {
        normalizer = if normalizer < LEAST_NORMALIZER { 0.0 } else { normalizer / 2.0 };
    }
}

/// 2^-118: a smaller factor joins what 0 joins. A positive q (1 - q) is at least 2^-54, and weights
/// are below 2^63.
const LEAST_NORMALIZER: f64 = 1.0 / (1u128 << 118) as f64;

/// The result of a pass over `nodes`.
///
/// # Errors
/// `OutOfMemory`.
pub(super) fn try_join(nodes: &Nodes, compression: Compression) -> Result<Nodes, OutOfMemory> {
    let most = compression.most_joined().min(nodes.count());
    let mut joined = Nodes::with_room(most, most)?;
    join(nodes, compression, &mut joined);
    Ok(joined)
}

/// Returns whether a pass over `nodes` would join a single to a node of several numbers before it.
/// After a pass, RedisBloom's too, none is left that it would join.
pub(super) fn joins_singles(nodes: &Nodes, compression: Compression) -> bool {
    let normalizer = normalizer(nodes, compression);
    let total = nodes.weight() as f64;
    let mut before = 0;
    nodes.iter().zip(nodes.iter().skip(1)).any(|(node, next)| {
        let begin = before as f64 / total;
        before += node.weight;
        let end = (before + next.weight) as f64 / total;
        let scaled = (node.weight + next.weight) as f64 * normalizer;
        let is_candidate = node.weight > 1 && next.weight == 1;
        is_candidate && scaled <= begin * (1.0 - begin) && scaled <= end * (1.0 - end)
    })
}

/// Returns the factor by which [`join`] scales weights: `δ / (2π W ln W)`.
fn normalizer(nodes: &Nodes, compression: Compression) -> f64 {
    let weight = nodes.weight();
    let inverse = 2.0 * PI * weight as f64 * natural_log(weight.max(2));
    f64::from(compression.get()) / inverse
}

/// The largest weight up to `weight` that a double holds.
#[inline]
fn representable(weight: u64) -> u64 {
    let spare = (u64::BITS - weight.leading_zeros()).saturating_sub(f64::MANTISSA_DIGITS);
    weight >> spare << spare
}

/// Joins neighbours while `weight · normalizer` is at most `q (1 - q)` at both ends of the node.
/// Returns false if the result has more than `most` nodes.
fn join_within(nodes: &Nodes, normalizer: f64, most: usize, joined: &mut Nodes) -> bool {
    joined.clear();
    let total = nodes.weight() as f64;
    let mut nodes = nodes.iter();
    let Some(mut open) = nodes.next() else { return true };
    let mut before = 0; // the weight of what is in `joined`
    let mut at_begin = 0.0; // q (1 - q) there
    for node in nodes {
        let weight = representable(open.weight + node.weight);
        let end = (before + weight) as f64 / total;
        let scaled = weight as f64 * normalizer;
        if scaled <= at_begin && scaled <= end * (1.0 - end) {
            let mean = moved_mean(open.mean, node.mean, node.weight as f64, weight as f64);
            open = Node { mean, weight };
            continue;
        }
        if joined.count() == most {
            return false;
        }
        joined.push(open);
        before += open.weight;
        let begin = before as f64 / total;
        at_begin = begin * (1.0 - begin);
        open = node;
    }
    if joined.count() == most {
        return false;
    }
    joined.push(open);
    true
}
