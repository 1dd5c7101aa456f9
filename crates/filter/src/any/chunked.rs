//! A filter of any kind as a chain of chunks: its head record tells the kind.

use super::{each, AnyFilter, Timed};
use crate::codec::{Chunked, Place, Reader, Sink, FILTER, WINDOWED_FILTER};
use crate::error::DecodeError;
use crate::filter::Filter;
use crate::growing::Payloads;
use crate::parts::Parts;
use crate::windowed::WindowedFilter;

impl<T: Default> Chunked for AnyFilter<T> {
    /// That of one that forgets; no other kind has any.
    type State = Option<<WindowedFilter as Chunked>::State>;

    fn head(&self) -> u8 {
        each!(self, filter => filter.head())
    }

    fn write_head(&self, to: &mut impl Sink) {
        each!(self, filter => filter.write_head(to));
    }

    fn read_head(kind: u8, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match kind {
            FILTER => Filter::read_head(kind, reader).map(Self::from),
            WINDOWED_FILTER => {
                let filter = WindowedFilter::read_head(kind, reader)?;
                Self::forgetful(filter).map_err(|_| DecodeError::OutOfMemory)
            }
            _ => Err(DecodeError::Order),
        }
    }

    fn parts(&self) -> &Parts {
        each!(self, filter => filter.parts())
    }

    fn parts_mut(&mut self) -> &mut Parts {
        each!(mut self, filter => filter.parts_mut())
    }

    fn table_rate(&self, blooms: usize) -> Option<f64> {
        each!(self, filter => filter.table_rate(blooms))
    }

    fn may_have_blooms(&self) -> bool {
        each!(self, filter => filter.may_have_blooms())
    }

    fn removed(&self) -> u64 {
        each!(self, filter => filter.removed())
    }

    fn may_have_removed(&self, removed: u64) -> bool {
        each!(self, filter => filter.may_have_removed(removed))
    }

    fn set_removed(&mut self, removed: u64) {
        each!(mut self, filter => filter.set_removed(removed));
    }

    fn payload_bits(&self) -> u8 {
        each!(self, filter => filter.payload_bits())
    }

    fn state_bytes(&self) -> usize {
        each!(self, filter => filter.state_bytes())
    }

    fn write_state(&self, to: &mut impl Sink) {
        each!(self, filter => filter.write_state(to));
    }

    fn read_state(&self, reader: &mut Reader<'_>) -> Result<Self::State, DecodeError> {
        match self {
            Self::Lasting(filter) => filter.read_state(reader).map(|()| None),
            Self::Windowed(timed) => timed[0].filter.read_state(reader).map(Some),
        }
    }

    fn next_state(
        &self,
        state: Self::State,
        pages: &Payloads,
        place: Place,
    ) -> Result<Self::State, DecodeError> {
        let Some(filter) = self.windowed() else {
            return Ok(state);
        };
        let state = state.unwrap_or_default();
        filter.next_state(state, pages, place).map(Some)
    }

    fn set_state(&mut self, state: Self::State) {
        if let (Some((filter, _)), Some(state)) = (self.windowed_mut(), state) {
            filter.set_state(state);
        }
    }
}
