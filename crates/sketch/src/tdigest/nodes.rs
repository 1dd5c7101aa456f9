//! The nodes of a digest in ascending order, in two lists: most nodes are single numbers, which
//! need no weight.
//!
//! ```text
//!   singles     1.5   2.0   2.0   3.1         7.9      weight 1 each
//!   centroids            2.4    5.0   6.2     8.8      with the sum of the weights up to here
//! ```
//!
//! The order of all nodes is that of their means. Where means are equal, singles come before
//! centroids. A node of weight 1 that comes after an equal centroid, as in what RedisBloom saves,
//! stays among the centroids: the order of equal nodes changes what is answered.
//!
//! All comparisons are those of numbers: 0 and -0 are equal.

use splitbloom_foundation::alloc::{try_vec, Mover, OutOfMemory};
use std::alloc::Layout;

/// If there are at most this many singles for each that is added, moving them one by one is quicker
/// than a binary search and a move of those above it. (100 into 300: 16 ns each instead of 39.)
const DENSE: usize = 16;

/// Numbers whose mean is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Node {
    /// Their mean.
    pub mean: f64,
    /// How many they are.
    pub weight: u64,
}

#[derive(Clone, Copy, Debug)]
struct Centroid {
    mean: f64,
    /// Its weight and that of all centroids before it.
    end: u64,
}

/// Nodes in ascending order.
#[derive(Debug)]
pub(super) struct Nodes {
    singles: Vec<f64>,
    centroids: Vec<Centroid>,
}

/// A place between two nodes, or at an end: how many singles and centroids lie below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    singles: usize,
    centroids: usize,
}

impl Cut {
    /// Nodes below it.
    pub fn count(self) -> usize {
        self.singles + self.centroids
    }
}

/// Inserts into `singles` the numbers `added`, both in ascending order, each before those that are
/// equal. There is room.
pub(super) fn insert(singles: &mut Vec<f64>, added: &[f64]) {
    // From the largest down: what lies above it moves to where it will stay.
    let mut rest = singles.len();
    let is_dense = rest <= DENSE * added.len();
    let distance = rest / added.len().max(1);
    let mut hole = rest + added.len();
    singles.resize(hole, 0.0);
    for number in added.iter().rev() {
        if is_dense {
            while rest > 0 && singles[rest - 1] >= *number {
                hole -= 1;
                rest -= 1;
                singles[hole] = singles[rest];
            }
        } else {
            let place = place_of(*number, &singles[..rest], distance);
            hole -= rest - place;
            singles.copy_within(place..rest, hole);
            rest = place;
        }
        hole -= 1;
        singles[hole] = *number;
    }
}

/// How many `singles` are below `number`: a binary search that begins `distance` from the end, and
/// goes back as far as it must. (What lies there is about to be moved, so it must come from memory
/// anyway; a search of all would wait for a cache line at each step.)
fn place_of(number: f64, singles: &[f64], distance: usize) -> usize {
    let (mut end, mut step) = (singles.len(), distance.max(1));
    while step <= end && singles[end - step] >= number {
        end -= step;
        step *= 2;
    }
    let start = end.saturating_sub(step);
    start + singles[start..end].partition_point(|single| *single < number)
}

impl Nodes {
    /// No nodes. Allocates nothing.
    pub const fn new() -> Self {
        Self { singles: Vec::new(), centroids: Vec::new() }
    }

    /// No nodes, with room for as many singles and centroids.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn with_room(singles: usize, centroids: usize) -> Result<Self, OutOfMemory> {
        Ok(Self { singles: try_vec(singles)?, centroids: try_vec(centroids)? })
    }

    /// The nodes that have these means, in ascending order, and weights.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn try_of(nodes: impl Iterator<Item = Node> + Clone) -> Result<Self, OutOfMemory> {
        let centroids = nodes.clone().filter(|node| node.weight > 1).count();
        let singles = nodes.clone().count() - centroids;
        let mut all = Self::with_room(singles, centroids)?;
        for node in nodes {
            all.centroids.try_reserve(1)?; // for singles after equal centroids
            all.push(node);
        }
        Ok(all)
    }

    /// A copy into which the singles `added` are inserted.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn try_clone_with(&self, added: &[f64]) -> Result<Self, OutOfMemory> {
        let mut copy = Self::with_room(self.singles.len() + added.len(), self.centroids.len())?;
        copy.assign(self);
        copy.insert(added);
        Ok(copy)
    }

    /// The nodes of both, and the singles `added` to `other`. Where means are equal, those of
    /// `self` come first.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn union(&self, other: &Self, added: &[f64]) -> Result<Self, OutOfMemory> {
        let singles = self.singles.len() + other.singles.len() + added.len();
        let centroids = self.centroids.len() + other.centroids.len();
        let mut union = Self::with_room(singles, centroids)?;
        union.singles.extend_from_slice(&other.singles);
        union.insert(added);
        union.insert(&self.singles);
        let (mut left, mut right) = (self.centroids().peekable(), other.centroids().peekable());
        let mut end = 0;
        while union.centroids.len() < centroids {
            let is_right = match (left.peek(), right.peek()) {
                (Some(left), Some(right)) => right.mean < left.mean,
                (left, _) => left.is_none(),
            };
            let Some(Node { mean, weight }) =
                (if is_right { &mut right } else { &mut left }).next()
            else {
                break;
            };
            end += weight;
            union.centroids.push(Centroid { mean, end });
        }
        Ok(union)
    }

    /// The number of nodes.
    pub fn count(&self) -> usize {
        self.singles.len() + self.centroids.len()
    }

    /// The number of singles. (A single after an equal centroid is not counted.)
    pub fn num_singles(&self) -> usize {
        self.singles.len()
    }

    /// The weight of all nodes.
    pub fn weight(&self) -> u64 {
        self.weight_below(self.end())
    }

    /// Makes room for `added` more singles, at most `most` in all: twice the room, so that adding
    /// one after the other does not copy each time.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn reserve_singles(&mut self, added: usize, most: usize) -> Result<(), OutOfMemory> {
        let (len, room) = (self.singles.len(), self.singles.capacity());
        let needed = len.saturating_add(added).min(most);
        if needed > room {
            let roomy = needed.max((2 * room).min(most));
            self.singles.try_reserve_exact(roomy - len)?;
        }
        Ok(())
    }

    /// Makes room for `most` centroids.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn reserve_joined(&mut self, most: usize) -> Result<(), OutOfMemory> {
        let missing = most.saturating_sub(self.centroids.len());
        Ok(self.centroids.try_reserve_exact(missing)?)
    }

    /// Inserts singles as [`insert`] does.
    pub fn insert(&mut self, added: &[f64]) {
        insert(&mut self.singles, added);
    }

    /// Appends `node`, which is not below any other and for which there is room.
    #[inline]
    pub fn push(&mut self, node: Node) {
        let last = self.centroids.last();
        let is_after_equal = last.is_some_and(|last| last.mean == node.mean);
        if node.weight == 1 && !is_after_equal {
            self.singles.push(node.mean);
        } else {
            let end = last.map_or(0, |last| last.end) + node.weight;
            self.centroids.push(Centroid { mean: node.mean, end });
        }
    }

    /// Removes all nodes.
    pub fn clear(&mut self) {
        self.singles.clear();
        self.centroids.clear();
    }

    /// Becomes `other`. There is room.
    pub fn assign(&mut self, other: &Self) {
        self.clear();
        self.singles.extend_from_slice(&other.singles);
        self.centroids.extend_from_slice(&other.centroids);
    }

    /// All nodes and the singles `added`, both in ascending order, as if these were inserted.
    pub fn iter_with<'a>(&'a self, added: &'a [f64]) -> impl Iterator<Item = Node> + Clone + 'a {
        let (mut nodes, mut added) = (self.iter().peekable(), added.iter().peekable());
        std::iter::from_fn(move || match (added.peek(), nodes.peek()) {
            (Some(number), Some(node)) if **number > node.mean => nodes.next(),
            (Some(_), _) => added.next().map(|mean| Node { mean: *mean, weight: 1 }),
            (None, _) => nodes.next(),
        })
    }

    /// All nodes in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = Node> + Clone + '_ {
        let mut below = Cut { singles: 0, centroids: 0 };
        std::iter::from_fn(move || {
            let (node, above) = self.next(below)?;
            below = above;
            Some(node)
        })
    }

    /// The first node above `cut`, and the cut above that.
    #[inline]
    fn next(&self, cut: Cut) -> Option<(Node, Cut)> {
        let Cut { singles, centroids } = cut;
        let single = self.singles.get(singles);
        let centroid = self.centroids.get(centroids);
        let is_single = match (single, centroid) {
            (Some(single), Some(centroid)) => *single <= centroid.mean,
            (single, None) => {
                single?;
                true
            }
            (None, Some(_)) => false,
        };
        Some(if is_single {
            let node = Node { mean: *single?, weight: 1 };
            (node, Cut { singles: singles + 1, centroids })
        } else {
            (self.centroid(centroids), Cut { singles, centroids: centroids + 1 })
        })
    }

    /// The centroids in ascending order.
    fn centroids(&self) -> impl Iterator<Item = Node> + '_ {
        (0..self.centroids.len()).map(|index| self.centroid(index))
    }

    #[inline]
    fn centroid(&self, index: usize) -> Node {
        let (begin, end) = self.ends(index);
        Node { mean: self.centroids[index].mean, weight: end - begin }
    }

    /// The weight of the centroids before centroid `index`, and with it.
    #[inline]
    fn ends(&self, index: usize) -> (u64, u64) {
        let begin = index.checked_sub(1).map_or(0, |before| self.centroids[before].end);
        (begin, self.centroids[index].end)
    }

    /// The cut above all nodes.
    fn end(&self) -> Cut {
        Cut { singles: self.singles.len(), centroids: self.centroids.len() }
    }

    /// The weight below `cut`.
    pub fn weight_below(&self, cut: Cut) -> u64 {
        let centroids = cut.centroids.checked_sub(1).map_or(0, |last| self.centroids[last].end);
        centroids + cut.singles as u64
    }

    /// The node just above `cut`.
    pub fn above(&self, cut: Cut) -> Option<Node> {
        self.next(cut).map(|(node, _)| node)
    }

    /// The node just below `cut`.
    pub fn below(&self, cut: Cut) -> Option<Node> {
        let single = cut.singles.checked_sub(1).map(|last| self.singles[last]);
        let centroid = cut.centroids.checked_sub(1);
        match (single, centroid) {
            (Some(single), Some(last)) if self.centroids[last].mean < single => {
                Some(Node { mean: single, weight: 1 })
            }
            (Some(single), None) => Some(Node { mean: single, weight: 1 }),
            (_, centroid) => centroid.map(|last| self.centroid(last)),
        }
    }

    /// The first node.
    pub fn first(&self) -> Option<Node> {
        self.above(Cut { singles: 0, centroids: 0 })
    }

    /// The last node.
    pub fn last(&self) -> Option<Node> {
        self.below(self.end())
    }

    /// The cut below all nodes that are not below `x`.
    pub fn cut_before(&self, x: f64) -> Cut {
        Cut {
            singles: self.singles.partition_point(|single| *single < x),
            centroids: self.centroids.partition_point(|centroid| centroid.mean < x),
        }
    }

    /// The cut above all nodes that are not above `x`.
    pub fn cut_after(&self, x: f64) -> Cut {
        Cut {
            singles: self.singles.partition_point(|single| *single <= x),
            centroids: self.centroids.partition_point(|centroid| centroid.mean <= x),
        }
    }

    /// For each centroid, how many singles come before it.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn singles_before_centroids(&self) -> Result<Vec<usize>, OutOfMemory> {
        let (mut before, mut singles) = (try_vec(self.centroids.len())?, 0);
        for centroid in &self.centroids {
            let rest = self.singles[singles..].iter();
            singles += rest.take_while(|single| **single <= centroid.mean).count();
            before.push(singles);
        }
        Ok(before)
    }

    /// The cut above all nodes whose middle is not above `rank`. The middle of a node is the weight
    /// below it and half its own. `before` is what [`Nodes::singles_before_centroids`] returns.
    /// Cost: a binary search.
    pub fn cut_at(&self, rank: f64, before: &[usize]) -> Cut {
        let (mut centroids, mut others) = (0, self.centroids.len());
        while centroids < others {
            let index = usize::midpoint(centroids, others);
            let (begin, end) = self.ends(index);
            // Middles are multiples of 1/2, so below 2^51 all of this is exact.
            if (begin + end) as f64 / 2.0 + before[index] as f64 <= rank {
                centroids = index + 1;
            } else {
                others = index;
            }
        }
        // Between two neighbouring centroids, the middles of singles are 1 apart.
        let least = centroids.checked_sub(1).map_or(0, |last| before[last]);
        let most = before.get(centroids).copied().unwrap_or(self.singles.len());
        let below = self.weight_below(Cut { singles: 0, centroids }) as f64;
        let singles = ((rank - 0.5 - below).floor() + 1.0) as usize; // 0 if it is negative
        Cut { singles: singles.clamp(least, most), centroids }
    }

    /// Visits every kind of allocation.
    pub fn visit_allocations(&self, visit: &mut dyn FnMut(Layout, u64)) {
        let layouts = [
            Layout::array::<f64>(self.singles.capacity()),
            Layout::array::<Centroid>(self.centroids.capacity()),
        ];
        let layouts = layouts.into_iter().flatten().filter(|layout| layout.size() > 0);
        layouts.for_each(|layout| visit(layout, 1));
    }

    /// Passes the lists through `mover`.
    pub fn relocate(&mut self, mover: &mut impl Mover) {
        self.singles = mover.relocate(std::mem::take(&mut self.singles));
        self.centroids = mover.relocate(std::mem::take(&mut self.centroids));
    }
}
