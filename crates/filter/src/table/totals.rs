//! Running totals over all pages, so that statistics are O(1).

use crate::table::directory::Child;
use crate::table::entries::Entries;
use crate::table::line::LINE_BYTES;
use crate::table::page::Page;
use crate::table::path::Path;
use crate::table::rate::Weight;

/// Sums over all pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub weight: Weight,
    /// The counts saturate: `lines` at 256 GiB.
    pub pages: u32,
    pub lines: u32,
    /// Children of all nodes of the directory.
    pub children: u32,
    /// Pages that have lost count of their items: saturated pages, and those with a full counter.
    pub uncounted: u32,
}

impl Totals {
    /// The totals of one page with these entries, which starts at `start`.
    pub fn of(page: &Page, entries: &Entries, start: Path) -> Self {
        let weight = if page.is_saturated() {
            Weight::of_all(start, page.depth())
        } else {
            Weight::of_page(&entries.fingerprints, start, page.depth())
        };
        Self {
            weight,
            pages: 1,
            lines: page.lines().len() as u32,
            children: 0,
            uncounted: u32::from(page.is_saturated() || !entries.are_counted()),
        }
    }

    /// The totals of one page without entries.
    pub fn of_an_empty_page() -> Self {
        Self { pages: 1, ..Self::default() }
    }

    /// The memory of pages and directory.
    pub fn bytes(&self) -> u64 {
        let children = u64::from(self.children) * size_of::<Child>() as u64;
        u64::from(self.lines) * LINE_BYTES as u64 + children
    }

    /// The same after a page has got `after` lines instead of `before`.
    pub fn with_lines(self, before: usize, after: usize) -> Self {
        let lines = self.lines.saturating_add(after as u32);
        Self { lines: lines.saturating_sub(before as u32), ..self }
    }

    /// The sum of both.
    pub fn plus(self, more: Self) -> Self {
        Self {
            weight: self.weight.plus(more.weight),
            pages: self.pages.saturating_add(more.pages),
            lines: self.lines.saturating_add(more.lines),
            children: self.children.saturating_add(more.children),
            uncounted: self.uncounted.saturating_add(more.uncounted),
        }
    }

    /// The difference.
    pub fn minus(self, less: Self) -> Self {
        Self {
            weight: self.weight.minus(less.weight),
            pages: self.pages.saturating_sub(less.pages),
            lines: self.lines.saturating_sub(less.lines),
            children: self.children.saturating_sub(less.children),
            uncounted: self.uncounted.saturating_sub(less.uncounted),
        }
    }
}
