//! From a path to its page: a tree whose nodes are arrays of up to 2 048 slots.
//!
//! ```text
//!   root (depth 0, 11 bits of path)
//!   | page | node | node | page of depth 10 | see 1 | ...
//!            |
//!            v  (depth 11; 2, 4, 8 ... 2 048 slots)
//!          | page | page | page | page |
//! ```
//!
//! Extendible hashing (Fagin, Nievergelt, Pippenger, Strong 1979) has one array, as deep as the
//! deepest page, that doubles as a whole. Here no array passes 2 048 slots of 16 bytes (32 KiB):
//! what a split of one page costs is bounded, and so is what one deep page costs, which somebody
//! may have made deep on purpose:
//! - A page that is less deep than its node stands in the first of the slots that it has in common;
//!   the others say [`Slot::See`].
//! - A page at the full depth of its node that splits doubles the node if that is well filled and
//!   not yet of 2 048 slots. Else two slots of a node of its own take its place.
//!
//! Up to some 5 * 10^9 items a lookup passes two nodes.
//!
//! Copies share pages and nodes below the first 11 bits ([`Slot::Common`]). Had a copy to share
//! each page for itself, it would take as many steps as there are pages, and a block to count the
//! owners of each.

mod join;
mod share;
mod split;

use crate::error::AddError;
use crate::storage::shared::Shared;
use crate::storage::short::Short;
use crate::storage::Mover;
use crate::table::page::Page;
use crate::table::path::Path;
use std::alloc::Layout;

/// The most bits of path that one node decides: 2 048 slots are 32 KiB. With 512, lookups at 10^6
/// items took 30 ns instead of 23: whether there is a second node was a matter of chance.
const MOST_BITS: u8 = 11;

/// What a node has for some paths.
pub enum Slot {
    Own(Page),
    /// A page, or a node and all below it, that a copy has too: neither may write to it.
    Common(Shared<Slot>),
    Node {
        depth: u8,
        slots: Short<Slot, u16>,
    },
    /// Alias of the slot whose index has the low `n` bits cleared: the page is shallower than the
    /// node.
    See(u8),
}

/// Four to a cache line, none in two.
const _: () = assert!(size_of::<Slot>() == 16);

fn bits_of(slots: &[Slot]) -> u8 {
    slots.len().trailing_zeros() as u8
}

/// The slot of a path in a node.
#[inline]
fn index(path: Path, depth: u8, slots: &[Slot]) -> usize {
    // A node has at least two slots, so the shift is below 64.
    let index = (path.below(depth) >> (64 - bits_of(slots))) as usize;
    // One shift more is cheaper than a branch that nobody can predict.
    let bits = if let Slot::See(bits) = slots[index] {
        bits
    } else {
        0
    };
    index >> bits << bits
}

/// See [`Slot::way`].
#[derive(Clone, Copy)]
pub struct Way<'a> {
    slot: &'a Slot,
    slots: &'a [Slot],
    index: usize,
}

impl<'a> Way<'a> {
    /// What is read next.
    #[inline(always)]
    pub fn next(&self) -> &'a Slot {
        self.slots.get(self.index).unwrap_or(self.slot)
    }

    /// The page at its end.
    #[inline(always)]
    pub fn page(&self, path: Path) -> &'a Page {
        let slot = match self.next() {
            Slot::See(bits) => &self.slots[self.index >> bits << bits],
            slot => slot,
        };
        match slot {
            Slot::Own(page) => page,
            slot => slot.page(path),
        }
    }
}

impl Slot {
    /// The page of a path.
    #[inline]
    pub fn page(&self, path: Path) -> &Page {
        let mut slot = self;
        loop {
            match slot {
                Self::Own(page) => return page,
                Self::Common(common) => slot = common,
                Self::Node { depth, slots } => slot = &slots[index(path, *depth, slots)],
                Self::See(_) => unreachable!("a slot that is seen is not itself a reference"),
            }
        }
    }

    /// The way to the page of a path, up to the second node: where that has what belongs to the
    /// path, unread so far.
    #[inline(always)]
    pub fn way(&self, path: Path) -> Way<'_> {
        let Self::Node { depth, slots } = self else {
            return Way {
                slot: self,
                slots: &[],
                index: 0,
            };
        };
        let slot = match &slots[index(path, *depth, slots)] {
            Self::Common(common) => common,
            slot => slot,
        };
        let Self::Node { depth, slots } = slot else {
            return Way {
                slot,
                slots: &[],
                index: 0,
            };
        };
        Way {
            slot,
            slots,
            index: (path.below(*depth) >> (64 - bits_of(slots))) as usize,
        }
    }

    /// The slot of the path's page.
    fn slot_mut(&mut self, path: Path) -> &mut Self {
        match self {
            Self::Node { depth, slots } => {
                let index = index(path, *depth, slots);
                slots[index].slot_mut(path)
            }
            slot => slot,
        }
    }

    /// The page of a path, for writing: what is common on the way to it is copied, unless it is
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
        let mut slot = self;
        loop {
            if let Self::Common(common) = slot {
                if is_settled(common.page(path)) {
                    return Ok(None);
                }
                slot.take_over()?;
            }
            match slot {
                Self::Own(page) => return Ok(Some(page)),
                Self::Node { depth, slots } => {
                    let index = index(path, *depth, slots);
                    slot = &mut slots[index];
                }
                _ => unreachable!("the slot of a page"),
            }
        }
    }

    /// Copies what is common on the way to a path's page, so that it may be written to.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn make_own(&mut self, path: Path) -> Result<(), AddError> {
        self.page_to_write(path, |_| false).map(|_| ())
    }

    /// Where the paths of this slot part: the depth of its page or node.
    pub fn depth(&self) -> u8 {
        match self {
            Self::Own(page) => page.depth(),
            Self::Common(common) => common.depth(),
            Self::Node { depth, .. } => *depth,
            Self::See(_) => unreachable!("a reference has no depth"),
        }
    }

    /// Puts a page, or a node, in the place of the path's page, which has the same depth.
    pub fn put(&mut self, path: Path, slot: Self) {
        *self.slot_mut(path) = slot;
    }

    /// Slots of all nodes.
    pub fn count_slots(&self) -> u32 {
        match self {
            Self::Node { slots, .. } => {
                let below = slots.iter().map(Self::count_slots);
                below.fold(slots.len() as u32, u32::saturating_add)
            }
            Self::Common(common) => common.count_slots(),
            _ => 0,
        }
    }

    /// Nodes on the way to a path's page.
    #[cfg(test)]
    pub fn nodes_passed(&self, path: Path) -> usize {
        match self {
            Self::Node { depth, slots } => 1 + slots[index(path, *depth, slots)].nodes_passed(path),
            Self::Common(common) => common.nodes_passed(path),
            _ => 0,
        }
    }

    /// Visits every allocation.
    pub fn visit_allocations(&self, visit: &mut impl FnMut(Layout, u64)) {
        match self {
            Self::Own(page) if page.lines().is_empty() => (),
            Self::Own(page) => visit(Layout::for_value(page.lines()), 1),
            Self::Common(common) => {
                visit(Shared::<Self>::layout(), 1);
                common.visit_allocations(visit);
            }
            Self::Node { slots, .. } => {
                visit(Layout::for_value(&**slots), 1);
                slots.iter().for_each(|slot| slot.visit_allocations(visit));
            }
            Self::See(_) => (),
        }
    }

    /// Passes everything from the path `from` on through `mover`; `start` is where this slot
    /// begins. Shared children stay where they are, since the other owner points to them. Returns
    /// the path to continue from if the mover wants to stop; at least one page is passed.
    pub fn relocate(&mut self, start: u64, from: u64, mover: &mut impl Mover) -> Option<u64> {
        self.reclaim();
        if let Self::Node { depth, slots } = self {
            if start >= from {
                *slots = Short::of(mover.relocate(slots.take()));
            }
            let width = 64 - *depth - bits_of(slots);
            for n in 0..slots.len() {
                // Up to the next slot that is not seen from here.
                let end = slots[n + 1..]
                    .iter()
                    .position(|slot| !matches!(slot, Self::See(_)));
                let end = end.map_or(slots.len(), |more| n + 1 + more);
                let is_over = end < slots.len() && start + ((end as u64) << width) <= from;
                if matches!(slots[n], Self::See(_)) || is_over {
                    continue;
                }
                let next = slots[n].relocate(start + ((n as u64) << width), from, mover);
                if next.is_some() {
                    return next;
                }
            }
            return None;
        }
        if start < from {
            return None;
        }
        if let Self::Own(page) = self {
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
