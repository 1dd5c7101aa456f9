//! From a path to its page: a tree whose nodes are arrays of up to 2 048 children.
//!
//! ```text
//!   root (depth 0, 11 bits of path)
//!   | page | node | node | page of depth 10 | see 1 | ...
//!            |
//!            v  (depth 11; 2, 4, 8 ... 2 048 children)
//!          | page | page | page | page |
//! ```
//!
//! Extendible hashing (Fagin, Nievergelt, Pippenger, Strong 1979) has one array, as deep as the
//! deepest page, that doubles as a whole. Here no array passes 2 048 children of 16 bytes (32 KiB):
//! what a split of one page costs is bounded, and so is what one deep page costs, which somebody
//! may have made deep on purpose:
//! - A page that is less deep than its node stands in the first of the children that it has in shared;
//!   the others say [`Child::Alias`].
//! - A page at the full depth of its node that splits doubles the node if that is well filled and
//!   not yet of 2 048 children. Else two children of a node of its own take its place.
//!
//! Up to some 5 * 10^9 items a lookup passes two nodes.
//!
//! Copies share pages and nodes below the first 11 bits ([`Child::Shared`]). Had a copy to share
//! each page for itself, it would take as many steps as there are pages, and a block to count the
//! owners of each.

mod join;
mod share;
mod split;

use crate::error::AddError;
use crate::storage::shared::Shared;
use crate::storage::small_boxed_slice::SmallBoxedSlice;
use crate::storage::Mover;
use crate::table::page::Page;
use crate::table::path::Path;
use std::alloc::Layout;

/// The most bits of path that one node decides: 2 048 children are 32 KiB. With 512, lookups at 10^6
/// items took 30 ns instead of 23: whether there is a second node was a matter of chance.
const MAX_NODE_BITS: u8 = 11;

/// What a node has for some paths.
pub enum Child {
    Page(Page),
    /// A page, or a node and all below it, that a copy has too: neither may write to it.
    Shared(Shared<Child>),
    Node {
        depth: u8,
        children: SmallBoxedSlice<Child, u16>,
    },
    /// Alias of the child whose index has the low `n` bits cleared: the page is shallower than the
    /// node.
    Alias(u8),
}

/// Four to a cache line, none in two.
const _: () = assert!(size_of::<Child>() == 16);

fn bits_of(children: &[Child]) -> u8 {
    children.len().trailing_zeros() as u8
}

/// The child of a path in a node.
#[inline]
fn index(path: Path, depth: u8, children: &[Child]) -> usize {
    // A node has at least two children, so the shift is below 64.
    let index = (path.below(depth) >> (64 - bits_of(children))) as usize;
    // One shift more is cheaper than a branch that nobody can predict.
    let bits = if let Child::Alias(bits) = children[index] {
        bits
    } else {
        0
    };
    index >> bits << bits
}

/// Alias [`Child::route`].
#[derive(Clone, Copy)]
pub struct Route<'a> {
    child: &'a Child,
    children: &'a [Child],
    index: usize,
}

impl<'a> Route<'a> {
    /// What is read next.
    #[inline(always)]
    pub fn next(&self) -> &'a Child {
        self.children.get(self.index).unwrap_or(self.child)
    }

    /// The page at its end.
    #[inline(always)]
    pub fn page(&self, path: Path) -> &'a Page {
        let child = match self.next() {
            Child::Alias(bits) => &self.children[self.index >> bits << bits],
            child => child,
        };
        match child {
            Child::Page(page) => page,
            child => child.page(path),
        }
    }
}

impl Child {
    /// The page of a path.
    #[inline]
    pub fn page(&self, path: Path) -> &Page {
        let mut child = self;
        loop {
            match child {
                Self::Page(page) => return page,
                Self::Shared(shared) => child = shared,
                Self::Node { depth, children } => child = &children[index(path, *depth, children)],
                Self::Alias(_) => unreachable!("a child that is seen is not itself a reference"),
            }
        }
    }

    /// The route to the page of a path, up to the second node: where that has what belongs to the
    /// path, unread so far.
    #[inline(always)]
    pub fn route(&self, path: Path) -> Route<'_> {
        let Self::Node { depth, children } = self else {
            return Route {
                child: self,
                children: &[],
                index: 0,
            };
        };
        let child = match &children[index(path, *depth, children)] {
            Self::Shared(shared) => shared,
            child => child,
        };
        let Self::Node { depth, children } = child else {
            return Route {
                child,
                children: &[],
                index: 0,
            };
        };
        Route {
            child,
            children,
            index: (path.below(*depth) >> (64 - bits_of(children))) as usize,
        }
    }

    /// The child of the path's page.
    fn child_mut(&mut self, path: Path) -> &mut Self {
        match self {
            Self::Node { depth, children } => {
                let index = index(path, *depth, children);
                children[index].child_mut(path)
            }
            child => child,
        }
    }

    /// The page of a path, for writing: what is shared on the route to it is copied, unless it is
    /// settled by reading the page.
    ///
    /// # Errors
    /// `OutOfMemory`.
    #[inline]
    pub fn page_to_write(
        &mut self,
        path: Path,
        is_settled: impl Fn(&Page) -> bool,
    ) -> Result<Option<&mut Page>, AddError> {
        let mut child = self;
        loop {
            if let Self::Shared(shared) = child {
                if is_settled(shared.page(path)) {
                    return Ok(None);
                }
                child.unshare()?;
            }
            match child {
                Self::Page(page) => return Ok(Some(page)),
                Self::Node { depth, children } => {
                    let index = index(path, *depth, children);
                    child = &mut children[index];
                }
                _ => unreachable!("the child of a page"),
            }
        }
    }

    /// Copies what is shared on the route to a path's page, so that it may be written to.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn unshare_path(&mut self, path: Path) -> Result<(), AddError> {
        self.page_to_write(path, |_| false).map(|_| ())
    }

    /// Where the paths of this child part: the depth of its page or node.
    pub fn depth(&self) -> u8 {
        match self {
            Self::Page(page) => page.depth(),
            Self::Shared(shared) => shared.depth(),
            Self::Node { depth, .. } => *depth,
            Self::Alias(_) => unreachable!("a reference has no depth"),
        }
    }

    /// Puts a page, or a node, in the place of the path's page, which has the same depth.
    pub fn put(&mut self, path: Path, child: Self) {
        *self.child_mut(path) = child;
    }

    /// Slots of all nodes.
    pub fn count_children(&self) -> u32 {
        match self {
            Self::Node { children, .. } => {
                let below = children.iter().map(Self::count_children);
                below.fold(children.len() as u32, u32::saturating_add)
            }
            Self::Shared(shared) => shared.count_children(),
            _ => 0,
        }
    }

    /// Nodes on the route to a path's page.
    #[cfg(test)]
    pub fn nodes_passed(&self, path: Path) -> usize {
        match self {
            Self::Node { depth, children } => {
                1 + children[index(path, *depth, children)].nodes_passed(path)
            }
            Self::Shared(shared) => shared.nodes_passed(path),
            _ => 0,
        }
    }

    /// Visits every allocation.
    pub fn visit_allocations(&self, visit: &mut impl FnMut(Layout, u64)) {
        match self {
            Self::Page(page) if page.lines().is_empty() => (),
            Self::Page(page) => visit(Layout::for_value(page.lines()), 1),
            Self::Shared(shared) => {
                visit(Shared::<Self>::layout(), 1);
                shared.visit_allocations(visit);
            }
            Self::Node { children, .. } => {
                visit(Layout::for_value(&**children), 1);
                children
                    .iter()
                    .for_each(|child| child.visit_allocations(visit));
            }
            Self::Alias(_) => (),
        }
    }

    /// Passes everything from the path `from` on through `mover`; `start` is where this child
    /// begins. Shared children stay where they are, since the other owner points to them. Returns
    /// the path to continue from if the mover wants to stop; at least one page is passed.
    pub fn relocate(&mut self, start: u64, from: u64, mover: &mut impl Mover) -> Option<u64> {
        self.reclaim();
        if let Self::Node { depth, children } = self {
            if start >= from {
                *children = SmallBoxedSlice::of(mover.relocate(children.take()));
            }
            let width = 64 - *depth - bits_of(children);
            for n in 0..children.len() {
                // Up to the next child that is not seen from here.
                let end = children[n + 1..]
                    .iter()
                    .position(|child| !matches!(child, Self::Alias(_)));
                let end = end.map_or(children.len(), |more| n + 1 + more);
                let is_over = end < children.len() && start + ((end as u64) << width) <= from;
                if matches!(children[n], Self::Alias(_)) || is_over {
                    continue;
                }
                let next = children[n].relocate(start + ((n as u64) << width), from, mover);
                if next.is_some() {
                    return next;
                }
            }
            return None;
        }
        if start < from {
            return None;
        }
        if let Self::Page(page) = self {
            if !page.lines().is_empty() {
                page.map_lines(|lines| mover.relocate(lines));
            }
        }
        if mover.should_stop() {
            return Path(start).after(self.depth());
        }
        None
    }
}
