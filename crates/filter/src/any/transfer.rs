//! A filter of any kind as a chain of chunks: its head record tells the kind.

use super::{each, AnyFilter, Timed};
use crate::codec::{load_chunk, Chunk, Encoded, Transfer, MAX_CHUNK_BYTES};
use crate::error::{AddError, DecodeError};
use crate::foreign::ForeignFilter;
use crate::size_limit::SizeLimit;
use crate::windowed::WindowedFilter;

impl<T: Default> Transfer for AnyFilter<T> {
    fn encode_chunk(&self, iterator: u64) -> Result<Option<Encoded>, AddError> {
        each!(self, filter => filter.encode_chunk(iterator))
    }

    fn for_each_chunk(&self, buffer: &mut [u8; MAX_CHUNK_BYTES], take: impl FnMut(u64, &[u8])) {
        each!(self, filter => filter.for_each_chunk(buffer, take));
    }

    fn load_chunk(
        filter: Option<&mut Self>,
        chunk: &Chunk<'_>,
        limit: SizeLimit,
    ) -> Result<Option<Self>, DecodeError> {
        match filter {
            Some(Self::Lasting(filter)) => load_chunk(Some(filter), chunk, limit).map(|_| None),
            Some(Self::Foreign(one)) => {
                let [filter] = &mut **one;
                load_chunk(Some(filter), chunk, limit).map(|_| None)
            }
            Some(Self::Windowed(timed)) => {
                let [Timed { filter, .. }] = &mut **timed;
                load_chunk(Some(filter), chunk, limit).map(|_| None)
            }
            None if chunk.begins::<ForeignFilter>() => {
                let begun = load_chunk(None, chunk, limit)?.map(Self::foreign);
                begun.transpose().map_err(|_| DecodeError::OutOfMemory)
            }
            None if chunk.begins::<WindowedFilter>() => {
                let begun = load_chunk(None, chunk, limit)?.map(Self::forgetful);
                begun.transpose().map_err(|_| DecodeError::OutOfMemory)
            }
            None => Ok(load_chunk(None, chunk, limit)?.map(Self::Lasting)),
        }
    }
}
