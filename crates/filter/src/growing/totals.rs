//! What pages hold in all: kept with each change, so that nothing has to be gone through to be
//! told.

use crate::growing::entries::Entries;
use crate::growing::page::Page;
use crate::growing::path::Path;
use crate::growing::rate::Weight;

/// What all pages hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    /// Items added and not removed, as far as pages count: saturated ones do not.
    pub items: u64,
    pub weight: Weight,
    pub pages: u64,
    pub lines: u64,
    /// Slots of the directory.
    pub slots: u64,
}

impl Totals {
    /// Of one page with these entries, which starts at `start`.
    pub fn of(page: &Page, entries: &Entries, start: Path) -> Self {
        let weight = if page.is_saturated() {
            Weight::of_all(start, page.depth())
        } else {
            Weight::of_entries(entries, start, page.depth())
        };
        let items = if page.is_saturated() {
            0
        } else {
            entries.items()
        };
        Self {
            items,
            weight,
            pages: 1,
            lines: page.lines().len() as u64,
            slots: 0,
        }
    }

    /// Of nothing.
    pub fn none() -> Self {
        Self {
            items: 0,
            weight: Weight::default(),
            pages: 0,
            lines: 0,
            slots: 0,
        }
    }

    /// Both together.
    pub fn plus(self, more: Self) -> Self {
        Self {
            items: self.items + more.items,
            weight: self.weight.plus(more.weight),
            pages: self.pages + more.pages,
            lines: self.lines + more.lines,
            slots: self.slots + more.slots,
        }
    }

    /// Without what was there before.
    pub fn minus(self, less: Self) -> Self {
        Self {
            items: self.items - less.items,
            weight: self.weight.minus(less.weight),
            pages: self.pages - less.pages,
            lines: self.lines - less.lines,
            slots: self.slots - less.slots,
        }
    }
}
