//! Storage of the bits: one small block, or segments of at most 64 KiB, allocated on first touch
//! and shared between copies.

#[allow(
    unsafe_code,
    reason = "segments are cleared memory, seen as cache lines and as words"
)]
mod leaves;
mod mover;
#[allow(unsafe_code, reason = "asks the kernel for pages")]
mod pages;
pub mod segments;
#[allow(unsafe_code, reason = "counted owners, as in Arc")]
pub(crate) mod shared;
mod size;

pub use mover::Mover;
pub(crate) use size::size_class;

use crate::error::AddError;
use bitvec::prelude::{BitSlice, Lsb0};

/// Bits of a full segment.
pub const SEGMENT_BITS: u32 = 8 * 64 * 1024;
/// Words of a full segment.
pub const SEGMENT_WORDS: usize = SEGMENT_BITS as usize / 64;
/// Words of a cache line.
pub(crate) const LINE_WORDS: usize = 8;

/// A boxed slice of the `len` elements that `fill` puts into the vector, or an error if the
/// allocator refuses.
fn try_boxed<T>(len: usize, fill: impl FnOnce(&mut Vec<T>)) -> Result<Box<[T]>, AddError> {
    let mut vec = Vec::new();
    vec.try_reserve_exact(len)
        .map_err(|_| AddError::OutOfMemory)?;
    fill(&mut vec);
    Ok(vec.into_boxed_slice())
}

fn relocate_box<T>(elements: Box<[T]>, mover: &mut impl Mover) -> Box<[T]> {
    mover.relocate(elements.into_vec()).into_boxed_slice()
}

/// The words of a segment or sub-bitmap as bits, to read them one by one. Code that must be fast
/// does not use it: docs/design.md has the cost.
pub fn bits(words: &[u64]) -> &BitSlice<u64, Lsb0> {
    BitSlice::from_slice(words)
}
