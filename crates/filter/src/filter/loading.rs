//! Loading a filter in chunks: what is still to come, and how a chunk is applied.

use crate::bloom::blocked_bloom::BlockedBloom;
use crate::error::DecodeError;
use crate::filter::{Filter, Loading, Parameters, SizeLimit};

/// The contents of a chunk.
pub(crate) struct Arrivals<'a> {
    /// Sub-filters without bits, which follow those of earlier chunks.
    pub sub_filters: Vec<BlockedBloom>,
    /// Bits of these or of earlier sub-filters, in ascending order.
    pub segments: Vec<SegmentBits<'a>>,
    /// What is still to come after this chunk.
    pub loading: Option<Loading>,
}

/// The bits of one segment.
pub(crate) struct SegmentBits<'a> {
    /// The index of the sub-filter, which this or an earlier chunk contains.
    pub sub_filter: usize,
    /// The number of the segment in the sub-filter.
    pub number: u64,
    /// Its words, little-endian.
    pub bytes: &'a [u8],
}

impl Filter {
    /// The filter that a first chunk begins.
    ///
    /// # Errors
    /// As [`Filter::take_in`]; `Order` if the chunk has no sub-filter.
    pub(crate) fn begin(
        parameters: Parameters,
        arrivals: Arrivals<'_>,
        limit: SizeLimit,
    ) -> Result<Self, DecodeError> {
        if arrivals.sub_filters.is_empty() {
            return Err(DecodeError::Order);
        }
        let mut filter = Self::without_sub_filters(parameters);
        filter.take_in(arrivals, limit)?;
        Ok(filter)
    }

    /// Applies a chunk: checks it, allocates everything, and only then changes the filter.
    ///
    /// # Errors
    /// `Field` or `Order` for a segment that does not fit, `OverLimit`, `OutOfMemory`; nothing
    /// visible has changed.
    pub(crate) fn take_in(
        &mut self,
        arrivals: Arrivals<'_>,
        limit: SizeLimit,
    ) -> Result<(), DecodeError> {
        let Arrivals {
            sub_filters: mut added,
            mut segments,
            loading,
        } = arrivals;
        let present = self.loading().map_or(0, |loading| loading.sub_filters);
        for segment in &segments {
            let sub_filter = match segment.sub_filter.checked_sub(present) {
                Some(new) => added.get(new),
                None => self.sub_filters().get(segment.sub_filter),
            };
            segment.check(sub_filter.ok_or(DecodeError::Order)?)?;
        }
        if !segments.is_sorted_by(|one, next| one.place() < next.place()) {
            return Err(DecodeError::Order);
        }
        self.check_size(&added, limit)
            .map_err(|_| DecodeError::OverLimit)?;

        // A segment without a set bit would waste memory.
        segments.retain(|segment| segment.bytes.iter().any(|byte| *byte != 0));
        for segment in &segments {
            let sub_filter = match segment.sub_filter.checked_sub(present) {
                Some(new) => added.get_mut(new),
                None => self.series.get_mut(segment.sub_filter),
            };
            sub_filter
                .ok_or(DecodeError::Order)?
                .allocate(segment.number)
                .map_err(|_| DecodeError::OutOfMemory)?;
        }
        self.insert_sub_filters(present, added.into_iter())
            .map_err(|_| DecodeError::OutOfMemory)?;

        for segment in segments {
            if let Some(sub_filter) = self.series.get_mut(segment.sub_filter) {
                sub_filter.merge(segment.number, segment.bytes);
            }
        }
        self.series.set_loading(loading);
        Ok(())
    }
}

impl SegmentBits<'_> {
    fn place(&self) -> (usize, u64) {
        (self.sub_filter, self.number)
    }

    /// Whether the sub-filter has this segment.
    fn check(&self, sub_filter: &BlockedBloom) -> Result<(), DecodeError> {
        let segments = sub_filter.segments();
        let fits = self.number < segments.reserved()
            && self.bytes.len() == segments.len_of(self.number) * 8;
        fits.then_some(()).ok_or(DecodeError::Field("segment"))
    }
}
