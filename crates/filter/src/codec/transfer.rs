//! What chunks are made of and loaded into: a filter of one kind ([`Chunked`]), or a value that is
//! of one kind or another.

use super::{chunks, encode_chunk, load_chunk, Chunk, Chunked, Encoded, MAX_CHUNK_BYTES};
use crate::error::{AddError, DecodeError};
use crate::size_limit::SizeLimit;

/// A filter that chunks are made of and loaded into.
pub trait Transfer: Sized {
    /// See [`encode_chunk`].
    ///
    /// # Errors
    /// `OutOfMemory`.
    fn encode_chunk(&self, iterator: u64) -> Result<Option<Encoded>, AddError>;

    /// Calls `take` with each chunk, written to `buffer`, and the iterator of the one after it.
    fn for_each_chunk(&self, buffer: &mut [u8; MAX_CHUNK_BYTES], take: impl FnMut(u64, &[u8]));

    /// See [`load_chunk`].
    ///
    /// # Errors
    /// Any [`DecodeError`], and nothing has changed.
    fn load_chunk(
        filter: Option<&mut Self>,
        chunk: &Chunk<'_>,
        limit: SizeLimit,
    ) -> Result<Option<Self>, DecodeError>;
}

impl<F: Chunked> Transfer for F {
    fn encode_chunk(&self, iterator: u64) -> Result<Option<Encoded>, AddError> {
        encode_chunk(self, iterator)
    }

    fn for_each_chunk(&self, buffer: &mut [u8; MAX_CHUNK_BYTES], mut take: impl FnMut(u64, &[u8])) {
        for chunk in chunks(self) {
            take(chunk.next(), chunk.write_into(buffer));
        }
    }

    fn load_chunk(
        filter: Option<&mut Self>,
        chunk: &Chunk<'_>,
        limit: SizeLimit,
    ) -> Result<Option<Self>, DecodeError> {
        load_chunk(filter, chunk, limit)
    }
}
