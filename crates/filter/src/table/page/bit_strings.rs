//! The entries of a page as two strings of bits, without the borders of lines: the form in which a
//! page gets more lines. Whole words are moved; no entry is decoded.
//!
//! ```text
//!   unary   a 0 an entry, a 1 a bucket, as in a line
//!   slots   | last | ... | second | first |, the first on top, as in a line
//! ```

use super::{Page, Position};
use crate::error::AddError;
use crate::table::grid::{Grid, Owned, MAX_LINES};
use crate::table::instructions::select;
use crate::table::line::{Line, LINE_BITS, LINE_WORDS, UNARY};
use splitbloom_foundation::alloc::try_vec;

/// A string of bits that grows at its upper end, over words that are 0.
struct Bits<'a> {
    words: &'a mut [u64],
    len: usize,
}

impl<'a> Bits<'a> {
    fn over(words: &'a mut [u64]) -> Self {
        Self { words, len: 0 }
    }

    /// Appends the lowest `len` bits (1 to 64) of `value`.
    #[inline(always)]
    fn push(&mut self, value: u64, len: usize) {
        let value = value & u64::MAX >> (64 - len);
        let (word, shift) = (self.len / 64, self.len % 64);
        if let Some(word) = self.words.get_mut(word) {
            *word |= value << shift;
        }
        if shift + len > 64 {
            if let Some(word) = self.words.get_mut(word + 1) {
                *word = value >> (64 - shift);
            }
        }
        self.len += len;
    }

    /// Appends bits `first` up to `end` of other words.
    #[inline(always)]
    fn push_range(&mut self, words: &[u64], first: usize, end: usize) {
        let Some(len) = end.checked_sub(first).filter(|len| *len > 0) else {
            return;
        };
        let to = self.len % 64;
        self.len += len;
        let last = (self.len - 1) / 64;
        let targets = &mut self.words[(self.len - len) / 64..=last];
        let there = targets[0];
        // Whole words are written, so the source is read from before `first`; one word more keeps
        // the index from being negative.
        let begin = first + 64 - to;
        let (mut source, by) = (words[begin / 64..].iter(), begin % 64);
        let mut below = (begin / 64).checked_sub(1).map_or(0, |word| words[word]);
        for target in &mut *targets {
            let above = source.next().copied().unwrap_or(0);
            *target = below >> by | above << 1 << (63 - by);
            below = above;
        }
        targets[0] = targets[0] >> to << to | there;
        if let Some(target) = targets.last_mut() {
            *target &= u64::MAX >> (63 - (self.len - 1) % 64);
        }
    }
}

/// The entries of a page; see the module.
pub struct BitStrings {
    unary: Vec<u64>,
    slots: Vec<u64>,
    slot_bits: usize,
    entries: usize,
}

impl BitStrings {
    /// The entries of a page, and optionally one more with this position and slot.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn of(page: &Page, more: Option<(Position, u64)>) -> Result<Self, AddError> {
        let (grid, slot_bits) = (page.grid(), page.shape().slot.bits());
        let entries = page.len() + usize::from(more.is_some());
        let mut strings = Self {
            unary: clear_words((1 << grid.shape.bucket_bits) + entries)?,
            slots: clear_words(entries * slot_bits)?,
            slot_bits,
            entries,
        };
        let lines = page.lines().get(..grid.lines).unwrap_or_default();
        strings.read_unary(page, grid, lines, more.map(|(gap, _)| gap));
        strings.read_slots(lines, page.len(), more);
        Ok(strings)
    }

    fn read_unary(&mut self, page: &Page, grid: Grid, lines: &[Line], gap: Option<Position>) {
        let mut unary = Bits::over(&mut self.unary);
        for (number, line) in lines.iter().enumerate() {
            let (words, mut first) = (line.words(), UNARY);
            if let Some(gap) = gap.filter(|gap| gap.line == number) {
                unary.push_range(&words, first, gap.run.start);
                unary.push(0, 1);
                first = gap.run.start;
            }
            let len = grid.buckets_in(number) + page.owned(grid, number);
            unary.push_range(&words, first, UNARY + len);
        }
    }

    fn read_slots(&mut self, lines: &[Line], all: usize, more: Option<(Position, u64)>) {
        // The number of slots before each line.
        let (mut before, mut held) = ([0; MAX_LINES + 1], 0);
        for (line, before) in lines.iter().zip(&mut before) {
            *before = held;
            held += line.held();
        }
        let slot_bits = self.slot_bits;
        let mut slots = Bits::over(&mut self.slots);
        let push_held = |slots: &mut Bits<'_>, low: usize, high: usize| {
            for (line, before) in lines.iter().zip(before).rev() {
                let from = low.saturating_sub(before);
                let to = high.saturating_sub(before).min(line.held());
                if from < to {
                    let (first, end) = (LINE_BITS - to * slot_bits, LINE_BITS - from * slot_bits);
                    slots.push_range(&line.words(), first, end);
                }
            }
        };
        // The first entry comes after those that spilled from the last line into the first.
        let spilled = lines.first().map_or(0, Line::spilled);
        let push = |slots: &mut Bits<'_>, low: usize, high: usize| {
            let (low, high) = (low + spilled, high + spilled);
            push_held(slots, low.saturating_sub(all), high.saturating_sub(all));
            push_held(slots, low, high.min(all));
        };
        let mut end = all;
        if let Some((gap, value)) = more {
            let place = before[gap.line] + gap.slot - spilled;
            push(&mut slots, place, end);
            slots.push(value, slot_bits);
            end = place;
        }
        push(&mut slots, 0, end);
    }

    /// The number of entries of each line's buckets in this grid.
    pub fn owned(&self, grid: Grid) -> Owned {
        let (mut word, mut ones) = (0, 0);
        // The position of 1-bit number `n`, which is not before that of the previous call; the end
        // of the string if there are no more than `n`.
        let mut position = |n: usize| {
            while let Some(bits) = self.unary.get(word) {
                let more = bits.count_ones() as usize;
                if n < ones + more {
                    return 64 * word + select(*bits, (n - ones) as u32) as usize;
                }
                (word, ones) = (word + 1, ones + more);
            }
            64 * self.unary.len()
        };
        let (mut owned, mut before, mut buckets) = ([0; MAX_LINES], 0, 0);
        for (line, owned) in owned.iter_mut().enumerate().take(grid.lines) {
            buckets += grid.buckets_in(line);
            // All entries up to here come before the 1-bit that ends the line's last bucket.
            let end = position(buckets - 1) + 1 - buckets;
            *owned = (end - before) as u16;
            before = end;
        }
        owned
    }

    /// Writes the lines of a grid; `owned` and `first_spilled` come from [`BitStrings::owned`] and
    /// [`Grid::spilled`].
    pub fn write(&self, grid: Grid, owned: &Owned, first_spilled: usize, lines: &mut Vec<Line>) {
        let slot_bits = self.slot_bits;
        let (mut spilled, mut before, mut unary) = (first_spilled, 0, 0);
        for (number, owned) in owned.iter().enumerate().take(grid.lines) {
            let all = spilled + usize::from(*owned);
            let held = all.min(grid.room(number, *owned));
            let unary_end = unary + grid.buckets_in(number) + usize::from(*owned);
            let mut words = [0; LINE_WORDS];
            let mut bits = Bits::over(&mut words);
            bits.push(Line::header(held, spilled), UNARY);
            bits.push_range(&self.unary, unary, unary_end);
            bits.len = LINE_BITS - held * slot_bits;
            let mut push = |first: usize, end: usize| {
                let all = self.entries * slot_bits;
                bits.push_range(&self.slots, all - end * slot_bits, all - first * slot_bits);
            };
            // The stream is circular: entries that spill from the last line to the first ones are
            // at its end.
            let start = before + self.entries - spilled;
            push(start.saturating_sub(self.entries), (start + held).saturating_sub(self.entries));
            push(start.min(self.entries), (start + held).min(self.entries));
            lines.push(Line::of_words(words));
            (spilled, before, unary) = (all - held, before + usize::from(*owned), unary_end);
        }
    }
}

fn clear_words(bits: usize) -> Result<Vec<u64>, AddError> {
    let words = bits.div_ceil(64);
    let mut clear = try_vec(words)?;
    clear.resize(words, 0);
    Ok(clear)
}
