//! A boxed slice whose length takes one or two bytes, for structures that contain very many:
//! `Box<[T]>` takes 16 bytes, this 9 or 10, at any address.

use std::marker::PhantomData;
use std::mem::forget;
use std::ops::{Deref, DerefMut};
use std::ptr::{slice_from_raw_parts, slice_from_raw_parts_mut, NonNull};

/// The address of the elements on the heap, and their number.
#[repr(C, packed)]
pub struct SmallBoxedSlice<T, L: Copy + Into<usize>> {
    start: NonNull<T>,
    len: L,
    _owned: PhantomData<T>,
}

// SAFETY: it owns its elements, as `Box<[T]>` does, which is `Send` if `T` is.
unsafe impl<T: Send, L: Copy + Into<usize>> Send for SmallBoxedSlice<T, L> {}
// SAFETY: a shared reference only gives out `&[T]`, as `Box<[T]>` does, which is `Sync` if `T` is.
unsafe impl<T: Sync, L: Copy + Into<usize>> Sync for SmallBoxedSlice<T, L> {}

impl<T, L: Copy + Into<usize> + TryFrom<usize>> SmallBoxedSlice<T, L> {
    /// The elements of a vector without spare capacity. Allocates nothing.
    ///
    /// # Panics
    /// If `L` cannot count them, or the vector has spare capacity: giving that back would be an
    /// allocation that may fail.
    pub fn of(elements: Vec<T>) -> Self {
        let Ok(len) = L::try_from(elements.len()) else {
            panic!("a short slice of {} elements", elements.len());
        };
        assert!(elements.capacity() == elements.len(), "room to spare");
        let elements = Box::leak(elements.into_boxed_slice());
        Self { start: NonNull::from(elements).cast(), len, _owned: PhantomData }
    }

    /// The elements as a vector without spare capacity.
    pub fn into_vec(self) -> Vec<T> {
        let elements = slice_from_raw_parts_mut(self.start.as_ptr(), self.len.into());
        forget(self);
        // SAFETY: `of` leaked a boxed slice of `len` elements; its owner, `self`, is forgotten.
        unsafe { Box::from_raw(elements) }.into_vec()
    }
}

impl<T, L: Copy + Into<usize> + TryFrom<usize>> Default for SmallBoxedSlice<T, L> {
    fn default() -> Self {
        Self::of(Vec::new())
    }
}

impl<T, L: Copy + Into<usize>> Deref for SmallBoxedSlice<T, L> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        let elements = slice_from_raw_parts(self.start.as_ptr(), self.len.into());
        // SAFETY: `of` leaked a boxed slice of `len` elements, and `self` owns it.
        unsafe { &*elements }
    }
}

impl<T, L: Copy + Into<usize>> DerefMut for SmallBoxedSlice<T, L> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        let elements = slice_from_raw_parts_mut(self.start.as_ptr(), self.len.into());
        // SAFETY: `of` leaked a boxed slice of `len` elements, which `self`, borrowed mutably,
        // owns.
        unsafe { &mut *elements }
    }
}

impl<T: PartialEq, L: Copy + Into<usize>> PartialEq for SmallBoxedSlice<T, L> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq, L: Copy + Into<usize>> Eq for SmallBoxedSlice<T, L> {}

impl<T, L: Copy + Into<usize>> Drop for SmallBoxedSlice<T, L> {
    fn drop(&mut self) {
        let elements = slice_from_raw_parts_mut(self.start.as_ptr(), self.len.into());
        // SAFETY: `of` leaked a boxed slice of `len` elements; `into_vec` would have forgotten
        // `self`.
        drop(unsafe { Box::from_raw(elements) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    const _: () = assert!(size_of::<SmallBoxedSlice<u64, u8>>() == 9);
    const _: () = assert!(size_of::<SmallBoxedSlice<u64, u16>>() == 10);

    #[test]
    fn a_short_slice_has_the_elements_of_its_vector() {
        let mut short = SmallBoxedSlice::<_, u8>::of((0..255).collect());
        assert_eq!((short.len(), short[0], short[254]), (255, 0, 254));
        short[7] = 70;
        assert_eq!(short.iter().sum::<u64>(), 254 * 255 / 2 + 63);
        assert_eq!(std::mem::take(&mut short).into_vec().len(), 255);
        assert!(short.is_empty() && std::mem::take(&mut short).into_vec().is_empty());
    }

    #[test]
    #[should_panic(expected = "256 elements")]
    fn more_elements_than_its_length_can_count_are_refused() {
        SmallBoxedSlice::<_, u8>::of(vec![0u64; 256]);
    }

    #[test]
    #[should_panic(expected = "room to spare")]
    fn a_vector_with_room_to_spare_is_refused() {
        let mut elements = Vec::with_capacity(3);
        elements.push(1u64);
        SmallBoxedSlice::<_, u8>::of(elements);
    }

    #[test]
    fn each_element_is_dropped_once() {
        let witness = Arc::new(());
        let three = || SmallBoxedSlice::<_, u16>::of(vec![witness.clone(); 3]);
        let mut short = three();
        assert_eq!(Arc::strong_count(&witness), 4);
        assert_eq!(std::mem::take(&mut short).into_vec().len(), 3);
        assert_eq!(Arc::strong_count(&witness), 1);
        short = three();
        drop(short);
        assert_eq!(Arc::strong_count(&witness), 1);
        assert_eq!(three().into_vec().len(), 3);
        assert_eq!(Arc::strong_count(&witness), 1);
    }

    #[test]
    fn it_is_read_at_any_address() {
        struct Odd(
            #[allow(dead_code, reason = "shifts what follows")] u8,
            SmallBoxedSlice<u64, u8>,
        );
        let odd = [Odd(1, SmallBoxedSlice::of(vec![10])), Odd(2, SmallBoxedSlice::of(vec![20]))];
        assert_eq!(size_of_val(&odd), 20);
        assert_eq!(odd.map(|odd| odd.1[0]), [10, 20]);
    }
}
