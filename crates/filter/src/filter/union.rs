//! The union of filters with the same parameters.

use crate::bloom::blocked_bloom::BlockedBloom;
use crate::error::{AddError, UnionError};
use crate::filter::{Filter, Kind, SizeLimit};
use crate::storage::SEGMENT_WORDS;
use crate::table::{Table, UnionLimits, United};

/// What uniting a byte of a table costs, in bytes of a sub-filter: two bytes are an entry, which is
/// looked up and inserted. Measured: 370 to 490, one core.
const TABLE_BYTE: u64 = 400;

/// The first respect in which two filters differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    ErrorRate,
    Capacity,
    Expansion,
    Seed,
}

impl Filter {
    /// Whether it is of a kind that can be united with another: it keeps its items, and is ours.
    pub fn may_be_united(&self) -> bool {
        self.kind() == Kind::Bloom && self.layers().is_none()
    }

    /// What keeps the two from being united, if anything does: they must have the same
    /// parameters.
    pub fn difference(&self, other: &Self) -> Option<Difference> {
        let (own, others) = (self.parameters(), other.parameters());
        // The shape is stored: a chunk may name another one for the same parameters.
        let shape = |bloom: &BlockedBloom| {
            let header = bloom.header();
            (header.shape, header.capacity, header.guard_limit)
        };
        let have_one_shape = self.bloom().map(shape) == other.bloom().map(shape);
        if own.error_rate != others.error_rate {
            Some(Difference::ErrorRate)
        } else if own.capacity != others.capacity {
            Some(Difference::Capacity)
        } else if own.growth != others.growth {
            Some(Difference::Expansion)
        } else if own.seed != others.seed {
            Some(Difference::Seed)
        } else {
            (!have_one_shape).then_some(Difference::Capacity)
        }
    }

    /// What uniting it with another one costs at least, in bytes of a sub-filter: those that its
    /// sub-filters and its table count as.
    fn bytes_to_unite(&self) -> [u64; 2] {
        let segments = self.allocated_segments() * (SEGMENT_WORDS * size_of::<u64>()) as u64;
        let table = self.table().filter(|table| !table.is_empty());
        let table = table.map_or(0, Table::bytes).saturating_mul(TABLE_BYTE);
        [segments, table]
    }

    /// Adds what others have that do not differ from it: it finds whatever one of them finds.
    /// Returns whether it did not already. The number of items is an estimate from then on.
    ///
    /// It may cost `max_cost` bytes: those of the others' sub-filters; and for the tables 400
    /// times theirs, or what [`Table::unite`] does, whichever is more.
    ///
    /// # Errors
    /// `TooCostly`; `Loading` while one of them is being loaded; `OverLimit`; `OutOfMemory`.
    /// Nothing has changed.
    pub fn unite(
        &mut self,
        others: &[&Self],
        limit: SizeLimit,
        max_cost: u64,
    ) -> Result<bool, UnionError> {
        let costs = others.iter().map(|other| other.bytes_to_unite());
        let [blooms, tables] =
            costs.fold([0u64; 2], |sum, cost| [0, 1].map(|n| sum[n].saturating_add(cost[n])));
        let cost = max_cost.checked_sub(blooms).ok_or(UnionError::TooCostly)?;
        if tables > cost {
            return Err(UnionError::TooCostly);
        }
        let is_loading = |filter: &Self| filter.loading().is_some();
        if is_loading(self) || others.iter().any(|other| is_loading(other)) {
            return Err(AddError::Loading.into());
        }
        // First whatever may fail.
        let (united, new) = self.unite_tables(others, limit, cost)?;
        if let Err(error) = self.make_room_for(others, new) {
            if let Some((table, united)) = self.body.table_mut().zip(united) {
                table.take_back(united);
            }
            return Err(error.into());
        }
        let mut has_changed = united.is_some_and(|united| united.has_changed());
        if let Some(bloom) = self.body.bloom_mut() {
            for other in others.iter().filter_map(|other| other.bloom()) {
                has_changed |= bloom.unite(other);
            }
        }
        Ok(has_changed)
    }

    /// Unites the filter's table with those of others; or a new one, which it also returns, if the
    /// filter has none.
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
        let limits = UnionLimits { bytes: self.max_table_bytes(limit), cost };
        if let Some(own) = self.body.table_mut() {
            return Ok((Some(own.unite(others, limits)?), None));
        }
        let rate = self.table_error_rate().ok_or(AddError::Full)?;
        let mut new = Table::new(rate, 0);
        Ok((Some(new.unite(others, limits)?), Some(new)))
    }

    /// Allocates what the sub-filters of others need, and appends a table.
    fn make_room_for(&mut self, others: &[&Self], table: Option<Table>) -> Result<(), AddError> {
        if let Some(bloom) = self.body.bloom_mut() {
            for other in others.iter().filter_map(|other| other.bloom()) {
                bloom.make_room_for(other)?;
            }
        }
        table.map_or(Ok(()), |table| self.body.append_table(table))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::{Growth, Parameters};
    use crate::hash::Seed;
    use proptest::prelude::*;

    const UNLIMITED: SizeLimit = SizeLimit::Unlimited;

    fn parameters(capacity: u64, growth: Growth) -> Parameters {
        Parameters { error_rate: 0.01, capacity, growth, seed: Seed(5) }
    }

    fn filter_of(parameters: Parameters, items: std::ops::Range<u64>) -> Filter {
        let mut filter = Filter::new(parameters, UNLIMITED).unwrap();
        for n in items {
            filter.add(&n.to_le_bytes(), UNLIMITED).unwrap();
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
            let [first, others @ ..] = &filters[..] else { unreachable!() };
            let digests: Vec<u128> = filters.iter().map(Filter::digest).collect();
            let mut union = filter_of(parameters, 0..0);
            let all: Vec<&Filter> = filters.iter().collect();
            prop_assert!(others.iter().all(|other| first.difference(other).is_none()));
            let has_items = filters.iter().any(|filter| filter.items() > 0);
            prop_assert_eq!(union.unite(&all, UNLIMITED, u64::MAX), Ok(has_items));
            for n in 0..50_000u64 {
                let is_there = all.iter().any(|filter| filter.contains(&n.to_le_bytes()));
                prop_assert!(!is_there || union.contains(&n.to_le_bytes()), "{}", n);
            }
            let most: u64 = filters.iter().map(Filter::items).sum();
            prop_assert!(union.items() <= most);
            prop_assert!(filters.iter().all(|filter| filter.items() <= union.items() + most / 50));
            let digest = union.digest();
            prop_assert_eq!(union.unite(&all, UNLIMITED, u64::MAX), Ok(false));
            prop_assert_eq!(union.digest(), digest);
            prop_assert!(filters.iter().map(Filter::digest).eq(digests));
        }
    }

    #[test]
    fn the_first_difference_is_named() {
        let like = parameters(1_000, Growth::Times(2));
        let filter = filter_of(like, 0..10);
        for (other, difference) in [
            (like, None),
            (Parameters { error_rate: 0.02, capacity: 7, ..like }, Some(Difference::ErrorRate)),
            (Parameters { capacity: 1_001, seed: Seed(6), ..like }, Some(Difference::Capacity)),
            (Parameters { growth: Growth::Fixed, ..like }, Some(Difference::Expansion)),
            (Parameters { seed: Seed(6), ..like }, Some(Difference::Seed)),
        ] {
            assert_eq!(filter.difference(&filter_of(other, 0..0)), difference);
        }
    }

    #[test]
    fn a_union_over_the_limit_changes_nothing() {
        let parameters = parameters(1_000, Growth::Times(2));
        let mut filter = filter_of(parameters, 0..1_500);
        let other = filter_of(parameters, 1_000..20_000);
        let limit = SizeLimit::Bytes(filter.reserved_bytes() + 2_000);
        let digest = filter.digest();
        assert_eq!(filter.unite(&[&other], limit, u64::MAX), Err(AddError::OverLimit.into()));
        assert_eq!(filter.digest(), digest);
        assert_eq!(filter.unite(&[&other], UNLIMITED, u64::MAX), Ok(true));
    }
}
