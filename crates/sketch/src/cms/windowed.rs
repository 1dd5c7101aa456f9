//! Counts of the last seconds: a table for each slice of time, in a ring ([`crate::window`]).
//!
//! ```text
//!   ring ──► slice 10 ──► sketch    an increment adds to the sketch of the current slice;
//!       └──► slice 11 ──► sketch    an estimate is the sum of those of all slices
//! ```
//!
//! An increment is part of estimates for at least the window, and for one slice longer at most, so
//! an estimate at any time covers a period of one to `1 + 1 / n` windows, with `n` slices.
//!
//! # What the estimate is worth
//! The estimate of a slice is the smallest counter of its sketch, and never too low, so neither is
//! the sum. A table with all increments of the period would have the sums of the slices' counters;
//! the smallest of its sums is at least the sum of the smallest, so the error is at most the one
//! that a sketch of this shape has for all increments of the period ([`super`]), usually less.
//!
//! # What it costs
//! A slice takes the memory of a sketch of this shape, as far as items touch it, so up to `n + 1`
//! times that in all. It is freed by the first increment after it is over. An increment writes one
//! counter a row, and reads one a row of each other slice for its answer; lookups read as much.
//!
//! # Decrements
//! A decrement takes from the current slice alone, whose counters and sum must allow it: it takes
//! back what has been counted in the same slice. Older slices never change.
//!
//! # Encoding
//! ```text
//!   unsigned width, depth, seconds, slices, latest
//!   n + 1 slices, oldest first:  unsigned 0, if it has no increments; or
//!     unsigned 1, count, number of segments, and these: unsigned index, string of counters
//! ```
//! Segments are those of 64 KiB of the table, in ascending order; those of zeros are left out. So
//! saving takes no more memory than a segment. If a counter has other than 4 bytes, two numbers
//! precede the width: 0, which is no width, and the bytes of a counter.

use super::cell::{by_size, CellSize};
use super::codec::{check_counters, read_cell_size, unsigned};
use super::range::{Counted, OutOfRange};
use super::table::Table;
use super::{add_counts, Shape};
use crate::batch::Groups;
use crate::counters::{read_counters, Counters};
use crate::error::DecodeError;
use crate::rows::Rows;
use crate::window::Ring;
use splitbloom_foundation::alloc::{try_vec, Mover, OutOfMemory};
use splitbloom_foundation::fields::{FieldSink, Fields};
use splitbloom_foundation::segment::SEGMENT_BYTES;
use splitbloom_foundation::span::Span;
use std::alloc::Layout;
use std::any::Any;
use std::num::NonZeroU64;
use xxhash_rust::xxh3::Xxh3;

/// The name of the server's type.
pub const TYPE_NAME: &str = "CMSwindow";

/// Counts of the last seconds. See the [module](self).
pub struct Windowed {
    shape: Shape,
    ring: Ring<Table>,
}

impl Windowed {
    /// An empty sketch.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(shape: Shape, span: Span) -> Result<Self, OutOfMemory> {
        Ok(Self { shape, ring: Ring::new(span)? })
    }

    /// The dimensions of each slice.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Its window.
    pub fn span(&self) -> Span {
        self.ring.span()
    }

    /// The latest time that has changed it, in milliseconds since 1970; 0 before the first change.
    pub fn latest(&self) -> u64 {
        self.ring.latest()
    }

    /// When estimates change next if nothing is counted, in milliseconds since 1970, later than
    /// `now`; `None` if all are 0.
    pub fn next_change(&self, now: u64) -> Option<u64> {
        self.ring.next_change(now)
    }

    /// What its owner keeps with it, which is no part of it: copies begin without. `None` if there
    /// is no memory for it.
    pub fn attachment<T: Any + Default + Send + Sync>(&mut self) -> Option<&mut T> {
        self.ring.attachment.get()
    }

    /// The sum of the increments that are remembered at `now`, at most
    /// [`MAX_COUNT`](super::MAX_COUNT).
    pub fn count(&self, now: u64) -> u64 {
        self.ring.live(now).fold(0, |sum, slice| add_counts(sum, slice.count()))
    }

    /// Advances the time to `now`. Calls `over` with each slice that is over.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing has changed.
    pub fn advance(&mut self, now: u64, over: impl FnMut(Table)) -> Result<(), OutOfMemory> {
        let shape = self.shape;
        self.ring.open(now, || Table::new(shape), over).map(drop)
    }

    /// Advances the time to `now`, and adds to the counts of `items`. Calls `answer` with what
    /// becomes of each, and `over` with each slice that is over. Without items, only the time is
    /// advanced.
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
        self.advance(now, over)?;
        let size = self.shape.cell_size();
        by_size!(size, N => self.increment_each::<N>(items, out_of_range, answer))
    }

    fn increment_each<'a, const N: usize>(
        &mut self,
        items: impl Iterator<Item = (&'a [u8], i64)>,
        out_of_range: OutOfRange,
        mut answer: impl FnMut(Counted),
    ) -> Result<(), OutOfMemory> {
        let mut groups = Groups::of(items, self.rows())?;
        let (current, others) = self.ring.current_and_others();
        let current = current.ok_or(OutOfMemory)?;
        let prefetch = |current: &Table, cell| {
            current.counters.prefetch::<N>(cell);
            others.clone().for_each(|slice| slice.counters.prefetch::<N>(cell));
        };
        while let Some(group) = groups.next(|cell| prefetch(current, cell)) {
            for (by, cells) in group.items() {
                let own = current.increment_cells::<N>(cells, by, out_of_range)?;
                answer(own.map(|own| add_counts(own, sum::<N>(others.clone(), cells))));
            }
        }
        Ok(())
    }

    /// Calls `answer` with the estimate of each of `items` at `now`, at most
    /// [`MAX_COUNT`](super::MAX_COUNT).
    ///
    /// # Errors
    /// `OutOfMemory`, before the first answer.
    pub fn estimate_many<'a>(
        &self,
        items: impl Iterator<Item = &'a [u8]>,
        now: u64,
        answer: impl FnMut(u64),
    ) -> Result<(), OutOfMemory> {
        by_size!(self.shape.cell_size(), N => self.estimate_each::<N>(items, now, answer))
    }

    fn estimate_each<'a, const N: usize>(
        &self,
        items: impl Iterator<Item = &'a [u8]>,
        now: u64,
        mut answer: impl FnMut(u64),
    ) -> Result<(), OutOfMemory> {
        let slices = self.ring.live(now);
        let prefetch = |cell| slices.clone().for_each(|slice| slice.counters.prefetch::<N>(cell));
        let mut groups = Groups::of(items.map(|item| (item, ())), self.rows())?;
        while let Some(group) = groups.next(prefetch) {
            group.items().for_each(|((), cells)| answer(sum::<N>(slices.clone(), cells)));
        }
        Ok(())
    }

    fn rows(&self) -> Rows {
        Rows::new(self.shape.width(), self.shape.depth())
    }

    /// A copy, which shares memory with this one.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub fn try_clone(&mut self) -> Result<Self, OutOfMemory> {
        let ring = self.ring.try_clone(Table::try_clone)?;
        Ok(Self { shape: self.shape, ring })
    }

    /// A number that is equal for equal sketches only.
    pub fn digest(&self) -> u128 {
        let mut hash = Xxh3::new();
        let span = self.span();
        self.shape.write_digest(&mut hash);
        let head = [span.seconds().into(), span.slices().into(), self.latest()];
        head.iter().for_each(|number| hash.update(&number.to_le_bytes()));
        for slice in self.ring.slots() {
            hash.update(&[u8::from(slice.is_some())]);
            slice.into_iter().for_each(|slice| slice.write_digest(&mut hash));
        }
        hash.digest128()
    }

    /// The number of allocations.
    pub fn allocations(&self) -> usize {
        let slices = self.ring.slots().flatten();
        1 + slices.map(Table::allocations).sum::<usize>()
    }

    /// Visits every kind of allocation: its layout and their number.
    pub fn visit_allocations(&self, visit: &mut dyn FnMut(Layout, u64)) {
        self.ring.layouts().for_each(|layout| visit(layout, 1));
        self.ring.slots().flatten().for_each(|slice| slice.visit_allocations(visit));
    }

    /// Passes its memory through `mover`, from `from` on, until it says stop. Returns where to
    /// continue, which is never 0.
    pub fn relocate(&mut self, from: u64, mover: &mut impl Mover) -> Option<NonZeroU64> {
        /// Bits of a position that count segments; the rest is the slice.
        const SEGMENT_BITS: u32 = 48;
        if from == 0 {
            self.ring.relocate(mover);
        }
        let (first, mut segment) = (from >> SEGMENT_BITS, from & ((1 << SEGMENT_BITS) - 1));
        for (slice, sketch) in (0..).zip(self.ring.each_mut()).skip(first as usize) {
            if let Some(next) = sketch.relocate(segment, mover) {
                return NonZeroU64::new(slice << SEGMENT_BITS | next.get());
            }
            segment = 0;
        }
        None
    }

    /// Writes its fields.
    ///
    /// # Errors
    /// `OutOfMemory`, before the first field.
    pub fn save(&self, to: &mut impl FieldSink) -> Result<(), OutOfMemory> {
        let mut room = try_vec(SEGMENT_BYTES)?;
        let (shape, span) = (self.shape, self.span());
        if shape.cell_size() != CellSize::Four {
            to.unsigned(0);
            to.unsigned(shape.cell_size().bytes());
        }
        to.unsigned(shape.width());
        to.unsigned(shape.depth());
        to.unsigned(span.seconds().into());
        to.unsigned(span.slices().into());
        to.unsigned(self.latest());
        for slice in self.ring.slots() {
            let Some(slice) = slice else {
                to.unsigned(0);
                continue;
            };
            to.unsigned(1);
            to.unsigned(slice.count);
            to.unsigned(slice.counters.touched().count() as u64);
            for index in slice.counters.touched() {
                room.clear();
                slice.counters.write_segment(index, &mut room);
                to.unsigned(index as u64);
                to.string(&room);
            }
        }
        Ok(())
    }

    /// The sketch that was saved as these fields. Each is checked before the next is read and
    /// before memory is allocated for it.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn decode(fields: &mut impl Fields) -> Result<Self, DecodeError> {
        let (width, cell_size) = match unsigned(fields)? {
            0 => {
                let cell_size = read_cell_size(fields)?;
                (unsigned(fields)?, cell_size)
            }
            width => (width, CellSize::Four),
        };
        let shape = Shape::saved(width, unsigned(fields)?, cell_size)?;
        let (seconds, slices) = (unsigned(fields)?, unsigned(fields)?);
        let span = match (u32::try_from(seconds), u8::try_from(slices)) {
            (Ok(seconds), Ok(slices)) => Span::new(seconds, slices),
            _ => None,
        };
        let span = span.ok_or(DecodeError::Field("the window"))?;
        let shape = shape.in_window(span)?;
        let latest = unsigned(fields)?;
        // Exactly as many, so that the ring need not shrink it.
        let mut slots = try_vec(usize::from(span.slices()) + 1)?;
        for _ in 0..=span.slices() {
            slots.push(match unsigned(fields)? {
                0 => None,
                1 => Some(read_slice(shape, fields)?),
                _ => return Err(DecodeError::Field("a slice")),
            });
        }
        let ring = Ring::restore(span, latest, slots);
        Ok(Self { shape, ring: ring.ok_or(DecodeError::Field("the time"))? })
    }
}

/// Reads one slice.
fn read_slice(shape: Shape, fields: &mut impl Fields) -> Result<Table, DecodeError> {
    let (count, segments) = (unsigned(fields)?, unsigned(fields)?);
    let mut counters = Counters::new(shape.bytes())?;
    if segments > counters.reserved() as u64 {
        return Err(DecodeError::Field("the number of segments"));
    }
    let mut least = 0;
    for _ in 0..segments {
        let index = unsigned(fields)?;
        let is_next = (least..counters.reserved() as u64).contains(&index);
        if !is_next {
            return Err(DecodeError::Field("the index of a segment"));
        }
        least = index + 1;
        let bytes = fields.string().ok_or(DecodeError::Length)?;
        let (index, bytes) = (index as usize, bytes.as_ref());
        if bytes.len() != counters.len_of(index) {
            return Err(DecodeError::Field("the length of the counters"));
        }
        check_counters(bytes, shape.cell_size())?;
        read_counters(&mut counters, index, bytes)?;
    }
    Ok(Table::of(shape, count, counters))
}

/// The sum of the estimates of some slices for an item whose counters, of `N` bytes, are `cells`.
fn sum<'a, const N: usize>(slices: impl Iterator<Item = &'a Table>, cells: &[u64]) -> u64 {
    slices.fold(0, |sum, slice| add_counts(sum, slice.smallest::<N>(cells)))
}
