//! A filter that forgets: it remembers an item for a window of time, and then no more.
//!
//! The window is divided into n slices. Each entry of a growing table ([`crate::growing`]) carries as
//! its payload the slice in which its item came; n + 1 slices are remembered, the one that is under
//! way and n before it. So an item is remembered for the window at least, and for one slice more at
//! most.
//!
//! ```text
//!   WindowedFilter
//!   ├ parameters   as those of a filter; capacity is a hint, or the most items remembered
//!   ├ window       seconds, slices, whether adds renew
//!   ├ slices       the clock: latest time seen, payload and items of each slice, sweep
//!   └ parts        a table: a fingerprint for each item
//! ```
//!
//! # Time is told, not read
//! Each operation is told the time. Those that change the filter ([`WindowedFilter::add`],
//! [`WindowedFilter::add_many`], [`WindowedFilter::sweep_step`]) are deterministic: whoever repeats
//! them in the same order with the same times gets the same filter, bit by bit. Nothing else changes
//! it, and an add that has no effect does not even move the time. Lookups are told the time of whoever
//! asks, and change nothing.
//!
//! # Forgetting
//! When a slice is over its items are forgotten at once: lookups compare payloads. Its entries go
//! later, a page at a time: when their page is written anew anyway, and by a sweep that adds push on
//! a little and [`WindowedFilter::sweep_step`] by a bounded step. Where nothing is remembered any
//! more, the whole table is exchanged for an empty one.

mod chunked;
mod digest;
mod memory;
mod slices;
mod state;
mod sweep;
#[cfg(test)]
mod tests;
mod window;

pub use sweep::Swept;
pub use window::{Window, DEFAULT_SLICES, MAX_SLICES, MAX_TIME, MAX_WINDOW_SECONDS, MIN_SLICES};

use crate::error::AddError;
use crate::filter::{Growth, Packed, Parameters};
use crate::growing::{Table, GROUP};
use crate::hash::ItemHash;
use crate::parts::{Loading, Parts};
use crate::size_limit::SizeLimit;
use slices::Slices;

/// What an add did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The item was not there, or forgotten. It is there now.
    New,
    /// The item was there, and its time has started again.
    Renewed,
    /// The item was there, and nothing has changed.
    Unchanged,
}

impl Outcome {
    /// Whether the item was not there.
    pub fn is_new(self) -> bool {
        self == Self::New
    }

    /// Whether the filter has changed.
    pub fn has_changed(self) -> bool {
        self != Self::Unchanged
    }
}

/// A filter of items that are remembered for a window of time. All times are in milliseconds since
/// 1970; those beyond [`MAX_TIME`] count as that.
pub struct WindowedFilter {
    parameters: Packed,
    window: Window,
    slices: Slices,
    /// One table. It is missing only before a load has brought its first chunk.
    parts: Parts,
    /// A large table that was forgotten as a whole.
    gone: Option<Table>,
}

impl WindowedFilter {
    /// An empty filter, which allocates nothing.
    ///
    /// # Errors
    /// `OverLimit` if even an empty one takes more than `limit`.
    pub fn new(parameters: Parameters, window: Window, limit: SizeLimit) -> Result<Self, AddError> {
        let table = Table::new(parameters.error_rate, window.payload_bits());
        let filter = Self {
            parameters: Packed::new(parameters),
            window,
            slices: Slices::default(),
            parts: Parts::Table(table),
            gone: None,
        };
        filter.check_size(limit)?;
        Ok(filter)
    }

    /// The parameters that it was created with.
    pub fn parameters(&self) -> Parameters {
        self.parameters.unpacked()
    }

    /// The window that it was created with.
    pub fn window(&self) -> Window {
        self.window
    }

    /// The table, if a load has not yet to bring it.
    pub fn table(&self) -> Option<&Table> {
        self.parts.table()
    }

    /// The load in chunks that has begun and not ended, if there is one.
    pub fn loading(&self) -> Option<Loading> {
        self.parts.loading()
    }

    /// The latest time that has changed it; 0 before the first change.
    pub fn latest(&self) -> u64 {
        self.slices.latest()
    }

    /// Items that are remembered at `now`. Those that a saturated page took in while it was one are
    /// not counted.
    pub fn items(&self, now: u64) -> u64 {
        self.slices.items_at(&self.window, now)
    }

    /// The same by slice, oldest first: the first millisecond of each slice that is remembered at
    /// `now`, and its items. Slices that began after the latest time seen have none and are left
    /// out.
    pub fn items_by_slice(&self, now: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let slices = self.slices.remembered(&self.window, now);
        slices.map(|slice| (self.window.start_of(slice), self.slices.slice(slice).items))
    }

    /// How many milliseconds ago the oldest item that is remembered at `now` may have come, at most;
    /// nothing if there is none.
    pub fn age_of_oldest(&self, now: u64) -> Option<u64> {
        let mut slices = self.items_by_slice(now);
        let (start, _) = slices.find(|(_, items)| *items > 0)?;
        Some(self.slices.time(now).saturating_sub(start))
    }

    /// Items forgotten, up to the latest time.
    pub fn forgotten(&self) -> u64 {
        self.slices.forgotten()
    }

    /// Items that it is made for: those that are there, and at least what was reserved.
    pub fn capacity(&self) -> u64 {
        self.slices.items().max(self.parameters().capacity)
    }

    /// An upper bound of the false-positive rate at `now`: entries that are over count until they
    /// are swept.
    pub fn false_positive_rate(&self, now: u64) -> f64 {
        if self.slices.visible(&self.window, now) == 0 {
            return 0.0;
        }
        self.table().map_or(0.0, Table::false_positive_rate)
    }

    /// Pages of the table.
    pub fn pages(&self) -> u64 {
        self.table().map_or(0, Table::pages)
    }

    /// Whether the item is (probably) remembered at `now`.
    pub fn contains(&self, item: &[u8], now: u64) -> bool {
        self.contains_hash(self.hash(item), now)
    }

    fn contains_hash(&self, hash: ItemHash, now: u64) -> bool {
        let visible = self.slices.visible(&self.window, now);
        let table = self.table();
        visible != 0 && table.is_some_and(|table| table.contains_among(hash, visible))
    }

    /// Looks up many items and calls `answer` for each in order. The cache misses of 16 items
    /// overlap.
    pub fn contains_many<'a>(
        &self,
        items: impl Iterator<Item = &'a [u8]>,
        now: u64,
        mut answer: impl FnMut(bool),
    ) {
        match (self.table(), self.slices.visible(&self.window, now)) {
            (Some(table), visible @ 1..) => {
                let hashes = items.map(|item| self.hash(item));
                table.contains_many_among(hashes, visible, answer);
            }
            _ => items.for_each(|_| answer(false)),
        }
    }

    /// Adds an item that comes at `now`.
    ///
    /// # Errors
    /// `Full` if the filter does not grow and remembers as many items as its capacity;
    /// `OverLimit`; `Loading`; `OutOfMemory`. Nothing has changed.
    pub fn add(&mut self, item: &[u8], now: u64, limit: SizeLimit) -> Result<Outcome, AddError> {
        self.add_hash(self.hash(item), now, limit)
    }

    /// Adds many items that come at `now` and calls `answer` for each in order. The cache misses of
    /// 16 items overlap.
    ///
    /// # Errors
    /// As [`WindowedFilter::add`], for the item after those that were answered.
    pub fn add_many<'a>(
        &mut self,
        mut items: impl Iterator<Item = &'a [u8]>,
        now: u64,
        limit: SizeLimit,
        mut answer: impl FnMut(Outcome),
    ) -> Result<(), AddError> {
        loop {
            let (mut group, mut len) = ([ItemHash::default(); GROUP], 0);
            for (hash, item) in group.iter_mut().zip(&mut items) {
                *hash = self.hash(item);
                len += 1;
            }
            if len == 0 {
                return Ok(());
            }
            let group = &group[..len];
            if let Some(table) = self.table() {
                table.prefetch(group);
            }
            for hash in group {
                answer(self.add_hash(*hash, now, limit)?);
            }
        }
    }

    fn add_hash(
        &mut self,
        hash: ItemHash,
        now: u64,
        limit: SizeLimit,
    ) -> Result<Outcome, AddError> {
        let now = self.slices.time(now);
        let is_there = self.contains_hash(hash, now);
        if is_there && (!self.window.renews() || self.is_fresh(hash, now)) {
            return Ok(Outcome::Unchanged);
        }
        if self.loading().is_some() {
            return Err(AddError::Loading);
        }
        let Parameters {
            capacity, growth, ..
        } = self.parameters();
        if !is_there && growth == Growth::Fixed && self.items(now) >= capacity {
            return Err(AddError::Full);
        }
        let most_bytes = limit.most_bytes().saturating_sub(self.bytes_besides());
        let before = self.slices;
        let moved = self.advance(now);
        match self.change(hash, is_there, most_bytes) {
            Ok(items) => self.push_sweep(moved, items),
            Err(error) => {
                self.slices = before;
                self.undo(moved);
                return Err(error);
            }
        }
        Ok(match is_there {
            true => Outcome::Renewed,
            false => Outcome::New,
        })
    }

    /// Whether the item came, or was renewed, in the slice of this time.
    fn is_fresh(&self, hash: ItemHash, now: u64) -> bool {
        let slice = self.slices.slice_at(&self.window, now);
        let payload = (slice == self.slices.current)
            .then(|| self.slices.slice(slice).payload)
            .flatten();
        let found = payload.zip(self.table());
        found.is_some_and(|(payload, table)| table.contains_among(hash, 1 << payload))
    }

    /// Writes an item of the current slice. Returns how many items it has now.
    fn change(&mut self, hash: ItemHash, is_there: bool, most_bytes: u64) -> Result<u64, AddError> {
        let table = self.parts.table_mut().ok_or(AddError::Loading)?;
        let mut slices = self.slices;
        let payload = slices.open(&self.window);
        let items = if is_there {
            let (before, copies) = table
                .replace_payload(hash, payload)?
                .unwrap_or((payload, 0));
            slices.renew(before, copies)
        } else {
            match table.insert(hash, payload, most_bytes) {
                Ok(()) => slices.count(),
                // The table itself is never full.
                Err(AddError::Full) => return Err(AddError::Uncountable),
                Err(error) => return Err(error),
            }
        };
        self.slices = slices;
        Ok(items)
    }

    fn hash(&self, item: &[u8]) -> ItemHash {
        ItemHash::of(item, self.parameters.seed)
    }
}
