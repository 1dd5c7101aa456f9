//! Memory that may be refused: vectors and boxes that can be allocated without ending the process,
//! the bytes that an allocator holds for a block, and moving blocks for defragmentation.

use std::collections::TryReserveError;

/// The allocator refused; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory;

impl From<TryReserveError> for OutOfMemory {
    fn from(_: TryReserveError) -> Self {
        Self
    }
}

/// Moves allocations, so that the server can defragment its heap.
pub trait Mover {
    /// Returns the same elements, perhaps at another address.
    fn relocate<T>(&mut self, elements: Vec<T>) -> Vec<T>;
    /// Whether the time for this step is used up.
    fn should_stop(&mut self) -> bool;
}

/// A vector with room for `len` elements.
pub fn try_vec<T>(len: usize) -> Result<Vec<T>, OutOfMemory> {
    let mut vec = Vec::new();
    vec.try_reserve_exact(len)?;
    Ok(vec)
}

/// Appends `value` to `vec` if there is memory.
pub fn try_push<T>(vec: &mut Vec<T>, value: T) -> Result<(), OutOfMemory> {
    vec.try_reserve(1)?;
    vec.push(value);
    Ok(())
}

/// A boxed slice of the `len` elements that `fill` puts into the vector.
pub fn try_boxed<T>(len: usize, fill: impl FnOnce(&mut Vec<T>)) -> Result<Box<[T]>, OutOfMemory> {
    let mut vec = try_vec(len)?;
    fill(&mut vec);
    Ok(vec.into_boxed_slice())
}

/// `value` on the heap: an array of one, because a [`Mover`] moves slices and a `Box` of a value
/// cannot be refused.
pub fn try_boxed_one<T>(value: T) -> Result<Box<[T; 1]>, OutOfMemory> {
    let boxed = try_boxed(1, |to| to.push(value))?;
    boxed.try_into().map_err(|_| OutOfMemory)
}

/// Passes the block of `elements` through `mover`.
pub fn relocate_box<T>(elements: Box<[T]>, mover: &mut impl Mover) -> Box<[T]> {
    mover.relocate(elements.into_vec()).into_boxed_slice()
}

/// Passes a block of one value through `mover`; `None` if that returns something else.
pub fn relocate_one<T>(one: Box<[T; 1]>, mover: &mut impl Mover) -> Option<Box<[T; 1]>> {
    relocate_box(one as Box<[T]>, mover).try_into().ok()
}

/// The size class of a block: allocators round sizes up, jemalloc to multiples of 16 and, from 128
/// bytes on, to one of four classes in each doubling (its `size_classes.h`).
pub const fn size_class(bytes: u64) -> u64 {
    let spacing = match bytes {
        0..=128 => 16,
        _ => 1 << ((bytes - 1).ilog2() - 2),
    };
    bytes.next_multiple_of(spacing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_to_the_classes_of_jemalloc() {
        let sizes = [0, 1, 16, 17, 112, 128, 129, 160, 161, 256, 257, 320, 4096, 4097, 65_536];
        let classes = [0, 16, 16, 32, 112, 128, 160, 160, 192, 256, 320, 320, 4096, 5120, 65_536];
        assert_eq!(sizes.map(size_class), classes);
    }
}
