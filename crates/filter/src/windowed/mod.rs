//! A filter that forgets: it remembers an item only for a window of time.
//!
//! The window is divided into n slices. Each entry of a growing table ([`crate::table`]) carries
//! a payload: the slice in which its item was added. n + 1 slices are remembered, the current one
//! and the n before it. So an item is remembered for at least the window, and at most one slice
//! longer.
//!
//! ```text
//!   WindowedFilter
//!   ├ parameters   as those of a filter; capacity is a hint, or the most items remembered
//!   ├ window       seconds, slices, whether adds renew
//!   ├ slices       the clock: latest time seen, payload and items of each slice, sweep
//!   └ parts        a table: a fingerprint for each item
//! ```
//!
//! # The caller supplies the time
//! The filter has no clock. The operations that change it ([`WindowedFilter::add`],
//! [`WindowedFilter::add_many`], [`WindowedFilter::sweep_step`]) are deterministic: repeated in the
//! same order with the same times, they produce the same filter, bit by bit. Nothing else changes
//! it, and an add without effect does not even advance the time. Lookups change nothing.
//!
//! # Forgetting
//! When a slice is over, its items are forgotten at once, because lookups compare payloads. Its
//! entries are dropped later, a page at a time: when their page is rewritten anyway, and by a
//! sweep, which adds advance a little and [`WindowedFilter::sweep_step`] by a bounded step. When
//! nothing is remembered any more, the whole table is replaced by an empty one.

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
use crate::group::Group;
use crate::hash::ItemHash;
use crate::parts::{Loading, Parts};
use crate::size_limit::SizeLimit;
use crate::table::Table;
use slices::Slices;

/// What an add did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The item was absent or forgotten, and has been added.
    New,
    /// The item was present, and its time has been restarted.
    Renewed,
    /// The item was present, and nothing has changed.
    Unchanged,
}

impl Outcome {
    /// Whether the item was absent.
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
    /// One table. It is missing only until the first chunk of a load.
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

    /// The table; missing only until the first chunk of a load.
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

    /// The maximum age in milliseconds of the items remembered at `now`; `None` if there are none.
    pub fn age_of_oldest(&self, now: u64) -> Option<u64> {
        let mut slices = self.items_by_slice(now);
        let (start, _) = slices.find(|(_, items)| *items > 0)?;
        Some(self.slices.time(now).saturating_sub(start))
    }

    /// Items forgotten, up to the latest time.
    pub fn forgotten(&self) -> u64 {
        self.slices.forgotten()
    }

    /// Its capacity: the items that it has, or what was reserved if that is more.
    pub fn capacity(&self) -> u64 {
        self.slices.items().max(self.parameters().capacity)
    }

    /// An upper bound of the false-positive rate at `now`: forgotten entries count until they are
    /// swept.
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

    /// Adds an item at the time `now`.
    ///
    /// # Errors
    /// `Full` if the filter does not grow and remembers as many items as its capacity;
    /// `OverLimit`; `Loading`; `OutOfMemory`. Nothing has changed.
    pub fn add(&mut self, item: &[u8], now: u64, limit: SizeLimit) -> Result<Outcome, AddError> {
        self.add_hash(self.hash(item), now, limit)
    }

    /// Adds many items at the time `now` and calls `answer` for each in order. The cache misses of
    /// 16 items overlap.
    ///
    /// # Errors
    /// As [`WindowedFilter::add`], for the item after those that were answered.
    pub fn add_many<'a>(
        &mut self,
        items: impl Iterator<Item = &'a [u8]>,
        now: u64,
        limit: SizeLimit,
        mut answer: impl FnMut(Outcome),
    ) -> Result<(), AddError> {
        let seed = self.parameters.seed;
        let mut hashes = items.map(|item| ItemHash::of(item, seed));
        let mut group = Group::default();
        while !group.read(&mut hashes).is_empty() {
            if let Some(table) = self.table() {
                table.prefetch(group.hashes());
            }
            for hash in group.hashes() {
                answer(self.add_hash(*hash, now, limit)?);
            }
        }
        Ok(())
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

    /// Whether the item was added or renewed in the slice of this time.
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
        } else if !slices.can_count() {
            return Err(AddError::Uncountable);
        } else {
            table.insert(hash, payload, most_bytes)?;
            slices.count()
        };
        self.slices = slices;
        Ok(items)
    }

    fn hash(&self, item: &[u8]) -> ItemHash {
        ItemHash::of(item, self.parameters.seed)
    }
}
