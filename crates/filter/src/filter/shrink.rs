//! A filter that becomes as small as its items allow: see `bloom/fold.rs`.
//!
//! Only the sub-filter shrinks. A table after it begins only when the sub-filter is full, so the
//! items would fit no smaller size, and such a filter stays as it is. So does a filter without a
//! sub-filter, whose table has the size of its items anyway.

use crate::bloom::blocked_bloom::{BlockedBloom, Header};
use crate::bloom::fold::Folding;
use crate::error::{ensure, AddError, UnionError};
use crate::filter::Filter;
use crate::hash::ItemHash;
use crate::storage::SEGMENT_WORDS;

/// A filter that is becoming smaller, in steps between which it may be used. Items that are new in
/// it meanwhile must be added here as well.
pub struct Shrinking {
    /// The least capacity.
    capacity: u64,
    folding: Folding,
}

/// How a [`Shrinking`] has ended.
pub enum Shrunk {
    /// The filter is smaller now. The caller frees its old sub-filter, which may be large.
    Yes(BlockedBloom),
    /// At this size the filter would not keep its error rate. The job for the next larger size, if
    /// there is one, which starts from the beginning.
    Not(Option<Shrinking>),
}

/// What a filter would be after it has shrunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IfShrunk {
    /// Its capacity, in items.
    pub capacity: u64,
    /// Its [`Filter::reserved_bytes`].
    pub reserved_bytes: u64,
}

impl Filter {
    /// Shrinks it to the smallest size whose capacity is at least `capacity` and the number of its
    /// items, and with which it keeps its error rate, as its bits are weighed. Returns its old
    /// sub-filter, which may be large, or `None` if there is no such size.
    ///
    /// It works on a copy, which takes no more memory than the filter may. It may cost `max_cost`
    /// bytes: [those to read](Filter::bytes_to_shrink) for each size that is tried. It tries one
    /// size, or two where chance decides, unless someone chose the items.
    ///
    /// # Errors
    /// `Loading` while it is being loaded; `TooCostly`; `OutOfMemory`. Nothing has changed.
    pub fn shrink(
        &mut self,
        capacity: u64,
        max_cost: u64,
    ) -> Result<Option<BlockedBloom>, UnionError> {
        let (bytes, mut cost) = (self.bytes_to_shrink(), max_cost);
        let mut next = self.begin_shrinking(capacity)?;
        while let Some(mut shrinking) = next {
            cost = cost.checked_sub(bytes).ok_or(UnionError::TooCostly)?;
            while shrinking.step(self)? {}
            next = match shrinking.finish(self)? {
                Shrunk::Yes(old) => return Ok(Some(old)),
                Shrunk::Not(next) => next,
            };
        }
        Ok(None)
    }

    /// Shrinks it to the size of `capacity` items, whatever its bits weigh then: another server,
    /// with the same bits, has shrunk it to this [capacity](Filter::capacity). Returns what
    /// [`Filter::shrink`] does.
    ///
    /// # Errors
    /// `Loading`, `OutOfMemory`. Nothing has changed.
    pub fn shrink_to(&mut self, capacity: u64) -> Result<Option<BlockedBloom>, AddError> {
        ensure(self.loading().is_none(), AddError::Loading)?;
        let Some(bloom) = self.bloom_to_shrink() else { return Ok(None) };
        let Some(smaller) = bloom.header().folded_for(capacity) else { return Ok(None) };
        let mut folding = Folding::begin(bloom, smaller)?;
        while folding.step(bloom)? {}
        let folded = folding.end(bloom);
        Ok(self.replace_bloom(folded))
    }

    /// Bytes to read for each size that a shrink tries: those of the allocated segments.
    pub fn bytes_to_shrink(&self) -> u64 {
        self.allocated_segments() * (SEGMENT_WORDS * size_of::<u64>()) as u64
    }

    /// Begins to shrink it, to be continued by [`Shrinking::step`]; `None` if it has no smaller
    /// size of at least `capacity` items.
    ///
    /// # Errors
    /// `Loading`, `OutOfMemory`.
    pub fn begin_shrinking(&self, capacity: u64) -> Result<Option<Shrinking>, AddError> {
        ensure(self.loading().is_none(), AddError::Loading)?;
        self.try_size(capacity, 0)
    }

    /// Begins with the smallest size of more than `above` sub-bitmaps.
    fn try_size(&self, capacity: u64, above: u64) -> Result<Option<Shrinking>, AddError> {
        let Some((bloom, smaller)) = self.smaller(capacity, above) else { return Ok(None) };
        let folding = Folding::begin(bloom, smaller)?;
        Ok(Some(Shrinking { capacity, folding }))
    }

    /// The sub-filter, if it may become smaller.
    fn bloom_to_shrink(&self) -> Option<&BlockedBloom> {
        self.bloom().filter(|_| self.may_be_united() && self.table().is_none())
    }

    /// The sub-filter, and the header of the smallest size that holds its items and at least
    /// `capacity`, and has more than `above` sub-bitmaps.
    fn smaller(&self, capacity: u64, above: u64) -> Option<(&BlockedBloom, Header)> {
        let bloom = self.bloom_to_shrink()?;
        let header = bloom.header();
        Some((bloom, header.smaller(capacity.max(header.items), above)?))
    }

    /// What it would be after [`Filter::shrink`] to its items, unless chance decides for a larger
    /// size; `None` if it has no smaller one. Costs some sizings: 0.3 ms at 1 %, at most 7.
    pub fn if_shrunk(&self) -> Option<IfShrunk> {
        let (bloom, smaller) = self.smaller(0, 0)?;
        let segments = BlockedBloom::from_header(smaller).segments().reserved_bytes();
        let others = self.reserved_bytes().saturating_sub(bloom.segments().reserved_bytes());
        Some(IfShrunk { capacity: smaller.capacity, reserved_bytes: others + segments })
    }
}

impl Shrinking {
    /// Folds the next allocated 64 KiB of `filter`, in some 20 µs. Returns whether there were any.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn step(&mut self, filter: &Filter) -> Result<bool, AddError> {
        filter.bloom().map_or(Ok(false), |bloom| self.folding.step(bloom))
    }

    /// Adds the item of `hash`, which has been new in the filter since the first step.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn add(&mut self, hash: ItemHash) -> Result<(), AddError> {
        self.folding.add(hash)
    }

    /// Makes `filter` smaller, after the last step, unless it would not keep its error rate.
    ///
    /// # Errors
    /// `OutOfMemory`; the filter has not changed.
    pub fn finish(self, filter: &mut Filter) -> Result<Shrunk, AddError> {
        // A table has begun meanwhile if the sub-filter is full.
        let Some(bloom) = filter.bloom_to_shrink() else { return Ok(Shrunk::Not(None)) };
        let size = self.folding.num_sub_bitmaps();
        let folded = self.folding.end(bloom);
        let fits = folded.header().capacity >= bloom.fill().items() && folded.keeps_its_rate();
        if !fits {
            return filter.try_size(self.capacity, size).map(Shrunk::Not);
        }
        let old = filter.replace_bloom(folded);
        Ok(old.map_or(Shrunk::Not(None), Shrunk::Yes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::{Growth, Parameters, Promise, SizeLimit};
    use crate::hash::Seed;
    use proptest::prelude::*;

    const UNLIMITED: SizeLimit = SizeLimit::Unlimited;

    fn filter_of(parameters: Parameters, items: std::ops::Range<u64>) -> Filter {
        let mut filter = Filter::new(parameters, UNLIMITED).unwrap();
        for n in items {
            filter.add(&n.to_le_bytes()).unwrap();
        }
        filter
    }

    /// Whether `filter` has shrunk.
    fn has_shrunk_to(filter: &mut Filter, capacity: u64, cost: u64) -> Result<bool, UnionError> {
        filter.shrink(capacity, cost).map(|old| old.is_some())
    }

    #[test]
    fn items_added_between_the_steps_are_in_the_shrunk_filter() {
        let growth = Growth::Fixed;
        let parameters = Parameters { error_rate: 0.01, capacity: 500_000, growth, seed: Seed(5) };
        for wanted in [30_000, 42_000] {
            let mut filter = filter_of(parameters, 0..10_000);
            let size = |filter: &Filter| filter.bloom().unwrap().num_sub_bitmaps();
            let before = size(&filter);
            let mut shrinking = filter.begin_shrinking(wanted).unwrap().unwrap();
            let mut n = 10_000u64;
            while shrinking.step(&filter).unwrap() {
                for _ in 0..1000 {
                    let item = n.to_le_bytes();
                    if filter.add(&item).unwrap() {
                        shrinking.add(ItemHash::of(&item, parameters.seed)).unwrap();
                    }
                    n += 1;
                }
            }
            assert!(n > 15_000);
            let mut copy = filter.try_clone().unwrap();
            assert!(matches!(shrinking.finish(&mut filter), Ok(Shrunk::Yes(_))));
            assert_eq!(before.is_multiple_of(size(&filter)), wanted == 30_000);
            assert!((0..n).all(|n| filter.contains(&n.to_le_bytes())));
            copy.shrink_to(filter.capacity()).unwrap().unwrap();
            assert_eq!(filter.digest(), copy.digest());
        }

        // More than the size holds: the next larger one is tried.
        let mut filter = filter_of(parameters, 0..10_000);
        let mut shrinking = filter.begin_shrinking(0).unwrap().unwrap();
        while shrinking.step(&filter).unwrap() {}
        for n in 10_000..20_000u64 {
            let item = n.to_le_bytes();
            filter.add(&item).unwrap();
            shrinking.add(ItemHash::of(&item, parameters.seed)).unwrap();
        }
        let Ok(Shrunk::Not(Some(mut next))) = shrinking.finish(&mut filter) else {
            panic!("it does not fit");
        };
        while next.step(&filter).unwrap() {}
        assert!(matches!(next.finish(&mut filter), Ok(Shrunk::Yes(_))));
        assert!((0..20_000u64).all(|n| filter.contains(&n.to_le_bytes())));
        assert!(filter.parameters().capacity >= filter.items());
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 80, ..ProptestConfig::default() })]

        #[test]
        fn a_filter_shrunk_by_a_divisor_is_the_one_reserved_smaller(
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
            let size = |filter: &Filter| filter.bloom().map_or(1, BlockedBloom::num_sub_bitmaps);
            let size_before = size(&filter);
            let mut copy = if is_shared { Some(filter.try_clone().unwrap()) } else { None };
            let wanted = (wanted.powi(4) * capacity as f64) as u64;
            let foretold = filter.if_shrunk();
            let first_try = filter.smaller(wanted, 0).map(|(_, header)| header.capacity);
            let has_shrunk = filter.shrink(wanted, u64::MAX).unwrap().is_some();
            let now = filter.parameters();
            prop_assert_eq!(has_shrunk, now.capacity < capacity);
            prop_assert!(now.capacity >= wanted.max(filter.items()));
            if let Some(foretold) = foretold.filter(|foretold| foretold.capacity == now.capacity) {
                prop_assert_eq!(foretold.reserved_bytes, filter.reserved_bytes());
            }
            // Chance may decide for the next larger size.
            let least = foretold.map_or(capacity, |foretold| foretold.capacity);
            prop_assert!(least <= now.capacity);
            if has_shrunk && !size_before.is_multiple_of(size(&filter)) {
                prop_assert!(filter.false_positive_rate() <= error_rate * 1.0001);
                let smaller = filter_of(now, 0..items);
                let union = filter.unite(&[&smaller], UNLIMITED, u64::MAX, Promise::Kept);
                prop_assert!(!union.unwrap().has_changed);
            } else if has_shrunk {
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
                copy.shrink_to(now.capacity).unwrap();
                prop_assert_eq!(copy.digest(), filter.digest());
            }
            // If chance decided for a larger size, there may be another one between the two.
            let is_first_try = first_try.is_none_or(|capacity| capacity == now.capacity);
            if is_first_try && size_before.is_multiple_of(size(&filter)) {
                prop_assert_eq!(has_shrunk_to(&mut filter, wanted, u64::MAX), Ok(false));
            }
        }
    }

    /// Adds items until no more are taken. Returns how many were new.
    fn fill_up(filter: &mut Filter) -> u64 {
        let new = |n: &u64| filter.add(&n.to_be_bytes()).is_ok();
        (1..).take_while(new).count() as u64
    }

    /// Their sub-bitmaps are not evenly full, so that they weigh more than random items.
    #[test]
    fn a_filter_folded_or_united_to_any_size_takes_the_items_asked_for_and_keeps_its_rate() {
        let fixed = |error_rate, capacity| Parameters {
            error_rate,
            capacity,
            growth: Growth::Fixed,
            seed: Seed(5),
        };
        for (rate, capacity, items, wanted) in [
            (0.01, 300_000, 50_000, 100_000),
            (0.01, 30_000, 3_000, 10_000),
            (0.1, 300_000, 30_000, 100_000),
            (1e-6, 300_000, 30_000, 0),
        ] {
            let mut filter = filter_of(fixed(rate, capacity), 0..items);
            let old = filter.shrink(wanted, u64::MAX).unwrap().expect("a smaller size");
            let size = filter.bloom().unwrap().num_sub_bitmaps();
            assert!(!old.num_sub_bitmaps().is_multiple_of(size), "{rate} {capacity}");
            let mut copy = Filter::new(filter.parameters(), UNLIMITED).unwrap();
            copy.unite(&[&filter], UNLIMITED, u64::MAX, Promise::Kept).unwrap();
            fill_up(&mut copy);
            let share = copy.false_positive_rate() / rate;
            assert!(share <= 1.003, "{rate} {capacity} {items}: {share} times the rate");
            let total = items + fill_up(&mut filter);
            assert!(total >= wanted, "{total} of {wanted}");
            let share = filter.false_positive_rate() / rate;
            assert!(share <= 1.003, "{rate} {capacity} {items}: {share} times the rate");
            let bloom = filter.bloom().unwrap();
            assert!(bloom.fill().is_full() && !bloom.is_closed_by_guard());

            let mut filter = filter_of(fixed(rate, capacity), 0..items);
            let other = filter_of(fixed(rate, capacity / 7), items..items + capacity / 20);
            let union = filter.unite(&[&other], UNLIMITED, u64::MAX, Promise::Kept);
            assert!(union.unwrap().has_changed);
            assert_eq!(filter.capacity(), capacity);
            fill_up(&mut filter);
            let share = filter.false_positive_rate() / rate;
            assert!(share <= 1.003, "{rate} {capacity} {items}: {share} times the rate");
            let bloom = filter.bloom().unwrap();
            assert!(bloom.fill().is_full() && !bloom.is_closed_by_guard());
        }
    }

    #[test]
    fn a_shrunk_filter_has_hardly_more_than_the_size_of_its_items() {
        let share = |n: u64| ItemHash::of(&n.to_le_bytes(), Seed(8)).place as f64 / 2f64.powi(64);
        let mut sizes: Vec<f64> = (0..600)
            .step_by(3)
            .map(|n| {
                let items = 10f64.powf(4.2 + 0.8 * share(n)) as u64;
                let over = 10f64.powf(0.32 + 2.68 * share(n + 1));
                let error_rate = 10f64.powf(-0.602 - 3.4 * share(n + 2));
                let (capacity, growth) = ((items as f64 * over) as u64, Growth::Fixed);
                let parameters = Parameters { error_rate, capacity, growth, seed: Seed(3) };
                let mut filter = filter_of(parameters, 0..items);
                assert!(filter.shrink(0, u64::MAX).unwrap().is_some());
                assert!(filter.false_positive_rate() <= error_rate * 1.0001);
                assert!((0..items).all(|n| filter.contains(&n.to_le_bytes())));
                let bits = |bloom: &BlockedBloom| bloom.num_bits() as f64;
                let right = bits(&BlockedBloom::new(items, error_rate));
                let size = bits(filter.bloom().unwrap()) / right;
                assert!(size <= 1.09 + 2.0 / over, "{size} times its size, reserved {over} times");
                size
            })
            .collect();
        sizes.sort_by(f64::total_cmp);
        println!("median {}, mean {}", sizes[100], sizes.iter().sum::<f64>() / 200.0);
        assert!(sizes[100] <= 1.04, "median {}", sizes[100]);
    }

    #[test]
    fn the_measured_rate_of_a_shrunk_filter_is_at_most_the_one_asked_for() {
        for (error_rate, capacity, items) in
            [(0.1, 1_000_000, 20_000), (0.01, 4_000_000, 100_000), (0.001, 4_000_000, 60_000)]
        {
            let growth = Growth::Fixed;
            let parameters = Parameters { error_rate, capacity, growth, seed: Seed(9) };
            let mut filter = filter_of(parameters, 0..items);
            assert_eq!(has_shrunk_to(&mut filter, 0, u64::MAX), Ok(true));
            assert!(filter.parameters().capacity < items + items / 8);
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
            assert_eq!(filter.if_shrunk(), None);
            assert_eq!(has_shrunk_to(&mut filter, 0, u64::MAX), Ok(false));
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
        assert_eq!(has_shrunk_to(&mut filter, 0, 18 << 16), refused);
        assert_eq!(filter.digest(), digest);
        assert_eq!(has_shrunk_to(&mut filter, 0, 19 << 16), Ok(true));
    }
}
