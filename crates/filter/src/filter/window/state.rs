//! The clock as bytes, and what becomes of it while pages come.
//!
//! Each chunk says the state of the filter when it was made. In a file all chunks agree. A client
//! that dumps a filter call by call may get chunks of several states: slices have passed in
//! between, and sweeps. What is loaded then is sound, and remembers each item as long as it must:
//! items whose payload has meanwhile gone to a later slice are remembered as long as that.

use super::slices::{Slice, Slices, MAX_ITEMS};
use super::span::{Window, MAX_TIME};
use crate::bytes::{within, Reader, Sink};
use crate::error::DecodeError;
use crate::table::Payloads;

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

    /// The state that was written.
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
        within(
            "swept payloads",
            sweeping & !dead == 0 && (sweeping == 0) == (dead == 0),
        )?;
        let is_start = slices.swept.trailing_zeros() >= PATH_SHIFT;
        within("sweep", is_start && (sweeping != 0 || slices.swept == 0))?;
        for age in (0..=u64::from(window.slices())).rev() {
            let (payload, items) = (reader.u8()?, reader.u64()?);
            if payload == NONE {
                within("items of a slice", items == 0)?;
                continue;
            }
            let is_free = Self::all_payloads(window)
                .checked_shr(payload.into())
                .unwrap_or(0)
                & 1
                == 1
                && (slices.used | dead) >> payload & 1 == 0;
            within("payload of a slice", is_free)?;
            within("items of a slice", items <= MAX_ITEMS)?;
            let slice = slices.current.checked_sub(age);
            slices.set_slice(slice.ok_or(DecodeError::Field("slice"))?, payload, items);
        }
        Ok(slices)
    }

    /// The state after a chunk that says this one and has these pages; `before` is the state that
    /// the chunks before have left. Until the last chunk, each entry counts as an item.
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
        within(
            "items",
            place.items.is_none_or(|items| items == self.items()),
        )?;
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
            let earlier = before.map_or(0, |before| before.items_of(payload));
            let entries = pages.entries[usize::from(payload & 0xf)].saturating_add(earlier);
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

    /// If sweeps or slices have gone on since the pages before came, these may have entries that
    /// the filter that was dumped has no more.
    fn take_dead(&mut self, before: &Self) {
        let sweep = |state: &Self| (state.used, state.dead, state.sweeping, state.swept);
        if sweep(self) != sweep(before) {
            self.dead |= (before.used | before.dead) & !self.used;
            self.begin_sweep();
        }
        self.forgotten = before.forgotten;
    }
}
