//! A table: its pages, which come in runs, and empty ones in the place of those still to come.

use super::page::Page;
use crate::must;
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    pub error_rate: f64,
    pub payload_bits: u64,
    /// By the first path of each.
    pub pages: BTreeMap<u64, Page>,
    pub items: u64,
}

/// Pages that follow each other.
#[derive(Default)]
pub struct Run {
    pages: Vec<(u64, Page)>,
}

/// The first path after those that begin with the same `depth` bits.
fn after(path: u64, depth: u32) -> Option<u64> {
    path.checked_add(1u64.checked_shl(64 - depth)?)
}

impl Run {
    /// The payloads of entries and saturated pages, each with how many entries have it.
    pub fn payloads(&self) -> BTreeMap<u64, u64> {
        let mut payloads = BTreeMap::new();
        for (payload, entries) in self.pages.iter().flat_map(|(_, page)| page.payloads()) {
            *payloads.entry(payload).or_default() += entries;
        }
        payloads
    }

    /// Whether a page that begins before the path has one of these payloads, given as bits.
    pub fn has_before(&self, path: u64, payloads: u64) -> bool {
        let pages = self.pages.iter().filter(|(start, _)| *start < path);
        let mut found = pages.flat_map(|(_, page)| page.payloads());
        found.any(|(payload, _)| payloads >> payload & 1 == 1)
    }

    /// Where the next page begins; `None` after the last one.
    pub fn next(&self, first: u64) -> Option<u64> {
        self.pages.last().map_or(Some(first), |(path, page)| after(*path, page.depth))
    }

    /// Adds a page, if a page of its depth can begin at `path`.
    pub fn push(&mut self, path: u64, page: Page) -> Option<()> {
        let below = u64::MAX.checked_shr(page.depth).unwrap_or(0);
        (path & below == 0).then(|| self.pages.push((path, page)))
    }

    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// The path and depth of its pages, where two halves of a page count as that page.
    fn blocks(&self) -> Vec<(u64, u32)> {
        let mut blocks: Vec<(u64, u32)> = Vec::new();
        for (path, page) in &self.pages {
            let (mut path, mut depth) = (*path, page.depth);
            while let Some((low, _)) = blocks
                .last()
                .filter(|(low, low_depth)| *low_depth == depth && low ^ path == 1 << (64 - depth))
            {
                (path, depth) = (*low, depth - 1);
                blocks.pop();
            }
            blocks.push((path, depth));
        }
        blocks
    }
}

impl Table {
    pub fn new(error_rate: f64, payload_bits: u64) -> Self {
        Self { error_rate, payload_bits, pages: BTreeMap::from([(0, Page::empty(0))]), items: 0 }
    }

    /// Takes pages, and with the last ones the number of items.
    pub fn take(&mut self, run: Run, items: Option<u64>) -> Option<()> {
        for (path, depth) in run.blocks() {
            self.make_room(path, depth)?;
        }
        let entries = run.pages.iter().map(|(_, page)| page.items());
        let entries = self.items.saturating_add(entries.sum());
        self.pages.extend(run.pages);
        self.items = match items {
            Some(items) if self.is_counted() => items.min(entries),
            Some(items) => items,
            None => entries,
        };
        Some(())
    }

    /// Whether no page has lost count.
    pub fn is_counted(&self) -> bool {
        self.pages.values().all(Page::is_counted)
    }

    /// Cuts the place of a new page out of an empty one, whose other parts become empty pages.
    fn make_room(&mut self, path: u64, depth: u32) -> Option<()> {
        let (mut start, page) = self.page(path);
        let empty_depth = page.depth;
        must(page.is_empty() && empty_depth <= depth)?;
        self.pages.remove(&start);
        for depth in empty_depth + 1..=depth {
            let second = start | 1 << (64 - depth);
            let other = if path < second { second } else { std::mem::replace(&mut start, second) };
            self.pages.insert(other, Page::empty(depth));
        }
        Some(())
    }

    /// The page of a path, and where it begins.
    pub fn page(&self, path: u64) -> (u64, &Page) {
        let (start, page) =
            self.pages.range(..=path).next_back().expect("`take` leaves no gap before a page");
        (*start, page)
    }
}
