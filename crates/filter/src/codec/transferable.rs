//! What goes from server to server, and to a file, in chunks.

use super::encode::{encode_chunk, Encoded, Outline};
use super::{load_chunk, Chunk, Chunked, MAX_CHUNK_BYTES};
use crate::error::{AddError, DecodeError};
use crate::size_limit::SizeLimit;

/// A filter of one kind, or of any of several.
pub trait Transferable: Sized {
    /// The chunk at `iterator`: see [`encode_chunk`].
    ///
    /// # Errors
    /// `OutOfMemory`.
    fn encode_chunk(&self, iterator: u64) -> Result<Option<Encoded>, AddError>;

    /// The same into a buffer, without allocating: the iterator after it, and its bytes. The filter
    /// has not changed since the chunk before.
    fn write_chunk<'b>(
        &self,
        iterator: u64,
        buffer: &'b mut [u8; MAX_CHUNK_BYTES],
    ) -> Option<(u64, &'b [u8])>;

    /// Loads a chunk: see [`load_chunk`].
    ///
    /// # Errors
    /// Any [`DecodeError`]; the filter is as it was.
    fn load_chunk(
        filter: Option<&mut Self>,
        chunk: &Chunk<'_>,
        limit: SizeLimit,
    ) -> Result<Option<Self>, DecodeError>;
}

impl<F: Chunked> Transferable for F {
    fn encode_chunk(&self, iterator: u64) -> Result<Option<Encoded>, AddError> {
        encode_chunk(self, iterator)
    }

    fn write_chunk<'b>(
        &self,
        iterator: u64,
        buffer: &'b mut [u8; MAX_CHUNK_BYTES],
    ) -> Option<(u64, &'b [u8])> {
        let outline = Outline::at(self, iterator)?;
        Some((outline.next(), outline.write_into(buffer)))
    }

    fn load_chunk(
        filter: Option<&mut Self>,
        chunk: &Chunk<'_>,
        limit: SizeLimit,
    ) -> Result<Option<Self>, DecodeError> {
        load_chunk(filter, chunk, limit)
    }
}
