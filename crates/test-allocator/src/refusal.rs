//! Short memory on demand: a thread is refused all blocks above a size, or one single block.

use super::meter;
use std::alloc::Layout;
use std::cell::Cell;

thread_local! {
    static REFUSED_FROM: Cell<usize> = const { Cell::new(usize::MAX) };
    /// Blocks granted before the one that is refused.
    static UNTIL_REFUSED: Cell<Option<u64>> = const { Cell::new(None) };
}

pub(crate) fn refuses(layout: Layout) -> bool {
    let left = UNTIL_REFUSED.get();
    UNTIL_REFUSED.set(left.and_then(|left| left.checked_sub(1)));
    left == Some(0) || layout.size() >= REFUSED_FROM.get()
}

/// Runs `work` while this thread is refused every block of `bytes` bytes or more.
pub fn of_blocks_from<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    REFUSED_FROM.set(bytes);
    let result = work();
    REFUSED_FROM.set(usize::MAX);
    result
}

/// Runs `work` while this thread is refused its `n`-th block, counted from 0. Also returns whether
/// it asked for that many.
pub fn of_the_nth<T>(n: u64, work: impl FnOnce() -> T) -> (T, bool) {
    UNTIL_REFUSED.set(Some(n));
    let result = work();
    (result, UNTIL_REFUSED.take().is_none())
}

/// Repeats `work` on a fresh value of `prepare`, each time with one more block granted before one
/// is refused, until none is refused. Checks that a failure leaves `digest` as it was, and that no
/// byte leaks. Returns the number of blocks that were refused.
///
/// # Panics
/// One of these does not hold.
pub fn at_every<T>(
    prepare: impl Fn() -> T,
    work: impl Fn(&mut T) -> bool,
    digest: impl Fn(&T) -> u128,
) -> u64 {
    for refused in 0.. {
        let held = meter::bytes_held();
        let mut value = prepare();
        let before = digest(&value);
        let (has_worked, was_refused) = of_the_nth(refused, || work(&mut value));
        assert!(has_worked || digest(&value) == before, "block {refused} was refused");
        assert!(has_worked || was_refused, "nothing was refused");
        assert!(has_worked || work(&mut value), "with memory it works");
        drop(value);
        assert_eq!(meter::bytes_held(), held, "block {refused} was refused");
        if !was_refused {
            return refused;
        }
    }
    unreachable!()
}
