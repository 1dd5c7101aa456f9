//! The table: a plan, a directory of pages, and what they hold in all.

use crate::error::AddError;
use crate::growing::directory::Slot;
use crate::growing::entries::Entries;
use crate::growing::grow::{grown, Grown, Place};
use crate::growing::mark::{Mark, MAX_LENGTH};
use crate::growing::page::{Insert, Page, Remove};
use crate::growing::path::Path;
use crate::growing::plan::Plan;
use crate::growing::rate::Weight;
use crate::growing::totals::Totals;
use crate::hash::ItemHash;
use crate::storage::Mover;
use std::alloc::Layout;

/// Two buddies merge if they hold at most so many hundredths of a full page: a page that has just
/// been split holds 50 in each half, so the table must lose two fifths before it undoes what it
/// did.
const MOST_MERGED: usize = 60;
/// All payloads: those of 4 bits.
pub const ALL_PAYLOADS: u16 = u16::MAX;

/// A set of items that grows page by page. Items are given by their hashes.
pub struct Table {
    pub(super) plan: Plan,
    /// Payloads whose entries are still there for lookups; the others go when their page is next
    /// written anew.
    pub(super) alive: u16,
    pub(super) root: Slot,
    /// Counted one by one, not derived from entries: where an old one is lengthened or belongs to
    /// both halves of a split, it becomes several.
    pub(super) items: u64,
    pub(super) totals: Totals,
}

/// A server may hold millions of small ones; none is also said without more memory.
const _: () = assert!(size_of::<Table>() <= 80 && align_of::<Table>() == 8);
const _: () = assert!(size_of::<Option<Table>>() == size_of::<Table>());

impl Table {
    /// An empty table for this false-positive rate, whose entries carry so many bits of payload (0
    /// to 4). Allocates nothing.
    pub fn new(error_rate: f64, payload_bits: u8) -> Self {
        Self {
            plan: Plan::new(error_rate, payload_bits),
            alive: ALL_PAYLOADS,
            root: Slot::Own(Page::empty(0)),
            items: 0,
            totals: Totals {
                pages: 1,
                ..Totals::none()
            },
        }
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Items added and not removed. A page that saturates keeps its part in the count as it is: what
    /// is added to it or removed from it from then on is not counted.
    pub fn len(&self) -> u64 {
        self.items
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The false-positive rate now: the sum of what all fingerprints match.
    pub fn false_positive_rate(&self) -> f64 {
        self.totals.weight.rate()
    }

    pub fn pages(&self) -> u64 {
        u64::from(self.totals.pages)
    }

    pub(super) fn is_alive(&self, mark: Mark) -> bool {
        self.alive >> mark.payload() & 1 == 1
    }

    /// How many copies of the item are there, at least as many as were added and not removed; 1
    /// where a saturated page has lost count.
    pub fn count(&self, hash: ItemHash) -> u64 {
        let path = Path::of(hash);
        let page = self.root.page(path);
        if page.is_saturated() {
            return 1;
        }
        let (mut copies, mut before) = (0, None);
        for mark in page
            .matching(path.below(page.depth()))
            .filter(|mark| self.is_alive(*mark))
        {
            if before.replace(mark) != Some(mark) {
                copies += u64::from(page.surplus_of(mark));
            }
            copies += 1;
        }
        copies
    }

    /// The largest payload among the entries that match the item.
    pub fn payload(&self, hash: ItemHash) -> Option<u8> {
        let path = Path::of(hash);
        let page = self.root.page(path);
        let marks = page.matching(path.below(page.depth()));
        marks
            .filter(|mark| self.is_alive(*mark))
            .map(Mark::payload)
            .max()
    }

    /// Adds a copy of the item, unless the table would grow to more than `most_bytes`
    /// ([`Table::bytes`]).
    ///
    /// # Errors
    /// `OverLimit`, `OutOfMemory`; `Full` if its copies cannot be counted any more. Nothing has
    /// changed.
    pub fn insert(&mut self, hash: ItemHash, payload: u8, most_bytes: u64) -> Result<(), AddError> {
        self.insert_path(Path::of(hash), MAX_LENGTH, payload, most_bytes)
    }

    /// Adds the item unless it is (probably) there. Returns whether it was new.
    ///
    /// # Errors
    /// As [`Table::insert`]; nothing has changed.
    pub fn insert_if_absent(
        &mut self,
        hash: ItemHash,
        payload: u8,
        most_bytes: u64,
    ) -> Result<bool, AddError> {
        let path = Path::of(hash);
        let is_new = !self.contains_path(path);
        if is_new {
            self.insert_path(path, MAX_LENGTH, payload, most_bytes)?;
        }
        Ok(is_new)
    }

    /// Adds a fingerprint of the usual length, but of no more than `longest` bits.
    pub(super) fn insert_path(
        &mut self,
        path: Path,
        longest: u8,
        payload: u8,
        most_bytes: u64,
    ) -> Result<(), AddError> {
        let page = self.root.page_mut(path)?;
        let depth = page.depth();
        let length = self.plan.length(depth, page.len()).min(longest);
        let payload = payload & ((1 << self.plan.payload_bits()) - 1);
        let mark = Mark::new(path.below(depth), length, payload);
        let least = match page.insert(mark, self.plan.most())? {
            Insert::Done => {
                self.totals.weight = self
                    .totals
                    .weight
                    .plus(Weight::of_mark(path, depth, length));
                self.items += 1;
                return Ok(());
            }
            Insert::DoneAgain => {
                self.items += 1;
                return Ok(());
            }
            Insert::Saturated => return Ok(()),
            Insert::NoRoom => page.lines().len() + 1,
            Insert::Unfit => 1,
        };
        self.rewrite(path, least, most_bytes, |entries| entries.insert(mark))?;
        self.items += 1;
        Ok(())
    }

    /// Removes a copy of the longest fingerprint that matches the item, so that every other item
    /// stays covered. Returns whether there was one. Removing what was never added may take away
    /// what another item needs, with the chance of the error rate.
    ///
    /// # Errors
    /// `OutOfMemory`; nothing has changed.
    pub fn remove(&mut self, hash: ItemHash) -> Result<bool, AddError> {
        self.remove_path(Path::of(hash))
    }

    pub(super) fn remove_path(&mut self, path: Path) -> Result<bool, AddError> {
        if !self.contains_path(path) {
            return Ok(false);
        }
        let page = self.root.page_mut(path)?;
        let depth = page.depth();
        match page.remove(path.below(depth), self.alive) {
            Remove::Absent => return Ok(false),
            Remove::Saturated => return Ok(true),
            Remove::Done { length, is_last } => {
                if is_last {
                    let weight = Weight::of_mark(path, depth, length);
                    self.totals.weight = self.totals.weight.minus(weight);
                }
                if page.is_thin(&self.plan) {
                    // It works as it is, so it may stay so where there is no memory.
                    let _ = self.shrink(path);
                }
            }
            Remove::LastSurplus(mark) => self.rewrite(path, 1, u64::MAX, |entries| {
                entries.surplus.retain(|surplus| surplus.mark != mark);
                Ok(())
            })?,
        }
        // Entries that became several can be removed more often than they were added.
        self.items = self.items.saturating_sub(1);
        Ok(true)
    }

    /// Gives the largest payload of the entries that match the item another value. Returns whether
    /// there was one.
    ///
    /// # Errors
    /// `OutOfMemory`; nothing has changed.
    pub fn replace_payload(&mut self, hash: ItemHash, payload: u8) -> Result<bool, AddError> {
        let path = Path::of(hash);
        let payload = payload & ((1 << self.plan.payload_bits()) - 1);
        let page = self.root.page_mut(path)?;
        let below = path.below(page.depth());
        let (alive, marks) = (self.alive, page.matching(below));
        let marks = marks.filter(|mark| alive >> mark.payload() & 1 == 1);
        let Some(mark) = marks.max_by_key(|mark| (mark.payload(), mark.length())) else {
            return Ok(page.is_saturated());
        };
        if mark.payload() != payload && !page.set_payload(mark, payload) {
            self.rewrite(path, 1, u64::MAX, |entries| {
                entries.set_payload(mark, payload)
            })?;
        }
        Ok(true)
    }

    /// Says which payloads lookups still find, bit i for payload i, and how many items have them: the
    /// table does not count them apart. Entries of the others go when their page is next written
    /// anew, or by [`Table::sweep`].
    pub fn set_alive(&mut self, payloads: u16, items: u64) {
        self.alive = payloads;
        self.items = items;
    }

    /// Drops entries that lookups find no more from the page at `from` (0 at first). Returns where
    /// to go on, or nothing at the end.
    ///
    /// # Errors
    /// `OutOfMemory`; nothing has changed.
    pub fn sweep(&mut self, from: u64) -> Result<Option<u64>, AddError> {
        let path = Path(from);
        let page = self.root.page(path);
        let next = path.after(page.depth());
        if page.len() > 0 {
            let entries = page.entries()?;
            if entries.marks.iter().any(|mark| !self.is_alive(*mark)) {
                self.rewrite(path, 1, u64::MAX, |_| Ok(()))?;
                let _ = self.merge(path);
            }
        }
        Ok(next)
    }

    /// Writes the path's page anew after `edit`, with at least so many lines, or splits it; unless
    /// the table would grow to more than `most_bytes`.
    fn rewrite(
        &mut self,
        path: Path,
        least: usize,
        most_bytes: u64,
        edit: impl FnOnce(&mut Entries) -> Result<(), AddError>,
    ) -> Result<(), AddError> {
        self.root.make_own(path)?;
        let page = self.root.page(path);
        let (depth, start) = (page.depth(), path.start(page.depth()));
        let mut entries = page.entries()?;
        let before = Totals::of(page, &entries, start);
        entries.retain_payloads(self.alive);
        edit(&mut entries)?;
        let mut after = Totals::none();
        let max_depth = self.plan.max_depth(self.pages());
        let place = Place {
            start,
            depth,
            max_depth,
        };
        let grown = grown(&self.plan, &mut entries, place, least, &mut after)?;
        if let Grown::Halves(_) = grown {
            after.slots += self.root.slots_to_split(path) as u32;
        }
        let totals = self.totals.plus(after).minus(before);
        if totals.bytes() > most_bytes.max(self.bytes()) {
            return Err(AddError::OverLimit);
        }
        match grown {
            Grown::Page(page) => self.root.put(path, Slot::Own(page)),
            Grown::Halves(halves) => self.root.split(path, halves)?,
        }
        self.totals = totals;
        Ok(())
    }

    /// Writes a thin page anew with fewer lines, and merges it with its buddy if both together are
    /// far from full.
    fn shrink(&mut self, path: Path) -> Result<(), AddError> {
        self.rewrite(path, 1, u64::MAX, |_| Ok(()))?;
        self.merge(path)
    }

    fn merge(&mut self, path: Path) -> Result<(), AddError> {
        let page = self.root.page(path);
        let Some(depth) = page.depth().checked_sub(1) else {
            return Ok(());
        };
        let buddy_path = Path(path.0 ^ 1 << (63 - depth));
        let buddy = self.root.page(buddy_path);
        let most = self.plan.most() * MOST_MERGED / 100;
        let is_possible = buddy.depth() == page.depth()
            && !page.is_saturated()
            && !buddy.is_saturated()
            && page.len() + buddy.len() <= most;
        if !is_possible {
            return Ok(());
        }
        let start = path.start(depth);
        let (one, other) = (page.entries()?, buddy.entries()?);
        let before = Totals::of(page, &one, path.start(depth + 1)).plus(Totals::of(
            buddy,
            &other,
            buddy_path.start(depth + 1),
        ));
        let is_low = path < buddy_path;
        let halves = if is_low {
            [&one, &other]
        } else {
            [&other, &one]
        };
        let mut entries = Entries::merged(halves)?;
        let merged = Page::of(&self.plan, depth, &mut entries, 1)?;
        let Some(merged) = merged.filter(|page| !page.is_saturated()) else {
            return Ok(());
        };
        let after = Totals::of(&merged, &entries, start);
        let shrunk = self.root.merge(path, merged) as u32;
        self.totals = self.totals.plus(after).minus(before);
        self.totals.slots = self.totals.slots.saturating_sub(shrunk);
        Ok(())
    }

    /// A copy that shares all pages until one of the two writes to them, in some 2 048 steps.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn try_clone(&mut self) -> Result<Self, AddError> {
        let Self {
            plan,
            alive,
            items,
            totals,
            ..
        } = *self;
        Ok(Self {
            plan,
            alive,
            items,
            totals,
            root: self.root.try_clone()?,
        })
    }

    /// Visits every allocation but the table itself: its layout, and how many there are of it.
    /// Costs a step for each page.
    pub fn visit_allocations(&self, mut visit: impl FnMut(Layout, u64)) {
        self.root.visit_allocations(&mut visit);
    }

    /// Bytes of all pages and of the directory, without going through them. (What counts the owners
    /// of common pages is not in it. Beyond 256 GiB it says 256 GiB.)
    pub fn bytes(&self) -> u64 {
        self.totals.bytes()
    }

    /// Allocations, about: what freeing costs.
    pub fn allocations(&self) -> u64 {
        self.pages() + self.pages() / 256
    }

    /// Passes everything from `from` on (0 at first) through `mover`, until it says that it is time
    /// to stop. Returns where to go on, or nothing at the end.
    pub fn relocate(&mut self, from: u64, mover: &mut impl Mover) -> Option<u64> {
        self.root.relocate(0, from, mover)
    }
}
