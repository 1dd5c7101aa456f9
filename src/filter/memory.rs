//! What the allocator holds for a filter, and moving that elsewhere.

use super::scalable::Filter;
use super::split_bloom::SplitBloom;
use std::alloc::Layout;

/// What moves memory, so that the server can make its heap denser.
pub trait Mover {
    /// The same elements, perhaps at another address.
    fn relocate<T>(&mut self, elements: Vec<T>) -> Vec<T>;
    /// Whether the time for this step is used up.
    fn should_stop(&mut self) -> bool;
}

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

    /// Passes everything allocated through `mover`, from segment number `from` on, counted over all sub-filters, until it says
    /// that it is time to stop. Answers the number to go on from, or nothing at the end.
    pub fn relocate(&mut self, from: u64, mover: &mut impl Mover) -> Option<u64> {
        if from == 0 {
            let sub_filters = std::mem::take(self.sub_filters_mut());
            *self.sub_filters_mut() = mover.relocate(sub_filters);
        }
        let mut first = 0;
        for sub_filter in self.sub_filters_mut() {
            let segments = sub_filter.segments_mut();
            if from <= first {
                segments.relocate_leaves(mover);
            }
            let mut segment = from.saturating_sub(first);
            while let Some(number) = segments.next_allocated(segment) {
                if mover.should_stop() {
                    return Some(first + number);
                }
                segments.relocate(number, mover);
                segment = number + 1;
            }
            first += segments.reserved();
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

    /// Copies everything, and stops after every second piece.
    #[derive(Default)]
    struct Copier {
        moved: u64,
        allowed: u64,
    }

    impl Mover for Copier {
        fn relocate<T>(&mut self, elements: Vec<T>) -> Vec<T> {
            self.moved += 1;
            let mut copy = Vec::with_capacity(elements.capacity());
            copy.extend(elements);
            copy
        }

        fn should_stop(&mut self) -> bool {
            self.allowed = self.allowed.wrapping_sub(1);
            self.allowed == u64::MAX
        }
    }

    #[test]
    fn what_a_copy_has_too_stays_where_it_is_until_the_copy_is_gone() {
        let mut filter = filter();
        let copy = filter.try_clone().unwrap();
        let mut mover = Copier {
            allowed: u64::MAX / 2,
            ..Copier::default()
        };
        assert_eq!(filter.relocate(0, &mut mover), None);
        assert!(mover.moved < 20, "the leaves alone: {}", mover.moved);
        assert_eq!(filter.digest(), copy.digest());
        drop(copy);
        assert_eq!(filter.relocate(0, &mut mover), None);
        assert!(mover.moved > filter.allocated_segments());
    }

    #[test]
    fn everything_is_offered_once_even_if_each_step_stops() {
        let mut filter = filter();
        let before = filter.digest();
        let (mut mover, mut from, mut steps) = (Copier::default(), Some(0), 0);
        while let Some(number) = from {
            mover.allowed = 2;
            from = filter.relocate(number, &mut mover);
            steps += 1;
        }
        // The series, and for each sub-filter its list of leaves, one leaf, and the segments.
        let others = 1 + 2 * filter.sub_filters().len() as u64;
        assert_eq!(mover.moved, filter.allocated_segments() + others);
        assert!(steps > 2);
        assert_eq!(filter.digest(), before);
    }
}
