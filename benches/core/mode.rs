//! How operations follow each other, which determines the memory-level parallelism.

use std::fmt;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// One at a time, the next starting after the previous result: a single-item command, with
    /// thousands of server instructions between two of them.
    Dependent,
    /// One at a time in a loop: the CPU starts the next operations while the first waits for
    /// memory.
    Independent,
    /// In batches of 32 items, through the contender's batch function if it has one.
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

/// Prevents later instructions from starting before earlier ones complete.
///
/// Choosing the next item by the last result is not enough: the result depends on branches, and the
/// CPU speculates past them to the next item. The fence itself adds a few nanoseconds, the same for
/// all contenders.
#[inline(always)]
#[allow(unsafe_code, reason = "an instruction that has no safe function")]
pub fn wait_for_result() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a fence accesses no memory; SSE2 is part of every x86-64.
    unsafe {
        std::arch::x86_64::_mm_lfence();
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}
