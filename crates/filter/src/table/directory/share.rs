//! Sharing between a table and its copy, until one of them writes.

use super::{index, Child, Children, Subtree, MAX_NODE_BITS};
use crate::error::AddError;
use crate::table::path::Path;
use splitbloom_foundation::alloc::try_vec;
use splitbloom_foundation::shared::Shared;

impl Subtree {
    /// Takes sole ownership of a shared subtree, by copying it if the other owner still exists.
    #[cold]
    pub(super) fn unshare(&mut self) -> Result<(), AddError> {
        self.reclaim();
        if let Self::Shared(shared) = self {
            *self = shared.copied()?;
        }
        Ok(())
    }

    /// Takes sole ownership of a shared subtree whose other owner has been dropped.
    pub(super) fn reclaim(&mut self) {
        if !matches!(self, Self::Shared(_)) {
            return;
        }
        if let Self::Shared(shared) = self.take() {
            *self = shared.try_into_inner().unwrap_or_else(Self::Shared);
        }
    }

    /// Bytes that must be copied before the path's page can be written to, because another table
    /// shares them.
    pub fn bytes_to_unshare(&mut self, path: Path) -> u64 {
        self.reclaim();
        match self {
            Self::Page(_) => 0,
            Self::Node { depth, children } => {
                let index = index(path, *depth, children);
                children[index].subtree_mut().bytes_to_unshare(path)
            }
            Self::Shared(shared) => {
                let mut bytes = 0;
                shared
                    .visit_allocations(&mut |layout, times| bytes += layout.size() as u64 * times);
                bytes
            }
        }
    }

    /// A deep copy, except of subtrees that are shared already.
    fn copied(&self) -> Result<Self, AddError> {
        Ok(match self {
            Self::Page(page) => Self::Page(page.try_clone()?),
            Self::Shared(shared) => Self::Shared(shared.clone()),
            Self::Node { depth, children } => node_of(
                *depth,
                children.iter().map(|child| match child {
                    Child::Subtree(subtree) => subtree.copied().map(Child::Subtree),
                    Child::Alias(bits) => Ok(Child::Alias(*bits)),
                }),
            )?,
        })
    }

    /// A copy of the directory that shares all pages with it. After an error this directory is
    /// still valid.
    ///
    /// The nodes that decide the first [`MAX_NODE_BITS`] bits are copied; each page or node below
    /// them is shared as a whole, and copied when one of the two tables first writes below it. So a
    /// copy takes some 2 048 steps, however large the table; the later write copies one page up to
    /// some 4 * 10^6 items, 50 pages at 10^8 and 500 at 10^9.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn try_clone(&mut self) -> Result<Self, AddError> {
        match self {
            Self::Node { depth, children } if *depth < MAX_NODE_BITS => node_of(
                *depth,
                children.iter_mut().map(|child| match child {
                    Child::Subtree(subtree) => subtree.try_clone().map(Child::Subtree),
                    Child::Alias(bits) => Ok(Child::Alias(*bits)),
                }),
            ),
            Self::Shared(shared) => Ok(Self::Shared(shared.clone())),
            Self::Page(page) if page.lines().is_empty() => Ok(Self::Page(page.try_clone()?)),
            Self::Page(_) | Self::Node { .. } => match Shared::try_new(self.take()) {
                Ok(shared) => {
                    *self = Self::Shared(shared.clone());
                    Ok(Self::Shared(shared))
                }
                Err(subtree) => {
                    *self = subtree;
                    Err(AddError::OutOfMemory)
                }
            },
        }
    }
}

/// A node of copied children.
fn node_of(
    depth: u8,
    children: impl ExactSizeIterator<Item = Result<Child, AddError>>,
) -> Result<Subtree, AddError> {
    let mut copy = try_vec(children.len())?;
    for child in children {
        copy.push(child?);
    }
    let children = Children::of(copy);
    Ok(Subtree::Node { depth, children })
}
