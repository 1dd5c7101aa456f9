//! The record that a chain begins with: what kind of filter it is, and its parameters.

use crate::stream::Stream;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Head {
    #[default]
    Filter,
    CountingFilter,
    Foreign,
    WindowedFilter,
}

impl Head {
    /// The kind of the record, its bytes, the most sub-filters, and bytes of the header of each,
    /// from the layout kind on.
    fn numbers(self) -> (u8, usize, usize, usize) {
        match self {
            Self::Filter => (1, 29, 1, 49),
            Self::CountingFilter => (8, 31, 1, 15),
            Self::WindowedFilter => (9, 35, 0, 0),
            Self::Foreign => (10, 17, usize::MAX, 46),
        }
    }

    pub fn of_kind(kind: u8) -> Option<Self> {
        let all = [Self::Filter, Self::CountingFilter, Self::WindowedFilter, Self::Foreign];
        all.into_iter().find(|head| head.numbers().0 == kind)
    }

    /// Bytes of the record with which these bytes begin.
    pub fn num_bytes(self, record: &[u8]) -> usize {
        // With keys, if the highest bit of the options is set.
        let has_keys = self == Self::Foreign && record.get(12) >= Some(&128);
        self.numbers().1 + if has_keys { 32 } else { 0 }
    }

    /// The most sub-filters.
    pub fn most_sub_filters(self) -> usize {
        self.numbers().2
    }

    pub fn is_good(self, record: &[u8]) -> bool {
        if self == Self::Foreign {
            return record[0] == 10;
        }
        let mut rest = Stream(record);
        let [kind, _seed, error_rate, capacity] = rest.numbers([1, 8, 8, 8]);
        let error_rate = f64::from_bits(error_rate);
        Self::of_kind(kind as u8) == Some(self)
            && error_rate > 0.0
            && error_rate < 1.0
            && (1..=1 << 40).contains(&capacity)
            && self.is_good_rest(rest)
    }

    fn is_good_rest(self, mut rest: Stream<'_>) -> bool {
        match self {
            Self::Foreign => true,
            Self::Filter => rest.number(4).is_some_and(|expansion| expansion <= 32_768),
            Self::CountingFilter => {
                let [expansion, bucket_size, iterations] = rest.numbers([2; 3]);
                expansion <= 32_768 && (1..=255).contains(&bucket_size) && iterations > 0
            }
            Self::WindowedFilter => {
                let [expansion, window, slices, renew] = rest.numbers([4, 4, 1, 1]);
                expansion <= 32_768
                    && (1..=315_360_000).contains(&window)
                    && (2..=14).contains(&slices)
                    && renew <= 1
            }
        }
    }

    pub fn seed(self, record: &[u8]) -> u64 {
        let [_kind, seed] = Stream(record).numbers([1, 8]);
        seed
    }

    /// Bytes of the header of its sub-filters, from the layout kind on.
    pub fn sub_filter_bytes(self) -> usize {
        self.numbers().3
    }

    /// Whether a table behind `sub_filters` of them may have the error rate `rate`.
    pub fn is_table_rate(self, record: &[u8], sub_filters: usize, rate: f64) -> bool {
        match self {
            Self::Foreign => sub_filters > 0 && rate > 0.0 && rate < 1.0,
            _ => self.table_rate(record, sub_filters).map(f64::to_bits) == Some(rate.to_bits()),
        }
    }

    /// The seconds and the slices of its window.
    pub fn window(self, record: &[u8]) -> Option<(u64, u64)> {
        let mut rest = Stream(record.get(29..)?);
        (self == Self::WindowedFilter).then(|| Some((rest.number(4)?, rest.number(1)?)))?
    }

    /// Bits of payload of an entry.
    pub fn payload_bits(self, record: &[u8]) -> u64 {
        match self.window(record) {
            None => 0,
            Some((_, 2)) => 2,
            Some((_, 3..=6)) => 3,
            Some(_) => 4,
        }
    }

    /// The error rate of a table behind `sub_filters` sub-filters, if there can be one.
    fn table_rate(self, record: &[u8], sub_filters: usize) -> Option<f64> {
        let mut rest = Stream(&record[9..]);
        let [error_rate, _capacity] = rest.numbers([8, 8]);
        let error_rate = f64::from_bits(error_rate);
        if self != Self::Filter {
            return Some(error_rate);
        }
        let grows = rest.number(4) != Some(0);
        match sub_filters {
            0 => grows.then_some(error_rate),
            _ => Some(error_rate * (1.0 - 2.0 / 3.0)),
        }
    }
}
