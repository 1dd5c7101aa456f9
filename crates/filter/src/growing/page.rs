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
//! lookups touch one line. An insert shifts the stream up to the next gap (`change`); if there is
//! none nearby, the page gets more lines, or the caller splits it.
//!
//! Pages have 1, 2, ... 8, 10, 12, 14, 16, 20 ... 128 lines: size classes of jemalloc, so nothing
//! is lost by rounding.

use crate::error::AddError;
use crate::growing::change::Gap;
use crate::growing::entries::{try_vec, Entries, Surplus};
use crate::growing::grid::{Grid, Shape};
use crate::growing::instructions::{Instructions, Portable};
use crate::growing::line::{Line, Run, SlotShape, BODY_BITS, LINE_BYTES};
use crate::growing::mark::Mark;
use crate::growing::packed::Packed;
use crate::growing::plan::{Plan, MAX_LINES};
use crate::prefetch::prefetch;

/// The most hundredths of its lines that a rewritten page fills.
const FILL: usize = 94;
/// A page is rewritten as the next smaller one when it fills at most this many hundredths of that.
/// After half of the items of a table are removed, it takes 1.22 times the memory of a fresh one;
/// with 80, 1.29, and with 92, 1.17, for twice the time of a removal.
const THIN: usize = 88;
/// Lines that are prefetched before a change: that of the bucket and the next ones. Every removal
/// reads the next one, and an insert that spills reaches 3.7 lines further on average. In the
/// command at 10^7 items, CF.ADD and CF.DEL took 500 and 546 ns with none, 481 and 549 with two,
/// 483 and 467 with four.
const LINES_TO_CHANGE: usize = 4;
/// Surplus counters of a line: 8 bytes of mark, 4 of count, 4 free.
const COUNTERS: usize = LINE_BYTES / COUNTER_BYTES;
const COUNTER_BYTES: usize = 16;

/// Whether a page has entries or is saturated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Lines,
    /// After too many aimed items or lost bits, it answers yes to every lookup, forever.
    Saturated,
}

/// All entries below one prefix.
#[derive(PartialEq, Eq)]
pub struct Page {
    lines: Box<[Line]>,
    /// Of a saturated page, which has none, the payload.
    pub(super) entries: u16,
    shape: Shape,
    depth: u8,
    /// Lines at the end that hold surplus counters.
    counter_lines: u8,
    state: State,
}

const _: () = assert!(size_of::<Page>() == 24);

/// The next larger page, by lines.
fn more_lines(lines: usize) -> usize {
    // Four sizes to a doubling, as jemalloc has them, and all below eight.
    let step = (lines + 1).next_power_of_two() / 8;
    lines + step.max(1)
}

/// The next smaller page, by lines.
fn fewer_lines(lines: usize) -> usize {
    lines - (lines.next_power_of_two() / 8).max(1)
}

/// Lines of which so many entries fill so many hundredths.
fn lines_for(entries: usize, shape: Shape, fill: usize) -> usize {
    let bits = entries * (shape.slot.bits() + 1) + (1 << shape.bucket_bits);
    // On average half a slot stays free in a line.
    (bits * 100).div_ceil(fill * (BODY_BITS - shape.slot.bits() / 2))
}

/// The numbers of lines that so many entries and counters may be written in, from the best one on,
/// but at least `least`.
fn sizes(
    shape: Shape,
    entries: usize,
    counters: usize,
    least: usize,
) -> impl Iterator<Item = usize> {
    let wanted = lines_for(entries, shape, FILL) + counters.div_ceil(COUNTERS);
    let sizes = std::iter::successors(Some(1), |lines| Some(more_lines(*lines)));
    sizes
        .skip_while(move |lines| *lines < least.max(wanted))
        .take_while(|lines| *lines <= MAX_LINES)
}

/// A lookup that has reached its line.
#[derive(Clone, Copy)]
pub struct Probe<'a> {
    pub page: &'a Page,
    pub below: u64,
    /// None if the page has none.
    line: Option<&'a Line>,
    line_number: usize,
    bucket_in_line: usize,
}

impl Probe<'_> {
    /// Asks for the line, and for the next one if the bucket is among the last of its line: what
    /// spills is the end of a line. Without that, items that are present cost 2 ns more at 10^7.
    #[inline(always)]
    pub fn prefetch(&self) {
        if let Some(line) = self.line {
            prefetch(line);
        }
        let grid = self.page.grid();
        if let Some(line) = self
            .page
            .lines
            .get(grid.line_beyond(grid.bucket(self.below)))
        {
            prefetch(line);
        }
    }

    /// Whether the item may be present, with one of these payloads.
    #[inline(always)]
    pub fn contains_among<I: Instructions>(&self, payloads: u16) -> bool {
        let Some(line) = self.line else {
            return self.page.is_saturated_among(payloads);
        };
        let run = line.run::<I>(self.bucket_in_line);
        let first = line.spilled() + run.first;
        let (slot, wanted) = (self.page.shape.slot, self.page.shape.wanted(self.below));
        if first + run.len <= line.held() {
            return line.any_matches_among(first, run.len, slot, wanted, payloads);
        }
        (first..first + run.len).any(|n| {
            let value = self.page.slot(self.line_number, n);
            slot.matches(value, wanted) && payloads >> slot.payload(value) & 1 == 1
        })
    }

    /// Whether the item may be present.
    #[inline(always)]
    pub fn contains<I: Instructions>(&self) -> bool {
        let Some(line) = self.line else {
            return self.page.is_saturated();
        };
        let run = line.run::<I>(self.bucket_in_line);
        let first = line.spilled() + run.first;
        let (slot, wanted) = (self.page.shape.slot, self.page.shape.wanted(self.below));
        if first + run.len <= line.held() {
            return line.any_matches(first, run.len, slot, wanted);
        }
        (first..first + run.len).any(|n| slot.matches(self.page.slot(self.line_number, n), wanted))
    }
}

impl Page {
    /// A page without entries, and without memory.
    pub fn empty(depth: u8) -> Self {
        Self {
            lines: Box::default(),
            shape: Shape {
                bucket_bits: 1,
                slot: SlotShape {
                    fingerprint_bits: 1,
                    payload_bits: 0,
                },
            },
            depth,
            counter_lines: 0,
            entries: 0,
            state: State::Lines,
        }
    }

    /// A saturated page: it answers as if it had an entry of this payload that matches everything.
    pub fn saturated(depth: u8, payload: u8) -> Self {
        Self {
            state: State::Saturated,
            entries: payload.into(),
            ..Self::empty(depth)
        }
    }

    /// A page of these entries with the fewest lines, but at least `least`, that leave it some
    /// room; nothing if they find none. Entries that are too short for their bucket are lengthened.
    /// If they are too many for that, the page is saturated and has the payload `newest`.
    pub fn of(
        plan: &Plan,
        depth: u8,
        entries: &mut Entries,
        least: usize,
        newest: u8,
    ) -> Result<Option<Self>, AddError> {
        if entries.marks.is_empty() {
            return Ok(Some(Self::empty(depth)));
        }
        let bucket_bits = plan.bucket_bits(entries.marks.len());
        let room_for_voids = plan.most_voids();
        let (shortest, longest) = entries.lengths();
        if shortest <= bucket_bits
            && (!entries.lengthen(bucket_bits, room_for_voids)?
                || entries.count_up_to(bucket_bits) > room_for_voids)
        {
            return Ok(Some(Self::saturated(depth, newest)));
        }
        let longest = longest
            .max(bucket_bits)
            .max(plan.length(depth, entries.marks.len()));
        let shape = Shape {
            bucket_bits,
            slot: SlotShape {
                fingerprint_bits: longest + 1 - bucket_bits,
                payload_bits: plan.payload_bits(),
            },
        };
        for lines in sizes(shape, entries.marks.len(), entries.surplus.len(), least) {
            if let Some(page) = Self::with_lines(depth, shape, entries, lines)? {
                return Ok(Some(page));
            }
        }
        Ok(None)
    }

    /// This page in at least `least` lines, and perhaps with one more entry, if no slot need change
    /// for that; nothing if the page must be rewritten in another shape, or finds no room.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn relined(
        &self,
        plan: &Plan,
        more: Option<(Gap, Mark)>,
        least: usize,
    ) -> Result<Option<Self>, AddError> {
        let (entries, Shape { bucket_bits, slot }) =
            (self.len() + usize::from(more.is_some()), self.shape);
        let is_alike = (1..=plan.most()).contains(&entries)
            && plan.bucket_bits(entries) == bucket_bits
            && plan.length(self.depth, entries) + 1 == bucket_bits + slot.fingerprint_bits
            && more.is_none_or(|(_, mark)| mark.length() > bucket_bits);
        if !is_alike {
            return Ok(None);
        }
        let more = more.map(|(gap, mark)| (gap, self.shape.value(mark)));
        let packed = Packed::of(self, more)?;
        let (_, counters) = self.lines.split_at(self.grid().lines);
        let num_counters = self.surplus().count();
        for lines in sizes(self.shape, entries, num_counters, least) {
            let grid = Grid {
                shape: self.shape,
                lines: lines - counters.len(),
            };
            let own = packed.own(grid);
            let Some(spilled) = grid.spilled(&own) else {
                continue;
            };
            let mut written = try_vec(lines)?;
            packed.write(grid, &own, spilled, &mut written);
            written.extend_from_slice(counters);
            return Ok(Some(Self {
                lines: written.into_boxed_slice(),
                entries: entries as u16,
                ..*self
            }));
        }
        Ok(None)
    }

    /// A page of this shape and exactly so many lines, if the entries fit.
    pub fn with_lines(
        depth: u8,
        shape: Shape,
        entries: &Entries,
        lines: usize,
    ) -> Result<Option<Self>, AddError> {
        let counter_lines = entries.surplus.len().div_ceil(COUNTERS);
        if lines <= counter_lines || lines > MAX_LINES {
            return Ok(None);
        }
        let grid = Grid {
            shape,
            lines: lines - counter_lines,
        };
        let own = grid.own(&entries.marks);
        let Some(spilled) = grid.spilled(&own) else {
            return Ok(None);
        };
        let mut written = try_vec(lines)?;
        grid.write(&entries.marks, &own, spilled, &mut written);
        for counters in entries.surplus.chunks(COUNTERS) {
            let mut line = Line::of_bytes([0; LINE_BYTES]);
            for (bytes, surplus) in line
                .bytes_mut()
                .chunks_exact_mut(COUNTER_BYTES)
                .zip(counters)
            {
                bytes[..8].copy_from_slice(&surplus.mark.bits().to_le_bytes());
                bytes[8..12].copy_from_slice(&surplus.copies.to_le_bytes());
            }
            written.push(line);
        }
        Ok(Some(Self {
            lines: written.into_boxed_slice(),
            shape,
            depth,
            counter_lines: counter_lines as u8,
            entries: entries.marks.len() as u16,
            state: State::Lines,
        }))
    }

    /// A copy.
    pub fn try_clone(&self) -> Result<Self, AddError> {
        let mut lines = try_vec(self.lines.len())?;
        lines.extend_from_slice(&self.lines);
        Ok(Self {
            lines: lines.into_boxed_slice(),
            ..*self
        })
    }

    pub fn depth(&self) -> u8 {
        self.depth
    }

    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Entries in slots.
    pub fn len(&self) -> usize {
        match self.state {
            State::Lines => self.entries.into(),
            State::Saturated => 0,
        }
    }

    pub fn is_saturated(&self) -> bool {
        self.state == State::Saturated
    }

    /// The payload of a saturated page.
    pub fn saturated_payload(&self) -> Option<u8> {
        self.is_saturated().then_some(self.entries as u8)
    }

    /// Whether it is saturated, with one of these payloads.
    pub fn is_saturated_among(&self, payloads: u16) -> bool {
        let payload = self.saturated_payload();
        payload.is_some_and(|payload| payloads >> payload & 1 == 1)
    }

    /// Whether it is saturated or has an entry with another payload than these.
    pub fn has_others(&self, payloads: u16) -> bool {
        let slot = self.shape.slot;
        let is_other = |value| payloads >> slot.payload(value) & 1 == 0;
        let mut lines = self.lines[..self.grid().lines].iter();
        self.is_saturated_among(!payloads)
            || lines.any(|line| (0..line.held()).any(|n| is_other(line.slot(n, slot))))
    }

    /// Whether its entries fit well into fewer lines.
    pub fn is_thin(&self, plan: &Plan) -> bool {
        if self.entries == 0 {
            return !self.lines.is_empty();
        }
        let shape = Shape {
            bucket_bits: plan.bucket_bits(self.len()),
            ..self.shape
        };
        let wanted = lines_for(self.len(), shape, THIN) + usize::from(self.counter_lines);
        self.lines.len() > 1 && wanted <= fewer_lines(self.lines.len())
    }

    /// All of its memory.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    pub(super) fn lines_mut(&mut self) -> &mut [Line] {
        &mut self.lines
    }

    /// The same page with its lines elsewhere.
    pub fn map_lines(&mut self, move_lines: impl FnOnce(Vec<Line>) -> Vec<Line>) {
        let lines = std::mem::take(&mut self.lines).into_vec();
        self.lines = move_lines(lines).into_boxed_slice();
    }

    #[inline(always)]
    pub fn grid(&self) -> Grid {
        Grid {
            shape: self.shape,
            lines: self.lines.len() - usize::from(self.counter_lines),
        }
    }

    /// Where a lookup begins: reads nothing but the page's own fields.
    #[inline(always)]
    pub fn probe(&self, below: u64) -> Probe<'_> {
        let grid = self.grid();
        let bucket = grid.bucket(below);
        let line_number = grid.line_of(bucket);
        Probe {
            page: self,
            line: self.lines.get(line_number),
            line_number,
            below,
            bucket_in_line: grid.bucket_in_line(bucket),
        }
    }

    /// Asks for the lines that a change of an item with this path below the page is likely to read:
    /// that of its bucket and the next ones, which entries spill to and come back from.
    #[inline(always)]
    pub fn prefetch_to_change(&self, below: u64) {
        let grid = self.grid();
        let first = grid.line_of(grid.bucket(below));
        for number in first..first + LINES_TO_CHANGE {
            if let Some(line) = self.lines.get(number) {
                prefetch(line);
            }
        }
    }

    /// Whether an item with this path below the page may be present.
    pub fn contains(&self, below: u64) -> bool {
        self.probe(below).contains::<Portable>()
    }

    /// The marks that match an item with this path below the page, in order. None where the page is
    /// saturated.
    pub fn matching(&self, below: u64) -> impl Iterator<Item = Mark> + '_ {
        let marks = self.in_bucket(below);
        marks.filter(move |mark| mark.matches(below))
    }

    /// All marks, in order.
    pub fn marks(&self) -> impl Iterator<Item = Mark> + '_ {
        let buckets = 0..1u64 << self.shape.bucket_bits;
        let has_some = self.len() > 0;
        let first = buckets.map(|bucket| bucket << (64 - self.shape.bucket_bits));
        first
            .take_while(move |_| has_some)
            .flat_map(|below| self.in_bucket(below))
    }

    /// The marks in the bucket of this path below the page.
    fn in_bucket(&self, below: u64) -> impl Iterator<Item = Mark> + '_ {
        let grid = self.grid();
        let found = (!self.lines.is_empty()).then(|| self.run::<Portable>(grid, below));
        let entries = found.into_iter().flat_map(move |(number, run)| {
            let first = self.lines[number].spilled() + run.first;
            (first..first + run.len).map(move |n| self.slot(number, n))
        });
        let bucket = grid.bucket(below);
        entries.filter_map(move |value| self.shape.mark(bucket, value))
    }

    /// Copies of a mark beyond those in slots.
    pub fn surplus_of(&self, mark: Mark) -> u32 {
        self.surplus()
            .find(|s| s.mark == mark)
            .map_or(0, |s| s.copies)
    }

    /// The counters.
    pub fn surplus(&self) -> impl Iterator<Item = Surplus> + '_ {
        let lines = &self.lines[self.grid().lines..];
        let counters = lines
            .iter()
            .flat_map(|line| line.bytes().chunks_exact(COUNTER_BYTES));
        counters.filter_map(|bytes| {
            let bits = u64::from_le_bytes(bytes[..8].try_into().ok()?);
            let copies = u32::from_le_bytes(bytes[8..12].try_into().ok()?);
            Some(Surplus {
                mark: Mark::from_bits(bits)?,
                copies,
            })
        })
    }

    /// The count of copies of a mark beyond those in slots.
    pub(super) fn counter_mut(&mut self, mark: Mark) -> Option<&mut [u8; 4]> {
        let first = self.grid().lines;
        let lines = self.lines[first..].iter_mut();
        let mut counters = lines.flat_map(|line| line.bytes_mut().chunks_exact_mut(COUNTER_BYTES));
        let bytes = counters.find(|bytes| bytes[..8] == mark.bits().to_le_bytes())?;
        bytes[8..12].as_mut().try_into().ok()
    }

    /// All entries as a list with room for one more.
    pub fn entries(&self) -> Result<Entries, AddError> {
        let mut entries = Entries::with_room(self.len() + 1, self.surplus().count() + 1)?;
        entries.surplus.extend(self.surplus());
        if self.len() == 0 {
            return Ok(entries);
        }
        // First the buckets of all entries, as marks without bits; then the slots, which come in
        // the same order.
        let grid = self.grid();
        let marks = &mut entries.marks;
        let mut first_bucket = 0;
        for number in 0..grid.lines {
            let own = self.own(grid, number);
            let line = &self.lines[number];
            line.read_unary(own, |q| marks.push(self.shape.mark_of(first_bucket + q)));
            first_bucket += grid.buckets_in(number);
        }
        let mut rest = &mut marks[..];
        let (mut line, mut skipped) = (0, self.lines[0].spilled());
        while !rest.is_empty() {
            let held = self.lines[line].held();
            let here = held.saturating_sub(skipped).min(rest.len());
            let (now, later) = rest.split_at_mut(here);
            for (n, mark) in now.iter_mut().enumerate() {
                let value = self.lines[line].slot(skipped + n, self.shape.slot);
                *mark = mark.or(self.shape.remainder(value));
            }
            (rest, skipped) = (later, skipped.saturating_sub(held));
            line = grid.next(line);
        }
        Ok(entries)
    }

    /// Writes another payload into a mark that is in a slot, unless there are others of the same
    /// fingerprint: then the page must be rewritten.
    pub fn set_payload(&mut self, mark: Mark, payload: u8) -> bool {
        let grid = self.grid();
        let (number, run) = self.run::<Portable>(grid, mark.bits());
        let first = self.lines[number].spilled() + run.first;
        let (slot, value) = (self.shape.slot, self.shape.value(mark));
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

    /// Gives a saturated page another payload.
    pub fn set_saturated_payload(&mut self, payload: u8) {
        if self.is_saturated() {
            self.entries = payload.into();
        }
    }

    /// The line of the bucket of an item with this path below the page, and the bucket in it.
    #[inline(always)]
    pub(super) fn run<I: Instructions>(&self, grid: Grid, below: u64) -> (usize, Run) {
        let bucket = grid.bucket(below);
        let number = grid.line_of(bucket);
        (
            number,
            self.lines[number].run::<I>(grid.bucket_in_line(bucket)),
        )
    }

    /// Where entry `n`, counted over all that stand in line `number` or spilled from it, really is.
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
        self.lines[number].slot(n, self.shape.slot)
    }

    /// Entries of the buckets of line `number`.
    pub fn own(&self, grid: Grid, number: usize) -> usize {
        let line = &self.lines[number];
        let next = grid.next(number);
        let spilled_on = if next == number {
            0
        } else {
            self.lines[next].spilled()
        };
        line.held() + spilled_on - line.spilled()
    }
}

#[cfg(test)]
impl Page {
    /// Lines that a lookup reads.
    pub fn lines_touched(&self, below: u64) -> usize {
        let (number, run) = self.run::<Portable>(self.grid(), below);
        let first = self.lines[number].spilled() + run.first;
        if run.len == 0 || first + run.len <= self.lines[number].held() {
            return 1;
        }
        (self.place(number, first + run.len - 1).0 + self.lines.len() - number) % self.lines.len()
            + 1
    }
}
