//! What a series is made of.

use crate::codec::{Reader, Sink};
use crate::error::{AddError, DecodeError};
use crate::storage::segments::Segments;
use crate::storage::Mover;

/// Bits in segments, and a header that says how items map to them.
pub trait SubFilter: Sized {
    /// Bytes of the header as it is written: the layout kind, and what it needs.
    const HEADER_BYTES: usize;

    /// Writes the header.
    fn write_header(&self, to: &mut impl Sink);

    /// A sub-filter of this header without set bits. It allocates nothing.
    ///
    /// # Errors
    /// `Length`; `Layout` if it is not of this kind; a `Field` out of range.
    fn read_header(reader: &mut Reader<'_>) -> Result<Self, DecodeError>;

    /// The storage.
    fn segments(&self) -> &Segments;

    /// The storage, to allocate, move and fill.
    fn segments_mut(&mut self) -> &mut Segments;

    /// Sets the bits that are set in `words` (little-endian bytes), for which there is
    /// [room](Segments::make_room), and counts them.
    fn merge(&mut self, segment: u64, words: &[u8]);

    /// A copy: see [`Segments::try_clone`].
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    fn try_clone(&mut self) -> Result<Self, AddError>;

    /// Passes all allocations through `mover`, from segment `from` on, until it says stop, but at
    /// least one segment. Returns the segment to continue from, or `None` at the end.
    fn relocate(&mut self, from: u64, mover: &mut impl Mover) -> Option<u64> {
        let segments = self.segments_mut();
        if from == 0 {
            segments.relocate_leaves(mover);
        }
        let mut segment = from;
        while let Some(next) = segments.relocate_next(segment, mover) {
            segment = next;
            if mover.should_stop() {
                return Some(segment);
            }
        }
        None
    }
}
