//! Cuts a page where a dump continues.
//!
//! A table is dumped call by call, and each call returns where the next page begins. Before the
//! next call, that page may merge with the previous one, which has been dumped already. Then the
//! rest is written as if the pages had not merged: as the largest pages that begin there.

use crate::alloc::try_push;
use crate::error::AddError;
use crate::table::entries::Entries;
use crate::table::page::Page;
use crate::table::path::Path;
use crate::table::record::PageRecord;
use crate::table::table::Table;

/// The pages that a page is cut into from some path on, in order; empty if it begins there.
#[derive(Default)]
pub struct Cut(Vec<(Path, Page)>);

impl Cut {
    /// Their records.
    pub fn records(&self) -> impl Iterator<Item = PageRecord<'_>> {
        let pages = self.0.iter();
        pages.map(|(start, page)| PageRecord {
            page,
            start: *start,
        })
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
                try_push(&mut cut, (start, self.part(page, depth, high, newest)?))?;
                low
            };
        }
        try_push(&mut cut, (from, self.part(page, depth, entries, newest)?))?;
        cut.reverse();
        Ok(Cut(cut))
    }

    /// A part of a page, with these of its entries.
    fn part(
        &self,
        of: &Page,
        depth: u8,
        mut entries: Entries,
        newest: u8,
    ) -> Result<Page, AddError> {
        if let Some(payload) = of.saturated_payload() {
            return Ok(Page::saturated(depth, payload));
        }
        let part = Page::of(&self.plan_now(), depth, &mut entries, 1, newest)?;
        // What fits in a page fits in a part of it.
        Ok(part.unwrap_or_else(|| Page::saturated(depth, newest)))
    }
}
