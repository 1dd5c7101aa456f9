//! The number of lines of a page.
//!
//! 1, 2, ... 8, 10, 12, 14, 16, 20 ... 128: the size classes of jemalloc, so that nothing is lost
//! by rounding.

use super::counters::COUNTERS;
use super::Page;
use crate::table::grid::{Shape, MAX_LINES};
use crate::table::line::BODY_BITS;
use crate::table::path::Path;
use crate::table::plan::Plan;

/// The maximum fill of a rewritten page, in per cent.
const FILL: usize = 94;
/// A page is rewritten in the next smaller size when it fills at most this percentage of that.
/// After half of the items of a table are removed, it takes 1.18 times the memory of a fresh one.
/// When 88 still gave 1.22, 80 gave 1.29, and 92 gave 1.17 at twice the time of a removal.
const THIN: usize = 88;

/// The next larger size, in lines.
fn more_lines(lines: usize) -> usize {
    // Four sizes per doubling, as in jemalloc, and all below eight.
    let step = (lines + 1).next_power_of_two() / 8;
    lines + step.max(1)
}

/// The next smaller size, in lines.
fn fewer_lines(lines: usize) -> usize {
    lines - (lines.next_power_of_two() / 8).max(1)
}

/// The bits of `entries` entries and of their buckets.
fn body_bits(entries: usize, shape: Shape) -> usize {
    entries * (shape.slot.bits() + 1) + (1 << shape.bucket_bits)
}

/// The usable bits of a line: on average half a slot stays free.
fn line_bits(shape: Shape) -> usize {
    BODY_BITS - shape.slot.bits() / 2
}

/// The number of lines that `entries` entries fill to `fill` per cent.
fn lines_for(entries: usize, shape: Shape, fill: usize) -> usize {
    (body_bits(entries, shape) * 100).div_ceil(fill * line_bits(shape))
}

/// The same for a page of this depth with new entries only.
pub fn lines_for_new(plan: &Plan, start: Path, depth: u8, entries: usize, fill: usize) -> usize {
    lines_for(entries, plan.shape_of_new(start, depth, entries), fill)
}

/// The minimum number of lines for half of a page that is split. It is about to grow: filled like
/// other rewritten pages, it would get the next size after a tenth more entries. At this size it is
/// not thin, so the next removal does not undo the split.
pub fn lines_for_half(plan: &Plan, start: Path, depth: u8, entries: usize) -> usize {
    lines_for_new(plan, start, depth, entries, THIN).min(MAX_LINES)
}

/// The sizes of at least `min_lines` lines that may hold `entries` entries and `counters` counters,
/// smallest first.
pub fn sizes(
    shape: Shape,
    entries: usize,
    counters: usize,
    min_lines: usize,
) -> impl Iterator<Item = usize> {
    let wanted = lines_for(entries, shape, FILL) + counters.div_ceil(COUNTERS);
    let sizes = std::iter::successors(Some(1), |lines| Some(more_lines(*lines)));
    sizes
        .skip_while(move |lines| *lines < min_lines.max(wanted))
        .take_while(|lines| *lines <= MAX_LINES)
}

impl Page {
    /// Whether the entries of this page, which is that of `path`, fit well into fewer lines.
    pub fn is_thin(&self, plan: &Plan, path: Path) -> bool {
        if self.entries == 0 {
            return !self.lines.is_empty();
        }
        if self.lines.len() <= 1 {
            return false;
        }
        let longest = self.shape().longest();
        let bucket_bits = plan.bucket_bits(path, self.depth, self.len(), longest);
        let shape = Shape { bucket_bits, ..self.shape() };
        // This runs for each removal, so it multiplies where `lines_for` divides.
        let fewer = fewer_lines(self.lines.len()).saturating_sub(self.counter_lines.into());
        body_bits(self.len(), shape) * 100 <= THIN * fewer * line_bits(shape)
    }
}
