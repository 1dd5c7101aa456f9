//! The time of a filter: the latest time seen, and the state of each slice.
//!
//! ```text
//!   slices:       | gone by | oldest | ... | current |      n + 1 are remembered
//!   payload         dead      3        5     0              a free one for each slice with items
//!   items           0         812      0     93
//! ```
//!
//! When the first item of a slice is added, the slice gets a payload that no entry has. When the
//! slice is over, the payload is dead: its entries no longer count, and when a sweep has visited
//! all pages none are left. If no payload is free, because slices pass faster than a sweep, the
//! newest slice with items passes its own on to the current one: its items are remembered longer
//! than necessary, and no item shorter.
//!
//! # In chunks
//! Each chunk says the state of the filter when it was made. In a file all chunks agree. A client
//! that dumps a filter call by call may get chunks of several states: slices have passed in
//! between, and sweeps. What is loaded then is sound, and remembers each item as long as it must:
//! items whose payload has meanwhile gone to a later slice are remembered as long as that.

use super::span::{Window, MAX_TIME};
use crate::bytes::{within, Reader, Sink};
use crate::error::DecodeError;
use crate::table::Payloads;

/// The number of slices kept, which are indexed by their number modulo this: a power of two, and at
/// least one more than a window has.
const KEPT: usize = 16;

/// The most items that a slice counts: more than any filter holds, and the sum over all slices
/// cannot overflow.
pub const MAX_ITEMS: u64 = 1 << 59;

/// The state of a slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// The payload of its entries, if it has had any.
    pub payload: Option<u8>,
    /// Items that began in it.
    pub items: u64,
}

/// The state outside the entries. It is copied before each change, and restored if that fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slices {
    /// The latest time seen, in milliseconds since 1970; 0 before the first change.
    pub latest: u64,
    /// The slice it lies in.
    pub(super) current: u64,
    /// Payloads of the slices that are remembered, bit i for payload i.
    pub(in crate::filter) used: u16,
    /// Payloads of past slices, whose entries may still be in the table.
    pub(in crate::filter) dead: u16,
    /// Those of them whose entries will be gone when the current sweep has visited all pages.
    pub(super) sweeping: u16,
    pub(super) payloads: [Option<Payload>; KEPT],
    pub(super) items: [u64; KEPT],
    /// Items of past slices.
    pub forgotten: u64,
    /// The path that the sweep has reached.
    pub(in crate::filter) swept: u64,
}

/// Stored plus one, so that `Option<Payload>` is one byte.
type Payload = std::num::NonZeroU8;

fn place(slice: u64) -> usize {
    (slice % KEPT as u64) as usize
}

impl Slices {
    /// The time as the filter counts it: it never runs backwards.
    pub fn time(&self, now: u64) -> u64 {
        now.min(MAX_TIME).max(self.latest)
    }

    /// The current slice at a time.
    pub fn slice_at(&self, window: &Window, now: u64) -> u64 {
        match self.time(now) {
            latest if latest == self.latest => self.current,
            time => window.slice_of(time),
        }
    }

    /// The state of a slice that is remembered.
    pub fn slice(&self, slice: u64) -> Slice {
        Slice { payload: self.payload_at(place(slice)), items: self.items[place(slice)] }
    }

    pub(super) fn payload_at(&self, place: usize) -> Option<u8> {
        self.payloads[place].map(|payload| payload.get() - 1)
    }

    pub(super) fn set_slice(&mut self, slice: u64, payload: u8, items: u64) {
        self.used |= 1 << payload;
        self.payloads[place(slice)] = Payload::new(payload + 1);
        self.items[place(slice)] = items;
    }

    /// The place of the slice of a payload.
    fn place_of(&self, payload: u8) -> Option<usize> {
        (0..KEPT).find(|place| self.payload_at(*place) == Some(payload))
    }

    /// All payloads.
    pub(super) fn all_payloads(window: &Window) -> u16 {
        u16::MAX >> (16 - (1u32 << window.payload_bits()))
    }

    /// The slices that are remembered at a time and may have items, oldest first.
    pub fn remembered(&self, window: &Window, now: u64) -> std::ops::RangeInclusive<u64> {
        window.oldest(self.slice_at(window, now))..=self.current
    }

    /// The payloads of what is remembered at a time.
    pub fn visible(&self, window: &Window, now: u64) -> u16 {
        if self.slice_at(window, now) == self.current {
            return self.used;
        }
        let slices = self.remembered(window, now);
        let payloads = slices.filter_map(|slice| self.slice(slice).payload);
        payloads.fold(0, |all, payload| all | 1 << payload)
    }

    /// The payload, as a bit, of the items added or renewed in the slice at `now`.
    pub fn payloads_at(&self, window: &Window, now: u64) -> u16 {
        let slice = self.slice_at(window, now);
        let payload = self.slice(slice).payload.filter(|_| slice == self.current);
        payload.map_or(0, |payload| 1 << payload)
    }

    /// Items that are remembered at a time.
    pub fn items_at(&self, window: &Window, now: u64) -> u64 {
        let slices = self.remembered(window, now);
        slices.map(|slice| self.slice(slice).items).sum()
    }

    /// Items of slices that are not over at the latest time.
    pub fn items(&self) -> u64 {
        self.items.iter().sum()
    }

    /// Advances the time, and forgets slices that are over by then. Returns whether there were any.
    pub fn advance(&mut self, window: &Window, now: u64) -> bool {
        let (current, dead) = (self.slice_at(window, now), self.dead);
        let oldest = window.oldest(current);
        for slice in window.oldest(self.current)..=self.current.min(oldest.saturating_sub(1)) {
            if slice < oldest {
                self.forget(slice);
            }
        }
        (self.latest, self.current) = (self.time(now), current);
        if self.sweeping == 0 {
            self.begin_sweep();
        }
        self.dead != dead
    }

    fn forget(&mut self, slice: u64) {
        let Slice { payload, items } = self.slice(slice);
        self.forgotten = self.forgotten.saturating_add(items);
        self.items[place(slice)] = 0;
        if let Some(payload) = payload {
            self.payloads[place(slice)] = None;
            self.used &= !(1 << payload);
            self.dead |= 1 << payload;
        }
    }

    /// Whether the table may have entries, but none of a slice that is remembered.
    pub fn is_all_dead(&self) -> bool {
        self.used == 0 && self.dead != 0
    }

    /// The payload of the newest slice that has one: a page that saturates gets it, and is
    /// remembered longest. 0 if none has, because then nothing is remembered.
    pub fn newest(&self) -> u8 {
        let slices = (0..KEPT as u64).map_while(|age| self.current.checked_sub(age));
        let mut payloads = slices.filter_map(|slice| self.slice(slice).payload);
        payloads.next().unwrap_or(0)
    }

    /// Records that the table has no entries any more.
    pub fn clear_dead(&mut self) {
        (self.dead, self.sweeping, self.swept) = (0, 0, 0);
    }

    /// The payload of the current slice, which gets one if it has none.
    pub fn open(&mut self, window: &Window) -> u8 {
        if let Some(payload) = self.slice(self.current).payload {
            return payload;
        }
        let free = Self::all_payloads(window) & !self.used & !self.dead;
        let Slice { payload, items } = match free {
            0 => self.take_newest(window),
            free => Slice { payload: Some(free.trailing_zeros() as u8), items: 0 },
        };
        // There is one: if none is in use, `Clock::advance` has left none dead, so one is free.
        let payload = payload.unwrap_or(0);
        self.set_slice(self.current, payload, items);
        payload
    }

    /// Takes the payload and items away from the newest slice that has a payload.
    fn take_newest(&mut self, window: &Window) -> Slice {
        let mut slices = (window.oldest(self.current)..self.current).rev();
        let newest = slices.find(|slice| self.slice(*slice).payload.is_some());
        let newest = newest.unwrap_or(self.current);
        let taken = self.slice(newest);
        self.payloads[place(newest)] = None;
        self.items[place(newest)] = 0;
        taken
    }

    /// Whether one more item of the current slice can be counted.
    pub fn can_count(&self) -> bool {
        self.items[place(self.current)] < MAX_ITEMS
    }

    /// Counts an item of the current slice. Returns how many there are in it now.
    pub fn count(&mut self) -> u64 {
        let items = &mut self.items[place(self.current)];
        *items += 1;
        *items
    }

    /// Moves a number of items from the slice of a payload to the current one.
    pub fn renew(&mut self, payload: u8, copies: u64) -> u64 {
        let current = place(self.current);
        if let Some(from) = self.place_of(payload) {
            // One fingerprint may have become several, which are one item together.
            let moved = copies.min(self.items[from]).min(MAX_ITEMS - self.items[current]);
            self.items[from] -= moved;
            self.items[current] += moved;
        }
        self.items[current]
    }

    pub(super) fn begin_sweep(&mut self) {
        (self.sweeping, self.swept) = (self.dead, 0);
    }

    /// Where the current sweep continues, if there is one.
    pub fn sweep(&self) -> Option<u64> {
        (self.sweeping != 0).then_some(self.swept)
    }

    /// Records where the sweep continues, or that it has visited all pages. If slices have ended
    /// since it began, another one begins.
    pub fn set_swept(&mut self, next: Option<u64>) {
        match next {
            Some(next) => self.swept = next,
            None => {
                self.dead &= !self.sweeping;
                self.begin_sweep();
            }
        }
    }

    /// When the first slice is over, in milliseconds since 1970, of those that are remembered at
    /// `now` and may have items.
    pub fn next_end(&self, window: &Window, now: u64) -> Option<u64> {
        let mut slices = self.remembered(window, now);
        let oldest = slices.find(|slice| self.slice(*slice).payload.is_some())?;
        Some(window.start_of(oldest.saturating_add(u64::from(window.slices()) + 1)))
    }
}

/// Stands for no payload.
const NONE: u8 = u8::MAX;

/// Bits of a path that are 0 at the beginning of every page: none is deeper than 51 bits.
pub(crate) const PATH_SHIFT: u32 = 13;

/// The place of a chunk in its chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Whether it is the first one.
    pub is_first: bool,
    /// The items of its table, if it is the last one.
    pub items: Option<u64>,
}

impl Slices {
    /// Writes the state: the slices that are remembered come oldest first. The number of items
    /// forgotten is not in it.
    pub fn write(&self, window: &Window, to: &mut impl Sink) {
        to.u64(self.latest);
        to.u16(self.dead);
        to.u16(self.sweeping);
        to.u64(self.swept);
        for age in (0..=u64::from(window.slices())).rev() {
            let slice = self.current.checked_sub(age);
            let Slice { payload, items } = slice.map(|slice| self.slice(slice)).unwrap_or_default();
            to.u8(payload.unwrap_or(NONE));
            to.u64(items);
        }
    }

    /// Reads the state that [`Slices::write`] wrote.
    ///
    /// # Errors
    /// `Length`, or a `Field` that is out of range or contradicts another.
    pub fn read(window: &Window, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let latest = reader.u64()?;
        within("time", latest <= MAX_TIME)?;
        let mut slices = Self {
            latest,
            current: window.slice_of(latest),
            dead: reader.u16()?,
            sweeping: reader.u16()?,
            swept: reader.u64()?,
            ..Self::default()
        };
        let (dead, sweeping) = (slices.dead, slices.sweeping);
        within("dead payloads", dead & !Self::all_payloads(window) == 0)?;
        let is_sweep = sweeping & !dead == 0 && (sweeping == 0) == (dead == 0);
        within("swept payloads", is_sweep)?;
        let is_start = slices.swept.trailing_zeros() >= PATH_SHIFT;
        within("sweep", is_start && (sweeping != 0 || slices.swept == 0))?;
        for age in (0..=u64::from(window.slices())).rev() {
            let (payload, items) = (reader.u8()?, reader.u64()?);
            if payload == NONE {
                within("items of a slice", items == 0)?;
                continue;
            }
            let is_free = Self::all_payloads(window).checked_shr(payload.into()).unwrap_or(0) & 1
                == 1
                && (slices.used | dead) >> payload & 1 == 0;
            within("payload of a slice", is_free)?;
            within("items of a slice", items <= MAX_ITEMS)?;
            let slice = slices.current.checked_sub(age);
            slices.set_slice(slice.ok_or(DecodeError::Field("slice"))?, payload, items);
        }
        Ok(slices)
    }

    /// The state after a chunk with this state and these pages; `before` is the state after the
    /// chunks before it. Until the last chunk, each entry counts as an item.
    ///
    /// # Errors
    /// `Field` for what contradicts the pages.
    pub fn with_pages(
        mut self,
        before: Option<&Self>,
        pages: &Payloads,
        place: Place,
        is_counted: bool,
    ) -> Result<Self, DecodeError> {
        within("payload", pages.all & !(self.used | self.dead) == 0)?;
        let is_sum = |items| items == self.items();
        within("items", place.items.is_none_or(is_sum))?;
        // When the sweep ends, its payloads count as free. So no page that it has passed has one.
        let is_left = |payload: usize| {
            (pages.all & self.sweeping) >> payload & 1 == 1 && pages.first[payload] < self.swept
        };
        within("sweep", !(0..pages.first.len()).any(is_left))?;
        let is_whole = place.is_first && place.items.is_some();
        for n in 0..self.payloads.len() {
            let Some(payload) = self.payload_at(n) else {
                continue;
            };
            let earlier = before.and_then(|before| Some(before.items[before.place_of(payload)?]));
            let entries =
                pages.entries[usize::from(payload & 0xf)].saturating_add(earlier.unwrap_or(0));
            let items = &mut self.items[n];
            let is_sound = !is_counted || *items <= entries;
            within("items of a slice", is_sound || !is_whole)?;
            if place.items.is_none() || !is_sound {
                *items = entries.min(MAX_ITEMS);
            }
        }
        if let Some(before) = before {
            self.take_dead(before);
        }
        Ok(self)
    }

    /// If sweeps or slices have gone on since the earlier pages were dumped, these may have entries
    /// that the dumped filter no longer has.
    fn take_dead(&mut self, before: &Self) {
        let sweep = |state: &Self| (state.used, state.dead, state.sweeping, state.swept);
        if sweep(self) != sweep(before) {
            self.dead |= (before.used | before.dead) & !self.used;
            self.begin_sweep();
        }
        self.forgotten = before.forgotten;
    }
}
