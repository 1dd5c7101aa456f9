//! Joins parts of a directory while pages are loaded.

use super::{bits_of, index, Child, MAX_NODE_BITS};
use crate::error::AddError;
use crate::storage::small_boxed_slice::SmallBoxedSlice;
use crate::table::entries::try_vec;
use crate::table::path::Path;

impl Child {
    /// The node of two buddies.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn join(halves: [Self; 2]) -> Result<Self, AddError> {
        let depth = halves[0].depth() - 1;
        let mut children = try_vec(2)?;
        children.extend(halves);
        let mut node = Self::Node {
            depth,
            children: SmallBoxedSlice::of(children),
        };
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
        let bits = |half: &Self| half.flattened().map_or(0, bits_of);
        let [low, high] = &children[..] else {
            return Ok(0);
        };
        let (low, high) = (bits(low), bits(high));
        let most = low.max(high);
        if most == 0 || most >= MAX_NODE_BITS || most - low.min(high) > 1 {
            return Ok(0);
        }
        let flattened = children.iter().filter_map(Self::flattened);
        let before = children.len() + flattened.map(<[Self]>::len).sum::<usize>();
        let mut all = try_vec(2 << most)?;
        for (half, bits) in children.take().into_iter().zip([low, high]) {
            half.spread(most - bits, *depth + 1 + most, &mut all);
        }
        *children = SmallBoxedSlice::of(all);
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
        let grown = children[place].join_complete(from, next);
        let is_complete = next.is_none_or(|next| end.is_some_and(|end| end <= next));
        // The node is valid as it is, so without memory it stays.
        let joined = if is_complete { self.flatten() } else { Ok(0) };
        grown + joined.unwrap_or(0)
    }

    /// Appends the children of a node that is flattened, or else the child itself, each repeated so
    /// that it fills `2^more` of the new places.
    fn spread(self, more: u8, full_depth: u8, to: &mut Vec<Self>) {
        let children = match self {
            Self::Node { depth, children } if depth % MAX_NODE_BITS != 0 => children.into_vec(),
            child => {
                let end = to.len() + (1 << more);
                to.push(child);
                return to.resize_with(end, || Self::Alias(more));
            }
        };
        let mut alias_bits = 0;
        for child in children {
            let end = to.len() + (1 << more);
            if !matches!(child, Self::Alias(_)) {
                alias_bits = full_depth - child.depth();
                to.push(child);
            }
            to.resize_with(end, || Self::Alias(alias_bits));
        }
    }

    /// The children that the parent may take over.
    fn flattened(&self) -> Option<&[Self]> {
        match self {
            Self::Node { depth, children } if depth % MAX_NODE_BITS != 0 => Some(children),
            _ => None,
        }
    }
}
