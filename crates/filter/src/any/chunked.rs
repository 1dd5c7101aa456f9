//! A filter of any kind as a chain of chunks: its head record tells the kind.

use super::{each, AnyFilter};
use crate::codec::{Chunked, Reader, Sink, FILTER};
use crate::error::DecodeError;
use crate::filter::Filter;
use crate::parts::Parts;

impl Chunked for AnyFilter {
    fn head(&self) -> u8 {
        each!(self, filter => filter.head())
    }

    fn write_head(&self, to: &mut impl Sink) {
        each!(self, filter => filter.write_head(to));
    }

    fn read_head(kind: u8, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match kind {
            FILTER => Filter::read_head(kind, reader).map(Self::Lasting),
            _ => Err(DecodeError::Order),
        }
    }

    fn parts(&self) -> &Parts {
        each!(self, filter => filter.parts())
    }

    fn parts_mut(&mut self) -> &mut Parts {
        each!(self, filter => filter.parts_mut())
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
        each!(self, filter => filter.set_removed(removed));
    }
}
