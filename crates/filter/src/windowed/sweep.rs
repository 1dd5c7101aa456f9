//! Moving the time on, and dropping entries that are over.

use super::WindowedFilter;
use crate::error::AddError;
use crate::growing::Table;

/// What a page costs that is written anew, in units of one that is only read.
const WRITTEN: u32 = 8;
/// What a step may cost in these units, but for its last page. So no step writes more than one page,
/// which takes 10 µs in the cache and up to 150 µs where it comes from memory, in a table of 10^8
/// items.
const STEP: u32 = WRITTEN;
/// Each time that so many items have come to the current slice, the sweep passes a page. Where items
/// come as evenly as they go, a page is due every hundred.
const ITEMS_A_PAGE: u64 = 16;
/// Tables of so many allocations are freed at once.
const FEW_ALLOCATIONS: u64 = 64;

/// What a step of a sweep did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swept {
    /// Items that were forgotten because the time moved on.
    pub forgotten: u64,
    /// Whether it changed anything: if not, nobody needs to repeat it.
    pub has_changed: bool,
    /// Whether no entries are left that are over.
    pub is_done: bool,
}

/// What a move of the time has done to the table.
pub(super) enum Moved {
    /// Some slices are over.
    Slices,
    /// All are; the table is here, and an empty one in its place.
    All(Table),
}

impl WindowedFilter {
    /// When a step of the sweep will have something to do, in milliseconds since 1970: 0 if it has
    /// already; nothing while the filter remembers nothing, or is being loaded.
    pub fn next_due(&self) -> Option<u64> {
        if self.loading().is_some() {
            return None;
        }
        match self.slices.sweep() {
            Some(_) => Some(0),
            None => self.slices.next_end(&self.window),
        }
    }

    /// Forgets what is over at `now`, and drops entries of it from some pages, of which it writes one at
    /// most: some 50 µs. Without memory pages stay as they are until a later step.
    ///
    /// # Errors
    /// `Loading`; nothing has changed.
    pub fn sweep_step(&mut self, now: u64) -> Result<Swept, AddError> {
        if self.loading().is_some() {
            return Err(AddError::Loading);
        }
        let before = self.slices;
        let end = self.slices.next_end(&self.window);
        if end.is_some_and(|end| end <= self.slices.time(now)) {
            let moved = self.advance(now);
            self.let_go(moved);
        }
        self.sweep(STEP);
        Ok(Swept {
            forgotten: self.slices.forgotten() - before.forgotten(),
            has_changed: self.slices != before,
            is_done: self.slices.sweep().is_none(),
        })
    }

    /// A large table whose items were all forgotten at once. Freeing it takes a step for each page,
    /// so whoever may not wait asks for it after each add and each step, and frees it elsewhere;
    /// otherwise the filter does it when it forgets the next one.
    pub fn take_gone(&mut self) -> Option<Table> {
        self.gone.take()
    }

    /// Moves the time on. Returns what that has done to the table, if anything.
    pub(super) fn advance(&mut self, now: u64) -> Option<Moved> {
        if !self.slices.advance(&self.window, now) {
            return None;
        }
        let error_rate = self.parameters().error_rate;
        let table = self.parts.table_mut()?;
        if self.slices.is_empty() {
            self.slices.clear_dead();
            let empty = Table::new(error_rate, self.window.payload_bits());
            return Some(Moved::All(std::mem::replace(table, empty)));
        }
        table.set_alive(self.slices.alive(), self.slices.items());
        Some(Moved::Slices)
    }

    /// Puts the table back as it was before the time moved; the slices are already.
    pub(super) fn undo(&mut self, moved: Option<Moved>) {
        if let Some(table) = self.parts.table_mut() {
            if let Some(Moved::All(before)) = moved {
                *table = before;
            }
            table.set_alive(self.slices.alive(), self.slices.items());
        }
    }

    /// Frees a table that was forgotten, or keeps it for [`WindowedFilter::take_gone`].
    pub(super) fn let_go(&mut self, moved: Option<Moved>) {
        if let Some(Moved::All(table)) = moved {
            if table.allocations() > FEW_ALLOCATIONS {
                self.gone = Some(table);
            }
        }
    }

    /// What an add does for the sweep: a step if slices have gone by with it, which is all that a
    /// small table takes; else a page now and then.
    pub(super) fn push_sweep(&mut self, moved: Option<Moved>, items: u64) {
        let has_moved = moved.is_some();
        self.let_go(moved);
        if has_moved {
            self.sweep(STEP);
        } else if items.is_multiple_of(ITEMS_A_PAGE) {
            self.sweep(1);
        }
    }

    /// Passes pages until they have cost `most`.
    pub(super) fn sweep(&mut self, most: u32) {
        let mut cost = 0;
        while let (Some(from), true) = (self.slices.sweep(), cost < most) {
            let Some(table) = self.parts.table_mut() else {
                return;
            };
            // What stays without memory stays for the next step.
            let Ok(swept) = table.sweep(from) else {
                return;
            };
            cost += 1 + u32::from(swept.has_written) * WRITTEN;
            self.slices.set_swept(swept.next);
            table.set_alive(self.slices.alive(), self.slices.items());
        }
    }
}
