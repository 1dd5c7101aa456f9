//! A pass over the nodes that joins neighbours as far as the scale function allows.

use super::nodes::{Node, Nodes};
use super::real::moved_mean;
use super::{natural_log::natural_log, Compression};
use splitbloom_foundation::alloc::OutOfMemory;
use std::f64::consts::PI;

/// Joins `nodes`. The result is in `joined`, which has room for it.
///
/// A node may weigh up to `W q (1 - q) · 2π ln W / δ`. If the result has too many nodes, which
/// takes unions of unions of a small compression, then twice that, and so on ([`HALVINGS`]):
/// without a limit all nodes are joined. Cost: at most nine passes.
pub(super) fn join(nodes: &Nodes, compression: Compression, joined: &mut Nodes) {
    let (normalizer, most) = (normalizer(nodes, compression), compression.most_joined());
    let factors = HALVINGS.map(|halvings| 1.0 / (1u64 << halvings) as f64);
    let mut factors = factors.into_iter().chain([0.0]);
    factors.find(|factor| join_within(nodes, normalizer * factor, most, joined));
}

/// How often the factor of weights is halved before each pass over the same nodes. Two halvings are
/// rare, and some sixty are needed only near the largest weight, so their number doubles.
const HALVINGS: [u32; 8] = [0, 1, 2, 4, 8, 16, 32, 63];

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
/// After a pass, also one of RedisBloom's, no such single is left.
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
