//! The policy of filters that forget: they remember an item only for a window of time.
//!
//! The window is divided into n slices. Each entry of a growing table ([`crate::table`]) carries
//! a payload: the slice in which its item was added. n + 1 slices are remembered, the current one
//! and the n before it. So an item is remembered for at least the window, and at most one slice
//! longer. All times are in milliseconds since 1970; those beyond [`MAX_TIME`] count as that.
//!
//! ```text
//!   span     the window: seconds, slices, whether adds renew
//!   slices   the latest time seen, payload and items of each slice, how far the sweep is; as bytes
//!   clock    advances the time, and sweeps what is forgotten
//! ```
//!
//! # The caller supplies the time
//! The filter has no clock of its own. The operations that change it ([`Filter::add_at`],
//! [`Filter::add_many_at`], [`Filter::sweep_step`]) are deterministic: repeated in the same order
//! with the same times, they produce the same filter, bit by bit. Nothing else changes it, and an
//! add without effect does not even advance the time. Lookups change nothing.
//!
//! # Forgetting
//! When a slice is over, its items are forgotten at once, because lookups compare payloads. Its
//! entries are dropped later, a page at a time: when their page is rewritten anyway, and by a
//! sweep, which adds advance a little and [`Filter::sweep_step`] by a bounded step. When nothing is
//! remembered any more, the whole table is replaced by an empty one.

pub(crate) mod clock;
mod slices;
pub(super) mod span;

pub(crate) use slices::{Place, Slices, PATH_SHIFT};
pub use span::{
    Span, Window, DEFAULT_SLICES, MAX_SLICES, MAX_TIME, MAX_WINDOW_SECONDS, MIN_SLICES,
};

use crate::error::{ensure, AddError};
use crate::filter::add::Outcome;
use crate::filter::body::{Body, Organs};
use crate::filter::head::Head;
use crate::filter::parameters::{Kind, Parameters};
use crate::filter::series::Series;
use crate::filter::{Filter, Growth, SizeLimit};
use crate::hash::ItemHash;
use crate::table::Table;
use clock::{Clock, STEP};
use splitbloom_foundation::alloc::try_boxed_one;
use std::any::Any;

/// The outcome of a step of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Swept {
    /// Items that were forgotten because the time has advanced.
    pub forgotten: u64,
    /// Whether it changed anything; if not, it need not be replicated.
    pub has_changed: bool,
    /// Whether no forgotten entries are left.
    pub is_done: bool,
}

impl Filter {
    /// An empty filter that forgets.
    ///
    /// # Errors
    /// `OverLimit` if even an empty one takes more than `limit`; `OutOfMemory`.
    pub fn windowed(
        parameters: Parameters,
        window: Window,
        limit: SizeLimit,
    ) -> Result<Self, AddError> {
        let head = Head::new(Kind::Windowed, parameters);
        let organs = Organs {
            table: Some(head.first_table(Some(window))),
            clock: Some(try_boxed_one(Clock::new(window))?),
            ..Organs::of(Series::Empty)
        };
        Self::of(head, Body::of(organs)?, limit)
    }

    #[inline]
    pub(crate) fn clock(&self) -> Option<&Clock> {
        self.body.organs()?.clock()
    }

    fn clock_mut(&mut self) -> Option<&mut Clock> {
        let clock = self.body.organs_mut()?.clock.as_mut();
        clock.map(|one| &mut one[0])
    }

    /// Bits of payload that an entry of its table has.
    pub(crate) fn payload_bits(&self) -> u8 {
        self.window().map_or(0, |window| window.payload_bits())
    }

    /// The payload of its newest entries.
    pub(crate) fn newest_payload(&self) -> u8 {
        self.clock().map_or(0, |clock| clock.slices.newest())
    }

    /// The window of a filter that forgets.
    pub fn window(&self) -> Option<Window> {
        self.clock().map(|clock| clock.window)
    }

    /// The latest time that has changed it; 0 before the first change.
    pub fn latest(&self) -> u64 {
        self.clock().map_or(0, |clock| clock.slices.latest)
    }

    /// Items forgotten, up to the latest time.
    pub fn forgotten(&self) -> u64 {
        self.clock().map_or(0, |clock| clock.slices.forgotten)
    }

    /// The items that a filter that forgets has at `now`, by slice, oldest first: the first
    /// millisecond of each slice that is remembered, and its items. Slices that began after the
    /// latest time seen have none and are left out.
    pub fn items_by_slice(&self, now: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let clock = self.clock().into_iter();
        clock.flat_map(move |Clock { window, slices, .. }| {
            let remembered = slices.remembered(window, now);
            remembered.map(|slice| (window.start_of(slice), slices.slice(slice).items))
        })
    }

    /// The maximum age in milliseconds of the items that a filter that forgets has at `now`; `None`
    /// if there are none.
    pub fn age_of_oldest(&self, now: u64) -> Option<u64> {
        let mut slices = self.items_by_slice(now);
        let (start, _) = slices.find(|(_, items)| *items > 0)?;
        Some(self.clock()?.slices.time(now).saturating_sub(start))
    }

    /// When a step of the sweep will have work to do, in milliseconds since 1970: 0 if it has some
    /// already; nothing while the filter remembers nothing, or is being loaded.
    pub fn next_due(&self) -> Option<u64> {
        let clock = self.clock().filter(|_| self.loading().is_none())?;
        match clock.slices.sweep() {
            Some(_) => Some(0),
            None => self.next_change(clock.slices.latest),
        }
    }

    /// When the results of lookups change next if nothing is added, in milliseconds since 1970: the
    /// end of the first slice remembered at `now`. Later than `now`; `None` if nothing is
    /// remembered.
    pub fn next_change(&self, now: u64) -> Option<u64> {
        let Clock { window, slices, .. } = self.clock()?;
        slices.next_end(window, now)
    }

    /// Forgets the slices that are over at `now`, and drops their entries from some pages, of which
    /// it writes at most one: some 50 µs. Without memory, pages stay as they are until a later
    /// step.
    ///
    /// # Errors
    /// `Loading`; nothing has changed.
    pub fn sweep_step(&mut self, now: u64) -> Result<Swept, AddError> {
        ensure(self.loading().is_none(), AddError::Loading)?;
        let parts = self.body.organs_mut().and_then(Organs::clock_mut);
        let (clock, table) = parts.ok_or(AddError::Loading)?;
        let before = clock.slices;
        let end = before.next_end(&clock.window, before.latest);
        if end.is_some_and(|end| end <= before.time(now)) {
            let moved = clock.advance(table, now);
            clock.let_go(moved);
        }
        let has_written = clock.sweep(table, STEP);
        Ok(Swept {
            forgotten: clock.slices.forgotten - before.forgotten,
            has_changed: has_written || clock.slices != before,
            is_done: clock.slices.sweep().is_none(),
        })
    }

    /// A large table whose items were all forgotten at once. Freeing it takes a step for each page,
    /// so a caller that must not wait takes it after each add and each step, and frees it
    /// elsewhere; otherwise the filter frees it when it forgets the next one.
    pub fn take_gone(&mut self) -> Option<Table> {
        self.clock_mut()?.take_gone()
    }

    /// Data that the owner keeps with a filter that forgets; it is not part of the filter, so
    /// copies and loaded filters start without. `None` if there is no memory for it, or no window.
    pub fn attachment<T: Any + Default + Send + Sync>(&mut self) -> Option<&mut T> {
        self.clock_mut()?.attachment.get()
    }

    /// Adds an item at the time `now`. The limit is [that of the table](Filter::limit_of_table).
    pub(super) fn add_in_window(
        &mut self,
        hash: ItemHash,
        now: u64,
        limit: SizeLimit,
    ) -> Result<Outcome, AddError> {
        let Clock { window, slices, .. } = self.clock().ok_or(AddError::Loading)?;
        let now = slices.time(now);
        let is_among = |payloads| {
            let table = self.table().filter(|_| payloads != 0);
            table.is_some_and(|table| table.contains_among(hash, payloads))
        };
        let is_there = is_among(slices.visible(window, now));
        if is_there && (!window.renews() || is_among(slices.payloads_at(window, now))) {
            return Ok(Outcome::Unchanged);
        }
        ensure(self.loading().is_none(), AddError::Loading)?;
        let Parameters { capacity, growth, .. } = self.head.parameters();
        let may_grow = is_there || growth != Growth::Fixed;
        ensure(may_grow || self.items_at(now) < capacity, AddError::Full)?;
        let parts = self.body.organs_mut().and_then(Organs::clock_mut);
        let (clock, table) = parts.ok_or(AddError::Loading)?;
        let before = clock.slices;
        let moved = clock.advance(table, now);
        match clock.write(table, hash, is_there, limit.max_bytes()) {
            Ok(items) => clock.push_sweep(table, moved, items),
            Err(error) => {
                clock.undo(table, before, moved);
                return Err(error);
            }
        }
        Ok(if is_there { Outcome::Renewed } else { Outcome::New })
    }
}
