//! What is timed: an operation, in a mode, on a slice of items prepared beforehand.

use crate::items::{Items, Kind};
use splitbloom_harness::splitmix64;

/// Operations per timing: some milliseconds, long against the clock's 30 ns. Their items are
/// 1.2 MB, read sequentially, which the hardware prefetches and which costs all contenders the
/// same.
pub const SLICE: u64 = 100_000;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Half of the items are present.
    Lookup,
    LookupOfPresent,
    LookupOfAbsent,
    Insert,
}

/// How operations follow each other, which determines the memory-level parallelism.
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

#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Task {
    pub operation: Operation,
    pub mode: Mode,
}

/// The tasks on a filter while it fills.
pub const INSERTS: [Task; 3] = in_each_mode(Operation::Insert);
/// The tasks on a full filter: in each mode, and in batches.
pub const LOOKUPS: [Task; 3] = in_each_mode(Operation::Lookup);
pub const LOOKUPS_IN_BATCHES: [Task; 2] = [
    Task { operation: Operation::LookupOfPresent, mode: Mode::Batch },
    Task { operation: Operation::LookupOfAbsent, mode: Mode::Batch },
];

const fn in_each_mode(operation: Operation) -> [Task; 3] {
    [
        Task { operation, mode: Mode::Dependent },
        Task { operation, mode: Mode::Independent },
        Task { operation, mode: Mode::Batch },
    ]
}

/// Upper bound on present items looked up per round: half of each mixed slice, one whole slice, and
/// an allowance for chance.
pub const PRESENT_IN_A_ROUND: u64 = 3 * SLICE / 2 + SLICE + SLICE / 50;

/// Absent items looked up before timing, because the previous contender has left its own data in
/// the caches: enough to touch each line of 1 MB, the size that fits in a cache.
const WARM_UP_ITEMS: u64 = 50_000;
pub const WARM_UP: Task = Task { operation: Operation::LookupOfAbsent, mode: Mode::Independent };

/// Items for warming up, never in any filter.
pub fn warm_up_items() -> Items {
    // Far above the numbers of items looked up as absent.
    Items::of(((1 << 50)..(1 << 50) + WARM_UP_ITEMS).map(|n| Kind::Absent.number(n)))
}

impl Task {
    /// What the tables call the operation and the mode.
    pub fn names(self) -> [&'static str; 2] {
        let operation = match self.operation {
            Operation::Lookup => "lookup",
            Operation::LookupOfPresent => "lookup, present",
            Operation::LookupOfAbsent => "lookup, absent",
            Operation::Insert => "insert",
        };
        let mode = match self.mode {
            Mode::Dependent => "dependent",
            Mode::Independent => "independent",
            Mode::Batch => "batch of 32",
        };
        [operation, mode]
    }
}

/// Makes slices. No item repeats, unless the present items run out.
pub struct Slices {
    /// Number of items of kind [`Kind::Present`] in the filter.
    num_present: u64,
    next_present: u64,
    next_absent: u64,
    next_new: u64,
}

impl Slices {
    pub fn new(num_present: u64) -> Self {
        Self { num_present, next_present: 0, next_absent: 0, next_new: 0 }
    }

    /// Items for an operation, and how many of them are in the filter.
    pub fn make(&mut self, operation: Operation, len: u64) -> (Items, u64) {
        let mut present = 0;
        let numbers = (0..len).map(|_| match operation {
            Operation::Insert => next(Kind::New, &mut self.next_new),
            Operation::LookupOfAbsent => next(Kind::Absent, &mut self.next_absent),
            // Random, so that branches cannot predict the result; it need not be exactly half.
            Operation::Lookup if is_tails(self.next_present + self.next_absent) => {
                next(Kind::Absent, &mut self.next_absent)
            }
            Operation::Lookup | Operation::LookupOfPresent => {
                present += 1;
                let number = next(Kind::Present, &mut self.next_present);
                Kind::Present.number(number % self.num_present)
            }
        });
        (Items::of(numbers), present)
    }
}

fn next(kind: Kind, counter: &mut u64) -> u64 {
    *counter += 1;
    kind.number(*counter - 1)
}

/// A coin flip per number. Items come from the same function; the lowest bit of one is independent
/// of the others.
fn is_tails(number: u64) -> bool {
    splitmix64(number) & 1 == 0
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
