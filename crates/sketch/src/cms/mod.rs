//! Count-min sketch: how often items have come, in a table of counters whose size does not depend
//! on their number (Cormode and Muthukrishnan, "An improved data stream summary: the count-min
//! sketch and its applications", 2005).
//!
//! ```text
//!   item ── hash 0 ──► row 0   |  |  | 7|  |  |        an increment adds to one counter in each
//!        ── hash 1 ──► row 1   | 9|  |  |  |  |        row; the smallest of them is the estimate
//!        ── hash 2 ──► row 2   |  |  |  |  | 8|
//! ```
//!
//! # What the estimate is worth
//! Let `N` be the sum of all increments, `w` the width and `d` the depth.
//!
//! - It is never too low: each of the item's counters has at least its own increments. (Decrements
//!   take back what was counted: whoever takes back more lowers the estimates of other items.)
//! - In one row, the other items add `(N - own) / w` to the counter on average, which is less than
//!   `N / w`. By Markov's inequality they add `2 N / w` or more with a probability of at most 1/2.
//! - The rows have independent hashes, so the smallest counter is too high by `2 N / w` or more
//!   with a probability of at most `2^-d`.
//!
//! So ε = 2 / w is the error, as a fraction of `N`, and δ = 2^-d the probability that one estimate
//! exceeds it. (The paper has e in place of 2, which gives a slightly smaller table; RedisBloom has
//! 2.) On skewed data the error is far smaller. The hashes have no secret: whoever chooses the
//! items can make them collide.
//!
//! # Arithmetic
//! The layout is RedisBloom's, so both modules load each other's files. The counter of row `i` is
//! MurmurHash2 of the item under seed `i`, modulo `w`. A counter has 1, 2, 4 or 8 bytes; it and the
//! sum of increments are numbers from 0 to a maximum. An increment that would take one of them out
//! of this range changes none of them.
//!
//! # Windows
//! A sketch of the last seconds has a table for each slice of time, in a ring (`window`).
//! An increment adds to the table of the current slice; an estimate is the sum of those of all
//! slices. So an increment is part of estimates for at least the window, and for one slice longer
//! at most: an estimate covers a period of one to `1 + 1 / n` windows, with `n` slices.
//!
//! The estimate of a slice is never too low, so neither is the sum. A table with all increments of
//! the period would have the sums of the slices' counters; the smallest of its sums is at least the
//! sum of the smallest, so the error is at most the one that a sketch of this shape has for all
//! increments of the period, usually less.
//!
//! A slice takes the memory of a sketch of this shape, as far as items touch it, so up to `n + 1`
//! times that in all. It is freed by the first increment after it is over. An increment writes one
//! counter a row, and reads one a row of each other slice for its answer; lookups read as much.
//!
//! A decrement takes from the current slice alone, whose counters and sum must allow it: it takes
//! back what has been counted in the same slice. Older slices never change.
//!
//! ```text
//!   table   the counters          range   increments that do not fit
//!   shape   the dimensions        merge   sums of sketches
//!   cell    a counter             codec   RedisBloom's encoding, and that of windows
//! ```

mod cell;
mod codec;
mod merge;
mod range;
mod shape;
mod table;
#[cfg(test)]
mod tests;

pub use cell::CellSize;
pub use codec::{Version, TYPE_NAME, WINDOW_TYPE_NAME};
pub use merge::MergeError;
pub use range::{Counted, OutOfRange, RangeError};
pub use shape::{Shape, ShapeError, MAX_NEW_BYTES, MAX_NEW_DEPTH, MAX_WINDOW_BYTES};

use crate::body::{Body, Part};
use crate::sketch::Sketch;
use crate::window::{Others, Ring};
use cell::by_size;
use splitbloom_foundation::alloc::{Mover, OutOfMemory};
use splitbloom_foundation::fields::FieldSink;
use splitbloom_foundation::span::Span;
use std::alloc::Layout;
use std::any::Any;
use std::iter::{empty, once};
use std::num::NonZeroU64;
use table::{estimate_each, Table};
use xxhash_rust::xxh3::Xxh3;

/// The largest sum of increments, and the largest estimate: the largest integer of a reply.
pub const MAX_COUNT: u64 = i64::MAX as u64;

/// Counts items, all of them or those in a window. See the [module](self).
pub struct CountMinSketch {
    /// The dimensions, in a window those of each slice.
    shape: Shape,
    body: Body<Table>,
}

/// A sketch whose time has been advanced, for the next increments.
pub struct Open<'a> {
    cell_size: CellSize,
    current: &'a mut Table,
    others: Others<'a, Table>,
}

impl Open<'_> {
    /// Adds to the counts of `items`, and calls `answer` with the outcome of each. In a window, an
    /// increment must fit the current slice.
    ///
    /// Cost: a step for each row, of each slice.
    ///
    /// # Errors
    /// `OutOfMemory`: the items with an answer have been counted, and no others.
    pub fn increment_many<'a>(
        self,
        items: impl Iterator<Item = (&'a [u8], i64)>,
        out_of_range: OutOfRange,
        answer: impl FnMut(Counted),
    ) -> Result<(), OutOfMemory> {
        let Self { cell_size, current, others } = self;
        let is_single = items.size_hint().1 == Some(1);
        by_size!(cell_size, N => match others {
            // One item is not worth setting up a batch.
            [[], []] if is_single || !current.is_for_groups() => {
                current.increment_singly::<N>(items, out_of_range, answer)
            }
            [[], []] => current.increment_each::<N>(empty(), items, out_of_range, answer),
            [before, after] => {
                let others = before.iter().chain(after).flatten();
                current.increment_each::<N>(others, items, out_of_range, answer)
            }
        })
    }
}

impl CountMinSketch {
    /// An empty sketch, of all items or of those in a `window`. Allocates lists of segments and
    /// slices, but none of these.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(shape: Shape, window: Option<Span>) -> Result<Self, OutOfMemory> {
        Ok(Self { shape, body: Body::new(window, || Table::new(shape))? })
    }

    /// Its dimensions, those of each slice.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The rows of all its slices.
    pub fn rows(&self) -> u64 {
        self.shape.depth() * self.body.most_parts()
    }

    /// The latest time that has changed one with a window, in milliseconds since 1970; 0 before the
    /// first change.
    pub fn latest(&self) -> u64 {
        self.body.ring().map_or(0, Ring::latest)
    }

    /// The sum of all increments, in a window of those that are remembered at `now`, at most
    /// [`MAX_COUNT`].
    pub fn count(&self, now: u64) -> u64 {
        self.body.live(now).fold(0, |sum, part| add_counts(sum, part.count()))
    }

    /// Advances the time to `now`, so that items can be counted. Calls `over` with each slice that
    /// is over. Without a window both are ignored.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing has changed.
    #[inline]
    pub fn open(&mut self, now: u64, over: impl FnMut(Table)) -> Result<Open<'_>, OutOfMemory> {
        let (current, others) = self.body.open(now, || Table::new(self.shape), over)?;
        Ok(Open { cell_size: self.shape.cell_size(), current, others })
    }

    /// Calls `answer` with the estimate of each of `items`, in a window at `now`.
    ///
    /// # Errors
    /// `OutOfMemory`, before the first answer.
    pub fn estimate_many<'a>(
        &self,
        items: impl Iterator<Item = &'a [u8]>,
        now: u64,
        mut answer: impl FnMut(u64),
    ) -> Result<(), OutOfMemory> {
        by_size!(self.shape.cell_size(), N => match &self.body {
            Body::Whole(table) if !table.is_for_groups() => {
                items.for_each(|item| answer(table.estimate::<N>(table.cells_of(item))));
                Ok(())
            }
            Body::Whole(table) => estimate_each::<N>(once(table), self.shape, items, answer),
            Body::Window(ring) => estimate_each::<N>(ring.live(now), self.shape, items, answer),
        })
    }
}

impl Part for CountMinSketch {
    fn try_clone(&mut self) -> Result<Self, OutOfMemory> {
        Ok(Self { shape: self.shape, body: self.body.try_clone()? })
    }

    fn allocations(&self) -> usize {
        self.body.allocations()
    }

    fn visit_allocations(&self, visit: &mut dyn FnMut(Layout, u64)) {
        self.body.visit_allocations(visit);
    }

    fn relocate(&mut self, from: u64, mover: &mut impl Mover) -> Option<NonZeroU64> {
        self.body.relocate(from, mover)
    }
}

impl Sketch for CountMinSketch {
    fn save(&self, to: &mut impl FieldSink) -> Result<(), OutOfMemory> {
        self.save_as(Version::Zero, to)
    }

    fn digest(&self) -> u128 {
        let mut hash = Xxh3::new();
        match &self.body {
            Body::Whole(table) => table.write_digest(self.shape, &mut hash),
            Body::Window(ring) => {
                let span = ring.span();
                self.shape.write_digest(&mut hash);
                let head: [u64; 3] = [span.seconds().into(), span.slices().into(), ring.latest()];
                head.iter().for_each(|number| hash.update(&number.to_le_bytes()));
                for slice in ring.slots() {
                    hash.update(&[u8::from(slice.is_some())]);
                    slice.into_iter().for_each(|slice| slice.write_digest(self.shape, &mut hash));
                }
            }
        }
        hash.digest128()
    }

    fn window(&self) -> Option<Span> {
        self.body.ring().map(Ring::span)
    }

    fn next_change(&self, now: u64) -> Option<u64> {
        self.body.ring()?.next_change(now)
    }

    fn attachment<T: Any + Default + Send + Sync>(&mut self) -> Option<&mut T> {
        self.body.ring_mut()?.attachment.get()
    }
}

/// The sum of two sums of increments, or of two estimates.
fn add_counts(one: u64, other: u64) -> u64 {
    one.saturating_add(other).min(MAX_COUNT)
}
