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
//! sum of increments are numbers from 0 to a maximum. An increment that one of them does not allow
//! changes none.
//!
//! ```text
//!   table   the counters        windowed   counts of the last seconds: a table for each slice
//!   shape   the dimensions      merge      sums of sketches     codec   RedisBloom's encoding
//!   cell    a counter           range      increments that do not fit
//! ```

mod cell;
mod codec;
mod merge;
mod range;
mod shape;
pub mod table;
#[cfg(test)]
mod tests;
pub mod windowed;

pub use cell::CellSize;
pub use codec::{Version, TYPE_NAME};
pub use merge::MergeError;
pub use range::{Counted, OutOfRange, RangeError};
pub use shape::{Shape, ShapeError, MAX_NEW_BYTES, MAX_NEW_DEPTH, MAX_WINDOW_BYTES};

use crate::error::DecodeError;
use crate::sketch::Sketch;
use splitbloom_foundation::alloc::{try_vec, Mover, OutOfMemory};
use splitbloom_foundation::fields::{FieldSink, Fields};
use splitbloom_foundation::span::Span;
use std::alloc::Layout;
use std::any::Any;
use std::num::NonZeroU64;
use table::Table;
use windowed::Windowed;

/// The largest sum of increments, and the largest estimate: the largest integer of a reply.
pub const MAX_COUNT: u64 = i64::MAX as u64;

/// Counts items, all of them or those in a window. See the [module](self).
pub struct CountMinSketch(Body);

enum Body {
    Whole(Table),
    Window(Windowed),
}

impl CountMinSketch {
    /// An empty sketch. Allocates a list of segments, but none of these.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(shape: Shape) -> Result<Self, OutOfMemory> {
        Table::new(shape).map(Self::whole)
    }

    /// An empty sketch of the last `span`. Allocates no slice.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn windowed(shape: Shape, span: Span) -> Result<Self, OutOfMemory> {
        Windowed::new(shape, span).map(|window| Self(Body::Window(window)))
    }

    fn whole(table: Table) -> Self {
        Self(Body::Whole(table))
    }

    /// Its dimensions, those of each slice.
    pub fn shape(&self) -> Shape {
        match &self.0 {
            Body::Whole(table) => table.shape(),
            Body::Window(window) => window.shape(),
        }
    }

    /// Its window, if it has one.
    pub fn window(&self) -> Option<Span> {
        match &self.0 {
            Body::Whole(_) => None,
            Body::Window(window) => Some(window.span()),
        }
    }

    /// The rows of all its slices.
    pub fn rows(&self) -> u64 {
        let slices = self.window().map_or(1, |span| u64::from(span.slices()) + 1);
        self.shape().depth() * slices
    }

    /// The sum of all increments, in a window of those that are remembered at `now`, at most
    /// [`MAX_COUNT`].
    pub fn count(&self, now: u64) -> u64 {
        match &self.0 {
            Body::Whole(table) => table.count(),
            Body::Window(window) => window.count(now),
        }
    }

    /// Advances the time to `now`. Calls `over` with each slice that is over. Without a window
    /// nothing changes.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing has changed.
    pub fn advance(&mut self, now: u64, over: impl FnMut(Table)) -> Result<(), OutOfMemory> {
        match &mut self.0 {
            Body::Whole(_) => Ok(()),
            Body::Window(window) => window.advance(now, over),
        }
    }

    /// [Advances](Self::advance) the time to `now`, and adds to the counts of `items`. Calls
    /// `answer` with what becomes of each. In a window, an increment must fit the current slice.
    ///
    /// Cost: a step for each row, of each slice.
    ///
    /// # Errors
    /// `OutOfMemory`: those answered have been counted, and no others. The time may have advanced.
    pub fn increment_many<'a>(
        &mut self,
        items: impl Iterator<Item = (&'a [u8], i64)>,
        now: u64,
        out_of_range: OutOfRange,
        answer: impl FnMut(Counted),
        over: impl FnMut(Table),
    ) -> Result<(), OutOfMemory> {
        match &mut self.0 {
            Body::Whole(table) => table.increment_many(items, out_of_range, answer),
            Body::Window(window) => window.increment_many(items, now, out_of_range, answer, over),
        }
    }

    /// Calls `answer` with the estimate of each of `items`, in a window at `now`.
    ///
    /// # Errors
    /// `OutOfMemory`, before the first answer.
    pub fn estimate_many<'a>(
        &self,
        items: impl Iterator<Item = &'a [u8]>,
        now: u64,
        answer: impl FnMut(u64),
    ) -> Result<(), OutOfMemory> {
        match &self.0 {
            Body::Whole(table) => table.estimate_many(items, answer),
            Body::Window(window) => window.estimate_many(items, now, answer),
        }
    }

    /// The [sum](Table::merged) of `sketches`, each counted as often as its weight says.
    ///
    /// # Errors
    /// What keeps them from being added.
    pub fn merged(shape: Shape, sketches: &[(&Self, i64)]) -> Result<Self, MergeError> {
        let mut tables = try_vec(sketches.len())?;
        for (sketch, weight) in sketches {
            match &sketch.0 {
                Body::Whole(table) => tables.push((table, *weight)),
                Body::Window(_) => return Err(MergeError::Window),
            }
        }
        Table::merged(shape, &tables).map(Self::whole)
    }

    /// Writes its fields, those without a window in encoding `version`.
    ///
    /// # Errors
    /// `OutOfMemory`, before the first field.
    pub fn save_as(&self, version: Version, to: &mut impl FieldSink) -> Result<(), OutOfMemory> {
        match &self.0 {
            Body::Whole(table) => table.save(version, to),
            Body::Window(window) => window.save(to),
        }
    }

    /// The sketch without a window that was saved as these fields in encoding `version`.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn decode(version: Version, fields: &mut impl Fields) -> Result<Self, DecodeError> {
        Table::decode(version, fields).map(Self::whole)
    }

    /// The sketch with a window that was saved as these fields.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn decode_windowed(fields: &mut impl Fields) -> Result<Self, DecodeError> {
        Windowed::decode(fields).map(|window| Self(Body::Window(window)))
    }
}

impl Sketch for CountMinSketch {
    fn try_clone(&mut self) -> Result<Self, OutOfMemory> {
        Ok(Self(match &mut self.0 {
            Body::Whole(table) => Body::Whole(table.try_clone()?),
            Body::Window(window) => Body::Window(window.try_clone()?),
        }))
    }

    fn digest(&self) -> u128 {
        match &self.0 {
            Body::Whole(table) => table.digest(),
            Body::Window(window) => window.digest(),
        }
    }

    fn allocations(&self) -> usize {
        match &self.0 {
            Body::Whole(table) => table.allocations(),
            Body::Window(window) => window.allocations(),
        }
    }

    fn visit_allocations(&self, visit: &mut dyn FnMut(Layout, u64)) {
        match &self.0 {
            Body::Whole(table) => table.visit_allocations(visit),
            Body::Window(window) => window.visit_allocations(visit),
        }
    }

    fn relocate(&mut self, from: u64, mover: &mut impl Mover) -> Option<NonZeroU64> {
        match &mut self.0 {
            Body::Whole(table) => table.relocate(from, mover),
            Body::Window(window) => window.relocate(from, mover),
        }
    }

    fn save(&self, to: &mut impl FieldSink) -> Result<(), OutOfMemory> {
        self.save_as(Version::Zero, to)
    }

    fn next_change(&self, now: u64) -> Option<u64> {
        match &self.0 {
            Body::Whole(_) => None,
            Body::Window(window) => window.next_change(now),
        }
    }

    fn attachment<T: Any + Default + Send + Sync>(&mut self) -> Option<&mut T> {
        match &mut self.0 {
            Body::Whole(_) => None,
            Body::Window(window) => window.attachment(),
        }
    }
}

/// The sum of two sums of increments, or of two estimates.
fn add_counts(one: u64, other: u64) -> u64 {
    one.saturating_add(other).min(MAX_COUNT)
}
