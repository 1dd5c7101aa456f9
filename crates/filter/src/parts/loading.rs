//! Loading parts in chunks: what is still to come, and how a chunk is applied.

use crate::error::DecodeError;
use crate::parts::{bytes_of_lists, Loading, Parts, SubFilter};
use crate::table::{Pages, Table};

/// The contents of a chunk.
pub(crate) struct Arrivals<'a, B> {
    /// Bloom filters without bits, which follow those of earlier chunks.
    pub blooms: Vec<B>,
    /// Bits of these or of earlier Bloom filters, in ascending order.
    pub segments: Vec<SegmentBits<'a>>,
    /// An empty table, if none came before.
    pub table: Option<Table>,
    /// The error rate of that.
    pub table_rate: Option<f64>,
    /// Pages of this or the earlier table.
    pub pages: Option<Pages>,
    /// The numbers of items in the table and of those removed, which come with its last page.
    pub counts: Option<(u64, u64)>,
    /// What is still to come after this chunk.
    pub loading: Option<Loading>,
}

/// The bits of one segment.
pub(crate) struct SegmentBits<'a> {
    /// The index of the Bloom filter, which this or an earlier chunk contains.
    pub bloom: usize,
    /// The number of the segment in the Bloom filter.
    pub number: u64,
    /// Its words, little-endian.
    pub bytes: &'a [u8],
}

impl<B: SubFilter> Parts<B> {
    /// Applies a chunk: checks it, allocates everything, and only then changes the parts.
    ///
    /// # Errors
    /// `Field` or `Order` for what does not fit, `OverLimit`, `OutOfMemory`; nothing visible has
    /// changed.
    pub(crate) fn take_in(
        &mut self,
        arrivals: Arrivals<'_, B>,
        most_bytes: u64,
        most_segments: u64,
    ) -> Result<(), DecodeError> {
        let Arrivals {
            mut blooms,
            mut segments,
            mut table,
            table_rate: _,
            pages,
            counts,
            loading,
        } = arrivals;
        if table.is_some() && self.table().is_some() {
            return Err(DecodeError::Order);
        }
        let present = self.loading().map_or(0, |loading| loading.sub_filters);
        for segment in &segments {
            let bloom = match segment.bloom.checked_sub(present) {
                Some(new) => blooms.get(new),
                None => self.blooms().get(segment.bloom),
            };
            segment.check(bloom.ok_or(DecodeError::Order)?)?;
        }
        if !segments.is_sorted_by(|one, next| one.place() < next.place()) {
            return Err(DecodeError::Order);
        }

        let added = blooms.iter().map(|bloom| bloom.segments().reserved());
        let num_segments = added.fold(self.reserved_segments(), u64::saturating_add);
        let added = blooms.iter().map(|bloom| bloom.segments().reserved_bytes());
        let bytes = added.fold(self.bytes_besides_lists(), u64::saturating_add);
        let num_blooms = self.blooms().len() + blooms.len();
        let num_tables = usize::from(table.is_some() || self.table().is_some());
        // A single part needs no list once it is complete.
        let lists = match (num_blooms + num_tables, loading) {
            (1, None) => 0,
            _ => bytes_of_lists::<B>(num_blooms, num_tables),
        };
        let bytes = bytes.saturating_add(lists);
        let bytes = bytes.saturating_add(pages.as_ref().map_or(0, Pages::bytes));
        if bytes > most_bytes || num_segments > most_segments {
            return Err(DecodeError::OverLimit);
        }

        // A segment without a set bit would waste memory.
        segments.retain(|segment| segment.bytes.iter().any(|byte| *byte != 0));
        for segment in &segments {
            let bloom = match segment.bloom.checked_sub(present) {
                Some(new) => blooms.get_mut(new),
                None => self.bloom_mut(segment.bloom),
            };
            bloom
                .ok_or(DecodeError::Order)?
                .segments_mut()
                .make_room(segment.number, segment.bytes)
                .map_err(|_| DecodeError::OutOfMemory)?;
        }
        self.reserve(blooms.len())
            .map_err(|_| DecodeError::OutOfMemory)?;
        if let Some(pages) = pages {
            let table = table.as_mut().or(self.table_mut());
            let items = counts.map(|(items, _)| items);
            table.ok_or(DecodeError::Order)?.load(pages, items)?;
        }
        // The last step that can fail: it replaces nothing, as there is no table yet.
        if let Some(table) = table {
            self.append_table(table)
                .map_err(|_| DecodeError::OutOfMemory)?;
        }

        self.insert(present, blooms);
        for segment in segments {
            if let Some(bloom) = self.bloom_mut(segment.bloom) {
                bloom.merge(segment.number, segment.bytes);
            }
        }
        self.set_loading(loading);
        Ok(())
    }
}

impl SegmentBits<'_> {
    fn place(&self) -> (usize, u64) {
        (self.bloom, self.number)
    }

    /// Whether the Bloom filter has this segment.
    fn check(&self, bloom: &impl SubFilter) -> Result<(), DecodeError> {
        let segments = bloom.segments();
        let fits = self.number < segments.reserved()
            && self.bytes.len() == segments.len_of(self.number) * 8;
        fits.then_some(()).ok_or(DecodeError::Field("segment"))
    }
}
