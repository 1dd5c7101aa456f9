//! What is timed: an operation, in a mode, on a slice of items prepared beforehand.

use crate::items::{Items, Kind};
use crate::mode::Mode;
use splitbloom_harness::splitmix64;
use std::fmt;

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

#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Task {
    pub operation: Operation,
    pub mode: Mode,
}

const fn task(operation: Operation, mode: Mode) -> Task {
    Task { operation, mode }
}

/// The tasks on a filter while it fills.
pub const INSERTS: [Task; 3] = [
    task(Operation::Insert, Mode::Dependent),
    task(Operation::Insert, Mode::Independent),
    task(Operation::Insert, Mode::Batch),
];

/// The tasks on a full filter.
pub const LOOKUPS: [Task; 5] = [
    task(Operation::Lookup, Mode::Dependent),
    task(Operation::Lookup, Mode::Independent),
    task(Operation::Lookup, Mode::Batch),
    task(Operation::LookupOfPresent, Mode::Batch),
    task(Operation::LookupOfAbsent, Mode::Batch),
];

/// Upper bound on present items looked up per round: half of each mixed slice, one whole slice, and
/// an allowance for chance.
pub const PRESENT_IN_A_ROUND: u64 = 3 * SLICE / 2 + SLICE + SLICE / 50;

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lookup => "lookup",
            Self::LookupOfPresent => "lookup, present",
            Self::LookupOfAbsent => "lookup, absent",
            Self::Insert => "insert",
        })
    }
}

/// The items of one task, and how many of them are in the filter.
pub struct Slice {
    pub items: Items,
    pub present: u64,
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

    /// Items for an operation.
    pub fn make(&mut self, operation: Operation, len: u64) -> Slice {
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
        Slice { items: Items::of(numbers), present }
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
