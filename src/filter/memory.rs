//! What the allocator holds for a filter, and moving that elsewhere.

use super::scalable::Filter;
use super::split_bloom::SplitBloom;

/// A place in a filter to go on from: the first segment of the first sub-filter is the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    pub sub_filter: u64,
    pub segment: u64,
}

impl Filter {
    /// Visits every kind of allocation but the `Filter` itself: address, size in bytes, how many there are of it.
    /// Cost: a step for each 4 MiB of bits, and one for each sub-filter.
    pub fn visit_allocations(&self, mut visit: impl FnMut(*const u8, usize, u64)) {
        let sub_filters = self.sub_filters();
        visit(sub_filters.as_ptr().cast(), self.sub_filter_slots() * size_of::<SplitBloom>(), 1);
        for sub_filter in sub_filters {
            sub_filter.segments().visit_allocations(&mut visit);
        }
    }

    /// Number of segments that are there.
    pub fn allocated_segments(&self) -> u64 {
        self.sub_filters().iter().map(|s| s.segments().allocated()).sum()
    }

    /// Number of segments that it would have with every bit in use.
    pub fn reserved_segments(&self) -> u64 {
        self.sub_filters().iter().map(|s| s.segments().reserved()).sum()
    }

    /// Offers each segment from `from` on to `mover` (see [`super::segments::Segments::relocate`]) until `stop` says so.
    /// Answers where to go on, or nothing at the end.
    ///
    /// # Safety
    /// What `mover` answers must be a live allocation of the global allocator, made for the size and alignment of the one
    /// it was given, with the same bytes; the old one must be free then.
    pub unsafe fn relocate(
        &mut self,
        from: Position,
        mut mover: impl FnMut(*mut u8) -> Option<*mut u8>,
        mut stop: impl FnMut() -> bool,
    ) -> Option<Position> {
        let mut segment = from.segment;
        for (index, sub_filter) in self.sub_filters_mut().iter_mut().enumerate().skip(from.sub_filter as usize) {
            while let Some(number) = sub_filter.segments().next_allocated(segment) {
                if stop() {
                    return Some(Position {
                        sub_filter: index as u64,
                        segment: number,
                    });
                }
                // SAFETY: the caller's duty, passed on.
                unsafe { sub_filter.segments_mut().relocate(number, &mut mover) };
                segment = number + 1;
            }
            segment = 0;
        }
        None
    }
}
