//! A filter of any kind in chunks: the first one tells the kind.

use super::{each, AnyFilter, Timed};
use crate::codec::{Chunk, Encoded, Transferable, MAX_CHUNK_BYTES};
use crate::error::{AddError, DecodeError};
use crate::filter::Filter;
use crate::size_limit::SizeLimit;
use crate::windowed::WindowedFilter;

impl<T: Default> Transferable for AnyFilter<T> {
    fn encode_chunk(&self, iterator: u64) -> Result<Option<Encoded>, AddError> {
        each!(self, filter => filter.encode_chunk(iterator))
    }

    fn write_chunk<'b>(
        &self,
        iterator: u64,
        buffer: &'b mut [u8; MAX_CHUNK_BYTES],
    ) -> Option<(u64, &'b [u8])> {
        each!(self, filter => filter.write_chunk(iterator, buffer))
    }

    fn load_chunk(
        filter: Option<&mut Self>,
        chunk: &Chunk<'_>,
        limit: SizeLimit,
    ) -> Result<Option<Self>, DecodeError> {
        match filter {
            None if chunk.begins::<WindowedFilter>() => {
                let begun = WindowedFilter::load_chunk(None, chunk, limit)?;
                let begun = begun.map(Self::forgetful).transpose();
                begun.map_err(|_| DecodeError::OutOfMemory)
            }
            None => Filter::load_chunk(None, chunk, limit).map(|begun| begun.map(Self::from)),
            Some(Self::Lasting(filter)) => {
                Filter::load_chunk(Some(filter), chunk, limit).map(|_| None)
            }
            Some(Self::Windowed(timed)) => {
                let [Timed { filter, .. }] = &mut **timed;
                WindowedFilter::load_chunk(Some(filter), chunk, limit).map(|_| None)
            }
        }
    }
}
