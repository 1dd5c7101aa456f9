//! A windowed filter as a chain of chunks: its head record, its state record, and its digest.

use super::slices::Slices;
use super::{Window, WindowedFilter};
use crate::bloom::blocked_bloom::BlockedBloom;
use crate::codec::{within, Chunked, Place, Reader, Sink, WINDOWED_FILTER};
use crate::error::DecodeError;
use crate::filter::{Growth, Packed, Parameters, MAX_EXPANSION};
use crate::hash::Seed;
use crate::parts::Parts;
use crate::table::{Payloads, Table};

impl Chunked for WindowedFilter {
    type SubFilter = BlockedBloom;
    const HEAD: u8 = WINDOWED_FILTER;
    type State = Slices;

    fn write_head(&self, to: &mut impl Sink) {
        let parameters = self.parameters();
        to.u64(parameters.seed.0);
        to.f64(parameters.error_rate);
        to.u64(parameters.capacity);
        to.u32(parameters.growth.factor());
        to.u32(self.window.seconds());
        to.u8(self.window.slices());
        to.u8(self.window.renews().into());
    }

    fn read_head(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (seed, error_rate) = (Seed(reader.u64()?), reader.f64()?);
        within("error rate", error_rate > 0.0 && error_rate < 1.0)?;
        let (capacity, expansion) = (reader.capacity()?, reader.u32()?);
        within("expansion", expansion <= MAX_EXPANSION)?;
        let (seconds, slices, renew) = (reader.u32()?, reader.u8()?, reader.u8()?);
        within("renew", renew <= 1)?;
        let window = Window::new(seconds, slices, renew == 1);
        let parameters = Parameters {
            error_rate,
            capacity,
            growth: Growth::from_factor(expansion),
            seed,
        };
        Ok(Self {
            parameters: Packed::new(parameters),
            window: window.ok_or(DecodeError::Field("window"))?,
            slices: Slices::default(),
            parts: Parts::none(),
            gone: None,
        })
    }

    fn parts(&self) -> &Parts {
        &self.parts
    }

    fn parts_mut(&mut self) -> &mut Parts {
        &mut self.parts
    }

    fn table_rate(&self, blooms: usize) -> Option<f64> {
        (blooms == 0).then_some(self.parameters().error_rate)
    }

    fn most_blooms(&self) -> usize {
        0
    }

    /// Those forgotten.
    fn removed(&self) -> u64 {
        self.slices.forgotten()
    }

    fn may_have_removed(&self, _: u64) -> bool {
        true
    }

    fn set_removed(&mut self, removed: u64) {
        self.slices.set_forgotten(removed);
    }

    fn payload_bits(&self) -> u8 {
        self.window.payload_bits()
    }

    fn newest_payload(&self) -> u8 {
        self.slices.newest()
    }

    fn state_bytes(&self) -> usize {
        1 + Slices::bytes(&self.window)
    }

    fn write_state(&self, to: &mut impl Sink) {
        self.slices.write(&self.window, to);
    }

    fn read_state(&self, reader: &mut Reader<'_>) -> Result<Slices, DecodeError> {
        Slices::read(&self.window, reader)
    }

    fn next_state(
        &self,
        state: Slices,
        pages: &Payloads,
        place: Place,
    ) -> Result<Slices, DecodeError> {
        let before = (!place.is_first).then_some(&self.slices);
        let is_counted = pages.are_counted && self.parts.table().is_none_or(Table::is_counted);
        state.with_pages(before, pages, place, is_counted)
    }

    fn set_state(&mut self, state: Slices) {
        self.slices = state;
        if let Some(table) = self.parts.table_mut() {
            table.set_alive(state.alive(), state.items());
        }
    }
}
