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
//! deepest page, that doubles as a whole. Here no array passes 2 048 slots of 32 bytes (64 KiB):
//! what a split of one page costs is bounded, and so is what one deep page costs, which somebody
//! may have made deep on purpose:
//! - A page that is less deep than its node stands in the first of the slots that it has in common;
//!   the others say [`Slot::See`].
//! - A page at the full depth of its node that splits doubles the node if that is well filled and
//!   not yet of 2 048 slots. Else two slots of a node of its own take its place.
//!
//! Up to some 5 * 10^9 items a lookup passes two nodes.

use crate::error::AddError;
use crate::growing::entries::try_vec;
use crate::growing::page::Page;
use crate::growing::path::Path;
use crate::storage::shared::Shared;
use crate::storage::Mover;
use std::alloc::Layout;

/// The most bits of path that one node decides: 2 048 slots are 64 KiB. With 512, lookups at 10^6
/// items took 30 ns instead of 23: whether there is a second node was a matter of chance.
const MOST_BITS: u8 = 11;

/// What a node has for some paths.
pub enum Slot {
    Own(Page),
    /// Also that of a copy, which neither may write to.
    Common(Shared<Page>),
    Node {
        depth: u8,
        slots: Box<[Slot]>,
    },
    /// The same as the slot whose number has so many bits cleared.
    See(u8),
}

/// Two to a cache line, none in two.
const _: () = assert!(size_of::<Slot>() == 32);

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
                Self::Common(page) => return page,
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
        let slot = &slots[index(path, *depth, slots)];
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

    /// The page of a path, for writing: a copy of its own if it is common.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn page_mut(&mut self, path: Path) -> Result<&mut Page, AddError> {
        let slot = self.slot_mut(path);
        slot.make_own()?;
        match slot {
            Self::Own(page) => Ok(page),
            _ => unreachable!("the slot of a page"),
        }
    }

    fn make_own(&mut self) -> Result<(), AddError> {
        match self.reclaim() {
            Self::Common(common) => {
                *self = Self::Own(common.try_clone()?);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Makes a common page its own, where the copy that had it too has it no more.
    fn reclaim(&mut self) -> &mut Self {
        match std::mem::replace(self, Self::See(0)) {
            Self::Common(common) => match common.try_into_inner() {
                Ok(page) => *self = Self::Own(page),
                Err(common) => *self = Self::Common(common),
            },
            other => *self = other,
        }
        self
    }

    /// A second directory with the same pages, each of them common from now on. An error leaves
    /// this one as good as it was.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn try_clone(&mut self) -> Result<Self, AddError> {
        match self {
            Self::Node { depth, slots } => {
                let mut copy = try_vec(slots.len())?;
                for slot in slots.iter_mut() {
                    copy.push(slot.try_clone()?);
                }
                Ok(Self::Node {
                    depth: *depth,
                    slots: copy.into_boxed_slice(),
                })
            }
            Self::See(bits) => Ok(Self::See(*bits)),
            Self::Common(common) => Ok(Self::Common(common.clone())),
            Self::Own(page) if page.lines().is_empty() => Ok(Self::Own(page.try_clone()?)),
            Self::Own(page) => {
                let page = std::mem::replace(page, Page::empty(0));
                match Shared::try_new(page) {
                    Ok(common) => {
                        *self = Self::Common(common.clone());
                        Ok(Self::Common(common))
                    }
                    Err(page) => {
                        *self = Self::Own(page);
                        Err(AddError::OutOfMemory)
                    }
                }
            }
        }
    }

    /// Where the paths of this slot part: the depth of its page or node.
    pub fn depth(&self) -> u8 {
        match self {
            Self::Own(page) => page.depth(),
            Self::Common(page) => page.depth(),
            Self::Node { depth, .. } => *depth,
            Self::See(_) => unreachable!("a reference has no depth"),
        }
    }

    /// Puts a page in the place of the path's page, which has the same depth.
    pub fn put_page(&mut self, path: Path, page: Page) {
        *self.slot_mut(path) = Self::Own(page);
    }

    /// Puts the two halves in the place of the path's page. Returns by how many slots the directory
    /// has grown.
    ///
    /// # Errors
    /// `OutOfMemory`; nothing has changed.
    pub fn split(&mut self, path: Path, halves: [Self; 2]) -> Result<usize, AddError> {
        let Self::Node { depth, slots } = self else {
            return self.become_node(halves);
        };
        let (depth, mut place) = (*depth, index(path, *depth, slots));
        if matches!(slots[place], Self::Node { .. }) {
            return slots[place].split(path, halves);
        }
        let full_depth = depth + bits_of(slots);
        let mut common_bits = full_depth - slots[place].depth();
        let mut grown = 0;
        if common_bits == 0 {
            let pages = slots
                .iter()
                .filter(|slot| !matches!(slot, Self::See(_)))
                .count();
            if bits_of(slots) == MOST_BITS || pages * 4 <= slots.len() * 3 {
                return slots[place].become_node(halves);
            }
            grown = slots.len();
            *slots = doubled(slots, full_depth)?;
            (place, common_bits) = (2 * place, 1);
        }
        let half = 1 << (common_bits - 1);
        for (n, slot) in halves.into_iter().enumerate() {
            let range = &mut slots[place + n * half..][..half];
            range.fill_with(|| Self::See(common_bits - 1));
            range[0] = slot;
        }
        Ok(grown)
    }

    fn become_node(&mut self, halves: [Self; 2]) -> Result<usize, AddError> {
        let depth = self.depth();
        let mut slots = try_vec(2)?;
        slots.extend(halves);
        *self = Self::Node {
            depth,
            slots: slots.into_boxed_slice(),
        };
        Ok(2)
    }

    /// Puts one page in the place of the path's page and its buddy, which are one deeper. Returns
    /// by how many slots the directory has shrunk.
    pub fn merge(&mut self, path: Path, page: Page) -> usize {
        let Self::Node { depth, slots } = self else {
            unreachable!("a page without a buddy");
        };
        let (depth, place) = (*depth, index(path, *depth, slots));
        if matches!(slots[place], Self::Node { .. }) {
            return slots[place].merge(path, page);
        }
        if depth == page.depth() {
            let shrunk = slots.len();
            *self = Self::Own(page);
            return shrunk;
        }
        let common_bits = depth + bits_of(slots) - page.depth();
        let range = &mut slots[place >> common_bits << common_bits..][..1 << common_bits];
        range.fill_with(|| Self::See(common_bits));
        range[0] = Self::Own(page);
        let mut shrunk = 0;
        while slots
            .iter()
            .skip(1)
            .step_by(2)
            .all(|slot| matches!(slot, Self::See(_)))
        {
            // Without memory for a smaller one the node stays as it is.
            let Ok(half) = halved(slots) else { break };
            shrunk += half.len();
            *slots = half;
        }
        shrunk
    }

    /// One slot of two that part at their depth: a node, together with what the two are made of if
    /// it is well filled then.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn join(halves: [Self; 2]) -> Result<Self, AddError> {
        let depth = halves[0].depth();
        let bits = halves.each_ref().map(|half| match half {
            Self::Node { slots, .. } => bits_of(slots),
            _ => 0,
        });
        let (most, least) = (bits[0].max(bits[1]), bits[0].min(bits[1]));
        let mut slots;
        if most < MOST_BITS && most - least <= 1 {
            slots = try_vec(2 << most)?;
            for (half, bits) in halves.into_iter().zip(bits) {
                half.spread(most - bits, depth + most, &mut slots);
            }
        } else {
            slots = try_vec(2)?;
            slots.extend(halves);
        }
        Ok(Self::Node {
            depth: depth - 1,
            slots: slots.into_boxed_slice(),
        })
    }

    /// Appends a node's slots, or a page as if it were a node's only one, so that each fills
    /// `2^more` of the new ones.
    fn spread(self, more: u8, full_depth: u8, to: &mut Vec<Self>) {
        let Self::Node { slots, .. } = self else {
            let end = to.len() + (1 << more);
            to.push(self);
            to.resize_with(end, || Self::See(more));
            return;
        };
        let mut common_bits = 0;
        for slot in slots {
            let end = to.len() + (1 << more);
            if !matches!(slot, Self::See(_)) {
                common_bits = full_depth - slot.depth();
                to.push(slot);
            }
            to.resize_with(end, || Self::See(common_bits));
        }
    }

    /// Slots of all nodes.
    pub fn count_slots(&self) -> u64 {
        match self {
            Self::Node { slots, .. } => {
                slots.len() as u64 + slots.iter().map(Self::count_slots).sum::<u64>()
            }
            _ => 0,
        }
    }

    /// Visits every allocation.
    pub fn visit_allocations(&self, visit: &mut impl FnMut(Layout, u64)) {
        let mut visit_page = |page: &Page| {
            if !page.lines().is_empty() {
                visit(Layout::for_value(page.lines()), 1);
            }
        };
        match self {
            Self::Own(page) => visit_page(page),
            Self::Common(page) => {
                visit_page(page);
                visit(Shared::<Page>::layout(), 1);
            }
            Self::Node { slots, .. } => {
                visit(Layout::for_value(&**slots), 1);
                slots.iter().for_each(|slot| slot.visit_allocations(visit));
            }
            Self::See(_) => (),
        }
    }

    /// Passes everything from the path `from` on through `mover`; `start` is where this slot
    /// begins. Common pages stay where they are: the copy's owner cannot be told. Returns where to
    /// go on, if the mover says that it is time to stop.
    pub fn relocate(&mut self, start: u64, from: u64, mover: &mut impl Mover) -> Option<u64> {
        if let Self::Node { depth, slots } = self {
            if start >= from {
                let moved = mover.relocate(std::mem::take(slots).into_vec());
                *slots = moved.into_boxed_slice();
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
        if mover.should_stop() {
            return Some(start);
        }
        if let Self::Own(page) = self.reclaim() {
            if !page.lines().is_empty() {
                page.map_lines(|lines| mover.relocate(lines));
            }
        }
        None
    }
}

/// Twice as many slots for the same.
fn doubled(slots: &mut [Slot], full_depth: u8) -> Result<Box<[Slot]>, AddError> {
    let mut twice = try_vec(2 * slots.len())?;
    let mut common_bits = 0;
    for slot in slots {
        let slot = std::mem::replace(slot, Slot::See(0));
        if !matches!(slot, Slot::See(_)) {
            common_bits = full_depth + 1 - slot.depth();
            twice.push(slot);
        } else {
            twice.push(Slot::See(common_bits));
        }
        twice.push(Slot::See(common_bits));
    }
    Ok(twice.into_boxed_slice())
}

/// Half as many slots for the same; every second one is only a reference.
fn halved(slots: &mut [Slot]) -> Result<Box<[Slot]>, AddError> {
    let mut half = try_vec(slots.len() / 2)?;
    for slot in slots.iter_mut().step_by(2) {
        half.push(match std::mem::replace(slot, Slot::See(0)) {
            Slot::See(bits) => Slot::See(bits - 1),
            slot => slot,
        });
    }
    Ok(half.into_boxed_slice())
}
