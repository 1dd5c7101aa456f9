//! A filter that becomes as small as if it had been reserved so: see `bloom/fold.rs`.
//!
//! Only the sub-filter shrinks. A table behind it holds what came when the sub-filter was full, so
//! such a filter has no smaller size that its items fit into, and stays as it is; so does a filter
//! without a sub-filter, whose table has the size of its items anyway.

use crate::error::{AddError, UnionError};
use crate::filter::{Filter, Promise};
use crate::storage::SEGMENT_WORDS;

impl Filter {
    /// Shrinks it to the smallest size whose capacity is at least `capacity` and the number of its
    /// items, and with which it keeps its error rate, as its bits are weighed; with
    /// [`Promise::Waived`] whatever they weigh. Returns whether there was one. The result is the
    /// filter that would have been reserved so, with the same items.
    ///
    /// It is done on a copy, which takes at most half the memory of the filter, and may cost
    /// `max_cost` bytes: those of its allocated segments, for each size that is tried. That is one,
    /// or two where chance decides, unless someone chose the items.
    ///
    /// # Errors
    /// `Loading` while it is being loaded; `TooCostly`; `OutOfMemory`. Nothing has changed.
    pub fn shrink(
        &mut self,
        capacity: u64,
        max_cost: u64,
        promise: Promise,
    ) -> Result<bool, UnionError> {
        if self.loading().is_some() {
            return Err(AddError::Loading.into());
        }
        let Some(bloom) = self.bloom().filter(|_| self.may_be_united()) else {
            return Ok(false);
        };
        let bytes = self.allocated_segments() * (SEGMENT_WORDS * size_of::<u64>()) as u64;
        let mut cost = max_cost;
        let header = bloom.header();
        let mut smaller = None;
        for (factor, header) in header.folds_for(capacity.max(header.items)) {
            cost = cost.checked_sub(bytes).ok_or(UnionError::TooCostly)?;
            let folded = bloom.fold(factor, header)?;
            if promise == Promise::Waived || folded.keeps_its_rate() {
                smaller = Some(folded);
                break;
            }
        }
        let has_shrunk = smaller.is_some();
        self.replace_bloom(smaller);
        Ok(has_shrunk)
    }

    /// The capacity that it would have after [`Filter::shrink`] to its items, if chance does not
    /// decide against it; `None` if it has that already.
    pub fn capacity_if_shrunk(&self) -> Option<u64> {
        let bloom = self.bloom().filter(|_| self.may_be_united())?;
        let header = bloom.header();
        let smallest = header.folds_for(header.items).next();
        smallest.map(|(_, header)| header.capacity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::{Growth, Parameters, SizeLimit};
    use crate::hash::Seed;
    use proptest::prelude::*;

    const UNLIMITED: SizeLimit = SizeLimit::Unlimited;

    fn filter_of(parameters: Parameters, items: std::ops::Range<u64>) -> Filter {
        let mut filter = Filter::new(parameters, UNLIMITED).unwrap();
        for n in items {
            filter.add(&n.to_le_bytes(), UNLIMITED).unwrap();
        }
        filter
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 80, ..ProptestConfig::default() })]

        #[test]
        fn a_shrunk_filter_is_the_one_reserved_smaller(
            exponent in 0.0..8.0f64,
            rate in -9.0..-0.602f64,
            fill in 0.0..1.0f64,
            wanted in 0.0..1.0f64,
            is_fixed in any::<bool>(),
            is_shared in any::<bool>(),
        ) {
            let (capacity, error_rate) = (10f64.powf(exponent) as u64, 10f64.powf(rate));
            let growth = if is_fixed { Growth::Fixed } else { Growth::Times(2) };
            let parameters = Parameters { error_rate, capacity, growth, seed: Seed(5) };
            let items = (fill * fill * capacity as f64).min(20_000.0) as u64;
            let mut filter = filter_of(parameters, 0..items);
            let before = filter.digest();
            let mut copy = if is_shared { Some(filter.try_clone().unwrap()) } else { None };
            let wanted = (wanted.powi(4) * capacity as f64) as u64;
            let has_shrunk = filter.shrink(wanted, u64::MAX, Promise::Kept).unwrap();
            let now = filter.parameters();
            prop_assert_eq!(has_shrunk, now.capacity < capacity);
            prop_assert!(now.capacity >= wanted.max(filter.items()));
            if has_shrunk {
                let smaller = filter_of(now, 0..items);
                let header = |filter: &Filter| filter.bloom().unwrap().header();
                // A false positive that only the smaller filter has was counted by the larger one.
                let (one, two) = (header(&filter), header(&smaller));
                prop_assert_eq!((one.shape, one.guard_limit), (two.shape, two.guard_limit));
                prop_assert_eq!(filter.set_bits(), smaller.set_bits());
                let weight = |filter: &Filter| filter.bloom().unwrap().fill().weight();
                prop_assert_eq!(weight(&filter), weight(&smaller));
                if one.items == two.items {
                    prop_assert_eq!(filter.digest(), smaller.digest());
                }
                prop_assert!(one.items - two.items <= 5 + one.items / 4);
                prop_assert!(filter.false_positive_rate() <= error_rate * 1.0001);
            } else {
                prop_assert_eq!(filter.digest(), before);
            }
            prop_assert!((0..items).all(|n| filter.contains(&n.to_le_bytes())));
            if let Some(copy) = &mut copy {
                prop_assert_eq!(copy.digest(), before);
            }
            // What took effect, as a replica gets it.
            if let Some(mut copy) = copy {
                copy.shrink(now.capacity, u64::MAX, Promise::Waived).unwrap();
                prop_assert_eq!(copy.digest(), filter.digest());
            }
            prop_assert_eq!(filter.shrink(wanted, u64::MAX, Promise::Kept), Ok(false));
        }
    }

    #[test]
    fn the_measured_rate_of_a_shrunk_filter_is_at_most_the_one_asked_for() {
        for (error_rate, capacity, items) in
            [(0.1, 1_000_000, 20_000), (0.01, 4_000_000, 100_000), (0.001, 4_000_000, 60_000)]
        {
            let growth = Growth::Fixed;
            let parameters = Parameters { error_rate, capacity, growth, seed: Seed(9) };
            let mut filter = filter_of(parameters, 0..items);
            assert_eq!(filter.shrink(0, u64::MAX, Promise::Kept), Ok(true));
            assert!(filter.parameters().capacity < 2 * items + items / 50);
            let probes = 2_000_000u64;
            let found =
                (1 << 40..(1 << 40) + probes).filter(|n: &u64| filter.contains(&n.to_le_bytes()));
            let (found, most) = (found.count() as f64, probes as f64 * error_rate);
            // Four standard deviations.
            assert!(found <= most + 4.0 * most.sqrt(), "{error_rate}: {found} of {most}");
        }
    }

    #[test]
    fn a_filter_with_a_table_or_without_a_sub_filter_stays_as_it_is() {
        for (capacity, items) in [(100, 20), (10_000, 12_000)] {
            let growth = Growth::Times(2);
            let parameters = Parameters { error_rate: 0.01, capacity, growth, seed: Seed(9) };
            let mut filter = filter_of(parameters, 0..items);
            let digest = filter.digest();
            assert_eq!(filter.shrink(0, u64::MAX, Promise::Kept), Ok(false));
            assert_eq!(filter.digest(), digest);
        }
    }

    #[test]
    fn a_shrink_that_costs_too_much_changes_nothing() {
        let parameters = Parameters {
            error_rate: 0.01,
            capacity: 1_000_000,
            growth: Growth::Fixed,
            seed: Seed(9),
        };
        let mut filter = filter_of(parameters, 0..10_000);
        let digest = filter.digest();
        let refused = Err(UnionError::TooCostly);
        assert_eq!(filter.shrink(0, 18 << 16, Promise::Kept), refused);
        assert_eq!(filter.digest(), digest);
        assert_eq!(filter.shrink(0, 19 << 16, Promise::Kept), Ok(true));
    }
}
