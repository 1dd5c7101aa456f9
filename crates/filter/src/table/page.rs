//! A page: up to 128 lines that hold all entries below one prefix of paths.
//!
//! ```text
//!   bucket b of 2^k  --> line b * N / 2^k
//!
//!   line 0          line 1          line 2               line N-1
//!   | own 0       | own 0 | own 1 | own 1   | own 2 |...| own N-1 |  surplus counters
//!       '-- entries that do not fit go to the front of the next line; of the last one, to line 0
//! ```
//!
//! The entries of all lines are one sorted, circular stream, cut where lines are full. 97 % of all
//! lookups touch one line. An insert shifts the stream up to the next free slot (`change`);
//! without one nearby, the page gets more lines, or the caller splits it.

mod bit_strings;
mod bucket;
mod change;
mod counters;
mod size;
mod write;

use crate::error::AddError;
use crate::storage::small_boxed_slice::SmallBoxedSlice;
use crate::table::entries::Entries;
use crate::table::fingerprint::{Fingerprint, SlotShape};
use crate::table::grid::{Grid, Shape};
use crate::table::instructions::{Instructions, Portable};
use crate::table::line::{Line, Run};
pub use bucket::Probe;
pub use change::{Adding, Insert, Position, Remove};
pub use size::{lines_for_half, lines_for_new};
use splitbloom_foundation::alloc::try_vec;
use splitbloom_foundation::prefetch::prefetch_at;
use std::iter;
use std::ops::Range;

/// Lines that are prefetched before a change: that of the bucket and the next ones. Every removal
/// reads the next line, and an insert that spills reaches 3.7 lines further on average. In the
/// command at 10^7 items, CF.ADD and CF.DEL took 500 and 546 ns with none, 481 and 549 with two,
/// 483 and 467 with four.
const LINES_TO_CHANGE: usize = 4;

/// A [`Shape`] in two bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
struct ShapeBytes {
    /// 4 bits each.
    bucket_and_payload_bits: u8,
    fingerprint_bits: u8,
}

impl ShapeBytes {
    fn of(shape: Shape) -> Self {
        Self {
            bucket_and_payload_bits: shape.bucket_bits << 4 | shape.slot.payload_bits,
            fingerprint_bits: shape.slot.fingerprint_bits,
        }
    }

    #[inline(always)]
    fn shape(self) -> Shape {
        Shape {
            bucket_bits: self.bucket_and_payload_bits >> 4,
            slot: SlotShape {
                fingerprint_bits: self.fingerprint_bits,
                payload_bits: self.bucket_and_payload_bits & 0xf,
            },
        }
    }
}

/// All entries below one prefix. The order of the fields makes it 16 bytes, and the last one has
/// unused values, in which the directory stores what its other children are.
#[derive(PartialEq, Eq)]
#[repr(C)]
pub struct Page {
    lines: SmallBoxedSlice<Line, u8>,
    depth: u8,
    /// The number of entries; if saturated, the payload.
    pub(super) entries: u16,
    shape: ShapeBytes,
    /// The number of lines at the end that hold surplus counters.
    counter_lines: u8,
    /// Set when too many items aim at it, or too many entries have no bits: it matches every
    /// lookup.
    is_saturated: bool,
}

const _: () = assert!(size_of::<Page>() == 16);

impl Page {
    /// A page without entries. Allocates nothing.
    pub fn empty(depth: u8) -> Self {
        Self {
            lines: SmallBoxedSlice::default(),
            shape: ShapeBytes { bucket_and_payload_bits: 1 << 4, fingerprint_bits: 1 },
            depth,
            counter_lines: 0,
            entries: 0,
            is_saturated: false,
        }
    }

    /// A saturated page: like one with an entry of this payload that matches everything.
    pub fn saturated(depth: u8, payload: u8) -> Self {
        Self { is_saturated: true, entries: payload.into(), ..Self::empty(depth) }
    }

    /// A copy.
    pub fn try_clone(&self) -> Result<Self, AddError> {
        let mut lines = try_vec(self.lines.len())?;
        lines.extend_from_slice(&self.lines);
        Ok(Self { lines: SmallBoxedSlice::of(lines), ..*self })
    }

    pub fn depth(&self) -> u8 {
        self.depth
    }

    #[inline(always)]
    pub fn shape(&self) -> Shape {
        self.shape.shape()
    }

    /// The number of entries in slots.
    pub fn len(&self) -> usize {
        match self.is_saturated {
            true => 0,
            false => self.entries.into(),
        }
    }

    pub fn is_saturated(&self) -> bool {
        self.is_saturated
    }

    /// The payload, if the page is saturated.
    pub fn saturated_payload(&self) -> Option<u8> {
        self.is_saturated().then_some(self.entries as u8)
    }

    /// Whether it is saturated with one of these payloads.
    pub fn is_saturated_among(&self, payloads: u16) -> bool {
        let payload = self.saturated_payload();
        payload.is_some_and(|payload| payloads >> payload & 1 == 1)
    }

    /// Whether it is saturated with, or has an entry of, any other payload.
    pub fn has_others(&self, payloads: u16) -> bool {
        let slot = self.shape().slot;
        let is_other = |value| payloads >> slot.payload(value) & 1 == 0;
        self.is_saturated_among(!payloads) || self.values().any(is_other)
    }

    /// All lines, counters included.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    pub(super) fn lines_mut(&mut self) -> &mut [Line] {
        &mut self.lines
    }

    /// Lets `move_lines` reallocate the lines.
    pub fn map_lines(&mut self, move_lines: impl FnOnce(Vec<Line>) -> Vec<Line>) {
        self.lines = SmallBoxedSlice::of(move_lines(std::mem::take(&mut self.lines).into_vec()));
    }

    #[inline(always)]
    pub fn grid(&self) -> Grid {
        Grid { shape: self.shape(), lines: self.lines.len() - usize::from(self.counter_lines) }
    }

    /// Prefetches the lines that a change of an item with this path below the page probably reads:
    /// that of its bucket, and the next ones, which entries spill to and come back from. Addresses
    /// beyond the page are harmless.
    #[inline(always)]
    pub fn prefetch_to_change(&self, below: u64) {
        let grid = self.grid();
        let first = grid.line_of(grid.bucket(below));
        let first = self.lines.as_ptr().wrapping_add(first);
        for number in 0..LINES_TO_CHANGE {
            prefetch_at(first.wrapping_add(number));
        }
    }

    /// Whether an item with this path below the page may be present.
    pub fn contains(&self, below: u64) -> bool {
        self.probe(below).contains(Portable)
    }

    /// The fingerprints that match an item with this path below the page, in order. None if the
    /// page is saturated.
    pub fn matching(&self, below: u64) -> impl Iterator<Item = Fingerprint> + '_ {
        let fingerprints = self.in_bucket(below);
        fingerprints.filter(move |fingerprint| fingerprint.matches(below))
    }

    /// All slots in order of their buckets, then of values. Those that spilled from the last line
    /// into the first come at the end.
    pub fn values(&self) -> impl Iterator<Item = u64> + '_ {
        let slot = self.shape().slot;
        self.slots_by_line().flat_map(move |(line, slots)| slots.map(move |n| line.slot(n, slot)))
    }

    /// The same slots line by line: a line, and the numbers of its slots. A loop for each line
    /// takes a quarter less of the time to save a table.
    pub fn slots_by_line(&self) -> impl Iterator<Item = (&Line, Range<usize>)> {
        let (grid, mut number, mut left) = (self.grid(), 0, self.len());
        let mut skipped = self.lines.first().map_or(0, Line::spilled);
        iter::from_fn(move || {
            let line = self.lines.get(number).filter(|_| left > 0)?;
            let slots = skipped..line.held().clamp(skipped, skipped + left);
            (left, skipped) = (left - slots.len(), skipped.saturating_sub(line.held()));
            number = grid.next(number);
            Some((line, slots))
        })
    }

    /// Visits all fingerprints, in order. The slots are in the order of the unary parts, so no
    /// bucket is searched.
    pub fn visit_fingerprints(&self, mut visit: impl FnMut(Fingerprint)) {
        let (grid, mut values, mut first_bucket) = (self.grid(), self.values(), 0);
        for number in 0..grid.lines {
            self.lines[number].read_unary(self.owned(grid, number), |bucket| {
                let value = values.next();
                let fingerprint =
                    value.and_then(|value| self.shape().fingerprint(first_bucket + bucket, value));
                fingerprint.into_iter().for_each(&mut visit);
            });
            first_bucket += grid.buckets_in(number);
        }
    }

    /// The fingerprints in the bucket of this path below the page.
    fn in_bucket(&self, below: u64) -> impl Iterator<Item = Fingerprint> + '_ {
        let grid = self.grid();
        let found = (!self.lines.is_empty()).then(|| self.run(Portable, grid, below));
        let entries = found.into_iter().flat_map(move |(number, run)| {
            let first = self.lines[number].spilled() + run.first;
            (first..first + run.len).map(move |n| self.slot(number, n))
        });
        let bucket = grid.bucket(below);
        entries.filter_map(move |value| self.shape().fingerprint(bucket, value))
    }

    /// All entries as a list, with capacity for one more.
    pub fn entries(&self) -> Result<Entries, AddError> {
        let mut entries = Entries::with_room(self.len() + 1, self.surplus().count() + 1)?;
        entries.surplus.extend(self.surplus());
        if self.len() == 0 {
            return Ok(entries);
        }
        // First the buckets of all entries, as fingerprints without further bits; then the slots,
        // in the same order.
        let grid = self.grid();
        let fingerprints = &mut entries.fingerprints;
        let mut first_bucket = 0;
        for number in 0..grid.lines {
            let owned = self.owned(grid, number);
            let line = &self.lines[number];
            line.read_unary(owned, |q| fingerprints.push(self.shape().of_bucket(first_bucket + q)));
            first_bucket += grid.buckets_in(number);
        }
        let mut rest = fingerprints.iter_mut();
        for (line, slots) in self.slots_by_line() {
            for (n, fingerprint) in slots.zip(rest.by_ref()) {
                let value = line.slot(n, self.shape().slot);
                *fingerprint = fingerprint.or(self.shape().remainder(value));
            }
        }
        Ok(entries)
    }

    /// Overwrites the payload of a fingerprint in a slot. Returns false if there are others with
    /// the same bits: then the page must be rewritten.
    pub fn set_payload(&mut self, fingerprint: Fingerprint, payload: u8) -> bool {
        let grid = self.grid();
        let (number, run) = self.run(Portable, grid, fingerprint.bits());
        let first = self.lines[number].spilled() + run.first;
        let (slot, value) = (self.shape().slot, self.shape().value(fingerprint));
        let is_same = |n: &usize| (self.slot(number, *n) ^ value) >> slot.payload_bits == 0;
        let mut same = (first..first + run.len).filter(is_same);
        let (Some(n), None) = (same.next(), same.next()) else {
            return false;
        };
        let (line, n) = self.place(number, n);
        let value = value & !slot.payload_mask() | u64::from(payload);
        self.lines[line].replace_slot(n, slot, value);
        true
    }

    /// Replaces the payload of a saturated page.
    pub fn set_saturated_payload(&mut self, payload: u8) {
        if self.is_saturated() {
            self.entries = payload.into();
        }
    }

    /// The line of the bucket of an item with this path below the page, and the bucket in it.
    #[inline(always)]
    pub(super) fn run<I: Instructions>(
        &self,
        instructions: I,
        grid: Grid,
        below: u64,
    ) -> (usize, Run) {
        let bucket = grid.bucket(below);
        let number = grid.line_of(bucket);
        (number, self.lines[number].run(instructions, grid.bucket_in_line(bucket)))
    }

    /// The line and slot of entry `n`, counted over the slots of line `number` and those spilled
    /// from it.
    #[inline(always)]
    fn place(&self, mut number: usize, mut n: usize) -> (usize, usize) {
        while n >= self.lines[number].held() {
            n -= self.lines[number].held();
            number = self.grid().next(number);
        }
        (number, n)
    }

    /// Entry `n`, counted the same way.
    #[inline(always)]
    pub(super) fn slot(&self, number: usize, n: usize) -> u64 {
        let (number, n) = self.place(number, n);
        self.lines[number].slot(n, self.shape().slot)
    }

    /// The number of entries of the buckets of line `number`.
    pub fn owned(&self, grid: Grid, number: usize) -> usize {
        let line = &self.lines[number];
        let next = grid.next(number);
        let spilled_on = if next == number { 0 } else { self.lines[next].spilled() };
        line.held() + spilled_on - line.spilled()
    }
}

#[cfg(test)]
impl Page {
    /// The number of lines that a lookup reads.
    pub fn lines_touched(&self, below: u64) -> usize {
        let (number, run) = self.run(Portable, self.grid(), below);
        let first = self.lines[number].spilled() + run.first;
        if run.len == 0 || first + run.len <= self.lines[number].held() {
            return 1;
        }
        (self.place(number, first + run.len - 1).0 + self.lines.len() - number) % self.lines.len()
            + 1
    }
}
