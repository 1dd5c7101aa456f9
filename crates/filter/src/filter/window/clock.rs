//! The clock of a windowed filter: it advances, forgets the slices that are over, and sweeps what
//! they leave in the table.

use super::slices::Slices;
use super::span::Window;
use crate::error::AddError;
use crate::hash::ItemHash;
use crate::table::Table;
use splitbloom_foundation::alloc::try_boxed_one;
use splitbloom_foundation::attachment::Attachment;
use std::alloc::Layout;

/// The cost of rewriting a page, in units of reading one.
const WRITTEN: u32 = 8;
/// The maximum cost of a step in these units, without its last page. So no step writes more than
/// one page, which takes 10 µs in the cache and up to 150 µs from memory, in a table of 10^8 items.
pub(super) const STEP: u32 = WRITTEN;
/// The sweep advances by a page whenever this many items have been added to the current slice. In a
/// steady stream, a page is due every hundred items.
const ITEMS_A_PAGE: u64 = 16;
/// Tables of up to this many allocations are freed immediately.
const FEW_ALLOCATIONS: u64 = 64;

/// The window, its slices, the table to be freed, and what the owner attaches.
pub(crate) struct Clock {
    pub window: Window,
    pub slices: Slices,
    /// A large table that was forgotten as a whole.
    gone: Option<Box<[Table; 1]>>,
    /// What the owner of the filter keeps with it.
    pub(super) attachment: Attachment,
}

/// The effect of advancing the time on the table.
pub(crate) enum Moved {
    /// Some slices are over.
    Slices,
    /// All slices are over: this is the old table, which an empty one has replaced.
    All(Table),
}

impl Clock {
    /// Before the first change.
    pub fn new(window: Window) -> Self {
        Self { window, slices: Slices::default(), gone: None, attachment: Attachment::default() }
    }

    /// The clock of a copy.
    pub fn fork(&self) -> Self {
        Self { slices: self.slices, ..Self::new(self.window) }
    }

    /// The payloads of what is remembered at `now`.
    pub fn visible(&self, now: u64) -> u16 {
        self.slices.visible(&self.window, now)
    }

    /// A table that was forgotten as a whole.
    pub fn gone(&self) -> Option<&Table> {
        self.gone.as_ref().map(|one| &one[0])
    }

    pub(super) fn take_gone(&mut self) -> Option<Table> {
        let [table] = *self.gone.take()?;
        Some(table)
    }

    /// Visits what it allocates, but no pages.
    pub fn visit_allocations(&self, visit: &mut impl FnMut(Layout, u64)) {
        if self.gone.is_some() {
            visit(Layout::new::<Table>(), 1);
        }
        self.attachment.layout().into_iter().for_each(|layout| visit(layout, 1));
    }

    /// Advances the time. Returns the effect on the table, if there is one.
    pub fn advance(&mut self, table: &mut Table, now: u64) -> Option<Moved> {
        let has_moved = self.slices.advance(&self.window, now);
        // A loaded filter may be in this state already, although no slice has just ended.
        if self.slices.is_all_dead() {
            self.slices.clear_dead();
            let empty = table.empty_like();
            return Some(Moved::All(std::mem::replace(table, empty)));
        }
        has_moved.then(|| {
            self.tell(table);
            Moved::Slices
        })
    }

    /// Restores slices and table as they were before the time advanced.
    pub(super) fn undo(&mut self, table: &mut Table, before: Slices, moved: Option<Moved>) {
        self.slices = before;
        if let Some(Moved::All(before)) = moved {
            *table = before;
        }
        self.tell(table);
    }

    /// Sets which payloads the table finds.
    pub fn tell(&self, table: &mut Table) {
        table.set_alive(!self.slices.dead, self.slices.items());
    }

    /// Frees a table that was forgotten, or keeps it for [`Clock::take_gone`].
    pub(super) fn let_go(&mut self, moved: Option<Moved>) {
        if let Some(Moved::All(table)) = moved {
            if table.allocations() > FEW_ALLOCATIONS {
                self.gone = try_boxed_one(table).ok();
            }
        }
    }

    /// Writes an item of the current slice, or renews it if it `is_present`. Returns how many items
    /// the slice has now.
    pub(super) fn write(
        &mut self,
        table: &mut Table,
        hash: ItemHash,
        is_present: bool,
        max_bytes: u64,
    ) -> Result<u64, AddError> {
        let mut slices = self.slices;
        let payload = slices.open(&self.window);
        let items = if is_present {
            let (before, copies) = table.replace_payload(hash, payload)?.unwrap_or((payload, 0));
            slices.renew(before, copies)
        } else if !slices.can_count() {
            return Err(AddError::Uncountable);
        } else {
            table.insert(hash, payload, max_bytes)?;
            slices.count()
        };
        self.slices = slices;
        Ok(items)
    }

    /// Advances the sweep after an add: by a step if slices have ended with it, which suffices for
    /// a small table; else by a page now and then.
    pub(super) fn push_sweep(&mut self, table: &mut Table, moved: Option<Moved>, items: u64) {
        let has_moved = moved.is_some();
        self.let_go(moved);
        if has_moved {
            self.sweep(table, STEP);
        } else if items.is_multiple_of(ITEMS_A_PAGE) {
            self.sweep(table, 1);
        }
    }

    /// Passes pages until they have cost `most`. Returns whether it has written one. `swept` need
    /// not tell: the sweep stays at a page that it has merged if there is more to merge.
    pub fn sweep(&mut self, table: &mut Table, most: u32) -> bool {
        let (newest, mut cost, mut has_written) = (self.slices.newest(), 0, false);
        while let (Some(from), true) = (self.slices.sweep(), cost < most) {
            // Without memory, the page is left to the next step.
            let Ok(swept) = table.sweep(from, newest) else {
                break;
            };
            has_written |= swept.has_written;
            cost += 1 + u32::from(swept.has_written) * WRITTEN;
            self.slices.set_swept(swept.next);
            self.tell(table);
        }
        has_written
    }
}
