//! The record that a chain begins with: what kind of filter it is, and its parameters.

use super::number;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Head {
    Filter,
    CountingFilter,
    WindowedFilter,
}

impl Head {
    pub fn of_kind(kind: u8) -> Option<Self> {
        match kind {
            1 => Some(Self::Filter),
            8 => Some(Self::CountingFilter),
            9 => Some(Self::WindowedFilter),
            _ => None,
        }
    }

    pub fn num_bytes(self) -> usize {
        match self {
            Self::Filter => 29,
            Self::CountingFilter => 31,
            Self::WindowedFilter => 35,
        }
    }

    pub fn is_good(self, record: &[u8]) -> bool {
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
            Self::Filter => number(&mut rest, 4).is_some_and(|expansion| expansion <= 32_768),
            Self::CountingFilter => {
                let [expansion, bucket_size, iterations] =
                    [2; 3].map(|width| number(&mut rest, width).unwrap());
                expansion <= 32_768 && (1..=255).contains(&bucket_size) && iterations > 0
            }
            Self::WindowedFilter => {
                let [expansion, window, slices, renew] =
                    [4, 4, 1, 1].map(|width| number(&mut rest, width).unwrap());
                expansion <= 32_768
                    && (1..=315_360_000).contains(&window)
                    && (2..=14).contains(&slices)
                    && renew <= 1
            }
        }
    }

    pub fn seed(self, record: &[u8]) -> u64 {
        let mut rest = &record[1..];
        number(&mut rest, 8).unwrap()
    }

    /// The seconds and the slices of its window.
    pub fn window(self, record: &[u8]) -> Option<(u64, u64)> {
        let mut rest = record.get(29..)?;
        (self == Self::WindowedFilter)
            .then(|| Some((number(&mut rest, 4)?, number(&mut rest, 1)?)))?
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

    /// The error rate of a table behind so many sub-filters, if there can be one.
    pub fn table_rate(self, record: &[u8], sub_filters: usize) -> Option<f64> {
        let mut rest = &record[9..];
        let [error_rate, _capacity] = [8, 8].map(|width| number(&mut rest, width).unwrap());
        let error_rate = f64::from_bits(error_rate);
        if self != Self::Filter {
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
