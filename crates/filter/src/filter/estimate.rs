//! Estimates for a filter: the sums over its parts. See [`crate::bloom`] for those of a Bloom
//! filter; a table knows exactly.

use crate::filter::series::SubFilter;
use crate::filter::{Filter, Kind};
use crate::storage::segments::Segments;
use crate::table::Table;

impl Filter {
    /// The estimated number of items, from the set bits of the sub-filters.
    pub fn estimated_items(&self) -> f64 {
        let estimates = self.body.sub_filters().map(SubFilter::estimated_items);
        estimates.sum::<f64>() + self.table().map_or(0, Table::len) as f64
    }

    /// The expected false-positive rate at the latest time: see
    /// [`Filter::false_positive_rate_at`].
    pub fn false_positive_rate(&self) -> f64 {
        self.false_positive_rate_at(0)
    }

    /// The expected false-positive rate at `now`: the share of absent items that are in some part.
    /// In a windowed filter an upper bound: forgotten entries count until they are swept.
    pub fn false_positive_rate_at(&self, now: u64) -> f64 {
        if self.clock().is_some_and(|clock| clock.visible(now) == 0) {
            return 0.0;
        }
        let table = self.table().map_or(0.0, Table::false_positive_rate);
        // One minus the complement may differ in the last digit.
        if self.kind() != Kind::Bloom && self.body.num_sub_filters() == 0 {
            return table;
        }
        let rates = self.body.sub_filters().map(SubFilter::false_positive_rate);
        let spared: f64 = rates.map(|rate| 1.0 - rate).product();
        1.0 - spared * (1.0 - table)
    }

    /// The share of the sub-filters' bits that are set; 0 where there is only a table.
    pub fn fill_ratio(&self) -> f64 {
        let bits = self.body.sub_filters().map(SubFilter::num_bits);
        match bits.fold(0, u64::saturating_add) {
            0 => 0.0,
            bits => self.set_bits() as f64 / bits as f64,
        }
    }

    /// Number of set bits of the sub-filters; of a cuckoo filter, none is counted.
    pub fn set_bits(&self) -> u64 {
        self.segments().map(Segments::set_bits).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::{Growth, Parameters, SizeLimit};
    use crate::hash::Seed;

    fn filled(items: u64, capacity: u64, error_rate: f64, growth: Growth) -> Filter {
        let parameters = Parameters { error_rate, capacity, growth, seed: Seed(3) };
        let mut filter = Filter::new(parameters, SizeLimit::Unlimited).unwrap();
        let items: Vec<[u8; 8]> = (0..items).map(u64::to_le_bytes).collect();
        let items = items.iter().map(<[u8; 8]>::as_slice);
        filter.add_many(items, |_| ()).unwrap();
        filter
    }

    #[test]
    fn the_number_of_items_is_estimated_within_a_fifth_of_a_percent() {
        for (items, error_rate, growth) in [
            (1_000_000, 0.01, Growth::Fixed),
            (500_000, 0.0001, Growth::Fixed),
            (700_000, 0.01, Growth::Times(2)),
        ] {
            let estimate = filled(items, 1_000_000, error_rate, growth).estimated_items();
            let off = estimate / items as f64 - 1.0;
            assert!(off.abs() < 0.002, "{items}: {estimate}");
        }
    }

    #[test]
    fn the_false_positive_rate_is_the_one_measured() {
        for (items, capacity, growth) in [
            (300_000, 300_000, Growth::Fixed),
            (400_000, 300_000, Growth::Fixed),
            (100_000, 1_000, Growth::Times(2)),
        ] {
            let filter = filled(items.min(capacity), capacity, 0.01, growth);
            let probes = 2_000_000u64;
            let found = (1 << 40..(1 << 40) + probes)
                .filter(|i: &u64| filter.contains(&i.to_le_bytes()))
                .count();
            let (expected, measured) = (filter.false_positive_rate(), found as f64 / probes as f64);
            // 20 000 hits have a standard deviation of 0.7 %; a small filter deviates a little
            // more.
            assert!((measured / expected - 1.0).abs() < 0.05, "{expected} {measured}");
        }
    }

    #[test]
    fn an_empty_filter_expects_nothing_and_a_saturated_one_stays_finite() {
        let empty = filled(0, 100, 0.01, Growth::Fixed);
        assert_eq!(empty.estimated_items(), 0.0);
        assert_eq!(empty.false_positive_rate(), 0.0);
        assert_eq!(empty.fill_ratio(), 0.0);
        let full = filled(2_000, 1_000, 0.999, Growth::Fixed);
        assert!(full.estimated_items().is_finite());
        assert!(full.false_positive_rate() <= 1.0);
    }
}
