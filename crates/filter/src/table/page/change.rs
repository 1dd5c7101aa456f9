//! Inserts and removes entries of a page in place.
//!
//! An entry takes a bit of its line's unary part and a slot. If the line has no room for both, its
//! last slots spill to the next line, and so on up to a gap: a line with room.

use super::Page;
use crate::error::AddError;
use crate::table::entries::COPIES;
use crate::table::fingerprint::Fingerprint;
use crate::table::grid::Grid;
use crate::table::instructions::{compiled_per_cpu, Instructions};
use crate::table::line::{Run, MAX_SPILLED};

/// The number of further lines that an insert may shift: with more, pages are fuller, and lookups
/// read more lines.
const REACH: usize = 16;

/// Which items an insert adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adding {
    /// Every item; each add of an item adds a copy.
    Copies,
    /// Items that are (probably) not present yet.
    Absent,
}

/// The outcome of an insert that adds no lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insert {
    /// `is_new`: no entry had this fingerprint.
    Done { is_new: bool },
    /// The item is present, and only absent items are added.
    Present,
    /// The page is saturated.
    Saturated,
    /// The page must get more lines.
    NoRoom { gap: Position, is_new: bool },
    /// The page must be rewritten with slots of another width, or another counter.
    Unfit,
}

/// The position of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line of its bucket.
    pub line: usize,
    /// The bucket.
    pub run: Run,
    /// The number of slots before it, counted from the first one of the line.
    pub slot: usize,
}

/// The outcome of a removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remove {
    /// No fingerprint matches.
    Absent,
    /// The page is saturated, so nothing is counted.
    Saturated,
    /// A fingerprint of this length was removed; `is_last`: no equal one is left.
    Done { length: u8, is_last: bool },
    /// A surplus counter would become 0: the page must be rewritten without it.
    LastSurplus(Fingerprint),
}

impl Page {
    compiled_per_cpu! {
        /// Inserts the fingerprint of an item with this path below the page, without adding lines,
        /// unless the page holds `most` entries.
        ///
        /// # Errors
        /// `Uncountable` if a counter of copies is full.
        #[inline]
        pub fn insert(
            self: &mut Page,
            below: u64,
            fingerprint: Fingerprint,
            most: usize,
            adding: Adding,
        ) -> Result<Insert, AddError> = Page::insert_with;
    }

    #[inline(always)]
    pub fn insert_with<I: Instructions>(
        &mut self,
        instructions: I,
        below: u64,
        fingerprint: Fingerprint,
        most: usize,
        adding: Adding,
    ) -> Result<Insert, AddError> {
        if self.is_saturated() {
            return Ok(Insert::Saturated);
        }
        if self.lines().is_empty() {
            return Ok(Insert::Unfit);
        }
        let (grid, shape) = (self.grid(), self.shape());
        let (line, run) = self.run(instructions, grid, below);
        let (bucket, value) = (self.bucket(line, run), shape.value(fingerprint));
        if adding == Adding::Absent && self.any_matches(bucket, shape.wanted(below)) {
            return Ok(Insert::Present);
        }
        let rank = self.rank(bucket, value);
        let bits = fingerprint.length() + 1;
        if bits <= shape.bucket_bits || bits > shape.bucket_bits + shape.slot.fingerprint_bits {
            return Ok(Insert::Unfit);
        }
        if rank.equal >= COPIES {
            return self.count_surplus(fingerprint);
        }
        let slot = bucket.first + rank.smaller;
        let (gap, is_new) = (Position { line, run, slot }, rank.same_fingerprint == 0);
        if self.len() >= most || !self.insert_at(instructions, grid, gap, value) {
            return Ok(Insert::NoRoom { gap, is_new });
        }
        self.entries += 1;
        Ok(Insert::Done { is_new })
    }

    /// Counts a copy in a surplus counter.
    #[cold]
    fn count_surplus(&mut self, fingerprint: Fingerprint) -> Result<Insert, AddError> {
        let Some(bytes) = self.counter_mut(fingerprint) else {
            return Ok(Insert::Unfit);
        };
        let copies = u32::from_le_bytes(*bytes)
            .checked_add(1)
            .filter(|copies| *copies < u32::MAX)
            .ok_or(AddError::Uncountable)?;
        *bytes = copies.to_le_bytes();
        Ok(Insert::Done { is_new: false })
    }

    /// Inserts a slot at its position. Returns false if there is no room.
    #[inline(always)]
    fn insert_at<I: Instructions>(
        &mut self,
        instructions: I,
        grid: Grid,
        gap: Position,
        value: u64,
    ) -> bool {
        let slot = self.shape().slot;
        let line = &mut self.lines_mut()[gap.line];
        if line.held() == usize::from(u8::MAX) {
            return false;
        }
        if line.has_free(slot.bits() + 1, slot) {
            line.insert(instructions, Some(gap.run), gap.slot, slot, value);
            return true;
        }
        let gaps = self.gaps_behind(grid, gap.line);
        if let Some(gaps) = gaps {
            self.insert_and_spill(instructions, grid, gap, gaps, value);
        }
        gaps.is_some()
    }

    /// The gaps (lines with room after line `number`) that take the slots which it spills for
    /// another entry. It spills one slot, or two if the unary bit needs the room of a slot, too.
    /// Then the nearer gap is the second.
    #[inline(always)]
    fn gaps_behind(&self, grid: Grid, number: usize) -> Option<[usize; 2]> {
        let (slot, line) = (self.shape().slot, &self.lines()[number]);
        let mut going = match (line.has_free(1, slot), line.held()) {
            (true, _) => 1,
            (false, 0) => return None,
            (false, _) => 2,
        };
        let (mut gaps, mut next) = ([number; 2], number);
        for _ in 0..REACH {
            next = grid.next(next);
            let line = &self.lines()[next];
            if next == number || line.spilled() + going > MAX_SPILLED {
                return None;
            }
            let mut slots = 1;
            while line.has_free(slots * slot.bits(), slot) {
                going -= 1;
                gaps[going] = next;
                if going == 0 {
                    return Some(gaps);
                }
                slots += 1;
            }
        }
        None
    }

    /// Inserts a slot into a line that must spill for it.
    #[inline(always)]
    fn insert_and_spill<I: Instructions>(
        &mut self,
        instructions: I,
        grid: Grid,
        gap: Position,
        gaps: [usize; 2],
        value: u64,
    ) {
        let (slot, number) = (self.shape().slot, gap.line);
        if gaps[1] != number {
            let last = self.lines_mut()[number].pop_slot(slot);
            self.spill(instructions, grid, number, last, gaps[1]);
        }
        let line = &mut self.lines_mut()[number];
        if gap.slot < line.held() {
            let last = line.insert_and_pop(instructions, Some(gap.run), gap.slot, slot, value);
            self.spill(instructions, grid, number, last, gaps[0]);
        } else {
            line.grow_run(gap.run, slot);
            let n = gap.slot - line.held();
            self.insert_behind(instructions, grid, number, n, value, gaps[0]);
        }
    }

    /// Inserts `value` as the `n`-th of the slots after line `number`; the first line with room is
    /// `gap`.
    #[inline(always)]
    fn insert_behind<I: Instructions>(
        &mut self,
        instructions: I,
        grid: Grid,
        mut number: usize,
        mut n: usize,
        value: u64,
        gap: usize,
    ) {
        let slot = self.shape().slot;
        loop {
            number = grid.next(number);
            let line = &mut self.lines_mut()[number];
            let held = line.held();
            if number == gap {
                return line.insert(instructions, None, n, slot, value);
            }
            if n < held {
                let last = line.insert_and_pop(instructions, None, n, slot, value);
                return self.spill(instructions, grid, number, last, gap);
            }
            line.set_spilled(line.spilled() + 1);
            n -= held;
        }
    }

    /// Moves `value`, which was the last slot of line `number`, to the front of the next line, and
    /// so on up to line `gap`, the first with room.
    #[inline(always)]
    fn spill<I: Instructions>(
        &mut self,
        instructions: I,
        grid: Grid,
        mut number: usize,
        mut value: u64,
        gap: usize,
    ) {
        let slot = self.shape().slot;
        loop {
            number = grid.next(number);
            let line = &mut self.lines_mut()[number];
            if number == gap {
                return line.insert(instructions, None, 0, slot, value);
            }
            if line.held() > 0 {
                value = line.insert_and_pop(instructions, None, 0, slot, value);
            } else {
                line.set_spilled(line.spilled() + 1);
            }
        }
    }

    compiled_per_cpu! {
        /// Removes a copy of the longest fingerprint that matches and has one of the payloads
        /// `alive`.
        #[inline]
        pub fn remove(self: &mut Page, below: u64, alive: u16) -> Remove = Page::remove_with;
    }

    #[inline(always)]
    pub fn remove_with<I: Instructions>(
        &mut self,
        instructions: I,
        below: u64,
        alive: u16,
    ) -> Remove {
        if self.is_saturated() {
            return Remove::Saturated;
        }
        if self.lines().is_empty() {
            return Remove::Absent;
        }
        let (grid, shape) = (self.grid(), self.shape());
        let (line, run) = self.run(instructions, grid, below);
        let bucket = self.bucket(line, run);
        let Some((place, value)) = self.longest_match(bucket, shape.wanted(below), alive) else {
            return Remove::Absent;
        };
        if self.lines().len() > grid.lines {
            let fingerprint = shape.of_bucket(grid.bucket(below)).or(shape.remainder(value));
            if let Some(uncounted) = self.uncount_surplus(fingerprint) {
                return uncounted;
            }
        }
        let is_last = self.rank(bucket, value).same_fingerprint == 1;
        self.remove_at(instructions, grid, line, run, place);
        Remove::Done { length: shape.length(value), is_last }
    }

    /// Removes a copy from a surplus counter, if there is one.
    #[cold]
    fn uncount_surplus(&mut self, fingerprint: Fingerprint) -> Option<Remove> {
        let bytes = self.counter_mut(fingerprint)?;
        let left = match u32::from_le_bytes(*bytes) {
            0 | 1 => return Some(Remove::LastSurplus(fingerprint)),
            // A saturated counter is not exact.
            u32::MAX => return Some(Remove::Saturated),
            copies => copies - 1,
        };
        *bytes = left.to_le_bytes();
        Some(Remove::Done { length: fingerprint.length(), is_last: false })
    }

    /// Removes entry `n`, counted from line `number` on, which is in the bucket of `run`.
    #[inline(always)]
    fn remove_at<I: Instructions>(
        &mut self,
        instructions: I,
        grid: Grid,
        number: usize,
        run: Run,
        mut n: usize,
    ) {
        let slot = self.shape().slot;
        self.entries -= 1;
        let held = self.lines()[number].held();
        if n < held {
            self.lines_mut()[number].remove(instructions, Some(run), n, slot);
        } else {
            n -= held;
            let mut last = grid.next(number);
            while n >= self.lines()[last].held() {
                let line = &mut self.lines_mut()[last];
                line.set_spilled(line.spilled() - 1);
                n -= line.held();
                last = grid.next(last);
            }
            self.lines_mut()[last].remove(instructions, None, n, slot);
            self.lines_mut()[number].shrink_run(run, slot);
            self.refill(instructions, grid, last);
        }
        // Removing a slot and a bit may leave room for two slots.
        self.refill(instructions, grid, number);
        self.refill(instructions, grid, number);
    }

    /// Moves a slot that line `number` spilled to a later line back into it, if there is room, and
    /// then does the same for the line that the slot came from.
    #[inline(always)]
    fn refill<I: Instructions>(&mut self, instructions: I, grid: Grid, mut number: usize) {
        let slot = self.shape().slot;
        loop {
            let mut next = grid.next(number);
            if next == number
                || self.lines()[next].spilled() == 0
                || !self.lines()[number].has_free(slot.bits(), slot)
            {
                return;
            }
            while self.lines()[next].held() == 0 {
                let line = &mut self.lines_mut()[next];
                line.set_spilled(line.spilled() - 1);
                next = grid.next(next);
            }
            let value = self.lines_mut()[next].remove(instructions, None, 0, slot);
            self.lines_mut()[number].push_slot(slot, value);
            number = next;
        }
    }
}
