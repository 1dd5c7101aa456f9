//! Splits and merges: how the directory grows and shrinks.

use super::{bits_of, index, Child, MAX_NODE_BITS};
use crate::error::AddError;
use crate::storage::small_boxed_slice::SmallBoxedSlice;
use crate::table::entries::try_vec;
use crate::table::page::Page;
use crate::table::path::Path;

impl Child {
    /// By how many children the directory grows when the path's page is split.
    pub fn children_to_split(&self, path: Path) -> usize {
        let Self::Node { depth, children } = self else {
            return 2;
        };
        let place = index(path, *depth, children);
        if matches!(children[place], Self::Node { .. }) {
            return children[place].children_to_split(path);
        }
        match depth + bits_of(children) - children[place].depth() {
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
            return self.become_node(halves);
        };
        let (depth, mut place) = (*depth, index(path, *depth, children));
        if matches!(children[place], Self::Node { .. }) {
            return children[place].split(path, halves);
        }
        let full_depth = depth + bits_of(children);
        let mut alias_bits = full_depth - children[place].depth();
        if alias_bits == 0 {
            if !is_to_double(children) {
                return children[place].become_node(halves);
            }
            *children = doubled(children, full_depth)?;
            (place, alias_bits) = (2 * place, 1);
        }
        let half = 1 << (alias_bits - 1);
        for (n, child) in halves.into_iter().enumerate() {
            let range = &mut children[place + n * half..][..half];
            range.fill_with(|| Self::Alias(alias_bits - 1));
            range[0] = child;
        }
        Ok(())
    }

    fn become_node(&mut self, halves: [Self; 2]) -> Result<(), AddError> {
        let depth = self.depth();
        let mut children = try_vec(2)?;
        children.extend(halves);
        *self = Self::Node {
            depth,
            children: SmallBoxedSlice::of(children),
        };
        Ok(())
    }

    /// Puts a page in the place of everything that begins with the same bits: one page, two buddies
    /// or more. Returns by how many children the directory has shrunk.
    pub fn merge(&mut self, path: Path, page: Page) -> usize {
        let merged_depth = page.depth();
        let (depth, children) = match self {
            Self::Node { depth, children } if *depth < merged_depth => (*depth, children),
            _ => {
                let shrunk = self.count_children() as usize;
                *self = Self::Page(page);
                return shrunk;
            }
        };
        let place = index(path, depth, children);
        if children[place].depth() <= merged_depth {
            return children[place].merge(path, page);
        }
        let alias_bits = depth + bits_of(children) - merged_depth;
        let range = &mut children[place >> alias_bits << alias_bits..][..1 << alias_bits];
        let mut shrunk = range
            .iter()
            .map(|child| child.count_children() as usize)
            .sum();
        range.fill_with(|| Self::Alias(alias_bits));
        range[0] = Self::Page(page);
        while children
            .iter()
            .skip(1)
            .step_by(2)
            .all(|child| matches!(child, Self::Alias(_)))
        {
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
    let own = || {
        children
            .iter()
            .filter(|child| !matches!(child, Child::Alias(_)))
    };
    bits_of(children) < MAX_NODE_BITS && own().count() * 4 > children.len() * 3
}

/// The same children in an array twice as long.
fn doubled(
    children: &mut [Child],
    full_depth: u8,
) -> Result<SmallBoxedSlice<Child, u16>, AddError> {
    let mut twice = try_vec(2 * children.len())?;
    let mut alias_bits = 0;
    for child in children {
        let child = std::mem::replace(child, Child::Alias(0));
        if !matches!(child, Child::Alias(_)) {
            alias_bits = full_depth + 1 - child.depth();
            twice.push(child);
        } else {
            twice.push(Child::Alias(alias_bits));
        }
        twice.push(Child::Alias(alias_bits));
    }
    Ok(SmallBoxedSlice::of(twice))
}

/// The same children in an array half as long; every second one is only an alias.
fn halved(children: &mut [Child]) -> Result<SmallBoxedSlice<Child, u16>, AddError> {
    let mut half = try_vec(children.len() / 2)?;
    for child in children.iter_mut().step_by(2) {
        half.push(match std::mem::replace(child, Child::Alias(0)) {
            Child::Alias(bits) => Child::Alias(bits - 1),
            child => child,
        });
    }
    Ok(SmallBoxedSlice::of(half))
}
