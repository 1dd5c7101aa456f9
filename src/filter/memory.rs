//! What the allocator holds for a filter, and moving that elsewhere.

use super::scalable::Filter;
use super::segments::Block;
use super::split_bloom::SplitBloom;
use std::alloc::Layout;

impl Filter {
    /// Visits every kind of allocation but the `Filter` itself: its layout, and how many there are of it.
    /// Cost: a step for each 4 MiB of bits, and one for each sub-filter.
    pub fn visit_allocations(&self, mut visit: impl FnMut(Layout, u64)) {
        if let Ok(layout) = Layout::array::<SplitBloom>(self.sub_filter_slots()) {
            visit(layout, 1);
        }
        for sub_filter in self.sub_filters() {
            sub_filter.segments().visit_allocations(&mut visit);
        }
    }

    /// Number of segments that are there.
    pub fn allocated_segments(&self) -> u64 {
        let segments = self.sub_filters().iter().map(|s| s.segments().allocated());
        segments.sum()
    }

    /// Number of segments that it would have with every bit in use.
    pub fn reserved_segments(&self) -> u64 {
        let segments = self.sub_filters().iter().map(|s| s.segments().reserved());
        segments.sum()
    }

    /// Passes the segments from number `from` on, counted over all sub-filters, through `mover`, which may put them elsewhere,
    /// until `stop` says so. Answers the number to go on from, or nothing at the end.
    pub fn relocate(
        &mut self,
        from: u64,
        mut mover: impl FnMut(Block) -> Block,
        mut stop: impl FnMut() -> bool,
    ) -> Option<u64> {
        let mut first = 0;
        for sub_filter in self.sub_filters_mut() {
            let mut segment = from.saturating_sub(first);
            while let Some(number) = sub_filter.segments().next_allocated(segment) {
                if stop() {
                    return Some(first + number);
                }
                sub_filter.segments_mut().relocate(number, &mut mover);
                segment = number + 1;
            }
            first += sub_filter.segments().reserved();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::hash::Seed;
    use super::super::scalable::{Growth, Parameters, SizeLimit};
    use super::*;

    fn filter() -> Filter {
        let parameters = Parameters {
            error_rate: 0.01,
            capacity: 100_000,
            growth: Growth::Times(2),
            seed: Seed(5),
        };
        let mut filter = Filter::new(parameters, SizeLimit::Unlimited).unwrap();
        for i in 0..200_000u64 {
            filter.add(&i.to_le_bytes(), SizeLimit::Unlimited).unwrap();
        }
        filter
    }

    #[test]
    fn the_allocations_visited_are_the_bits_and_little_more() {
        let filter = filter();
        let mut bytes = 0;
        filter.visit_allocations(|layout, times| bytes += layout.size() as u64 * times);
        let bits = filter.num_bits() / 8;
        assert!(
            bytes >= bits && bytes < bits + bits / 100 + 2_000,
            "{bytes} for {bits}"
        );
        assert_eq!(filter.allocated_segments(), filter.reserved_segments());
    }

    #[test]
    fn every_segment_is_offered_once_even_if_each_step_stops() {
        let mut filter = filter();
        let before = filter.digest();
        let (mut offered, mut from, mut steps) = (0, Some(0), 0);
        while let Some(number) = from {
            let mut allowed = 2;
            from = filter.relocate(
                number,
                |block| {
                    offered += 1;
                    block.clone()
                },
                || {
                    allowed -= 1;
                    allowed < 0
                },
            );
            steps += 1;
        }
        assert_eq!(offered, filter.allocated_segments());
        assert!(steps > 2);
        assert_eq!(filter.digest(), before);
    }
}
