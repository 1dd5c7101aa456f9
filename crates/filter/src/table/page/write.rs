//! Writes a page anew, from a list of entries or from another page.

use super::bit_strings::BitStrings;
use super::counters::{push_counters, COUNTERS};
use super::size::sizes;
use super::{Adding, Insert, Page, Position, ShapeBytes};
use crate::error::AddError;
use crate::storage::small_boxed_slice::SmallBoxedSlice;
use crate::table::entries::{for_each_longer, Entries};
use crate::table::fingerprint::Fingerprint;
use crate::table::grid::{Grid, Shape, MAX_LINES};
use crate::table::path::Path;
use crate::table::plan::Plan;
use splitbloom_foundation::alloc::try_vec;

impl Page {
    /// A page of these entries with as few lines as possible, but at least `min_lines`, that leave
    /// it some room; `None` if they do not fit. Entries that are shorter than their bucket's number
    /// are lengthened. If that makes too many of them, the page is saturated with the payload
    /// `newest`.
    pub fn of(
        plan: &Plan,
        start: Path,
        depth: u8,
        entries: &mut Entries,
        min_lines: usize,
        newest: u8,
    ) -> Result<Option<Self>, AddError> {
        if entries.fingerprints.is_empty() {
            return Ok(Some(Self::empty(depth)));
        }
        let (shortest, longest) = entries.lengths();
        let bucket_bits = plan.bucket_bits(start, depth, entries.fingerprints.len(), longest);
        let max_without_suffix = plan.max_without_suffix();
        if shortest <= bucket_bits
            && (!entries.lengthen(bucket_bits, max_without_suffix)?
                || entries.count_up_to(bucket_bits) > max_without_suffix)
        {
            return Ok(Some(Self::saturated(depth, newest)));
        }
        let longest = longest.max(plan.length(start, depth, entries.fingerprints.len()));
        let shape = plan.shape(bucket_bits, longest);
        for lines in sizes(shape, entries.fingerprints.len(), entries.surplus.len(), min_lines) {
            if let Some(page) = Self::with_lines(depth, shape, entries, lines)? {
                return Ok(Some(page));
            }
        }
        Ok(None)
    }

    /// This page in at least `min_lines` lines, and perhaps with one more entry, without changing a
    /// slot; `None` if it must be rewritten in another shape, or does not fit.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn relined(
        &self,
        plan: &Plan,
        path: Path,
        more: Option<(Position, Fingerprint)>,
        min_lines: usize,
    ) -> Result<Option<Self>, AddError> {
        let entries = self.len() + usize::from(more.is_some());
        let bucket_bits = self.shape().bucket_bits;
        let has_same_shape = (1..=plan.max_entries()).contains(&entries)
            && self.is_shaped_for(plan, path, entries)
            && more.is_none_or(|(_, fingerprint)| fingerprint.length() > bucket_bits);
        if !has_same_shape {
            return Ok(None);
        }
        let more = more.map(|(gap, fingerprint)| (gap, self.shape().value(fingerprint)));
        let strings = BitStrings::of(self, more)?;
        let (_, counters) = self.lines.split_at(self.grid().lines);
        let num_counters = self.surplus().count();
        for lines in sizes(self.shape(), entries, num_counters, min_lines) {
            let grid = Grid { shape: self.shape(), lines: lines - counters.len() };
            let owned = strings.owned(grid);
            let Some(spilled) = grid.spilled(&owned) else {
                continue;
            };
            let mut written = try_vec(lines)?;
            strings.write(grid, &owned, spilled, &mut written);
            written.extend_from_slice(counters);
            return Ok(Some(Self {
                lines: SmallBoxedSlice::of(written),
                entries: entries as u16,
                ..*self
            }));
        }
        Ok(None)
    }

    /// This page with one more fingerprint, which is shorter than its bucket's number: the page
    /// that [`Page::of`] would write, but without decoding the other entries. Also returns those of
    /// the lengthened fingerprints that no other entry has. `None` if the page must be rewritten.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn with_short(
        &self,
        plan: &Plan,
        path: Path,
        fingerprint: Fingerprint,
    ) -> Result<Option<(Self, Vec<Fingerprint>)>, AddError> {
        let (shape, max_without_suffix) = (self.shape(), plan.max_without_suffix());
        let longer = 1usize << (shape.bucket_bits - fingerprint.length().min(shape.bucket_bits));
        let entries = self.len() + longer;
        let has_same_shape = self.len() > 0
            && entries <= plan.max_entries()
            && [self.len(), self.len() + 1, entries]
                .into_iter()
                .all(|entries| self.is_shaped_for(plan, path, entries))
            && (entries <= max_without_suffix
                || self.count_without_suffix() + longer <= max_without_suffix);
        let mut sizes = sizes(shape, entries, self.surplus().count(), 1);
        let Some(lines) = sizes.next().filter(|_| has_same_shape) else {
            return Ok(None);
        };
        let page = match self.lines.len() == lines {
            true => Some(self.try_clone()?),
            false => self.relined(plan, path, None, lines)?,
        };
        let Some(mut page) = page.filter(|page| page.lines.len() == lines) else {
            return Ok(None);
        };
        let (mut new, mut has_room) = (try_vec(longer)?, true);
        for_each_longer(fingerprint, shape.bucket_bits, &mut |fingerprint| match page.insert(
            fingerprint.path(),
            fingerprint,
            usize::MAX,
            Adding::Copies,
        ) {
            Ok(Insert::Done { is_new: true }) => new.push(fingerprint),
            Ok(Insert::Done { is_new: false }) => {}
            _ => has_room = false,
        });
        // Counted copies take no slot, and then fewer lines might do.
        Ok((has_room && page.len() == entries).then_some((page, new)))
    }

    /// Whether it has the shape of a page of `entries` new entries.
    pub fn is_shaped_for(&self, plan: &Plan, path: Path, entries: usize) -> bool {
        self.shape() == plan.shape_of_new(path, self.depth, entries)
    }

    /// The number of entries without bits beyond those of their bucket.
    fn count_without_suffix(&self) -> usize {
        let slot = self.shape().slot;
        let void = 1 << (slot.fingerprint_bits - 1);
        self.values().filter(|value| value >> slot.payload_bits == void).count()
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
        let grid = Grid { shape, lines: lines - counter_lines };
        let owned = grid.owned(&entries.fingerprints);
        let Some(spilled) = grid.spilled(&owned) else {
            return Ok(None);
        };
        let mut written = try_vec(lines)?;
        grid.write(&entries.fingerprints, &owned, spilled, &mut written);
        push_counters(&entries.surplus, &mut written);
        Ok(Some(Self {
            lines: SmallBoxedSlice::of(written),
            shape: ShapeBytes::of(shape),
            depth,
            counter_lines: counter_lines as u8,
            entries: entries.fingerprints.len() as u16,
            is_saturated: false,
        }))
    }
}
