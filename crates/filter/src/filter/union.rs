//! The union of filters whose parameters are equal, except for the capacity.

use crate::bloom::blocked_bloom::{BlockedBloom, Header};
use crate::bloom::shape::Shape;
use crate::error::{ensure, AddError, UnionError};
use crate::filter::{Filter, Growth, Kind, SizeLimit};
use crate::table::{Table, UnionLimits, United};
use splitbloom_foundation::alloc::try_vec;
use std::mem::replace;

/// What uniting a byte of a table costs, in bytes of a sub-filter: two bytes are an entry, which is
/// looked up and inserted. Measured: 370 to 490, one core.
const TABLE_BYTE: u64 = 400;
/// The shares of the error rate may add up to the last digit above it.
const ROUNDING: f64 = 1.0 + 1e-9;

/// Whether a union must keep the error rate of the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// It must keep it. If that is impossible at the filter's size, the filter may become larger.
    Kept,
    /// Another server has accepted the union: the result is the same as there.
    Accepted,
    /// It need not: the caller wants the union anyway, at the filter's size.
    Waived,
}

/// What a union has changed.
#[non_exhaustive]
pub struct Union {
    /// Whether the filter has changed at all.
    pub has_changed: bool,
    /// The old sub-filter if it has become larger. It may be large: the caller frees it.
    pub replaced: Option<BlockedBloom>,
}

/// The first respect in which two filters differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// The requested error rate.
    ErrorRate,
    /// The number of items that they are made for.
    Capacity,
    /// How they grow.
    Expansion,
    /// The seed.
    Seed,
}

impl Filter {
    /// Whether it can be united with others: it keeps its items, and is not from another module.
    pub fn may_be_united(&self) -> bool {
        self.kind() == Kind::Bloom && self.layers().is_none()
    }

    /// The difference that keeps it from being united with others: the first one, from the first
    /// filter that differs. Capacities may differ if the sub-filters are of one kind, as those of
    /// more than some thousand items are.
    pub fn difference(&self, others: &[&Self]) -> Option<Difference> {
        let own = self.parameters();
        let of_one = |other: &&Self| {
            let others = other.parameters();
            let all = [
                (own.error_rate != others.error_rate, Difference::ErrorRate),
                (own.growth != others.growth, Difference::Expansion),
                (self.kind_of_bloom() != other.kind_of_bloom(), Difference::Capacity),
                (own.seed != others.seed, Difference::Seed),
            ];
            all.into_iter().find_map(|(is_one, difference)| is_one.then_some(difference))
        };
        others.iter().find_map(of_one)
    }

    /// What united sub-filters must share. It is read from the header: a chunk may name any shape.
    fn kind_of_bloom(&self) -> Option<(u32, u32, bool, u64)> {
        let Header { shape, error_rate, .. } = self.bloom()?.header();
        let Shape { sub_bitmap_bits, num_hashes, .. } = shape;
        Some((sub_bitmap_bits, num_hashes, shape.is_undivided(), error_rate.to_bits()))
    }

    /// What uniting it with a filter of `size` sub-bitmaps costs at least, in bytes of a
    /// sub-filter: those of its own one, as large as it gets, and those that its table counts as.
    fn bytes_to_unite(&self, size: Option<u64>) -> [u64; 2] {
        let table = self.table().filter(|table| !table.is_empty());
        let table = table.map_or(0, Table::bytes).saturating_mul(TABLE_BYTE);
        let own = self.bloom().map(BlockedBloom::num_sub_bitmaps);
        let times = size.zip(own).map_or(1, |(size, own)| size.div_ceil(own));
        [self.bytes_to_shrink().saturating_mul(times), table]
    }

    /// Adds the items of `others`, which must not differ from it: it then finds whatever one of
    /// them finds. Returns what has changed. The number of items is an estimate from then on.
    ///
    /// Filters of other capacities are folded or unfolded to its size. If it would not keep its
    /// error rate, and one of them is larger, it gets the size and capacity of the largest.
    ///
    /// It may cost `max_cost` bytes: those of the others' sub-filters, as large as they get, and of
    /// its own if it gets larger; and for the tables 400 times their bytes, or the cost of
    /// [`Table::unite`], whichever is more.
    ///
    /// # Errors
    /// `TooCostly`; `Loading` while one of them is being loaded; `Overfull`, if `promise` is
    /// [`Promise::Kept`]; `OverLimit`; `OutOfMemory`; `Full` if they are of different kinds.
    /// Nothing has changed.
    pub fn unite(
        &mut self,
        others: &[&Self],
        limit: SizeLimit,
        max_cost: u64,
        promise: Promise,
    ) -> Result<Union, UnionError> {
        let kind = self.kind_of_bloom();
        ensure(others.iter().all(|other| other.kind_of_bloom() == kind), AddError::Full)?;
        let size_of = |filter: &Self| filter.bloom().map(BlockedBloom::num_sub_bitmaps);
        let mut cost = self.cost_to_unite(others, size_of(self), max_cost)?;
        let is_loading = |filter: &Self| filter.loading().is_some();
        let is_one_loading = is_loading(self) || others.iter().any(|other| is_loading(other));
        ensure(!is_one_loading, AddError::Loading)?;
        // First everything that may fail.
        let mut sources = try_vec(others.len())?;
        // Without the empty ones, which cost nothing: there may be any number of them.
        let blooms = others.iter().filter_map(|other| other.bloom());
        sources.extend(blooms.filter(|bloom| bloom.set_bits() > 0));
        let larger = match promise {
            Promise::Waived => None,
            _ => self.larger_for(&sources)?,
        };
        let (mut unfolded, mut limit) = (None, limit);
        if let Some((own, larger)) = self.bloom().zip(larger) {
            let size = Some(larger.shape.num_sub_bitmaps);
            let left = max_cost.saturating_sub(self.bytes_to_unite(size)[0]);
            cost = self.cost_to_unite(others, size, left)?;
            limit = self.limit_besides(larger, limit)?;
            unfolded = Some(own.unfolded(larger)?);
        }
        let (united, new) = self.unite_tables(others, limit, cost)?;
        let mut has_changed = united.as_ref().is_some_and(|united| united.has_changed);
        let ready = self.make_room_for(&sources, unfolded.as_mut(), new, has_changed, promise);
        if let Err(error) = ready {
            if let Some((table, united)) = self.body.table_mut().zip(united) {
                table.take_back(united);
            }
            return Err(error);
        }
        // Nothing fails from here on.
        let replaced = unfolded.and_then(|unfolded| self.replace_bloom(unfolded));
        has_changed |= replaced.is_some();
        if let Some(bloom) = self.body.bloom_mut() {
            for other in sources {
                has_changed |= bloom.unite(other);
            }
        }
        Ok(Union { has_changed, replaced })
    }

    /// What is left of `max_cost` for tables, if the sub-filters become as large as `size`.
    fn cost_to_unite(
        &self,
        others: &[&Self],
        size: Option<u64>,
        max_cost: u64,
    ) -> Result<u64, UnionError> {
        let costs = others.iter().map(|other| other.bytes_to_unite(size));
        let [blooms, tables] =
            costs.fold([0u64; 2], |sum, cost| [0, 1].map(|n| sum[n].saturating_add(cost[n])));
        let left = max_cost.checked_sub(blooms).ok_or(UnionError::TooCostly)?;
        ensure(tables <= left, UnionError::TooCostly)?;
        Ok(left)
    }

    /// The header of the largest of `others`, if that is larger, and if this sub-filter would not
    /// keep its share of the error rate. This depends only on what is equal on every server.
    fn larger_for(&self, others: &[&BlockedBloom]) -> Result<Option<Header>, UnionError> {
        let size = |header: &Header| (header.shape.num_sub_bitmaps, header.capacity);
        let largest = others.iter().map(|other| other.header()).max_by_key(size);
        let Some((own, largest)) = self.bloom().zip(largest) else { return Ok(None) };
        // A forged header may have any capacity.
        let is_larger = largest.shape.num_sub_bitmaps > own.num_sub_bitmaps()
            && largest.capacity >= own.fill().capacity();
        if !is_larger {
            return Ok(None);
        }
        let rate = own.rate_of_union(own, others)?.map_or(0.0, |(rate, _)| rate);
        Ok(Some(largest).filter(|_| rate > largest.error_rate * ROUNDING))
    }

    /// The limit that is left for the other parts if the sub-filter gets the header `larger`.
    ///
    /// # Errors
    /// `OverLimit` if the filter would exceed it.
    fn limit_besides(&self, larger: Header, limit: SizeLimit) -> Result<SizeLimit, AddError> {
        let SizeLimit::Bytes(most) = limit else { return Ok(limit) };
        let reserved = |bloom: &BlockedBloom| bloom.segments().reserved_bytes();
        let own = self.bloom().map_or(0, reserved);
        let more = reserved(&BlockedBloom::from_header(larger)).saturating_sub(own);
        let left = most.checked_sub(more).filter(|left| self.reserved_bytes() <= *left);
        left.map(SizeLimit::Bytes).ok_or(AddError::OverLimit)
    }

    /// Checks the promise, allocates what the sub-filters of others need, in this filter's or in
    /// the unfolded one that replaces it, and appends a table.
    fn make_room_for(
        &mut self,
        others: &[&BlockedBloom],
        unfolded: Option<&mut BlockedBloom>,
        table: Option<Table>,
        table_has_changed: bool,
        promise: Promise,
    ) -> Result<(), UnionError> {
        if promise == Promise::Kept {
            let table = table.as_ref().or(self.table());
            self.check_promise(unfolded.as_deref(), table, table_has_changed, others)?;
        }
        if let Some(bloom) = unfolded.or(self.body.bloom_mut()) {
            for other in others {
                bloom.make_room_for(other)?;
            }
        }
        Ok(table.map_or(Ok(()), |table| self.body.append_table(table))?)
    }

    /// Whether a union of the sub-filter, or of `unfolded`, with others, and `table` keeps the
    /// error rate: a sub-filter must stay within its share of it, and a table within its own. (A
    /// table that has most of it by then exceeds it as it grows.) A part that gains nothing is not
    /// checked.
    fn check_promise(
        &self,
        unfolded: Option<&BlockedBloom>,
        table: Option<&Table>,
        table_has_changed: bool,
        others: &[&BlockedBloom],
    ) -> Result<(), UnionError> {
        let requested = self.parameters().error_rate;
        let bloom = unfolded.or(self.bloom());
        let share = bloom.map_or(0.0, |bloom| bloom.header().error_rate);
        let share_of_table = requested - share;
        let (union, as_it_is) = match (bloom, self.bloom()) {
            (Some(bloom), Some(before)) => (
                bloom.rate_of_union(before, others)?,
                (bloom.false_positive_rate(), before.fill().items()),
            ),
            _ => (None, (0.0, 0)),
        };
        let is_asked = union.is_some() || unfolded.is_some();
        let (rate, items) = union.unwrap_or(as_it_is);
        let of_table = table.map_or(0.0, Table::false_positive_rate);
        // A replica's table of a filter that does not grow has no share: see `parameters`.
        let is_table_asked = table_has_changed && self.parameters().growth != Growth::Fixed;
        let is_kept = (!is_asked || rate <= share * ROUNDING)
            && (!is_table_asked || of_table <= share_of_table * ROUNDING);
        if is_kept {
            return Ok(());
        }
        let rate = rate + of_table.max(share_of_table);
        // Items in several sub-bitmaps would be in only one of a filter with room for all.
        let blooms = others.iter().copied().chain(self.bloom());
        let sum = blooms.map(|bloom| bloom.fill().items()).fold(0, u64::saturating_add);
        let items = items.min(sum).saturating_add(table.map_or(0, Table::len));
        Err(UnionError::Overfull { rate, requested, items })
    }

    /// Replaces the sub-filter by `other`, which was folded or unfolded from it. Returns the old
    /// one.
    pub(super) fn replace_bloom(&mut self, other: BlockedBloom) -> Option<BlockedBloom> {
        let bloom = self.body.bloom_mut()?;
        self.head = self.head.with_capacity(other.header().capacity);
        Some(replace(bloom, other))
    }

    /// Unites the filter's table with those of others. If the filter has none, unites a new one
    /// with them, and returns that, too.
    fn unite_tables(
        &mut self,
        others: &[&Self],
        limit: SizeLimit,
        cost: u64,
    ) -> Result<(Option<United>, Option<Table>), UnionError> {
        let others = others.iter().filter_map(|other| other.table());
        let mut others = others.filter(|table| !table.is_empty()).peekable();
        if others.peek().is_none() {
            return Ok((None, None));
        }
        let limits = UnionLimits { bytes: self.limit_of_table(limit).max_bytes(), cost };
        if let Some(own) = self.body.table_mut() {
            return Ok((Some(own.unite(others, limits)?), None));
        }
        let rate = self.table_error_rate().ok_or(AddError::Full)?;
        let mut new = Table::new(rate, 0);
        Ok((Some(new.unite(others, limits)?), Some(new)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::{Growth, Parameters};
    use crate::hash::Seed;
    use proptest::prelude::*;

    const UNLIMITED: SizeLimit = SizeLimit::Unlimited;

    fn united(union: Result<Union, UnionError>) -> Result<bool, UnionError> {
        union.map(|union| union.has_changed)
    }

    fn parameters(capacity: u64, growth: Growth) -> Parameters {
        Parameters { error_rate: 0.01, capacity, growth, seed: Seed(5) }
    }

    fn filter_of(parameters: Parameters, items: std::ops::Range<u64>) -> Filter {
        let mut filter = Filter::new(parameters, UNLIMITED).unwrap();
        for n in items {
            filter.add(&n.to_le_bytes()).unwrap();
        }
        filter
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

        #[test]
        fn a_union_finds_what_each_filter_finds_and_uniting_again_changes_nothing(
            capacity in prop_oneof![Just(2), Just(100), Just(1_000), Just(40_000)],
            runs in prop::collection::vec((0..20_000u64, 0..20_000u64), 1..4),
        ) {
            let parameters = parameters(capacity, Growth::Times(2));
            let filters: Vec<Filter> =
                runs.iter().map(|(n, len)| filter_of(parameters, *n..n + len)).collect();
            let [first, ..] = &filters[..] else { unreachable!() };
            let digests: Vec<u128> = filters.iter().map(Filter::digest).collect();
            let mut union = filter_of(parameters, 0..0);
            let all: Vec<&Filter> = filters.iter().collect();
            prop_assert!(first.difference(&all[1..]).is_none());
            let has_items = filters.iter().any(|filter| filter.items() > 0);
            let again = union.unite(&all, UNLIMITED, u64::MAX, Promise::Waived);
            prop_assert_eq!(united(again), Ok(has_items));
            for n in 0..50_000u64 {
                let is_there = all.iter().any(|filter| filter.contains(&n.to_le_bytes()));
                prop_assert!(!is_there || union.contains(&n.to_le_bytes()), "{}", n);
            }
            let most: u64 = filters.iter().map(Filter::items).sum();
            prop_assert!(union.items() <= most);
            prop_assert!(filters.iter().all(|filter| filter.items() <= union.items() + most / 50));
            let digest = union.digest();
            let again = union.unite(&all, UNLIMITED, u64::MAX, Promise::Kept);
            prop_assert_eq!(united(again), Ok(false));
            prop_assert_eq!(union.digest(), digest);
            prop_assert!(filters.iter().map(Filter::digest).eq(digests));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

        #[test]
        fn a_union_of_unequal_filters_denies_nothing_and_keeps_the_rate_and_if_it_can_the_size(
            exponents in prop::collection::vec(3.8..6.0f64, 2..4),
            fills in prop::collection::vec(0.0..1.0f64, 3),
        ) {
            let mut filters = Vec::new();
            let mut next = 0;
            for (exponent, fill) in exponents.iter().zip(&fills) {
                let capacity = 10f64.powf(*exponent) as u64;
                let items = (capacity as f64 * fill.powi(3)).min(50_000.0) as u64;
                filters.push(filter_of(parameters(capacity, Growth::Fixed), next..next + items));
                next += items;
            }
            let size = |filter: &Filter| filter.bloom().unwrap().num_sub_bitmaps();
            let largest = filters.iter().map(size).max().unwrap();
            let (first, others) = filters.split_first_mut().unwrap();
            let others: Vec<&Filter> = others.iter().collect();
            let before = (size(first), first.digest(), first.capacity());
            // What became of it in its own size, on a server that is forced.
            let mut forced = first.try_clone().unwrap();
            forced.unite(&others, UNLIMITED, u64::MAX, Promise::Waived).unwrap();
            prop_assert_eq!(size(&forced), before.0);
            let mut replica = first.try_clone().unwrap();
            let union = first.unite(&others, UNLIMITED, u64::MAX, Promise::Kept);
            let forced_rate = forced.false_positive_rate();
            if let Err(error) = union {
                let UnionError::Overfull { items, .. } = error else { panic!("{error}") };
                prop_assert!(items <= next);
                prop_assert!(forced_rate > 0.01 && first.digest() == before.1);
            } else {
                prop_assert!((0..next).all(|n| first.contains(&n.to_le_bytes())));
                prop_assert!(first.false_positive_rate() <= 0.0105);
                let is_kept = size(first) == before.0 && first.capacity() == before.2;
                prop_assert!(is_kept || size(first) == largest && forced_rate > 0.01);
                // Every bit of the filter that was reserved so.
                let all = filter_of(parameters(first.capacity(), Growth::Fixed), 0..next);
                let bits = |filter: &Filter| filter.bloom().map_or(0, BlockedBloom::set_bits);
                let before = bits(first);
                replica.unite(&others, UNLIMITED, u64::MAX, Promise::Accepted).unwrap();
                prop_assert_eq!(replica.digest(), first.digest());
                first.unite(&[&all], UNLIMITED, u64::MAX, Promise::Waived).unwrap();
                prop_assert_eq!(bits(first), before);
            }
        }
    }

    #[test]
    fn a_union_of_unequal_filters_is_refused_above_the_rate_and_changes_nothing() {
        let mut large = filter_of(parameters(500_000, Growth::Fixed), 0..450_000);
        let mut small = filter_of(parameters(50_000, Growth::Fixed), 450_000..480_000);
        let mut copies = [small.try_clone().unwrap(), large.try_clone().unwrap()];
        for (one, other) in [&mut large, &mut small].into_iter().zip(&mut copies) {
            let digest = one.digest();
            let union = one.unite(&[other], UNLIMITED, u64::MAX, Promise::Kept);
            assert!(matches!(union, Err(UnionError::Overfull { items: 479_000..=480_000, .. })));
            assert_eq!(one.digest(), digest);
        }
    }

    #[test]
    fn a_filter_that_cannot_take_a_larger_one_in_its_size_gets_the_size_of_that_one() {
        let large = filter_of(parameters(500_000, Growth::Fixed), 0..100_000);
        let mut small = filter_of(parameters(50_000, Growth::Fixed), 100_000..110_000);
        let (digest, cost) = (small.digest(), large.bytes_to_shrink() + 12 * (1 << 16));
        let limit = SizeLimit::Bytes(large.reserved_bytes() / 2);
        for (limit, cost, error) in [
            (limit, u64::MAX, AddError::OverLimit.into()),
            (UNLIMITED, cost - (2 << 16), UnionError::TooCostly),
        ] {
            let union = small.unite(&[&large], limit, cost, Promise::Kept);
            assert_eq!(united(union), Err(error));
            assert_eq!(small.digest(), digest);
        }
        let union = small.unite(&[&large], UNLIMITED, cost, Promise::Kept).unwrap();
        assert!(union.replaced.is_some() && small.capacity() == 500_000);
        assert!((0..110_000u64).all(|n| small.contains(&n.to_le_bytes())));
    }

    #[test]
    fn a_huge_filter_of_one_item_costs_what_it_has_or_is_refused_before_anything_is_allocated() {
        let huge = filter_of(parameters(1 << 40, Growth::Fixed), 0..1);
        let cost = 64 << 20;
        let mut one = filter_of(parameters(20_000, Growth::Fixed), 1..10_000);
        let union = one.unite(&[&huge, &huge], UNLIMITED, cost, Promise::Kept).unwrap();
        assert!(union.has_changed && one.capacity() == 20_000 && one.contains(&0u64.to_le_bytes()));
        let mut overfull = filter_of(parameters(20_000, Growth::Fixed), 1..20_000);
        let other = filter_of(parameters(20_000, Growth::Fixed), 20_000..40_000);
        overfull.unite(&[&other], UNLIMITED, cost, Promise::Waived).unwrap();
        let union = overfull.unite(&[&huge], UNLIMITED, cost, Promise::Kept);
        assert_eq!(united(union), Err(UnionError::TooCostly));
        let limit = SizeLimit::Bytes(1 << 30);
        let union = overfull.unite(&[&huge], limit, u64::MAX, Promise::Kept);
        assert_eq!(united(union), Err(AddError::OverLimit.into()));
    }

    #[test]
    fn a_full_filter_that_unfolds_into_an_empty_one_is_taken_as_that_one_would_be() {
        for n in (0..400_000).step_by(20_000) {
            let small = filter_of(parameters(20_000, Growth::Fixed), n..n + 20_000);
            let mut large = filter_of(parameters(40_000, Growth::Fixed), n..n);
            let union = large.unite(&[&small], UNLIMITED, u64::MAX, Promise::Kept);
            assert!(union.is_ok() && large.capacity() == 40_000, "{n}");
        }
    }

    #[test]
    fn a_union_that_folds_counts_no_more_items_than_it_may() {
        let large = filter_of(parameters(500_000, Growth::Fixed), 0..100_000);
        let mut small = filter_of(parameters(50_000, Growth::Fixed), 0..0);
        let union = small.unite(&[&large], UNLIMITED, u64::MAX, Promise::Waived);
        assert!(union.unwrap().replaced.is_none());
        assert_eq!((small.capacity(), small.items()), (50_000, 50_000));
        assert!((0..100_000u64).all(|n| small.contains(&n.to_le_bytes())));
    }

    #[test]
    fn items_in_two_sub_bitmaps_of_a_union_count_as_two_in_the_next() {
        let of_size = |size, items| {
            let capacities = 5_000..10_000;
            let of = |capacity| filter_of(parameters(capacity, Growth::Fixed), 0..0);
            let is_its = |capacity: &u64| {
                of(*capacity).bloom().is_some_and(|bloom| bloom.num_sub_bitmaps() == size)
            };
            let capacity = capacities.step_by(10).find(is_its).expect("a capacity");
            filter_of(parameters(capacity, Growth::Fixed), items)
        };
        let mut union = of_size(128, 0..0);
        let united = union.unite(&[&of_size(129, 0..3_200)], UNLIMITED, u64::MAX, Promise::Kept);
        assert!(united.is_ok());
        assert!((6_000..6_450).contains(&union.items()), "{}", union.items());
        let more = of_size(128, 10_000..10_600);
        let united = union.unite(&[&more], UNLIMITED, u64::MAX, Promise::Kept);
        assert!(matches!(united, Err(UnionError::Overfull { items: 6_600..7_100, .. })));
    }

    #[test]
    fn the_first_difference_is_named() {
        let like = parameters(1_000, Growth::Times(2));
        let filter = filter_of(like, 0..10);
        for (other, difference) in [
            (like, None),
            (Parameters { error_rate: 0.02, capacity: 7, ..like }, Some(Difference::ErrorRate)),
            (Parameters { capacity: 1_100, seed: Seed(6), ..like }, Some(Difference::Capacity)),
            (Parameters { capacity: 9_000, seed: Seed(6), ..like }, Some(Difference::Capacity)),
            (Parameters { growth: Growth::Fixed, ..like }, Some(Difference::Expansion)),
            (Parameters { seed: Seed(6), ..like }, Some(Difference::Seed)),
        ] {
            assert_eq!(filter.difference(&[&filter_of(other, 0..0)]), difference);
        }
    }

    #[test]
    fn a_full_filter_unites_with_a_part_of_it() {
        let full = |n: u64| filter_of(parameters(1_000, Growth::Fixed), n..n + 1_000);
        let mut above = 0;
        for n in (0..50_000).step_by(1_000) {
            let full = full(n);
            above += u32::from(full.false_positive_rate() > 0.01);
            let mut part = filter_of(parameters(1_000, Growth::Fixed), n..n + 700);
            let union = part.unite(&[&full], UNLIMITED, u64::MAX, Promise::Kept);
            assert_eq!(united(union), Ok(true), "{n}");
        }
        assert!(above > 5, "{above}");
        let mut one = full(0);
        let union = one.unite(&[&full(1_000)], UNLIMITED, u64::MAX, Promise::Kept);
        assert!(matches!(union, Err(UnionError::Overfull { .. })));
    }

    #[test]
    fn a_filter_that_folds_into_a_full_one_is_taken_as_that_one_would_be() {
        let mut above = 0;
        for n in (0..400_000).step_by(20_000) {
            let mut large = filter_of(parameters(40_000, Growth::Fixed), n..n);
            let mut small = filter_of(parameters(20_000, Growth::Fixed), 0..0);
            let sizes = [&large, &small].map(|one| one.bloom().unwrap().num_sub_bitmaps());
            assert!(sizes[0].is_multiple_of(sizes[1]), "{sizes:?}");
            for n in n..n + small.capacity() {
                large.add(&n.to_le_bytes()).unwrap();
            }
            let union = small.unite(&[&large], UNLIMITED, u64::MAX, Promise::Kept);
            assert!(union.is_ok_and(|union| union.replaced.is_none()), "{n}");
            above += u32::from(small.false_positive_rate() > 0.01);
        }
        assert!(above > 3, "{above}");
    }

    #[test]
    fn a_union_over_the_limit_changes_nothing() {
        let parameters = parameters(1_000, Growth::Times(2));
        let mut filter = filter_of(parameters, 0..1_500);
        let other = filter_of(parameters, 1_000..20_000);
        let limit = SizeLimit::Bytes(filter.reserved_bytes() + 2_000);
        let digest = filter.digest();
        assert_eq!(
            united(filter.unite(&[&other], limit, u64::MAX, Promise::Waived)),
            Err(AddError::OverLimit.into())
        );
        assert_eq!(filter.digest(), digest);
        assert_eq!(united(filter.unite(&[&other], UNLIMITED, u64::MAX, Promise::Waived)), Ok(true));
    }
}
