//! Advances the time, and drops forgotten entries.

use super::WindowedFilter;
use crate::error::AddError;
use crate::table::Table;

/// The cost of rewriting a page, in units of reading one.
const WRITTEN: u32 = 8;
/// The maximum cost of a step in these units, without its last page. So no step writes more than
/// one page, which takes 10 µs in the cache and up to 150 µs from memory, in a table of 10^8 items.
const STEP: u32 = WRITTEN;
/// The sweep advances by a page whenever this many items have been added to the current slice. In a
/// steady stream, a page is due every hundred items.
const ITEMS_A_PAGE: u64 = 16;
/// Tables of up to this many allocations are freed immediately.
const FEW_ALLOCATIONS: u64 = 64;

/// The outcome of a step of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swept {
    /// Items that were forgotten because the time has advanced.
    pub forgotten: u64,
    /// Whether it changed anything; if not, it need not be replicated.
    pub has_changed: bool,
    /// Whether no forgotten entries are left.
    pub is_done: bool,
}

/// The effect of advancing the time on the table.
pub(super) enum Moved {
    /// Some slices are over.
    Slices,
    /// All are; the table is here, and an empty one in its place.
    All(Table),
}

impl WindowedFilter {
    /// When a step of the sweep will have work to do, in milliseconds since 1970: 0 if it has some
    /// already; nothing while the filter remembers nothing, or is being loaded.
    pub fn next_due(&self) -> Option<u64> {
        if self.loading().is_some() {
            return None;
        }
        match self.slices.sweep() {
            Some(_) => Some(0),
            None => self.slices.next_end(&self.window, self.latest()),
        }
    }

    /// When lookups will change unless the filter does, in milliseconds since 1970: the end of the
    /// first slice that is remembered at `now`. Later than `now`; nothing if nothing is remembered.
    pub fn next_change(&self, now: u64) -> Option<u64> {
        self.slices.next_end(&self.window, now)
    }

    /// Forgets the slices that are over at `now`, and drops their entries from some pages, of which
    /// it writes at most one: some 50 µs. Without memory, pages stay as they are until a later
    /// step.
    ///
    /// # Errors
    /// `Loading`; nothing has changed.
    pub fn sweep_step(&mut self, now: u64) -> Result<Swept, AddError> {
        if self.loading().is_some() {
            return Err(AddError::Loading);
        }
        let before = self.slices;
        let end = self.slices.next_end(&self.window, self.latest());
        if end.is_some_and(|end| end <= self.slices.time(now)) {
            let moved = self.advance(now);
            self.let_go(moved);
        }
        let has_written = self.sweep(STEP);
        Ok(Swept {
            forgotten: self.slices.forgotten() - before.forgotten(),
            has_changed: has_written || self.slices != before,
            is_done: self.slices.sweep().is_none(),
        })
    }

    /// A large table whose items were all forgotten at once. Freeing it takes a step for each page,
    /// so a caller that must not wait takes it after each add and each step, and frees it
    /// elsewhere; otherwise the filter frees it when it forgets the next one.
    pub fn take_gone(&mut self) -> Option<Table> {
        self.gone.take()
    }

    /// Advances the time. Returns the effect on the table, if there is one.
    pub(super) fn advance(&mut self, now: u64) -> Option<Moved> {
        let has_moved = self.slices.advance(&self.window, now);
        // What was loaded may be in this state already, without a slice that ended just now.
        let is_all_dead = self.slices.is_all_dead();
        if !has_moved && !is_all_dead {
            return None;
        }
        let error_rate = self.parameters().error_rate;
        let table = self.parts.table_mut()?;
        if is_all_dead {
            self.slices.clear_dead();
            let empty = Table::new(error_rate, self.window.payload_bits());
            return Some(Moved::All(std::mem::replace(table, empty)));
        }
        table.set_alive(self.slices.alive(), self.slices.items());
        Some(Moved::Slices)
    }

    /// Restores the table as it was before the time advanced; the slices are restored already.
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

    /// Passes pages until they have cost `most`. Returns whether it has written any, which `swept`
    /// need not show: the sweep stays at a page that it has merged if there is more to merge.
    pub(super) fn sweep(&mut self, most: u32) -> bool {
        let (newest, mut cost, mut has_written) = (self.slices.newest(), 0, false);
        while let (Some(from), true) = (self.slices.sweep(), cost < most) {
            let Some(table) = self.parts.table_mut() else {
                break;
            };
            // What stays without memory stays for the next step.
            let Ok(swept) = table.sweep(from, newest) else {
                break;
            };
            has_written |= swept.has_written;
            cost += 1 + u32::from(swept.has_written) * WRITTEN;
            self.slices.set_swept(swept.next);
            table.set_alive(self.slices.alive(), self.slices.items());
        }
        has_written
    }
}
