//! From a path to its page: a tree whose nodes are arrays of up to 2 048 children.
//!
//! ```text
//!   root (depth 0, 11 bits of path)
//!   | page | node | node | page of depth 10 | alias 1 | ...
//!            |
//!            v  (depth 11; 2, 4, 8 ... 2 048 children)
//!          | page | page | page | page |
//! ```
//!
//! Extendible hashing (Fagin, Nievergelt, Pippenger, Strong 1979) has one array, as deep as the
//! deepest page, that doubles as a whole. Here no array exceeds 2 048 children of 16 bytes (32
//! KiB). That bounds the cost of a split, and of one deep page, which an attacker may have made
//! deep on purpose:
//! - A page that is shallower than its node is the first of the children that it covers; the others
//!   are [`Child::Alias`].
//! - When a page at the full depth of its node splits, the node doubles if it is well filled and
//!   below 2 048 children. Otherwise a node of two children takes the page's place.
//!
//! Up to some 5 * 10^9 items a lookup passes two nodes.
//!
//! Copies of a table share the pages and nodes below the first 11 bits ([`Subtree::Shared`]). If a
//! copy shared each page for itself, it would take as many steps as there are pages, and a
//! reference count for each.

mod reshape;
mod share;

use crate::error::AddError;
use crate::storage::small_boxed_slice::SmallBoxedSlice;
use crate::storage::Mover;
use crate::table::page::Page;
use crate::table::path::Path;
use splitbloom_foundation::alloc::try_vec;
use splitbloom_foundation::prefetch::prefetch;
use splitbloom_foundation::shared::Shared;
use std::alloc::Layout;

/// The most bits of path that one node decides: 2 048 children are 32 KiB. With 512, lookups at
/// 10^6 items took 30 ns instead of 23, because some of them passed a second node.
const MAX_NODE_BITS: u8 = 11;

/// All paths that begin with the same bits.
pub enum Subtree {
    Page(Page),
    /// A page, or a node and all below it, that a copy of the table has too: neither may write to
    /// it.
    Shared(Shared<Subtree>),
    Node {
        depth: u8,
        children: Children,
    },
}

/// One place of a node.
pub enum Child {
    Subtree(Subtree),
    /// Alias of the child whose index has the low `n` bits cleared: its subtree is shallower than
    /// the node.
    Alias(u8),
}

/// The children of a node: a power of two.
type Children = SmallBoxedSlice<Child, u16>;

/// Four to a cache line, none in two.
const _: () = assert!(size_of::<Child>() == 16);

fn bits_of(children: &[Child]) -> u8 {
    children.len().trailing_zeros() as u8
}

/// The index of a path's subtree in a node.
#[inline]
fn index(path: Path, depth: u8, children: &[Child]) -> usize {
    // A node has at least two children, so the shift is below 64.
    let index = (path.below(depth) >> (64 - bits_of(children))) as usize;
    // One more shift is cheaper than a branch that cannot be predicted.
    let bits = if let Child::Alias(bits) = children[index] { bits } else { 0 };
    index >> bits << bits
}

impl Child {
    /// The subtree of a child that [`index`] returned. Aliases refer to the first child of their
    /// range, which is never an alias: the directory is built here, never read from bytes.
    #[inline(always)]
    fn subtree(&self) -> &Subtree {
        match self {
            Self::Subtree(subtree) => subtree,
            Self::Alias(_) => unreachable!("an alias of an alias"),
        }
    }

    /// The same for writing.
    #[inline(always)]
    fn subtree_mut(&mut self) -> &mut Subtree {
        match self {
            Self::Subtree(subtree) => subtree,
            Self::Alias(_) => unreachable!("an alias of an alias"),
        }
    }

    fn is_alias(&self) -> bool {
        matches!(self, Self::Alias(_))
    }

    /// All subtrees among these children.
    fn subtrees(children: &[Self]) -> impl Iterator<Item = &Subtree> {
        children.iter().filter_map(|child| match child {
            Self::Subtree(subtree) => Some(subtree),
            Self::Alias(_) => None,
        })
    }
}

/// See [`Subtree::route`].
#[derive(Clone, Copy)]
pub struct Route<'a> {
    subtree: &'a Subtree,
    /// The second node's children; empty if there is no second node.
    children: &'a [Child],
    index: usize,
}

impl<'a> Route<'a> {
    /// Prefetches what [`Route::page`] reads.
    #[inline(always)]
    pub fn prefetch(&self) {
        match self.children.get(self.index) {
            Some(child) => prefetch(child),
            None => prefetch(self.subtree),
        }
    }

    /// The page at its end.
    #[inline(always)]
    pub fn page(&self, path: Path) -> &'a Page {
        let subtree = match self.children.get(self.index) {
            Some(Child::Alias(bits)) => self.children[self.index >> bits << bits].subtree(),
            Some(Child::Subtree(subtree)) => subtree,
            None => self.subtree,
        };
        match subtree {
            Subtree::Page(page) => page,
            subtree => subtree.page(path),
        }
    }
}

impl Subtree {
    /// A node of two children.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn node(depth: u8, halves: [Self; 2]) -> Result<Self, AddError> {
        let mut children = try_vec(2)?;
        children.extend(halves.map(Child::Subtree));
        Ok(Self::Node { depth, children: Children::of(children) })
    }

    /// Takes the subtree, and leaves an empty page in its place.
    fn take(&mut self) -> Self {
        std::mem::replace(self, Self::Page(Page::empty(0)))
    }

    /// The page of a path.
    #[inline]
    pub fn page(&self, path: Path) -> &Page {
        let mut subtree = self;
        loop {
            match subtree {
                Self::Page(page) => return page,
                Self::Shared(shared) => subtree = shared,
                Self::Node { depth, children } => {
                    subtree = children[index(path, *depth, children)].subtree();
                }
            }
        }
    }

    /// The route to the page of a path, up to the child of the second node, which is not read yet.
    #[inline(always)]
    pub fn route(&self, path: Path) -> Route<'_> {
        let up_to = |subtree| Route { subtree, children: &[], index: 0 };
        let Self::Node { depth, children } = self else {
            return up_to(self);
        };
        let subtree = match children[index(path, *depth, children)].subtree() {
            Self::Shared(shared) => shared,
            subtree => subtree,
        };
        let Self::Node { depth, children } = subtree else {
            return up_to(subtree);
        };
        Route {
            subtree,
            children,
            index: (path.below(*depth) >> (64 - bits_of(children))) as usize,
        }
    }

    /// The page of a path, for writing. Whatever is shared on the route to it is copied, unless
    /// reading the page shows that nothing is to be written (`is_settled`): then returns `None`.
    ///
    /// # Errors
    /// `OutOfMemory`.
    #[inline]
    pub fn page_to_write(
        &mut self,
        path: Path,
        is_settled: impl Fn(&Page) -> bool,
    ) -> Result<Option<&mut Page>, AddError> {
        let mut subtree = self;
        loop {
            match subtree {
                Self::Page(page) => return Ok(Some(page)),
                Self::Node { depth, children } => {
                    let index = index(path, *depth, children);
                    subtree = children[index].subtree_mut();
                }
                Self::Shared(shared) if is_settled(shared.page(path)) => return Ok(None),
                Self::Shared(_) => subtree.unshare()?,
            }
        }
    }

    /// Copies whatever is shared on the route to a path's page, so that it may be written to.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn unshare_path(&mut self, path: Path) -> Result<(), AddError> {
        self.page_to_write(path, |_| false).map(|_| ())
    }

    /// The number of bits that all of its paths begin with.
    pub fn depth(&self) -> u8 {
        match self {
            Self::Page(page) => page.depth(),
            Self::Shared(shared) => shared.depth(),
            Self::Node { depth, .. } => *depth,
        }
    }

    /// Replaces the path's page, which is not shared, by a subtree of the same depth.
    pub fn put(&mut self, path: Path, subtree: Self) {
        let mut place = self;
        while let Self::Node { depth, children } = place {
            let index = index(path, *depth, children);
            place = children[index].subtree_mut();
        }
        *place = subtree;
    }

    /// The number of children of all nodes.
    pub fn count_children(&self) -> u32 {
        match self {
            Self::Page(_) => 0,
            Self::Shared(shared) => shared.count_children(),
            Self::Node { children, .. } => Child::subtrees(children)
                .map(Self::count_children)
                .fold(children.len() as u32, u32::saturating_add),
        }
    }

    /// Nodes on the route to a path's page.
    #[cfg(test)]
    pub fn nodes_passed(&self, path: Path) -> usize {
        match self {
            Self::Page(_) => 0,
            Self::Shared(shared) => shared.nodes_passed(path),
            Self::Node { depth, children } => {
                let subtree = children[index(path, *depth, children)].subtree();
                1 + subtree.nodes_passed(path)
            }
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
                Child::subtrees(children).for_each(|subtree| subtree.visit_allocations(visit));
            }
        }
    }

    /// Passes every allocation from the path `from` on through `mover`; `start` is the first path
    /// of this subtree. Shared subtrees stay where they are, since the other owner points to them.
    /// Returns the path to continue from if the mover wants to stop; at least one page is passed.
    pub fn relocate(&mut self, start: u64, from: u64, mover: &mut impl Mover) -> Option<u64> {
        self.reclaim();
        if let Self::Node { depth, children } = self {
            if start >= from {
                *children = Children::of(mover.relocate(std::mem::take(children).into_vec()));
            }
            let width = 64 - *depth - bits_of(children);
            for n in 0..children.len() {
                // Up to the next subtree.
                let end = children[n + 1..].iter().position(|child| !child.is_alias());
                let end = end.map_or(children.len(), |more| n + 1 + more);
                let is_over = end < children.len() && start + ((end as u64) << width) <= from;
                let Child::Subtree(subtree) = &mut children[n] else {
                    continue;
                };
                if is_over {
                    continue;
                }
                let next = subtree.relocate(start + ((n as u64) << width), from, mover);
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
