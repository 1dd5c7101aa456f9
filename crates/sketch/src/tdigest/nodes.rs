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
//! stays among the centroids: the order of equal nodes changes the answers.
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

/// Visits the allocation of a list, if it has one.
pub(super) fn visit_list<T>(list: &Vec<T>, visit: &mut dyn FnMut(Layout, u64)) {
    let layout = Layout::array::<T>(list.capacity()).ok();
    layout.filter(|layout| layout.size() > 0).into_iter().for_each(|layout| visit(layout, 1));
}

impl Nodes {
    /// No nodes. Allocates nothing.
    pub const fn new() -> Self {
        Self { singles: Vec::new(), centroids: Vec::new() }
    }

    /// No nodes, with room for `singles` singles and `centroids` centroids.
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
        self.centroids.last().map_or(0, |last| last.end) + self.singles.len() as u64
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

    /// Replaces its nodes by those of `other`, for which there is room.
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
        let (mut singles, mut centroids) = (self.singles.iter().peekable(), 0);
        std::iter::from_fn(move || {
            let centroid = self.centroids.get(centroids);
            if let Some(mean) =
                singles.next_if(|single| centroid.is_none_or(|centroid| **single <= centroid.mean))
            {
                return Some(Node { mean: *mean, weight: 1 });
            }
            centroid?;
            centroids += 1;
            Some(self.centroid(centroids - 1))
        })
    }

    /// The centroids in ascending order.
    fn centroids(&self) -> impl Iterator<Item = Node> + '_ {
        (0..self.centroids.len()).map(|index| self.centroid(index))
    }

    #[inline]
    fn centroid(&self, index: usize) -> Node {
        let begin = index.checked_sub(1).map_or(0, |before| self.centroids[before].end);
        let Centroid { mean, end } = self.centroids[index];
        Node { mean, weight: end - begin }
    }

    /// Visits every kind of allocation.
    pub fn visit_allocations(&self, visit: &mut dyn FnMut(Layout, u64)) {
        visit_list(&self.singles, visit);
        visit_list(&self.centroids, visit);
    }

    /// Passes the lists through `mover`.
    pub fn relocate(&mut self, mover: &mut impl Mover) {
        self.singles = mover.relocate(std::mem::take(&mut self.singles));
        self.centroids = mover.relocate(std::mem::take(&mut self.centroids));
    }
}
