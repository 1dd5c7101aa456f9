//! How much memory some work takes: what this thread asks for and gives back, in tests and fuzzers only.

use std::alloc::Layout;
use std::cell::Cell;

thread_local! {
    /// Bytes taken and not given back. Below zero where a thread gives back what another one took.
    static HELD: Cell<isize> = const { Cell::new(0) };
    static MOST_HELD: Cell<isize> = const { Cell::new(0) };
}

/// What some work took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The most bytes it held at a time.
    pub peak: isize,
    /// Those it has not given back.
    pub kept: isize,
}

pub(super) fn count_taken(layout: Layout) {
    let held = HELD.get() + layout.size() as isize;
    HELD.set(held);
    MOST_HELD.set(held.max(MOST_HELD.get()));
}

pub(super) fn count_given_back(layout: Layout) {
    HELD.set(HELD.get() - layout.size() as isize);
}

/// Bytes that this thread has taken and not given back.
pub fn bytes_held() -> isize {
    HELD.get()
}

/// Does the work, and tells what memory it took. The work must not measure in turn.
pub fn measured<T>(work: impl FnOnce() -> T) -> (T, Taken) {
    let before = HELD.get();
    MOST_HELD.set(before);
    let result = work();
    let taken = Taken {
        peak: MOST_HELD.get() - before,
        kept: HELD.get() - before,
    };
    (result, taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_what_was_held_at_a_time_and_not_in_all() {
        let (kept, taken) = measured(|| {
            drop(Vec::<u8>::with_capacity(3000));
            let two = [Vec::<u8>::with_capacity(1000), Vec::with_capacity(1000)];
            let [one, _] = two;
            one
        });
        assert_eq!(kept.capacity(), 1000);
        assert_eq!(
            taken,
            Taken {
                peak: 3000,
                kept: 1000
            }
        );
    }
}
