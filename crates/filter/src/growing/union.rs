//! The union of tables. An entry of one table is to the other an item of which only some bits are
//! known: those that led to its page, and its fingerprint.
//!
//! # All or nothing
//! Entries are added in place. Before an entry is added to another page than the one before, that
//! page is copied to a pile. If the union is refused, the copies are put back, the last one first:
//! whatever has become of a page, it is again what it was. The entries of a table come in order of
//! their paths, so few pages are copied twice.
//!
//! So time and memory follow the entries of the other tables and the pages that they belong to,
//! however large the table is. Uniting 10^3 entries with a table of 4 * 10^7 takes TODO ms; with a
//! copy of the whole table to work on, whose pages were shared until they were written to, it was
//! 67 ms.

use crate::error::UnionError;
use crate::growing::change::Adding;
use crate::growing::entries::try_push;
use crate::growing::line::LINE_BYTES;
use crate::growing::page::Page;
use crate::growing::path::Path;
use crate::growing::room::Room;
use crate::growing::table::Table;
use crate::growing::totals::Totals;

/// Bits of a path.
const PATH_BITS: u8 = u64::BITS as u8;
/// Unions are of tables without payloads.
const NO_PAYLOAD: u8 = 0;
/// What it costs to look up an entry and add it, in bytes copied.
const STEP: u64 = 800;
/// What it costs to write a page anew, in bytes copied for each of its bytes.
const REWRITTEN: u64 = 16;

/// What a union may take.
#[derive(Clone, Copy)]
pub struct UnionLimits {
    /// The most bytes of the table ([`Table::bytes`]).
    pub bytes: u64,
    /// The most work, in bytes copied: 800 for each entry and page of the others, and for each page
    /// of the table that an entry belongs to; the pages that are copied; and a page that is written
    /// anew for an entry of few bits.
    pub cost: u64,
}

/// What a union has changed, so that it can be taken back.
pub struct United {
    has_changed: bool,
    items: u64,
    totals: Totals,
    /// Pages as they were, with where they begin, in the order in which they were first changed.
    replaced: Vec<(Path, Page)>,
}

impl United {
    /// Whether anything was added.
    pub fn has_changed(&self) -> bool {
        self.has_changed
    }
}

impl Table {
    /// Adds every entry of other tables of the same error rate, which have no payloads either,
    /// unless one of this table matches all that it matches: whatever one of the others finds, this
    /// one finds from then on.
    ///
    /// The number of items is at most the sum of all: an item that two have is counted twice if its
    /// entries differ in length.
    ///
    /// # Errors
    /// `TooCostly`; `OverLimit`; `OutOfMemory`. Nothing has changed.
    pub fn unite<'a>(
        &mut self,
        others: impl Iterator<Item = &'a Self>,
        limits: UnionLimits,
    ) -> Result<United, UnionError> {
        let united = United {
            has_changed: false,
            items: self.items,
            totals: self.totals,
            replaced: Vec::new(),
        };
        let mut union = Union {
            table: self,
            limits,
            united,
        };
        match { others }.try_for_each(|other| union.add_all(other)) {
            Ok(()) => Ok(union.united),
            Err(error) => {
                let Union { table, united, .. } = union;
                table.take_back(united);
                Err(error)
            }
        }
    }

    /// Makes the table what it was before a union, after which nothing has changed it.
    pub fn take_back(&mut self, united: United) {
        let mut slots = self.totals.slots;
        for (start, page) in united.replaced.into_iter().rev() {
            slots = slots.saturating_sub(self.root.merge(start, page) as u32);
        }
        self.items = united.items;
        self.totals = Totals {
            slots,
            ..united.totals
        };
    }
}

/// A union that goes on.
struct Union<'t> {
    table: &'t mut Table,
    /// What is left of them.
    limits: UnionLimits,
    united: United,
}

impl Union<'_> {
    fn add_all(&mut self, other: &Table) -> Result<(), UnionError> {
        debug_assert_eq!(other.plan().payload_bits(), 0);
        let mut next = Some(0);
        while let Some(from) = next {
            self.charge(STEP)?;
            let start = Path(from);
            let page = other.root.page(start);
            let depth = page.depth();
            if page.is_saturated() {
                self.cover(start, depth)?;
            }
            for mark in page.entries()?.marks {
                let path = Path(start.0 | mark.path().checked_shr(depth.into()).unwrap_or(0));
                self.cover(path, (depth + mark.length()).min(PATH_BITS))?;
            }
            next = start.after(depth);
        }
        Ok(())
    }

    /// Sees to it that every item is found whose path begins with the first `known` bits of this
    /// one, which has no others.
    fn cover(&mut self, path: Path, known: u8) -> Result<(), UnionError> {
        let page = self.table.root.page(path);
        let depth = page.depth();
        if known < depth {
            let other_half = Path(path.0 | 1 << (PATH_BITS - 1 - known));
            self.cover(path, known + 1)?;
            return self.cover(other_half, known + 1);
        }
        let length = self.table.plan().length(depth, page.len());
        let length = length.min(known - depth);
        let below = path.below(depth);
        let is_covered = page.is_saturated() || page.matching(below).any(|m| m.length() <= length);
        let is_short = length <= page.shape().bucket_bits;
        let bytes = (page.lines().len() * LINE_BYTES) as u64;
        self.charge(STEP)?;
        if is_covered {
            return Ok(());
        }
        if is_short {
            self.charge(bytes * REWRITTEN)?;
        }
        self.keep(path)?;
        let room = Room::up_to(self.limits.bytes);
        self.table
            .add(path, length, NO_PAYLOAD, room, Adding::Copies)?;
        self.united.has_changed = true;
        Ok(())
    }

    /// Copies the path's page, unless it is below the one that was copied last.
    fn keep(&mut self, path: Path) -> Result<(), UnionError> {
        let last = self.united.replaced.last();
        if last.is_some_and(|(start, page)| path.start(page.depth()) == *start) {
            return Ok(());
        }
        let bytes = self.table.root.bytes_to_own(path);
        let page = self.table.root.page(path);
        let start = path.start(page.depth());
        let bytes = bytes.saturating_add((page.lines().len() * LINE_BYTES) as u64);
        self.charge(bytes)?;
        let page = self.table.root.page(path).try_clone()?;
        try_push(&mut self.united.replaced, (start, page))?;
        Ok(())
    }

    fn charge(&mut self, cost: u64) -> Result<(), UnionError> {
        let left = self.limits.cost.checked_sub(cost);
        self.limits.cost = left.ok_or(UnionError::TooCostly)?;
        Ok(())
    }
}
