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
//!
//! Copies share pages and nodes below the first 11 bits ([`Slot::Common`]). Had a copy to share each
//! page for itself, it would take as many steps as there are pages, and a block to count the owners
//! of each.

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
    /// A page, or a node and all below it, that a copy has too: neither may write to it.
    Common(Shared<Slot>),
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
                Self::Node { depth, slots } => slot = &mut slots[index(path, *depth, slots)],
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

    /// Makes its own what is common, by a copy if need be.
    #[cold]
    fn take_over(&mut self) -> Result<(), AddError> {
        self.reclaim();
        if let Self::Common(common) = self {
            *self = common.copied()?;
        }
        Ok(())
    }

    /// Makes its own what is common, where the copy that had it too has it no more.
    fn reclaim(&mut self) {
        if !matches!(self, Self::Common(_)) {
            return;
        }
        if let Self::Common(common) = std::mem::replace(self, Self::See(0)) {
            *self = common.try_into_inner().unwrap_or_else(Self::Common);
        }
    }

    /// The same in other memory.
    fn copied(&self) -> Result<Self, AddError> {
        Ok(match self {
            Self::Own(page) => Self::Own(page.try_clone()?),
            Self::Common(common) => Self::Common(common.clone()),
            Self::Node { depth, slots } => {
                let mut copy = try_vec(slots.len())?;
                for slot in slots {
                    copy.push(slot.copied()?);
                }
                Self::Node {
                    depth: *depth,
                    slots: copy.into_boxed_slice(),
                }
            }
            Self::See(bits) => Self::See(*bits),
        })
    }

    /// A second directory with the same pages, all of them common from now on. An error leaves this
    /// one as good as it was.
    ///
    /// Copied are the nodes that decide the first [`MOST_BITS`] bits; each page or node that these
    /// lead to is shared as a whole, and copied when one of the two first writes below it. So a copy
    /// takes some 2 048 steps, however large the table; that write copies a page up to some 4 *
    /// 10^6 items, 50 pages at 10^8 and 500 at 10^9.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn try_clone(&mut self) -> Result<Self, AddError> {
        match self {
            Self::Node { depth, slots } if *depth < MOST_BITS => {
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
            Self::Own(_) | Self::Node { .. } => {
                match Shared::try_new(std::mem::replace(self, Self::See(0))) {
                    Ok(common) => {
                        *self = Self::Common(common.clone());
                        Ok(Self::Common(common))
                    }
                    Err(slot) => {
                        *self = slot;
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
            Self::Common(common) => common.depth(),
            Self::Node { depth, .. } => *depth,
            Self::See(_) => unreachable!("a reference has no depth"),
        }
    }

    /// Puts a page, or a node, in the place of the path's page, which has the same depth.
    pub fn put(&mut self, path: Path, slot: Self) {
        *self.slot_mut(path) = slot;
    }

    /// By how many slots the directory grows where the path's page is split.
    pub fn slots_to_split(&self, path: Path) -> usize {
        let Self::Node { depth, slots } = self else {
            return 2;
        };
        let place = index(path, *depth, slots);
        if matches!(slots[place], Self::Node { .. }) {
            return slots[place].slots_to_split(path);
        }
        match depth + bits_of(slots) - slots[place].depth() {
            0 if is_to_double(slots) => slots.len(),
            0 => 2,
            _ => 0,
        }
    }

    /// Puts the two halves in the place of the path's page.
    ///
    /// # Errors
    /// `OutOfMemory`; nothing has changed.
    pub fn split(&mut self, path: Path, halves: [Self; 2]) -> Result<(), AddError> {
        let Self::Node { depth, slots } = self else {
            return self.become_node(halves);
        };
        let (depth, mut place) = (*depth, index(path, *depth, slots));
        if matches!(slots[place], Self::Node { .. }) {
            return slots[place].split(path, halves);
        }
        let full_depth = depth + bits_of(slots);
        let mut common_bits = full_depth - slots[place].depth();
        if common_bits == 0 {
            if !is_to_double(slots) {
                return slots[place].become_node(halves);
            }
            *slots = doubled(slots, full_depth)?;
            (place, common_bits) = (2 * place, 1);
        }
        let half = 1 << (common_bits - 1);
        for (n, slot) in halves.into_iter().enumerate() {
            let range = &mut slots[place + n * half..][..half];
            range.fill_with(|| Self::See(common_bits - 1));
            range[0] = slot;
        }
        Ok(())
    }

    fn become_node(&mut self, halves: [Self; 2]) -> Result<(), AddError> {
        let depth = self.depth();
        let mut slots = try_vec(2)?;
        slots.extend(halves);
        *self = Self::Node {
            depth,
            slots: slots.into_boxed_slice(),
        };
        Ok(())
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

    /// One slot of two that part at their depth.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn join(halves: [Self; 2]) -> Result<Self, AddError> {
        let depth = halves[0].depth() - 1;
        let mut slots = try_vec(2)?;
        slots.extend(halves);
        let mut node = Self::Node {
            depth,
            slots: slots.into_boxed_slice(),
        };
        node.take_in_both()?;
        Ok(node)
    }

    /// Makes one node of a node of two slots and what these are made of, if they are about equally
    /// deep. Nodes at multiples of [`MOST_BITS`] stay apart: the first nodes on all ways are then as
    /// large as in a directory that grew, and so are the others when it grows on. Returns by how
    /// many slots the directory has grown.
    ///
    /// # Errors
    /// `OutOfMemory`; nothing has changed.
    fn take_in_both(&mut self) -> Result<i32, AddError> {
        let Self::Node { depth, slots } = self else {
            return Ok(0);
        };
        let bits = |half: &Self| half.taken_in().map_or(0, bits_of);
        let [low, high] = &slots[..] else {
            return Ok(0);
        };
        let (low, high) = (bits(low), bits(high));
        let most = low.max(high);
        if most == 0 || most - low.min(high) > 1 {
            return Ok(0);
        }
        let taken_in = slots.iter().filter_map(Self::taken_in);
        let before = slots.len() + taken_in.map(<[Self]>::len).sum::<usize>();
        let mut all = try_vec(2 << most)?;
        for (half, bits) in std::mem::take(slots)
            .into_vec()
            .into_iter()
            .zip([low, high])
        {
            half.spread(most - bits, *depth + 1 + most, &mut all);
        }
        *slots = all.into_boxed_slice();
        Ok(slots.len() as i32 - before as i32)
    }

    /// Joins, from the deepest on, the nodes of two slots that begin before `from` and are complete
    /// now that all paths up to `next` have come. Returns by how many slots the directory has
    /// grown.
    pub fn join_complete(&mut self, from: Path, next: Option<u64>) -> i32 {
        let Self::Node { depth, slots } = self else {
            return 0;
        };
        if from.start(*depth) == from {
            return 0;
        }
        let end = from.after(*depth);
        let place = index(from, *depth, slots);
        let grown = slots[place].join_complete(from, next);
        let is_complete = next.is_none_or(|next| end.is_some_and(|end| end <= next));
        // It works as it is, so it may stay so where there is no memory.
        let joined = if is_complete {
            self.take_in_both()
        } else {
            Ok(0)
        };
        grown + joined.unwrap_or(0)
    }

    /// Appends what is taken in, or a slot as if it were a node's only one, so that each fills
    /// `2^more` of the new ones.
    fn spread(self, more: u8, full_depth: u8, to: &mut Vec<Self>) {
        let slots = match self {
            Self::Node { depth, slots } if depth % MOST_BITS != 0 => slots.into_vec(),
            slot => {
                let end = to.len() + (1 << more);
                to.push(slot);
                return to.resize_with(end, || Self::See(more));
            }
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

    /// The slots that a node above may take in.
    fn taken_in(&self) -> Option<&[Self]> {
        match self {
            Self::Node { depth, slots } if depth % MOST_BITS != 0 => Some(slots),
            _ => None,
        }
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
    /// begins. What is common stays where it is: the copy's owner cannot be told. Returns where to
    /// go on, if the mover says that it is time to stop; but at least one page is passed.
    pub fn relocate(&mut self, start: u64, from: u64, mover: &mut impl Mover) -> Option<u64> {
        self.reclaim();
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

/// Whether a page at the full depth of these slots makes them twice as many when it is split: they
/// are well filled, and not too many yet.
fn is_to_double(slots: &[Slot]) -> bool {
    let own = || slots.iter().filter(|slot| !matches!(slot, Slot::See(_)));
    bits_of(slots) < MOST_BITS && own().count() * 4 > slots.len() * 3
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
