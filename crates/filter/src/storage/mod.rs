//! Storage of the bits: one small block, or segments of at most 64 KiB, allocated on first touch
//! and shared between copies. While few lines of a segment are touched, only these are allocated.

pub mod data;
mod leaves;
mod list;
pub mod segments;
#[allow(unsafe_code, reason = "a box whose length takes one byte or two")]
pub(crate) mod small_boxed_slice;

pub use list::{Units, View};
pub use splitbloom_foundation::alloc::Mover;

pub(crate) use splitbloom_foundation::segment::LINE_WORDS;
pub use splitbloom_foundation::segment::SEGMENT_WORDS;

use bitvec::prelude::{BitSlice, Lsb0};
use splitbloom_foundation::segment::SEGMENT_BYTES;

/// Bits of a full segment.
pub const SEGMENT_BITS: u32 = 8 * SEGMENT_BYTES as u32;
/// The most segments of all sub-filters together: 2^60 bytes, whose bits fit a count of 64 bits.
pub(crate) const MAX_SEGMENTS: u64 = 1 << 44;

/// The maximum number of bytes that the decoder holds for each byte of a chunk, beyond 4 KiB.
///
/// The heaviest layers from RedisBloom ([`crate::foreign`]) have 64 segments, of which only the
/// last, one line long, has a set bit. Each takes 132 bytes of input: a layer record, a segment
/// record, a line. In memory it takes the line, a leaf of 64 slots, and its places in two vectors
/// that have just doubled: 16.1 times as much. Other sub-filters take less: lines go into lists,
/// and a segment with one line more than fits a list, which is allocated whole, takes 8 KB of
/// input.
///
/// The heaviest tables have one node of 2 048 children, as few pages as can share it, and as many
/// lines as possible for each: more than 16 times as much. Records are padded to keep this bound
/// (`table/record.rs`).
///
/// `fuzz/src/loaded.rs` loads these chunks, and measures every chunk that a fuzzer makes.
pub const MEMORY_PER_BYTE: usize = 18;

/// The words of a segment or sub-bitmap as bits, to read them one by one. Code that must be fast
/// does not use it: docs/design.md has the cost.
pub fn bits(words: &[u64]) -> &BitSlice<u64, Lsb0> {
    BitSlice::from_slice(words)
}
