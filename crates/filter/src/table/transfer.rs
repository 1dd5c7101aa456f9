//! A table passes from one server to another in runs of pages: a dump continues where it stopped,
//! and a load continues a table that can be used, saved, copied, moved and freed meanwhile.
//!
//! # Dump
//! A table is dumped call by call, and each call returns where the next page begins. Before the
//! next call, that page may merge with the previous one, which has been dumped already. Then the
//! rest is written as if the pages had not merged: the page is cut into the largest pages that
//! begin there.
//!
//! # Load
//! Empty pages stand for what is missing. If a run of pages ends inside an empty page, nodes of two
//! children lead to the border:
//!
//! ```text
//!   root | loaded | node |
//!                   '-> | node | empty |
//!                         '-> | loaded | empty |
//! ```
//!
//! As soon as both children of such a node are complete, it is flattened as if it had been loaded
//! at once.

use crate::error::{ensure, AddError, DecodeError};
use crate::table::directory::Subtree;
use crate::table::entries::Entries;
use crate::table::page::Page;
use crate::table::parse::Pages;
use crate::table::path::Path;
use crate::table::plan::MAX_WRITTEN;
use crate::table::record::PageRecord;
use crate::table::table::Table;
use crate::table::totals::Totals;
use splitbloom_foundation::alloc::try_push;
use std::iter::Peekable;
use std::vec::IntoIter;

impl Table {
    /// Puts pages in the place of empty ones. A whole table is loaded run by run, in order, into an
    /// empty table that nothing else changes. The last run comes with the number of items; until
    /// then each entry counts as one.
    ///
    /// The number of items cannot be derived from the entries: some entries have become several,
    /// and those of saturated pages are gone. So the given number is used; if no page has lost
    /// count, at most the number of entries, because the number was written after the first pages,
    /// to which items may have been added since.
    ///
    /// # Errors
    /// `Order` if something else is there, `OutOfMemory`; nothing has changed.
    pub fn load(&mut self, pages: Pages, items: Option<u64>) -> Result<(), DecodeError> {
        let mut totals = pages.totals();
        let entries = self.items.saturating_add(pages.items);
        let is_counted = self.totals.uncounted == 0 && totals.uncounted == 0;
        let most = if is_counted { entries } else { u64::MAX };
        let Pages { from, next, parts, .. } = pages;
        let (mut parts, mut replacements) = (parts.into_iter().peekable(), Vec::new());
        let mut replaced = Totals::default();
        while let Some((start, part)) = parts.peek() {
            let page = self.root.page(*start);
            let depth = page.depth();
            let is_empty = !page.is_saturated() && page.lines().is_empty();
            ensure(is_empty && depth <= part.depth(), DecodeError::Order)?;
            let start = start.start(depth);
            self.root.unshare_path(start)?;
            let slot = with_nodes(&mut parts, start, depth, &mut totals)?;
            try_push(&mut replacements, (start, slot))?;
            replaced.pages += 1;
        }
        for (start, slot) in replacements {
            self.root.put(start, slot);
        }
        self.items = items.unwrap_or(entries).min(most);
        self.totals = self.totals.plus(totals).minus(replaced);
        let more_children = self.root.join_complete(from, next);
        self.totals.children = self.totals.children.saturating_add_signed(more_children);
        Ok(())
    }
}

/// Takes the parts below the first `depth` bits of `start`, together with the nodes that lead to
/// them, and empty pages for missing parts.
fn with_nodes(
    parts: &mut Peekable<IntoIter<(Path, Subtree)>>,
    start: Path,
    depth: u8,
    totals: &mut Totals,
) -> Result<Subtree, AddError> {
    let is_here = |part: &(Path, Subtree)| part.0.start(depth) == start;
    let is_this = |part: &(Path, Subtree)| is_here(part) && part.1.depth() == depth;
    if let Some((_, slot)) = parts.next_if(is_this) {
        return Ok(slot);
    }
    if !parts.peek().is_some_and(is_here) {
        totals.pages += 1;
        return Ok(Subtree::Page(Page::empty(depth)));
    }
    totals.children += 2;
    let mut half = |start| with_nodes(parts, start, depth + 1, totals);
    Subtree::node(depth, [half(start)?, half(Path(start.0 | 1 << (63 - depth)))?])
}

/// The pages that a page is cut into from some path on, in order; empty if it begins there.
#[derive(Default)]
pub struct Cut(Vec<(Path, Page)>);

impl Cut {
    /// Their records.
    pub fn records(&self) -> impl Iterator<Item = PageRecord<'_>> {
        let pages = self.0.iter();
        pages.map(|(start, page)| PageRecord { page, start: *start })
    }
}

impl Table {
    /// Cuts the page of the path `from` there. Allocates nothing unless the page begins earlier. A
    /// part that saturates has the payload `newest`.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn cut(&self, from: u64, newest: u8) -> Result<Cut, AddError> {
        let from = Path(from);
        let page = self.root.page(from);
        let (mut depth, mut cut) = (page.depth(), Vec::new());
        if from.start(depth) == from {
            return Ok(Cut(cut));
        }
        let mut entries = page.entries()?;
        // The parts are found from the last one back.
        while from.start(depth) != from {
            let is_high = from.below(depth) >> 63 == 1;
            depth += 1;
            let [low, high] = entries.split()?;
            entries = if is_high {
                high
            } else {
                let start = Path(from.start(depth).0 | 1 << (64 - depth));
                try_push(&mut cut, (start, self.part(page, start, depth, high, newest)?))?;
                low
            };
        }
        try_push(&mut cut, (from, self.part(page, from, depth, entries, newest)?))?;
        cut.reverse();
        Ok(Cut(cut))
    }

    /// A part of a page, with these of its entries.
    fn part(
        &self,
        of: &Page,
        start: Path,
        depth: u8,
        mut entries: Entries,
        newest: u8,
    ) -> Result<Page, AddError> {
        if let Some(payload) = of.saturated_payload() {
            return Ok(Page::saturated(depth, payload));
        }
        let part = Page::of(&self.plan_now(), start, depth, &mut entries, 1, newest)?;
        // What fits in a page fits in a part of it, unless short entries of a forged page were
        // lengthened into more than a page may have.
        let part = part.filter(|part| part.len() <= MAX_WRITTEN);
        Ok(part.unwrap_or_else(|| Page::saturated(depth, newest)))
    }
}
