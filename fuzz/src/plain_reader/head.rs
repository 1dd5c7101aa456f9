//! The record that a chain begins with: what kind of filter it is, and its parameters.

use super::number;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Head {
    Filter,
    CountingFilter,
    Foreign,
}

impl Head {
    pub fn of_kind(kind: u8) -> Option<Self> {
        match kind {
            1 => Some(Self::Filter),
            8 => Some(Self::CountingFilter),
            10 => Some(Self::Foreign),
            _ => None,
        }
    }

    pub fn num_bytes(self) -> usize {
        match self {
            Self::Filter => 29,
            Self::CountingFilter => 31,
            Self::Foreign => 17,
        }
    }

    /// Bytes of the record of a sub-filter from the layout kind on.
    pub fn sub_filter_bytes(self) -> usize {
        match self {
            Self::Filter => 49,
            Self::CountingFilter => 15,
            Self::Foreign => 46,
        }
    }

    pub fn is_good(self, record: &[u8]) -> bool {
        if self == Self::Foreign {
            return record[0] == 10;
        }
        let mut rest = record;
        let [kind, _seed, error_rate, capacity] =
            [1, 8, 8, 8].map(|width| number(&mut rest, width).unwrap());
        let error_rate = f64::from_bits(error_rate);
        Self::of_kind(kind as u8) == Some(self)
            && error_rate > 0.0
            && error_rate < 1.0
            && (1..=1 << 40).contains(&capacity)
            && self.is_good_rest(rest)
    }

    fn is_good_rest(self, mut rest: &[u8]) -> bool {
        match self {
            Self::Foreign => true,
            Self::Filter => number(&mut rest, 4).is_some_and(|expansion| expansion <= 32_768),
            Self::CountingFilter => {
                let [expansion, bucket_size, iterations] =
                    [2; 3].map(|width| number(&mut rest, width).unwrap());
                expansion <= 32_768 && (1..=255).contains(&bucket_size) && iterations > 0
            }
        }
    }

    pub fn seed(self, record: &[u8]) -> u64 {
        let mut rest = &record[1..];
        number(&mut rest, 8).unwrap()
    }

    /// Whether a table behind so many sub-filters may have this error rate.
    pub fn is_table_rate(self, record: &[u8], sub_filters: usize, rate: f64) -> bool {
        match self {
            Self::Foreign => sub_filters > 0 && rate > 0.0 && rate < 1.0,
            _ => self.table_rate(record, sub_filters).map(f64::to_bits) == Some(rate.to_bits()),
        }
    }

    /// The error rate of a table behind so many sub-filters, if there can be one.
    fn table_rate(self, record: &[u8], sub_filters: usize) -> Option<f64> {
        let mut rest = &record[9..];
        let [error_rate, _capacity] = [8, 8].map(|width| number(&mut rest, width).unwrap());
        let error_rate = f64::from_bits(error_rate);
        if self == Self::CountingFilter {
            return Some(error_rate);
        }
        if number(&mut rest, 4) == Some(0) {
            return None;
        }
        let Some(mut further) = sub_filters.checked_sub(1) else {
            return Some(error_rate);
        };
        let (mut left, mut square) = (1.0, 0.85);
        while further > 0 {
            if further % 2 == 1 {
                left *= square;
            }
            square *= square;
            further /= 2;
        }
        Some(error_rate * (1.0 - 2.0 / 3.0) * left)
    }
}
