//! The table itself: a plan, a directory of pages, and running totals.

use crate::error::{ensure, AddError};
use crate::hash::ItemHash;
use crate::storage::Mover;
use crate::table::directory::Subtree;
use crate::table::entries::Entries;
use crate::table::fingerprint::{Fingerprint, ALL_PAYLOADS, MAX_LENGTH};
use crate::table::grow::{grown, Budget, Grown, Rewrite};
use crate::table::page::{Adding, Insert, Page, Position, Remove};
use crate::table::path::Path;
use crate::table::plan::{Plan, TOO_MANY_LINES};
use crate::table::rate::Weight;
use crate::table::schedule::Reservation;
use crate::table::totals::Totals;
use std::alloc::Layout;

/// Two buddies are merged if together they hold at most this percentage of a full page. Each half
/// of a page that has just been split holds 47 to 50 per cent, so the table must lose more than a
/// third of its entries before a split is undone.
const MAX_MERGED: usize = 60;

/// A multiset of items that grows page by page. Items are given by their hashes.
pub struct Table {
    pub(super) plan: Plan,
    /// Bit i: whether lookups find entries of payload i. Other entries are dropped when their page
    /// is next rewritten.
    pub(super) alive: u16,
    pub(super) root: Subtree,
    /// The number of items added, not of entries: one entry becomes several when it is lengthened
    /// or duplicated by a split.
    pub(super) items: u64,
    pub(super) totals: Totals,
}

/// A server may hold millions of small tables, so this struct fits one cache line, and
/// `Option<Table>` takes no more.
const _: () = assert!(size_of::<Table>() <= 64 && align_of::<Table>() == 8);
const _: () = assert!(size_of::<Option<Table>>() == size_of::<Table>());

impl Table {
    /// An empty table for `error_rate` and any number of items, whose entries carry `payload_bits`
    /// bits of payload (0 to 4). Allocates nothing.
    pub fn new(error_rate: f64, payload_bits: u8) -> Self {
        Self::of(Plan::new(error_rate, payload_bits, None))
    }

    /// The same for a known number of items. It takes a quarter less when it holds that number.
    pub fn reserved(error_rate: f64, payload_bits: u8, reservation: Reservation) -> Self {
        Self::of(Plan::new(error_rate, payload_bits, Some(reservation)))
    }

    /// An empty table with the same plan.
    pub fn empty_like(&self) -> Self {
        Self::of(self.plan)
    }

    fn of(plan: Plan) -> Self {
        Self {
            plan,
            alive: ALL_PAYLOADS,
            root: Subtree::Page(Page::empty(0)),
            items: 0,
            totals: Totals::of_an_empty_page(),
        }
    }

    /// The plan for the next entry.
    #[inline]
    pub(super) fn plan_now(&self) -> Plan {
        self.plan.now(self.totals.pages, self.totals.weight)
    }

    /// The number of items added and not removed. A page that saturates keeps its share of the
    /// count; later inserts and removals there are not counted.
    pub fn len(&self) -> u64 {
        self.items
    }

    /// Whether it has no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The current false-positive rate: the sum over all fingerprints.
    pub fn false_positive_rate(&self) -> f64 {
        self.totals.weight.rate()
    }

    /// The number of pages.
    pub fn pages(&self) -> u64 {
        u64::from(self.totals.pages)
    }

    pub(super) fn is_alive(&self, fingerprint: Fingerprint) -> bool {
        self.alive >> fingerprint.payload() & 1 == 1
    }

    /// The number of copies of the item: at least as many as were added and not removed; 1 where
    /// the page is saturated.
    pub fn count(&self, hash: ItemHash) -> u64 {
        let path = Path::of(hash);
        let page = self.root.page(path);
        if page.is_saturated() {
            return 1;
        }
        let below = path.below(page.depth());
        if self.alive == ALL_PAYLOADS {
            if let Some(copies) = page.count_in_slots(below) {
                return copies as u64;
            }
        }
        // Some copies may be in counters, or have a dead payload.
        let (mut copies, mut before) = (0, None);
        for fingerprint in page.matching(below).filter(|fingerprint| self.is_alive(*fingerprint)) {
            if before.replace(fingerprint) != Some(fingerprint) {
                copies += u64::from(page.surplus_of(fingerprint));
            }
            copies += 1;
        }
        copies
    }

    /// Adds a copy of the item, unless the table would grow beyond `max_bytes` ([`Table::bytes`]).
    ///
    /// # Errors
    /// `OverLimit`, `OutOfMemory`; `Uncountable` if a counter of copies is full. Nothing has
    /// changed.
    pub fn insert(&mut self, hash: ItemHash, payload: u8, max_bytes: u64) -> Result<(), AddError> {
        self.insert_reserved(hash, payload, Budget::up_to(max_bytes))
    }

    /// The same in a table reserved for `budget.items` items. The limit only refuses items: tables
    /// with different limits that receive the same items are equal.
    ///
    /// # Errors
    /// As [`Table::insert`]; nothing has changed.
    pub fn insert_reserved(
        &mut self,
        hash: ItemHash,
        payload: u8,
        budget: Budget,
    ) -> Result<(), AddError> {
        self.add(Path::of(hash), MAX_LENGTH, payload, budget, Adding::Copies).map(|_| ())
    }

    /// Adds the item unless it is (probably) present. Returns whether it was added.
    ///
    /// # Errors
    /// As [`Table::insert`]; nothing has changed.
    pub fn insert_if_absent(
        &mut self,
        hash: ItemHash,
        payload: u8,
        max_bytes: u64,
    ) -> Result<bool, AddError> {
        let (path, budget) = (Path::of(hash), Budget::up_to(max_bytes));
        // [`Page::contains`] ignores payloads, dead ones too.
        if self.alive != ALL_PAYLOADS {
            let is_new = !self.path_is_among(path, self.alive);
            return Ok(is_new && self.add(path, MAX_LENGTH, payload, budget, Adding::Copies)?);
        }
        self.add(path, MAX_LENGTH, payload, budget, Adding::Absent)
    }

    /// Adds a fingerprint of the planned length, but of at most `longest` bits. Returns whether it
    /// was added.
    pub(super) fn add(
        &mut self,
        path: Path,
        longest: u8,
        payload: u8,
        budget: Budget,
        adding: Adding,
    ) -> Result<bool, AddError> {
        let plan = self.plan_now();
        let is_present =
            |page: &Page| adding == Adding::Absent && page.contains(path.below(page.depth()));
        let Some(page) = self.root.page_to_write(path, is_present)? else {
            return Ok(false);
        };
        let depth = page.depth();
        let below = path.below(depth);
        page.prefetch_to_change(below);
        let length = plan.length(path, depth, page.len()).min(longest);
        let payload = plan.payload(payload);
        let fingerprint = Fingerprint::new(below, length, payload);
        if page.is_saturated_among(!self.alive) {
            // The payload that saturated the page is dead, so the page can start afresh.
            return self.rewrite_adding(path, fingerprint, 1, budget);
        }
        match page.insert(below, fingerprint, plan.max_entries(), adding)? {
            Insert::Done { is_new } => {
                self.count_one(path, depth, length, is_new);
                Ok(true)
            }
            Insert::Saturated => Ok(adding == Adding::Copies),
            Insert::Present => Ok(false),
            Insert::NoRoom { gap, is_new } => {
                self.make_room(path, gap, fingerprint, is_new, budget)
            }
            Insert::Unfit => self.rewrite_adding(path, fingerprint, 1, budget),
        }
    }

    /// Adds an entry to the path's page, which has no free slot for it: the page gets more lines or
    /// another shape, or is split.
    #[cold]
    fn make_room(
        &mut self,
        path: Path,
        gap: Position,
        fingerprint: Fingerprint,
        is_new: bool,
        budget: Budget,
    ) -> Result<bool, AddError> {
        let plan = self.plan_now();
        let page = self.root.page(path);
        let (depth, entries, lines) = (page.depth(), page.len(), page.lines().len());
        if entries >= plan.nearly_full() && depth < budget.max_depth(&plan, self.pages()) {
            return self.rewrite_adding(path, fingerprint, TOO_MANY_LINES, budget);
        }
        let reserved = budget.min_lines(&plan, path.start(depth), depth, entries + 1);
        let min_lines = reserved.max(lines + 1);
        if !self.reline(path, Some((gap, fingerprint)), min_lines, budget)? {
            return self.rewrite_adding(path, fingerprint, min_lines, budget);
        }
        self.count_one(path, depth, fingerprint.length(), is_new);
        Ok(true)
    }

    /// Rewrites the path's page with one more entry.
    #[cold]
    fn rewrite_adding(
        &mut self,
        path: Path,
        fingerprint: Fingerprint,
        min_lines: usize,
        budget: Budget,
    ) -> Result<bool, AddError> {
        self.rewrite(path, min_lines, budget, fingerprint.payload(), |entries| {
            entries.insert(fingerprint)
        })?;
        self.items = self.items.saturating_add(1);
        Ok(true)
    }

    /// Counts an item, and the weight of its fingerprint if that is new.
    fn count_one(&mut self, path: Path, depth: u8, length: u8, is_new: bool) {
        self.items = self.items.saturating_add(1);
        if is_new {
            let weight = Weight::of_fingerprint(path, depth, length);
            self.totals.weight = self.totals.weight.plus(weight);
        }
    }

    /// Removes a copy of the longest fingerprint that matches the item, so that every other item
    /// stays covered. Returns whether there was one. Removing an item that was never added may,
    /// with the probability of the error rate, remove the entry of another item. After the last
    /// item the table is as it was created, unless a page has lost count.
    ///
    /// # Errors
    /// `OutOfMemory`; nothing has changed.
    pub fn remove(&mut self, hash: ItemHash) -> Result<bool, AddError> {
        let path = Path::of(hash);
        let is_absent = |page: &Page| !page.contains(path.below(page.depth()));
        let Some(page) = self.root.page_to_write(path, is_absent)? else {
            return Ok(false);
        };
        let depth = page.depth();
        page.prefetch_to_change(path.below(depth));
        match page.remove(path.below(depth), self.alive) {
            Remove::Absent => return Ok(false),
            Remove::Saturated => return Ok(true),
            Remove::Done { length, is_last } => {
                if is_last {
                    let weight = Weight::of_fingerprint(path, depth, length);
                    self.totals.weight = self.totals.weight.minus(weight);
                }
                if page.is_thin(&self.plan, path) {
                    // The page is valid as it is, so without memory it stays.
                    let _ = self.shrink(path);
                }
            }
            Remove::LastSurplus(fingerprint) => self.remove_surplus(path, fingerprint)?,
        }
        // Entries that became several can be removed more often than they were added.
        self.items = self.items.saturating_sub(1);
        if self.items == 0 && self.is_counted() {
            // Entries may be left: where one became several, removing its item removed only one of
            // them.
            self.root = Subtree::Page(Page::empty(0));
            self.totals = Totals::of_an_empty_page();
        }
        Ok(true)
    }

    /// Rewrites the path's page without the counter of a fingerprint.
    #[cold]
    fn remove_surplus(&mut self, path: Path, fingerprint: Fingerprint) -> Result<(), AddError> {
        self.rewrite(path, 1, Budget::UNLIMITED, fingerprint.payload(), |entries| {
            entries.surplus.retain(|surplus| surplus.fingerprint != fingerprint);
            Ok(())
        })
    }

    /// Gives the path's page at least `min_lines` lines, and perhaps one more entry, without
    /// decoding its entries. Returns false if the page must be rewritten instead.
    fn reline(
        &mut self,
        path: Path,
        more: Option<(Position, Fingerprint)>,
        min_lines: usize,
        budget: Budget,
    ) -> Result<bool, AddError> {
        if self.alive != ALL_PAYLOADS {
            return Ok(false);
        }
        let page = self.root.page(path);
        let Some(relined) = page.relined(&self.plan_now(), path, more, min_lines)? else {
            return Ok(false);
        };
        let (before, after) = (page.lines().len(), relined.lines().len());
        let totals = self.totals.with_lines(before, after);
        ensure(totals.bytes() <= budget.max_bytes.max(self.bytes()), AddError::OverLimit)?;
        self.root.put(path, Subtree::Page(relined));
        self.totals = totals;
        Ok(true)
    }

    /// Rewrites the path's page after `edit`, with at least `min_lines` lines, or splits it, unless
    /// the table would exceed its budget. Entries with a dead payload are dropped; a page that
    /// saturates has the payload `newest`.
    pub(super) fn rewrite(
        &mut self,
        path: Path,
        min_lines: usize,
        budget: Budget,
        newest: u8,
        edit: impl FnOnce(&mut Entries) -> Result<(), AddError>,
    ) -> Result<(), AddError> {
        self.root.unshare_path(path)?;
        let page = self.root.page(path);
        let (depth, start) = (page.depth(), path.start(page.depth()));
        let mut entries = page.entries()?;
        let before = Totals::of(page, &entries, start);
        let has_dropped = self.alive != ALL_PAYLOADS && entries.retain_payloads(self.alive);
        let min_lines = if has_dropped { 1 } else { min_lines };
        edit(&mut entries)?;
        let mut after = Totals::default();
        let max_depth = budget.max_depth(&self.plan, self.pages());
        let rewrite = Rewrite { start, depth, max_depth, newest, budget };
        let grown = grown(&self.plan_now(), &mut entries, rewrite, min_lines, &mut after)?;
        if let Grown::Halves(_) = grown {
            after.children += self.root.children_to_split(path) as u32;
        }
        let totals = self.totals.plus(after).minus(before);
        ensure(totals.bytes() <= budget.max_bytes.max(self.bytes()), AddError::OverLimit)?;
        match grown {
            Grown::Page(page) => self.root.put(path, Subtree::Page(page)),
            Grown::Halves(halves) => self.root.split(path, halves)?,
        }
        self.totals = totals;
        Ok(())
    }

    /// Rewrites a thin page with fewer lines, and merges it with its buddy if both together are far
    /// from full.
    #[cold]
    fn shrink(&mut self, path: Path) -> Result<(), AddError> {
        if !self.reline(path, None, 1, Budget::UNLIMITED)? {
            self.rewrite(path, 1, Budget::UNLIMITED, 0, |_| Ok(()))?;
        }
        self.merge(path).map(|_| ())
    }

    /// The start of the page's buddy, if both together are far from full.
    pub(super) fn buddy_to_merge(&self, path: Path) -> Option<Path> {
        let page = self.root.page(path);
        let buddy_path = Path(path.0 ^ 1 << (63 - page.depth().checked_sub(1)?));
        let buddy = self.root.page(buddy_path);
        let most = self.plan.max_entries() * MAX_MERGED / 100;
        let is_possible = buddy.depth() == page.depth()
            && !page.is_saturated()
            && !buddy.is_saturated()
            && page.len() + buddy.len() <= most;
        is_possible.then_some(buddy_path)
    }

    /// Merges a page with its buddy if both together are far from full. Returns whether it did.
    pub(super) fn merge(&mut self, path: Path) -> Result<bool, AddError> {
        let Some(buddy_path) = self.buddy_to_merge(path) else {
            return Ok(false);
        };
        // Both are in one node, which may be another table's, too.
        self.root.unshare_path(path)?;
        let (page, buddy) = (self.root.page(path), self.root.page(buddy_path));
        let depth = page.depth() - 1;
        let start = path.start(depth);
        let (mut one, mut other) = (page.entries()?, buddy.entries()?);
        let before = Totals::of(page, &one, path.start(depth + 1));
        let before = before.plus(Totals::of(buddy, &other, buddy_path.start(depth + 1)));
        one.retain_payloads(self.alive);
        other.retain_payloads(self.alive);
        let is_low = path < buddy_path;
        let halves = if is_low { [&one, &other] } else { [&other, &one] };
        let mut entries = Entries::merged(halves)?;
        if self.plan.payload_bits() > 0 && !entries.keep_their_bits(&self.plan, start, depth) {
            return Ok(false);
        }
        let merged = Page::of(&self.plan_now(), start, depth, &mut entries, 1, 0)?;
        let Some(merged) = merged.filter(|page| !page.is_saturated()) else {
            return Ok(false);
        };
        let after = Totals::of(&merged, &entries, start);
        let shrunk = self.root.merge(path, merged) as u32;
        self.totals = self.totals.plus(after).minus(before);
        self.totals.children = self.totals.children.saturating_sub(shrunk);
        Ok(true)
    }

    /// A copy that shares all pages until one of the two tables writes to them. Takes some 2 048
    /// steps.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn try_clone(&mut self) -> Result<Self, AddError> {
        let Self { plan, alive, items, totals, .. } = *self;
        Ok(Self { plan, alive, items, totals, root: self.root.try_clone()? })
    }

    /// Visits every allocation but the table itself: its layout and how many of it there are. Costs
    /// a step per page.
    pub fn visit_allocations(&self, mut visit: impl FnMut(Layout, u64)) {
        self.root.visit_allocations(&mut visit);
    }

    /// Bytes of all pages and the directory, from running totals: reference counts of shared pages
    /// excluded, and at most 256 GiB.
    pub fn bytes(&self) -> u64 {
        self.totals.bytes()
    }

    /// The approximate number of allocations, which is the cost of freeing the table.
    pub fn allocations(&self) -> u64 {
        self.pages() + self.pages() / 256
    }

    /// Passes every allocation from the path `from` on (0 at first) through `mover` until it wants
    /// to stop. Returns the path to continue from, or `None` at the end.
    pub fn relocate(&mut self, from: u64, mover: &mut impl Mover) -> Option<u64> {
        self.root.relocate(0, from, mover)
    }
}
