//! What every contender implements, and the loops that are timed.

use crate::case::Case;
use crate::items::Items;
use crate::task::{wait_for_result, Mode, Operation, Task};
use splitbloom_rig::Outcome;

/// A batch of items; the methods for batches return the number of positive results.
pub type Batch<'a> = std::slice::ChunksExact<'a, u8>;

pub trait Contender {
    /// A filter that repeats the bits of this smaller one and counts as holding `items` items.
    ///
    /// # Errors
    /// Out of memory.
    fn copies(&self, case: &Case, items: u64) -> Outcome<Box<dyn Contender>>;

    /// Whether the item is (probably) present.
    fn contains(&self, item: &[u8]) -> bool;

    /// Inserts an item; returns whether it was new. A refused item counts as not new, which the
    /// caller notices.
    fn insert(&mut self, item: &[u8]) -> bool;

    /// How many items of a batch are present; they are looked up one by one unless overridden.
    #[inline]
    fn count_present(&self, batch: Batch) -> u64 {
        batch.map(|item| u64::from(self.contains(item))).sum()
    }

    /// Inserts all items of a batch; returns how many were new.
    #[inline]
    fn insert_all(&mut self, batch: Batch) -> u64 {
        batch.map(|item| u64::from(self.insert(item))).sum()
    }

    /// Runs a task on some items, which is timed; returns the positive results: "present" or "was
    /// new". (As a method of this trait it is compiled for each contender, as are its loops.)
    fn run(&mut self, task: Task, items: &Items) -> u64 {
        match (task.mode, task.operation) {
            (Mode::Batch, Operation::Insert) => {
                items.batches().map(|batch| self.insert_all(batch)).sum()
            }
            (Mode::Batch, _) => items.batches().map(|batch| self.count_present(batch)).sum(),
            (mode, Operation::Insert) => one_by_one(mode, items, |item| self.insert(item)),
            (mode, _) => one_by_one(mode, items, |item| self.contains(item)),
        }
    }
}

#[inline(always)]
fn one_by_one(mode: Mode, items: &Items, mut act: impl FnMut(&[u8]) -> bool) -> u64 {
    let mut yes = 0;
    if mode == Mode::Dependent {
        for item in items.iter() {
            yes += u64::from(act(item));
            wait_for_result();
        }
    } else {
        for item in items.iter() {
            yes += u64::from(act(item));
        }
    }
    yes
}
