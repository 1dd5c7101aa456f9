//! How operations follow each other, which decides how much of the waiting for memory overlaps.

use std::fmt;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// One at a time, the next not begun before the answer is there: a command of one item, with thousands of instructions of a
    /// server between two of them.
    Dependent,
    /// One at a time in a loop, where the processor begins the next operations while the first waits for memory.
    Independent,
    /// By batches of 32 items, through the function for many items where the contender has one.
    Batch,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dependent => "dependent",
            Self::Independent => "independent",
            Self::Batch => "batch of 32",
        })
    }
}

/// Lets no later instruction begin before the earlier ones are done.
///
/// It would not do to choose the next item by the last answer: the answer comes out of branches, the processor guesses those and
/// is off to the next item before it knows. The fence adds a few nanoseconds of its own, the same for all contenders.
#[inline(always)]
pub fn wait_for_the_answer() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a fence touches no memory; SSE2 is part of every x86-64.
    unsafe {
        std::arch::x86_64::_mm_lfence();
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}
