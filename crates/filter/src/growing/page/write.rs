//! A page that is written anew, of a list of entries or of another page.

use super::counters::{push_counters, COUNTERS};
use super::size::sizes;
use super::{Page, ShapeBytes, State};
use crate::error::AddError;
use crate::growing::change::Gap;
use crate::growing::entries::{try_vec, Entries};
use crate::growing::grid::{Grid, Shape};
use crate::growing::mark::Mark;
use crate::growing::packed::Packed;
use crate::growing::plan::{Plan, MAX_LINES};
use crate::growing::slot::SlotShape;
use crate::storage::short::Short;

impl Page {
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
            (self.len() + usize::from(more.is_some()), self.shape());
        let is_alike = (1..=plan.most()).contains(&entries)
            && plan.bucket_bits(entries) == bucket_bits
            && plan.length(self.depth, entries) + 1 == bucket_bits + slot.fingerprint_bits
            && more.is_none_or(|(_, mark)| mark.length() > bucket_bits);
        if !is_alike {
            return Ok(None);
        }
        let more = more.map(|(gap, mark)| (gap, self.shape().value(mark)));
        let packed = Packed::of(self, more)?;
        let (_, counters) = self.lines.split_at(self.grid().lines);
        let num_counters = self.surplus().count();
        for lines in sizes(self.shape(), entries, num_counters, least) {
            let grid = Grid {
                shape: self.shape(),
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
                lines: Short::of(written),
                entries: entries as u16,
                ..*self
            }));
        }
        Ok(None)
    }

    /// A page of exactly `lines` lines, or `None` if `entries` do not fit.
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
        push_counters(&entries.surplus, &mut written);
        Ok(Some(Self {
            lines: Short::of(written),
            shape: ShapeBytes::of(shape),
            depth,
            counter_lines: counter_lines as u8,
            entries: entries.marks.len() as u16,
            state: State::Lines,
        }))
    }
}
