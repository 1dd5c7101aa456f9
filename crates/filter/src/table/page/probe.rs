//! A lookup in a page, which usually reads one line.

use super::Page;
use crate::prefetch::prefetch;
use crate::table::instructions::Instructions;
use crate::table::line::Line;

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
        if let Some(line) = self
            .page
            .lines
            .get(grid.line_beyond(grid.bucket(self.below)))
        {
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
