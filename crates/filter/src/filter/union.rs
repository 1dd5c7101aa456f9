//! The union of filters that were created alike.

use crate::bloom::blocked_bloom::BlockedBloom;
use crate::error::AddError;
use crate::filter::{Filter, SizeLimit};
use crate::growing::Table;
use crate::storage::SEGMENT_WORDS;

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
    /// What keeps the two from being united, if anything does: they must have been created alike.
    pub fn difference(&self, other: &Self) -> Option<Difference> {
        let (own, others) = (self.parameters(), other.parameters());
        // The shape is stored: a chunk may name another one for the same parameters.
        let shape = |bloom: &BlockedBloom| {
            let header = bloom.header();
            (header.shape, header.capacity, header.guard_limit)
        };
        let have_one_shape = self
            .blooms()
            .iter()
            .map(shape)
            .eq(other.blooms().iter().map(shape));
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

    /// What uniting it with another one costs, in bytes of a sub-filter. A byte of a table counts
    /// as 400.
    pub fn bytes_to_unite(&self) -> u64 {
        let segments = self.allocated_segments() * (SEGMENT_WORDS * size_of::<u64>()) as u64;
        let table = self.table().filter(|table| !table.is_empty());
        let table = table.map_or(0, Table::bytes).saturating_mul(TABLE_BYTE);
        segments.saturating_add(table)
    }

    /// Adds what others have that do not differ from it: it finds whatever one of them finds.
    /// Returns whether it did not already. The number of items is an estimate from then on.
    ///
    /// # Errors
    /// `Loading` while one of them is being loaded; `OverLimit`; `OutOfMemory`. Nothing has
    /// changed.
    pub fn unite(&mut self, others: &[&Self], limit: SizeLimit) -> Result<bool, AddError> {
        let is_loading = |filter: &Self| filter.loading().is_some();
        if is_loading(self) || others.iter().any(|other| is_loading(other)) {
            return Err(AddError::Loading);
        }
        // First whatever may fail.
        let table = self.united_table(others, limit)?;
        let mut has_changed = table.is_some();
        for (n, bloom) in self.parts.blooms_mut().iter_mut().enumerate() {
            for other in others.iter().filter_map(|other| other.blooms().get(n)) {
                bloom.make_room_for(other)?;
            }
        }
        match (table, self.parts.table_mut()) {
            (Some(table), Some(own)) => *own = table,
            (Some(table), None) => self.parts.append_table(table)?,
            (None, _) => {}
        }
        for (n, bloom) in self.parts.blooms_mut().iter_mut().enumerate() {
            for other in others.iter().filter_map(|other| other.blooms().get(n)) {
                has_changed |= bloom.unite(other);
            }
        }
        Ok(has_changed)
    }

    /// The union of all tables, unless it is the filter's own.
    fn united_table(
        &mut self,
        others: &[&Self],
        limit: SizeLimit,
    ) -> Result<Option<Table>, AddError> {
        let others = others.iter().filter_map(|other| other.table());
        let mut others = others.filter(|table| !table.is_empty()).peekable();
        if others.peek().is_none() {
            return Ok(None);
        }
        let most_bytes = self.most_table_bytes(limit);
        let rate = self.table_error_rate();
        let mut table = match self.parts.table_mut() {
            Some(own) => own.try_clone()?,
            None => Table::new(rate.ok_or(AddError::Full)?, 0),
        };
        let mut has_changed = false;
        for other in others {
            has_changed |= table.unite(other, most_bytes)?;
        }
        Ok(has_changed.then_some(table))
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
        Parameters {
            error_rate: 0.01,
            capacity,
            growth,
            seed: Seed(5),
        }
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
            prop_assert_eq!(union.unite(&all, UNLIMITED), Ok(has_items));
            for n in 0..50_000u64 {
                let is_there = all.iter().any(|filter| filter.contains(&n.to_le_bytes()));
                prop_assert!(!is_there || union.contains(&n.to_le_bytes()), "{}", n);
            }
            let most: u64 = filters.iter().map(Filter::items).sum();
            prop_assert!(union.items() <= most);
            prop_assert!(filters.iter().all(|filter| filter.items() <= union.items() + most / 50));
            let digest = union.digest();
            prop_assert_eq!(union.unite(&all, UNLIMITED), Ok(false));
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
            (
                Parameters {
                    error_rate: 0.02,
                    capacity: 7,
                    ..like
                },
                Some(Difference::ErrorRate),
            ),
            (
                Parameters {
                    capacity: 1_001,
                    seed: Seed(6),
                    ..like
                },
                Some(Difference::Capacity),
            ),
            (
                Parameters {
                    growth: Growth::Fixed,
                    ..like
                },
                Some(Difference::Expansion),
            ),
            (
                Parameters {
                    seed: Seed(6),
                    ..like
                },
                Some(Difference::Seed),
            ),
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
        assert_eq!(filter.unite(&[&other], limit), Err(AddError::OverLimit));
        assert_eq!(filter.digest(), digest);
        assert_eq!(filter.unite(&[&other], UNLIMITED), Ok(true));
    }
}
