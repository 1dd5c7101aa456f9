//! The entries of one bucket, compared all at once where one read returns them: 999 of 1 000
//! buckets. The others are compared entry by entry, across lines. A lookup is a [`Probe`], which
//! usually reads one line.

use super::Page;
use crate::table::fingerprint::MAX_SLOT_BITS;
use crate::table::instructions::{compiled_per_cpu, Instructions};
use crate::table::line::{Line, Rank, Run};
use splitbloom_foundation::prefetch::prefetch;

/// `len` entries from index `first` on, counted over the slots of line `line` and those spilled
/// from it.
#[derive(Clone, Copy)]
pub struct Bucket {
    pub line: usize,
    pub first: usize,
    pub len: usize,
}

impl Page {
    /// The bucket of this run in line `line`.
    #[inline(always)]
    pub fn bucket(&self, line: usize, run: Run) -> Bucket {
        Bucket { line, first: self.lines()[line].spilled() + run.first, len: run.len }
    }

    #[inline(always)]
    fn is_one_read(&self, bucket: Bucket) -> bool {
        bucket.first + bucket.len <= self.lines()[bucket.line].held()
            && bucket.len * self.shape().slot.bits() <= MAX_SLOT_BITS
    }

    /// The indices and values of its slots.
    fn slots(&self, bucket: Bucket) -> impl Iterator<Item = (usize, u64)> + '_ {
        let numbers = bucket.first..bucket.first + bucket.len;
        numbers.map(move |n| (n, self.slot(bucket.line, n)))
    }

    /// Whether one of the slots has a fingerprint that `wanted` begins with.
    #[inline(always)]
    pub fn any_matches(&self, bucket: Bucket, wanted: u64) -> bool {
        let slot = self.shape().slot;
        if self.is_one_read(bucket) {
            let line = &self.lines()[bucket.line];
            return line.any_matches(bucket.first, bucket.len, slot, wanted);
        }
        self.slots(bucket).any(|(_, value)| slot.matches(value, wanted))
    }

    /// The number of slots whose fingerprint `wanted` begins with.
    #[inline(always)]
    fn count_matches(&self, bucket: Bucket, wanted: u64) -> usize {
        let slot = self.shape().slot;
        if self.is_one_read(bucket) {
            let line = &self.lines()[bucket.line];
            return line.count_matches(bucket.first, bucket.len, slot, wanted);
        }
        self.count_matches_one_by_one(bucket, wanted)
    }

    #[cold]
    fn count_matches_one_by_one(&self, bucket: Bucket, wanted: u64) -> usize {
        let slot = self.shape().slot;
        let values = self.slots(bucket).map(|(_, value)| value);
        values.filter(|value| slot.matches(*value, wanted)).count()
    }

    compiled_per_cpu! {
        /// The number of entries, of any payload, that match an item with this path below the page;
        /// `None` if the page has counters or is saturated.
        #[inline]
        pub fn count_in_slots(self: &Page, below: u64) -> Option<usize>
            = Page::count_in_slots_with;
    }

    #[inline(always)]
    pub fn count_in_slots_with<I: Instructions>(
        &self,
        instructions: I,
        below: u64,
    ) -> Option<usize> {
        let grid = self.grid();
        if grid.lines < self.lines().len() || self.is_saturated() {
            return None;
        }
        if grid.lines == 0 {
            return Some(0);
        }
        let (line, run) = self.run(instructions, grid, below);
        let bucket = self.bucket(line, run);
        Some(self.count_matches(bucket, self.shape().wanted(below)))
    }

    /// How a value compares with the slots.
    #[inline(always)]
    pub fn rank(&self, bucket: Bucket, value: u64) -> Rank {
        if self.is_one_read(bucket) {
            let line = &self.lines()[bucket.line];
            return line.rank(bucket.first, bucket.len, self.shape().slot, value);
        }
        self.rank_one_by_one(bucket, value)
    }

    #[cold]
    fn rank_one_by_one(&self, bucket: Bucket, value: u64) -> Rank {
        let slot = self.shape().slot;
        let mut rank = Rank::default();
        for (_, there) in self.slots(bucket) {
            rank.smaller += usize::from(there < value);
            rank.equal += usize::from(there == value);
            rank.same_fingerprint += usize::from((there ^ value) >> slot.payload_bits == 0);
        }
        rank
    }

    /// The index and value of the slot with the longest fingerprint, of those that match and have
    /// one of the payloads `alive`.
    #[inline(always)]
    pub fn longest_match(&self, bucket: Bucket, wanted: u64, alive: u16) -> Option<(usize, u64)> {
        if self.is_one_read(bucket) {
            let line = &self.lines()[bucket.line];
            return line.longest_match(bucket.first, bucket.len, self.shape().slot, wanted, alive);
        }
        self.longest_match_one_by_one(bucket, wanted, alive)
    }

    #[cold]
    fn longest_match_one_by_one(
        &self,
        bucket: Bucket,
        wanted: u64,
        alive: u16,
    ) -> Option<(usize, u64)> {
        let slot = self.shape().slot;
        let is_alive = |value| alive >> slot.payload(value) & 1 == 1;
        // Of several longest matches, the last one.
        self.slots(bucket)
            .filter(|(_, value)| is_alive(*value) && slot.matches(*value, wanted))
            .max_by_key(|(_, value)| std::cmp::Reverse(slot.delimiter(*value)))
    }
}

/// A lookup up to the point where it reads its line.
#[derive(Clone, Copy)]
pub struct Probe<'a> {
    pub page: &'a Page,
    pub below: u64,
    /// `None` if the page has no lines.
    line: Option<&'a Line>,
    line_number: usize,
    bucket_in_line: usize,
}

impl Probe<'_> {
    /// Prefetches the line, and the next one if the bucket is among the last of its line: those may
    /// have spilled. Without that, items that are present cost 2 ns more at 10^7.
    #[inline(always)]
    pub fn prefetch(&self) {
        if let Some(line) = self.line {
            prefetch(line);
        }
        let grid = self.page.grid();
        if let Some(line) = self.page.lines.get(grid.line_beyond(grid.bucket(self.below))) {
            prefetch(line);
        }
    }

    /// Whether the item may be present with one of these payloads.
    #[inline(always)]
    pub fn contains_among<I: Instructions>(&self, instructions: I, payloads: u16) -> bool {
        let Some(line) = self.line else {
            return self.page.is_saturated_among(payloads);
        };
        let run = line.run(instructions, self.bucket_in_line);
        let first = line.spilled() + run.first;
        let (slot, wanted) = (self.page.shape().slot, self.page.shape().wanted(self.below));
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
    pub fn contains<I: Instructions>(&self, instructions: I) -> bool {
        let Some(line) = self.line else {
            return self.page.is_saturated();
        };
        let run = line.run(instructions, self.bucket_in_line);
        let first = line.spilled() + run.first;
        let (slot, wanted) = (self.page.shape().slot, self.page.shape().wanted(self.below));
        if first + run.len <= line.held() {
            return line.any_matches(first, run.len, slot, wanted);
        }
        (first..first + run.len).any(|n| slot.matches(self.page.slot(self.line_number, n), wanted))
    }
}

impl Page {
    /// Where a lookup begins: reads only the page's fields, not its lines.
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
}
