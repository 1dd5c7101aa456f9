//! How much memory some work takes: what the calling thread allocates and frees.

use std::alloc::Layout;
use std::cell::Cell;

thread_local! {
    /// Bytes allocated and not freed. Negative if a thread frees what another one allocated.
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// What some work took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The most bytes that it held at once.
    pub peak: isize,
    /// The bytes that it has not freed.
    pub kept: isize,
}

pub(crate) fn count_allocated(layout: Layout) {
    let held = HELD.get() + layout.size() as isize;
    HELD.set(held);
    PEAK.set(held.max(PEAK.get()));
}

pub(crate) fn count_freed(layout: Layout) {
    HELD.set(HELD.get() - layout.size() as isize);
}

/// Bytes that this thread has allocated and not freed.
pub fn bytes_held() -> isize {
    HELD.get()
}

/// Runs `work` and returns the memory it took. `work` must not call this itself.
pub fn measured<T>(work: impl FnOnce() -> T) -> (T, Taken) {
    let before = HELD.get();
    PEAK.set(before);
    let result = work();
    let taken = Taken { peak: PEAK.get() - before, kept: HELD.get() - before };
    (result, taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TestAllocator;

    #[global_allocator]
    static ALLOCATOR: TestAllocator = TestAllocator;

    #[test]
    fn the_peak_is_what_was_held_at_once_not_in_total() {
        let (kept, taken) = measured(|| {
            drop(Vec::<u8>::with_capacity(3000));
            let two = [Vec::<u8>::with_capacity(1000), Vec::with_capacity(1000)];
            let [one, _] = two;
            one
        });
        assert_eq!(kept.capacity(), 1000);
        assert_eq!(taken, Taken { peak: 3000, kept: 1000 });
    }
}
