//! The door by which bytes enter: what a chunk brings is checked, all of it allocated, and only
//! then applied.

use crate::bytes::within;
use crate::error::{ensure, DecodeError};
use crate::filter::body::Organs;
use crate::filter::memory::bytes_of_organs;
use crate::filter::parameters::Kind;
use crate::filter::series::{Series, SubFilter};
use crate::filter::window::{Place, Slices};
use crate::filter::{Filter, Loading, SizeLimit};
use crate::foreign::Layers;
use crate::storage::data::Incoming;
use crate::storage::segments::Segments;
use crate::storage::MAX_SEGMENTS;
use crate::table::{Pages, Table};

/// The contents of a chunk.
pub(crate) struct Arrivals<'a> {
    /// Sub-filters without bits, which follow those of earlier chunks.
    pub series: Series,
    /// Segments of these or of earlier sub-filters, in ascending order.
    pub segments: Vec<ArrivingSegment<'a>>,
    /// An empty table and its error rate, if none came before.
    pub table: Option<(Table, f64)>,
    /// Pages of this or the earlier table.
    pub pages: Option<Pages>,
    /// The slices of a filter that forgets, which come with pages.
    pub slices: Option<Slices>,
    /// The numbers of items in the table and of those removed, which come with its last page.
    pub counts: Option<(u64, u64)>,
    /// What is still to come after this chunk.
    pub loading: Option<Loading>,
}

/// One segment.
pub(crate) struct ArrivingSegment<'a> {
    /// The index of the sub-filter, which this or an earlier chunk contains.
    pub sub_filter: usize,
    /// The number of the segment in the sub-filter.
    pub number: u64,
    /// Its bits.
    pub bits: Incoming<'a>,
}

impl Arrivals<'_> {
    /// Whether these arrivals and `organs` together make a filter of a single part.
    fn make_simple(&self, organs: &Organs) -> bool {
        let tables = usize::from(self.table.is_some() || organs.table.is_some());
        let others = [&self.series, &organs.series];
        let are_ours = |series: &&Series| matches!(series, Series::Empty | Series::Blocked(_));
        let blooms: usize = others.iter().map(|series| series.len()).sum();
        let is_alone = self.loading.is_none() && organs.clock.is_none();
        is_alone && others.iter().all(are_ours) && blooms + tables == 1
    }
}

impl Filter {
    /// An empty series into which the sub-filters of a chunk are read.
    pub(crate) fn series_to_come(&self) -> Series {
        let layers = self.layers().map(Layers::without_layers);
        layers.map_or(Series::Empty, Series::Layers)
    }

    /// Whether one more sub-filter may come after `count` that have come.
    pub(crate) fn may_get_sub_filter(&self, count: usize) -> bool {
        match self.kind() {
            _ if self.layers().is_some() => true,
            Kind::Windowed => false,
            _ => count == 0 && self.body.num_sub_filters() == 0,
        }
    }

    /// Applies a chunk: checks it, allocates everything, and only then changes the filter.
    ///
    /// # Errors
    /// `Field` or `Order` if `arrivals` contradict the filter, `OverLimit`, `OutOfMemory`; nothing
    /// visible has changed.
    pub(crate) fn accept(
        &mut self,
        mut arrivals: Arrivals<'_>,
        is_first: bool,
        limit: SizeLimit,
    ) -> Result<(), DecodeError> {
        let removed = arrivals.counts.map(|(_, removed)| removed);
        let may_remove = self.kind() != Kind::Bloom;
        within("items removed", may_remove || removed.unwrap_or(0) == 0)?;
        let items = arrivals.counts.map(|(items, _)| items);
        let slices = self.slices_after(&arrivals, Place { is_first, items })?;
        let removed = removed.unwrap_or(self.removed());
        let organs = self.body.organs_mut().ok_or(DecodeError::Order)?;
        organs.prepare(&mut arrivals, limit)?;
        let rate = organs.apply(arrivals)?;
        organs.counts.deleted = removed;
        if let (Some((clock, table)), Some(slices)) = (organs.clock_mut(), slices) {
            clock.slices = slices;
            clock.slices.forgotten = removed;
            clock.tell(table);
        }
        if let Some(rate) = rate {
            self.set_table_rate(rate);
        }
        self.body.simplify();
        Ok(())
    }

    /// The slices after a chunk, if the filter forgets.
    fn slices_after(
        &self,
        arrivals: &Arrivals<'_>,
        place: Place,
    ) -> Result<Option<Slices>, DecodeError> {
        let (Some(clock), Some(slices)) = (self.clock(), arrivals.slices) else {
            return Ok(None);
        };
        let pages = arrivals.pages.as_ref().map(Pages::payloads);
        let pages = pages.unwrap_or_default();
        let before = (!place.is_first).then_some(&clock.slices);
        let is_counted = pages.are_counted && self.table().is_none_or(Table::is_counted);
        slices.with_pages(before, &pages, place, is_counted).map(Some)
    }
}

impl Organs {
    /// Checks what a chunk brings, and allocates what its segments and sub-filters take.
    fn prepare(
        &mut self,
        arrivals: &mut Arrivals<'_>,
        limit: SizeLimit,
    ) -> Result<(), DecodeError> {
        ensure(arrivals.table.is_none() || self.table.is_none(), DecodeError::Order)?;
        for ArrivingSegment { sub_filter, number, bits } in &arrivals.segments {
            let storage = self.storage(&mut arrivals.series, *sub_filter)?;
            within("segment", *number < storage.reserved())?;
            bits.check(storage.len_of(*number), storage.units())?;
        }
        let place = |segment: &ArrivingSegment<'_>| (segment.sub_filter, segment.number);
        let are_sorted = arrivals.segments.is_sorted_by(|one, next| place(one) < place(next));
        ensure(are_sorted, DecodeError::Order)?;
        self.check_size(arrivals, limit)?;
        let Arrivals { series, segments, .. } = arrivals;
        // A segment without a set bit would waste memory.
        segments.retain(|ArrivingSegment { sub_filter, bits, .. }| {
            let storage = self.storage(series, *sub_filter);
            storage.is_ok_and(|storage| bits.has_bits(storage.units()))
        });
        for ArrivingSegment { sub_filter, number, bits } in segments {
            let storage = self.storage(series, *sub_filter)?;
            let runs = bits.runs(storage.units());
            storage.make_room(*number, runs)?;
        }
        Ok(self.series.reserve(arrivals.series.len())?)
    }

    /// The storage of a sub-filter, which is in the filter or in the `series` that a chunk brings.
    fn storage<'s>(
        &'s mut self,
        series: &'s mut Series,
        sub_filter: usize,
    ) -> Result<&'s mut Segments, DecodeError> {
        let present = self.loading.map_or(0, |loading| loading.sub_filters());
        let storage = match sub_filter.checked_sub(present) {
            Some(new) => series.segments_mut(new),
            None => self.series.segments_mut(sub_filter),
        };
        storage.ok_or(DecodeError::Order)
    }

    /// Checks the size of the filter with `arrivals`.
    ///
    /// # Errors
    /// `OverLimit` above `limit` or [`MAX_SEGMENTS`].
    fn check_size(&self, arrivals: &Arrivals<'_>, limit: SizeLimit) -> Result<(), DecodeError> {
        let layers = match &self.series {
            Series::Layers(layers) => layers.each().len() + arrivals.series.len(),
            _ => 0,
        };
        let organs = if arrivals.make_simple(self) { 0 } else { bytes_of_organs(self, layers) };
        let table = self.table.as_ref().map_or(0, Table::bytes);
        let pages = arrivals.pages.as_ref().map_or(0, Pages::bytes);
        let own = [organs, table, pages].into_iter().fold(Filter::OWN_BYTES, u64::saturating_add);
        let all = self.series.iter().chain(arrivals.series.iter());
        let all = all.map(SubFilter::segments);
        let bytes = all.clone().map(Segments::reserved_bytes);
        let bytes = bytes.fold(own, u64::saturating_add);
        let segments = all.map(Segments::reserved).fold(0, u64::saturating_add);
        ensure(bytes <= limit.max_bytes() && segments <= MAX_SEGMENTS, DecodeError::OverLimit)
    }

    /// Moves `arrivals`, for which `prepare` has allocated, into the filter. Returns the error rate
    /// of a table that they begin.
    fn apply(&mut self, arrivals: Arrivals<'_>) -> Result<Option<f64>, DecodeError> {
        let (mut new, rate) = arrivals.table.unzip();
        if let Some(pages) = arrivals.pages {
            let table = new.as_mut().or(self.table.as_mut());
            let items = arrivals.counts.map(|(items, _)| items);
            // The last step that can fail.
            table.ok_or(DecodeError::Order)?.load(pages, items)?;
        }
        if new.is_some() {
            self.table = new;
        }
        let present = self.loading.map_or(0, |loading| loading.sub_filters());
        self.series.insert(present, arrivals.series);
        for ArrivingSegment { sub_filter, number, bits } in arrivals.segments {
            let units = self.series.segments_mut(sub_filter).and_then(|segments| segments.units());
            for (place, words) in bits.runs(units) {
                self.series.merge(sub_filter, number, place, words);
            }
        }
        self.loading = arrivals.loading;
        Ok(rate)
    }
}
