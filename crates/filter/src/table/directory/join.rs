//! Joins parts of a directory while pages are loaded.

use super::{bits_of, index, Child, Children, Subtree, MAX_NODE_BITS};
use crate::alloc::try_vec;
use crate::error::AddError;
use crate::table::path::Path;

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
        let flattened = [&*low, &*high]
            .into_iter()
            .filter_map(Self::children_to_flatten);
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
