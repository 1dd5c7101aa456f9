//! t-digest: the distribution of numbers, as weighted means that lie closer together towards the
//! ends (Dunning and Ertl, "Computing extremely accurate quantiles using t-digests", 2019,
//! arXiv:1902.04023; the arithmetic is that of its MergingDigest).
//!
//! ```text
//!   added     · ·· · ····:··::·:···::·:·:·· ···· ·· · ·
//!   nodes     1 1 1 2  4    9    13    9   5  3 2 1 1 1      weights; each node has a mean
//! ```
//!
//! # What the answers are worth
//! Let `W` be the sum of the weights (the numbers added) and δ the compression. A pass over the
//! nodes joins neighbours while their weight `w` stays within `2π ln W / δ · W q (1 - q)`, where
//! `q` is the fraction of the weight that lies below, at the beginning and at the end of the node.
//! (It is the scale function k₂ with the normalizer `δ / (2π ln W)`.)
//!
//! A node's numbers lie around its mean, but the digest does not know where. For a smooth
//! distribution a rank is wrong by less than half the weight of a node: by `π ln W / δ · q (1 - q)`
//! of `W`, in numbers for δ = 100 and `W` = 10^6: by 0.43 · q (1 - q). Numbers that spread evenly
//! within a node are interpolated far better: docs/sketches.md has measured errors. No bound holds
//! for all input: where numbers differ by orders of magnitude within a node, as `u^20` does for
//! random `u`, its mean says little about most of them. The smallest and the largest number are
//! exact, and so is every answer while there are few numbers.
//!
//! # When nodes are joined
//! A pass takes place when there are `6 δ + 9` nodes and a number is added. Answers come from a
//! list that a pass has joined, unless there are only single numbers, from which they are exact; it
//! is kept until the next change. So the nodes depend only on the numbers and their order:
//! a replica has the same ones, whoever queries it, and a value read from a file goes on as the one
//! that was saved. (RedisBloom makes a pass for every answer and every save.) Numbers that no pass
//! has seen are saved as nodes of weight 1, which is RedisBloom's encoding of them after a pass.
//!
//! ```text
//!   compression   δ, and how many nodes it allows      answers        the view for questions
//!   nodes         the nodes, in ascending order          quantile     from a rank to a number
//!   pass          joins nodes                            rank         from a number to its rank
//!   natural_log   the same on every machine              trimmed_mean the mean without the ends
//!   real          arithmetic that does not overflow    merge          adds another digest
//!   codec         RedisBloom's encoding
//! ```

mod answers;
mod codec;
mod compression;
mod merge;
mod natural_log;
mod nodes;
mod pass;
mod quantile;
mod rank;
mod real;
#[cfg(test)]
mod tests;
mod trimmed_mean;

pub use answers::Answers;
pub use codec::TYPE_NAME;
pub use compression::Compression;
pub use nodes::Node;

use crate::body::Part;
use crate::sketch::Sketch;
use answers::Joined;
use nodes::Nodes;
use splitbloom_foundation::alloc::{Mover, OutOfMemory};
use splitbloom_foundation::fields::FieldSink;
use std::alloc::Layout;
use std::num::NonZeroU64;
use xxhash_rust::xxh3::Xxh3;

/// The largest weight of a digest, RedisBloom's: it counts with a sign. Up to 2^51, sums of halves
/// of weights are exact. Weights of nodes are doubles when they are saved, so above 2^53 a pass
/// rounds them down to what a double holds.
pub const MAX_WEIGHT: u64 = i64::MAX as u64;

/// The most passes that are counted: RedisBloom's counter has a sign.
const MAX_PASSES: u64 = i64::MAX as u64;

/// The most fresh singles. Inserting each number into the list of singles would move 2.4 MB at the
/// largest compression. So a number is inserted among the fresh singles, which moves 4 KiB on
/// average, in a core's cache. When there are this many, all are inserted at once: a number's share
/// of moving 600 009 singles is 4.7 KB. Shorter lists of singles need no fresh ones.
const FRESH: usize = 1 << 10;

/// Why numbers cannot be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddError {
    /// One is infinite, or not a number.
    NotFinite,
    /// The weight would exceed [`MAX_WEIGHT`].
    TooHeavy,
    /// The allocator refused.
    OutOfMemory,
}

impl From<OutOfMemory> for AddError {
    fn from(_: OutOfMemory) -> Self {
        Self::OutOfMemory
    }
}

/// The distribution of numbers. See the [module](self).
#[derive(Debug)]
pub struct TDigest {
    compression: Compression,
    /// The smallest number added; initially the largest `f64`.
    min: f64,
    /// The largest number added; initially the smallest `f64`.
    max: f64,
    /// Passes over the nodes.
    passes: u64,
    nodes: Nodes,
    /// Singles that are not among the nodes yet, in ascending order: see [`FRESH`]. The list of
    /// singles has room for them.
    fresh: Vec<f64>,
    /// The view that answers come from; not part of the value.
    joined: Joined,
}

impl TDigest {
    /// An empty digest. Allocates nothing.
    pub fn new(compression: Compression) -> Self {
        let (nodes, fresh, joined) = (Nodes::new(), Vec::new(), Joined::default());
        Self { compression, min: f64::MAX, max: f64::MIN, passes: 0, nodes, fresh, joined }
    }

    /// Its compression.
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// The smallest number added; `None` if the digest is empty.
    pub fn min(&self) -> Option<f64> {
        (!self.is_empty()).then_some(self.min)
    }

    /// The largest number added; `None` if the digest is empty.
    pub fn max(&self) -> Option<f64> {
        (!self.is_empty()).then_some(self.max)
    }

    /// How many numbers were added.
    pub fn weight(&self) -> u64 {
        self.nodes.weight() + self.fresh.len() as u64
    }

    /// Whether no number was added.
    pub fn is_empty(&self) -> bool {
        self.num_nodes() == 0
    }

    /// The nodes in ascending order.
    pub fn nodes(&self) -> impl Iterator<Item = Node> + Clone + '_ {
        self.nodes.iter_with(&self.fresh)
    }

    /// The number of nodes.
    pub fn num_nodes(&self) -> usize {
        self.nodes.count() + self.fresh.len()
    }

    /// The number of nodes that stand for one number each.
    pub fn num_singles(&self) -> usize {
        self.nodes.num_singles() + self.fresh.len()
    }

    /// How often nodes were joined.
    pub fn passes(&self) -> u64 {
        self.passes
    }

    /// Adds numbers, in this order. Leaves `numbers` in another order. Cost: a binary search each,
    /// moves of some KiB for the batch or, if it is long, of all singles, and their share of a
    /// pass.
    ///
    /// # Errors
    /// What keeps them from being added; nothing has changed then.
    pub fn add(&mut self, numbers: &mut [f64]) -> Result<(), AddError> {
        if !numbers.iter().all(|number| number.is_finite()) {
            return Err(AddError::NotFinite);
        }
        if numbers.len() as u64 > MAX_WEIGHT - self.weight() {
            return Err(AddError::TooHeavy);
        }
        let most = self.compression.most_nodes();
        let (mut joined, mut added) = (None, numbers.len());
        if self.num_nodes() + numbers.len() > most {
            let most_joined = self.compression.most_joined();
            joined = Some(Nodes::with_room(most_joined, most_joined)?);
            self.nodes.reserve_joined(most_joined)?;
            // After a pass, nodes of weight 1 that were among the centroids may be singles.
            added += most_joined;
        }
        self.nodes.reserve_singles(self.fresh.len() + added, most)?;
        if self.nodes.num_singles() > FRESH && self.fresh.capacity() == 0 {
            self.fresh.try_reserve_exact(FRESH).map_err(OutOfMemory::from)?;
        }
        self.joined = Joined::default();
        let mut rest = numbers;
        while !rest.is_empty() {
            let mut room = most.saturating_sub(self.num_nodes());
            if let (0, Some(joined)) = (room, &mut joined) {
                self.settle();
                self.join(joined);
                room = most - self.num_nodes();
            }
            let (now, later) = rest.split_at_mut(room.min(rest.len()));
            self.insert(now);
            rest = later;
        }
        Ok(())
    }

    /// Adds numbers for which there is room.
    fn insert(&mut self, numbers: &mut [f64]) {
        numbers.sort_unstable_by(f64::total_cmp);
        if let (Some(first), Some(last)) = (numbers.first(), numbers.last()) {
            self.widen(*first, *last);
        }
        if numbers.len() > self.fresh.capacity() - self.fresh.len() {
            self.settle();
        }
        match numbers.len() > self.fresh.capacity() {
            true => self.nodes.insert(numbers),
            false => nodes::insert(&mut self.fresh, numbers),
        }
    }

    /// Puts the fresh singles among the nodes.
    fn settle(&mut self) {
        self.nodes.insert(&self.fresh);
        self.fresh.clear();
    }

    /// Takes numbers from `min` to `max` into account. (Of 0 and -0, `f64::min` may return either.)
    fn widen(&mut self, min: f64, max: f64) {
        if min < self.min {
            self.min = min;
        }
        if max > self.max {
            self.max = max;
        }
    }

    /// Makes a pass over the nodes, whose result `joined` and they have room for.
    fn join(&mut self, joined: &mut Nodes) {
        pass::join(&self.nodes, self.compression, joined);
        self.nodes.assign(joined);
        self.count_pass();
    }

    fn count_pass(&mut self) {
        self.passes = MAX_PASSES.min(self.passes + 1);
    }

    /// Forgets all numbers, and frees their memory.
    pub fn clear(&mut self) {
        *self = Self::new(self.compression);
    }
}

impl Part for TDigest {
    fn try_clone(&mut self) -> Result<Self, OutOfMemory> {
        let nodes = self.nodes.try_clone_with(&self.fresh)?;
        Ok(Self { nodes, fresh: Vec::new(), joined: Joined::default(), ..*self })
    }

    fn allocations(&self) -> usize {
        let mut allocations = 0;
        self.visit_allocations(&mut |_, number| allocations += number as usize);
        allocations
    }

    fn visit_allocations(&self, visit: &mut dyn FnMut(Layout, u64)) {
        self.nodes.visit_allocations(visit);
        nodes::visit_list(&self.fresh, visit);
        self.joined.visit_allocations(visit);
    }

    fn relocate(&mut self, _: u64, mover: &mut impl Mover) -> Option<NonZeroU64> {
        self.nodes.relocate(mover);
        self.fresh = mover.relocate(std::mem::take(&mut self.fresh));
        self.joined.relocate(mover);
        None
    }
}

impl Sketch for TDigest {
    fn save(&self, to: &mut impl FieldSink) -> Result<(), OutOfMemory> {
        self.encode(to);
        Ok(())
    }

    fn digest(&self) -> u128 {
        let mut hash = Hash(Xxh3::new());
        self.encode(&mut hash);
        hash.0.digest128()
    }
}

/// Hashes fields.
struct Hash(Xxh3);

impl FieldSink for Hash {
    fn unsigned(&mut self, value: u64) {
        self.0.update(&value.to_le_bytes());
    }

    fn signed(&mut self, value: i64) {
        self.0.update(&value.to_le_bytes());
    }

    fn double(&mut self, value: f64) {
        self.0.update(&value.to_bits().to_le_bytes());
    }

    fn string(&mut self, value: &[u8]) {
        self.unsigned(value.len() as u64);
        self.0.update(value);
    }
}
