//! The union of tables. To one table, an entry of another is an item of which only a prefix of the
//! path is known: the bits that led to its page, and its fingerprint.
//!
//! # All or nothing
//! Entries are added in place. Before an entry is added to another page than the previous one, that
//! page is copied to a list. If the union is refused, the copies are put back, last first, which
//! restores every page whatever has happened to it. The entries of a table come in order of their
//! paths, so few pages are copied twice.
//!
//! So time and memory depend on the entries of the other tables and the pages that these belong to,
//! not on the size of the table. (Working on a copy of the table, whose pages are shared until
//! written to, copied all of 81 MB for 10^4 entries.)

use crate::error::{ensure, AddError, UnionError};
use crate::table::directory::Subtree;
use crate::table::entries::for_each_longer;
use crate::table::fingerprint::Fingerprint;
use crate::table::grow::Budget;
use crate::table::line::LINE_BYTES;
use crate::table::page::{Adding, Page};
use crate::table::path::{Path, CELL_BITS};
use crate::table::rate::Weight;
use crate::table::table::Table;
use crate::table::totals::Totals;
use splitbloom_foundation::alloc::try_push;

/// Bits of a path.
const PATH_BITS: u8 = u64::BITS as u8;
/// Only tables without payloads are united.
const NO_PAYLOAD: u8 = 0;
/// The cost of looking up an entry and adding it, in bytes copied. With this and the next three,
/// unions of 10^3 to 10^5 entries with tables of 4 * 10^5 to 4 * 10^7 took 0.4 to 2 ms of CPU time
/// for each 2^20.
const STEP: u64 = 800;
/// The cost of each entry that a short one is lengthened into.
const LONGER: u64 = 32;
/// The cost of rewriting a page, for each of its bytes.
const REWRITTEN: u64 = 3;
/// The additional cost for each of its entries: those of a forged page may take few bytes.
const ENTRY: u64 = 16;

/// The limits of a union.
#[derive(Clone, Copy)]
pub struct UnionLimits {
    /// The maximum size of the table ([`Table::bytes`]).
    pub bytes: u64,
    /// The maximum work, in units of one byte copied: 800 for each page of the others, and for each
    /// page of the table that one of their entries belongs to; 32 for each longer entry that stands
    /// for one shorter than its bucket's number; the size of a page when it is first changed, when
    /// it gets more lines, and for each shorter entry; and whenever it is rewritten or split, three
    /// times its size, and 16 for each of its entries.
    pub cost: u64,
}

impl UnionLimits {
    /// Subtracts the cost of a step.
    fn charge(&mut self, cost: u64) -> Result<(), UnionError> {
        let left = self.cost.checked_sub(cost);
        self.cost = left.ok_or(UnionError::TooCostly)?;
        Ok(())
    }
}

/// What a union has changed, so that it can be undone.
pub struct United {
    /// Whether anything was added.
    pub has_changed: bool,
    items: u64,
    totals: Totals,
    /// Pages as they were, with their first paths, in the order in which they were first changed.
    replaced: Vec<(Path, Page)>,
}

impl Table {
    /// Adds every entry of other tables of the same error rate, without payloads, unless an entry
    /// of this table matches all that it matches. Afterwards this table finds whatever one of the
    /// others finds.
    ///
    /// The number of items is at most the sum of all: an item of two tables is counted twice if its
    /// entries differ in length.
    ///
    /// # Errors
    /// `TooCostly`; `OverLimit`; `OutOfMemory`. Nothing has changed.
    pub fn unite<'a>(
        &mut self,
        others: impl Iterator<Item = &'a Self>,
        limits: UnionLimits,
    ) -> Result<United, UnionError> {
        let Self { items, totals, .. } = *self;
        let united = United { has_changed: false, items, totals, replaced: Vec::new() };
        let mut union = Union { table: self, limits, united };
        match { others }.try_for_each(|other| union.add_all(other)) {
            Ok(()) => Ok(union.united),
            Err(error) => {
                let Union { table, united, .. } = union;
                table.take_back(united);
                Err(error)
            }
        }
    }

    /// Undoes a union after which nothing else has changed the table: restores its results, digest
    /// and number of items. Without memory to halve a node of the directory, that stays twice as
    /// large.
    pub fn take_back(&mut self, united: United) {
        let mut children = self.totals.children;
        for (start, page) in united.replaced.into_iter().rev() {
            children = children.saturating_sub(self.root.merge(start, page) as u32);
        }
        self.items = united.items;
        self.totals = Totals { children, ..united.totals };
    }
}

/// A union in progress.
struct Union<'t> {
    table: &'t mut Table,
    /// The remaining limits.
    limits: UnionLimits,
    united: United,
}

impl Union<'_> {
    fn add_all(&mut self, other: &Table) -> Result<(), UnionError> {
        debug_assert_eq!(other.plan.payload_bits(), 0);
        let mut next = Some(0);
        while let Some(from) = next {
            self.limits.charge(STEP)?;
            let start = Path(from);
            let page = other.root.page(start);
            let depth = page.depth();
            if page.is_saturated() {
                self.cover(start, depth)?;
            }
            for fingerprint in page.entries()?.fingerprints {
                let path =
                    Path(start.0 | fingerprint.path().checked_shr(depth.into()).unwrap_or(0));
                self.cover(path, (depth + fingerprint.length()).min(PATH_BITS))?;
            }
            next = start.after(depth);
        }
        Ok(())
    }

    /// Ensures that every item is found whose path begins with the first `known` bits of `path`;
    /// the other bits of `path` are 0.
    fn cover(&mut self, path: Path, known: u8) -> Result<(), UnionError> {
        let page = self.table.root.page(path);
        let depth = page.depth();
        if known < depth {
            let other_half = Path(path.0 | 1 << (PATH_BITS - 1 - known));
            self.cover(path, known + 1)?;
            return self.cover(other_half, known + 1);
        }
        let length = self.table.plan.length(path, depth, page.len());
        let fingerprint =
            Fingerprint::new(path.below(depth), length.min(known - depth), NO_PAYLOAD);
        let bucket_bits = page.shape().bucket_bits;
        let is_short = fingerprint.length() < bucket_bits;
        let longer = if is_short { 1 << (bucket_bits - fingerprint.length()) } else { 0 };
        self.limits.charge(STEP + LONGER * longer)?;
        if is_covered(page, fingerprint) {
            return Ok(());
        }
        self.keep(path)?;
        if !is_short || !self.add_short(path, fingerprint)? {
            self.add(path, fingerprint)?;
        }
        self.united.has_changed = true;
        Ok(())
    }

    /// Adds an entry as the table does, and charges for rewriting the page if that is necessary.
    fn add(&mut self, path: Path, fingerprint: Fingerprint) -> Result<(), UnionError> {
        let (plan, page) = (self.table.plan, self.table.root.page(path));
        let (bytes, entries) = (bytes_of(page), page.len() + 1);
        let (depth, shape, lines) = (page.depth(), page.shape(), page.lines().as_ptr());
        let has_same_shape =
            page.is_shaped_for(&plan, path, entries) && fingerprint.length() > shape.bucket_bits;
        let (pages, budget) = (self.table.pages(), Budget::up_to(self.limits.bytes));
        self.table.add(path, fingerprint.length(), NO_PAYLOAD, budget, Adding::Copies)?;
        let page = self.table.root.page(path);
        if page.lines().as_ptr() == lines {
            return Ok(());
        }
        if has_same_shape && (page.depth(), page.shape()) == (depth, shape) {
            return self.limits.charge(bytes);
        }
        // A page whose entries are all on one side splits again, and its entries are read each
        // time.
        let times = self.table.pages().saturating_sub(pages).max(1);
        let lengthened = page.len().saturating_sub(entries) as u64;
        let once = REWRITTEN * bytes + ENTRY * entries as u64 + LONGER * lengthened;
        self.limits.charge(once.saturating_mul(times))
    }

    /// Adds an entry that is shorter than the number of its bucket without decoding the others of
    /// its page. Returns false if the page must be rewritten instead.
    ///
    /// When a small table is united with a large one, that is most of the work: an entry of a table
    /// of 10^4 items has 25 bits of its path, and the pages of a table of 4 * 10^7 items are 15
    /// bits deep.
    fn add_short(&mut self, path: Path, fingerprint: Fingerprint) -> Result<bool, UnionError> {
        let page = self.table.root.page(path);
        self.limits.charge(bytes_of(page))?;
        let (depth, start) = (page.depth(), path.start(page.depth()));
        if u32::from(depth) < CELL_BITS {
            return Ok(false);
        }
        let Some((written, new)) = page.with_short(&self.table.plan, path, fingerprint)? else {
            return Ok(false);
        };
        let (before, after) = (page.lines().len(), written.lines().len());
        let table = &mut *self.table;
        let mut totals = table.totals.with_lines(before, after);
        ensure(totals.bytes() <= self.limits.bytes.max(table.bytes()), AddError::OverLimit)?;
        for fingerprint in new {
            let path = Path(start.0 | fingerprint.path() >> depth);
            let weight = Weight::of_fingerprint(path, depth, fingerprint.length());
            totals.weight = totals.weight.plus(weight);
        }
        table.root.put(path, Subtree::Page(written));
        table.totals = totals;
        table.items = table.items.saturating_add(1);
        Ok(true)
    }

    /// Copies the path's page, unless it is part of the page that was copied last.
    fn keep(&mut self, path: Path) -> Result<(), UnionError> {
        let last = self.united.replaced.last();
        if last.is_some_and(|(start, page)| path.start(page.depth()) == *start) {
            return Ok(());
        }
        let shared = self.table.root.bytes_to_unshare(path);
        let bytes = bytes_of(self.table.root.page(path));
        self.limits.charge(shared.saturating_add(bytes))?;
        self.table.root.unshare_path(path)?;
        let page = self.table.root.page(path).try_clone()?;
        let start = path.start(page.depth());
        Ok(try_push(&mut self.united.replaced, (start, page))?)
    }
}

/// Whether a page finds every item that matches `fingerprint`. If that is shorter than the number
/// of its bucket, each bucket it covers needs an entry of its own.
fn is_covered(page: &Page, fingerprint: Fingerprint) -> bool {
    let length = fingerprint.length().max(page.shape().bucket_bits);
    let mut is_covered = true;
    if !page.is_saturated() {
        for_each_longer(fingerprint, length, &mut |fingerprint| {
            let covers = |there: Fingerprint| there.length() <= length;
            is_covered = is_covered && page.matching(fingerprint.path()).any(covers);
        });
    }
    is_covered
}

/// The memory of a page.
fn bytes_of(page: &Page) -> u64 {
    (page.lines().len() * LINE_BYTES) as u64
}
