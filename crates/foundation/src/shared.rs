//! A value with several owners, on several threads: an `Arc` without weak owners, whose creation
//! returns an error when memory is short instead of aborting the process (`Arc::try_new` is
//! unstable).

use super::atomic::{AtomicUsize, Ordering};
use std::alloc::Layout;
use std::ops::Deref;
use std::ptr::{slice_from_raw_parts_mut, NonNull};

/// The maximum number of owners, as for `Arc`: threads that are between adding an owner and
/// aborting do not reach twice that number.
const MAX_OWNERS: usize = isize::MAX as usize;

/// One owner of a value.
pub struct Shared<T>(NonNull<Counted<T>>);

struct Counted<T> {
    owners: AtomicUsize,
    value: T,
}

// SAFETY: as for `Arc`: owners on several threads read the value concurrently (`Sync`), and the
// last one, on any thread, drops it (`Send`).
unsafe impl<T: Send + Sync> Send for Shared<T> {}
// SAFETY: as for `Arc`: a `&Shared` gives out only `&T` and further owners, which other threads may
// read and drop (`T: Send + Sync`).
unsafe impl<T: Send + Sync> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// The first owner of a value.
    ///
    /// # Errors
    /// The value, if there is no memory for the reference count.
    pub fn try_new(value: T) -> Result<Self, T> {
        let mut place = Vec::new();
        if place.try_reserve_exact(1).is_err() {
            return Err(value);
        }
        place.push(Counted { owners: AtomicUsize::new(1), value });
        let place = Box::leak(place.into_boxed_slice());
        Ok(Self(NonNull::from(&mut place[0])))
    }

    /// The value if this is its only owner.
    ///
    /// # Errors
    /// This owner, if there are others.
    pub fn try_into_inner(self) -> Result<T, Self> {
        // Acquire: sees what the other owners did before they were dropped. No new owner can
        // appear, since only an owner creates one.
        if self.counted().owners.load(Ordering::Acquire) != 1 {
            return Err(self);
        }
        let place = self.0;
        std::mem::forget(self);
        // SAFETY: this was the only owner and is forgotten, so nothing else frees the
        // allocation.
        let mut place = unsafe { take(place) };
        Ok(place.remove(0).value)
    }

    /// The layout of the allocation.
    pub fn layout() -> Layout {
        Layout::new::<Counted<T>>()
    }

    fn counted(&self) -> &Counted<T> {
        // SAFETY: the allocation lives as long as it has an owner, which `self` is.
        unsafe { self.0.as_ref() }
    }
}

/// Takes back the allocation that `try_new` made.
///
/// # Safety
/// No owner is left, and the allocation has not been taken back before.
unsafe fn take<T>(place: NonNull<Counted<T>>) -> Vec<Counted<T>> {
    // SAFETY: `try_new` leaked a boxed slice of one; the caller takes it back once.
    unsafe { Box::from_raw(slice_from_raw_parts_mut(place.as_ptr(), 1)) }.into_vec()
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        let before = self.counted().owners.fetch_add(1, Ordering::Relaxed);
        if before > MAX_OWNERS {
            // Owners have been leaked: their number would wrap, and the value be freed in use.
            std::process::abort();
        }
        Self(self.0)
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.counted().value
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        // Release: the last owner frees the value only after this owner has read it.
        if self.counted().owners.fetch_sub(1, Ordering::Release) == 1 {
            // Acquire, as a load rather than a fence: ThreadSanitizer does not support fences, and
            // this happens once a value.
            self.counted().owners.load(Ordering::Acquire);
            // SAFETY: this was the last owner.
            drop(unsafe { take(self.0) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::thread;

    #[test]
    fn the_last_owner_drops_the_value() {
        let witness = Arc::new(());
        let first = Shared::try_new(witness.clone()).unwrap_or_else(|_| unreachable!());
        let second = first.clone();
        drop(first);
        assert_eq!(Arc::strong_count(&witness), 2);
        drop(second);
        assert_eq!(Arc::strong_count(&witness), 1);
    }

    #[test]
    fn only_the_only_owner_gets_the_value_out() {
        let first = Shared::try_new(vec![1, 2]).unwrap();
        let second = first.clone();
        let Err(first) = first.try_into_inner() else {
            panic!("there are two owners");
        };
        drop(second);
        assert_eq!(first.try_into_inner().ok(), Some(vec![1, 2]));
    }

    #[test]
    fn owners_on_many_threads_leave_nothing_behind() {
        let witness = Arc::new(());
        for _ in 0..200 {
            let first = Shared::try_new(witness.clone()).unwrap_or_else(|_| unreachable!());
            thread::scope(|scope| {
                for owner in [first.clone(), first.clone(), first] {
                    scope.spawn(move || owner.try_into_inner().is_ok());
                }
            });
        }
        assert_eq!(Arc::strong_count(&witness), 1);
    }
}
