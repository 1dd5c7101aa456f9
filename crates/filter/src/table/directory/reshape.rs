//! Splits, merges and joins: how the directory grows and shrinks, page by page or while pages are
//! loaded.

use super::{bits_of, index, Child, Children, Subtree, MAX_NODE_BITS};
use crate::error::AddError;
use crate::table::page::Page;
use crate::table::path::Path;
use splitbloom_foundation::alloc::try_vec;

impl Subtree {
    /// By how many children the directory grows when the path's page is split.
    pub fn children_to_split(&self, path: Path) -> usize {
        let Self::Node { depth, children } = self else {
            return 2;
        };
        let subtree = children[index(path, *depth, children)].subtree();
        if matches!(subtree, Self::Node { .. }) {
            return subtree.children_to_split(path);
        }
        match depth + bits_of(children) - subtree.depth() {
            0 if is_to_double(children) => children.len(),
            0 => 2,
            _ => 0,
        }
    }

    /// Replaces the path's page by its two halves.
    ///
    /// # Errors
    /// `OutOfMemory`; nothing has changed.
    pub fn split(&mut self, path: Path, halves: [Self; 2]) -> Result<(), AddError> {
        let Self::Node { depth, children } = self else {
            *self = Self::node(self.depth(), halves)?;
            return Ok(());
        };
        let (depth, mut place) = (*depth, index(path, *depth, children));
        let full_depth = depth + bits_of(children);
        let is_to_double = is_to_double(children);
        let subtree = children[place].subtree_mut();
        if matches!(subtree, Self::Node { .. }) {
            return subtree.split(path, halves);
        }
        let mut alias_bits = full_depth - subtree.depth();
        if alias_bits == 0 {
            if !is_to_double {
                return subtree.split(path, halves);
            }
            *children = doubled(children, full_depth)?;
            (place, alias_bits) = (2 * place, 1);
        }
        let half = 1 << (alias_bits - 1);
        for (n, subtree) in halves.into_iter().enumerate() {
            let range = &mut children[place + n * half..][..half];
            range.fill_with(|| Child::Alias(alias_bits - 1));
            range[0] = Child::Subtree(subtree);
        }
        Ok(())
    }

    /// Puts a page in the place of everything that begins with the same bits: one page, two buddies
    /// or more, in nodes that are not shared. Returns by how many children the directory has
    /// shrunk.
    pub fn merge(&mut self, path: Path, page: Page) -> usize {
        let merged_depth = page.depth();
        let (depth, children) = match self {
            Self::Node { depth, children } if *depth < merged_depth => (*depth, children),
            _ => {
                debug_assert!(self.depth() >= merged_depth, "it holds more than the page");
                let shrunk = self.count_children() as usize;
                *self = Self::Page(page);
                return shrunk;
            }
        };
        let place = index(path, depth, children);
        let subtree = children[place].subtree_mut();
        if subtree.depth() <= merged_depth {
            return subtree.merge(path, page);
        }
        let alias_bits = depth + bits_of(children) - merged_depth;
        let range = &mut children[place >> alias_bits << alias_bits..][..1 << alias_bits];
        let subtrees = Child::subtrees(range);
        let mut shrunk = subtrees.map(|subtree| subtree.count_children() as usize).sum();
        range.fill_with(|| Child::Alias(alias_bits));
        range[0] = Child::Subtree(Self::Page(page));
        while children.iter().skip(1).step_by(2).all(Child::is_alias) {
            // Without memory for a smaller node, this one stays.
            let Ok(half) = halved(children) else { break };
            shrunk += half.len();
            *children = half;
        }
        shrunk
    }
}

/// Whether the node doubles when a page at its full depth is split: it is well filled and not yet
/// of the maximum size.
fn is_to_double(children: &[Child]) -> bool {
    bits_of(children) < MAX_NODE_BITS && Child::subtrees(children).count() * 4 > children.len() * 3
}

/// The same children in an array twice as long.
fn doubled(children: &mut [Child], full_depth: u8) -> Result<Children, AddError> {
    let mut twice = try_vec(2 * children.len())?;
    let mut alias_bits = 0;
    for child in children {
        if let Child::Subtree(subtree) = child {
            alias_bits = full_depth + 1 - subtree.depth();
            twice.push(Child::Subtree(subtree.take()));
        } else {
            twice.push(Child::Alias(alias_bits));
        }
        twice.push(Child::Alias(alias_bits));
    }
    Ok(Children::of(twice))
}

/// The same children in an array half as long; every second one is only an alias.
fn halved(children: &mut [Child]) -> Result<Children, AddError> {
    let mut half = try_vec(children.len() / 2)?;
    half.extend(children.iter_mut().step_by(2).map(|child| match child {
        Child::Subtree(subtree) => Child::Subtree(subtree.take()),
        Child::Alias(bits) => Child::Alias(*bits - 1),
    }));
    Ok(Children::of(half))
}

impl Subtree {
    /// The node of two buddies.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn join(halves: [Self; 2]) -> Result<Self, AddError> {
        let mut node = Self::node(halves[0].depth() - 1, halves)?;
        node.flatten()?;
        Ok(node)
    }

    /// Merges a node of two children with these, if they are nodes of about equal depth and one
    /// node can hold all their children. Nodes at multiples of [`MAX_NODE_BITS`] stay separate, so
    /// that the first nodes of all routes are as large as in a directory that grew, and the others
    /// become so as it grows. Returns by how many children the directory has grown.
    ///
    /// # Errors
    /// `OutOfMemory`; nothing has changed.
    fn flatten(&mut self) -> Result<i32, AddError> {
        let Self::Node { depth, children } = self else {
            return Ok(0);
        };
        let [Child::Subtree(low), Child::Subtree(high)] = &mut children[..] else {
            return Ok(0);
        };
        let bits = |half: &Self| half.children_to_flatten().map_or(0, bits_of);
        let (low_bits, high_bits) = (bits(low), bits(high));
        let most = low_bits.max(high_bits);
        if most == 0 || most >= MAX_NODE_BITS || most - low_bits.min(high_bits) > 1 {
            return Ok(0);
        }
        let flattened = [&*low, &*high].into_iter().filter_map(Self::children_to_flatten);
        let before = 2 + flattened.map(<[Child]>::len).sum::<usize>();
        let mut all = try_vec(2 << most)?;
        for (half, bits) in [(low, low_bits), (high, high_bits)] {
            half.take().spread(most - bits, *depth + 1 + most, &mut all);
        }
        *children = Children::of(all);
        Ok(children.len() as i32 - before as i32)
    }

    /// Flattens, from the deepest on, the nodes of two children that begin before `from` and are
    /// complete now that all paths up to `next` are loaded. Returns by how many children the
    /// directory has grown.
    pub fn join_complete(&mut self, from: Path, next: Option<u64>) -> i32 {
        let Self::Node { depth, children } = self else {
            return 0;
        };
        if from.start(*depth) == from {
            return 0;
        }
        let end = from.after(*depth);
        let place = index(from, *depth, children);
        let grown = children[place].subtree_mut().join_complete(from, next);
        let is_complete = next.is_none_or(|next| end.is_some_and(|end| end <= next));
        // The node is valid as it is, so without memory it stays.
        let joined = if is_complete { self.flatten() } else { Ok(0) };
        grown + joined.unwrap_or(0)
    }

    /// Appends the children of a node that is flattened, or else the subtree itself, each followed
    /// by aliases so that it fills `2^more` of the new places.
    fn spread(self, more: u8, full_depth: u8, to: &mut Vec<Child>) {
        let children = match self {
            Self::Node { depth, children } if depth % MAX_NODE_BITS != 0 => children.into_vec(),
            subtree => {
                let end = to.len() + (1 << more);
                to.push(Child::Subtree(subtree));
                return to.resize_with(end, || Child::Alias(more));
            }
        };
        let mut alias_bits = 0;
        for child in children {
            let end = to.len() + (1 << more);
            if let Child::Subtree(subtree) = child {
                alias_bits = full_depth - subtree.depth();
                to.push(Child::Subtree(subtree));
            }
            to.resize_with(end, || Child::Alias(alias_bits));
        }
    }

    /// The children that the parent may take over.
    fn children_to_flatten(&self) -> Option<&[Child]> {
        match self {
            Self::Node { depth, children } if depth % MAX_NODE_BITS != 0 => Some(children),
            _ => None,
        }
    }
}
