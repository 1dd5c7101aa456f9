//! Emptying a filter.

use crate::error::{ensure, AddError};
use crate::filter::{Filter, Kind, SizeLimit};

/// A filter with more allocations than this is not empty, and need not be read; others are compared
/// with an empty one, bit by bit.
const FEW_ALLOCATIONS: u64 = 4;

impl Filter {
    /// Empties the filter, which keeps its kind, [`parameters`](Filter::parameters), window and
    /// seed, and otherwise is as new. A filter from another module becomes one of ours. Returns the
    /// old contents for the caller to free, in a step for each allocation; `None` if it was as new
    /// already.
    ///
    /// # Errors
    /// `Loading` while a load in chunks goes on: the chunks to come would no longer fit;
    /// `OverLimit` if the parameters of another module's need more than any filter may have;
    /// `OutOfMemory`. Nothing has changed.
    pub fn clear(&mut self) -> Result<Option<Self>, AddError> {
        ensure(self.loading().is_none(), AddError::Loading)?;
        let empty = self.as_new()?;
        if self.allocations() <= FEW_ALLOCATIONS && self.digest() == empty.digest() {
            return Ok(None);
        }
        Ok(Some(std::mem::replace(self, empty)))
    }

    /// An empty filter of the same kind, parameters, window and seed.
    fn as_new(&self) -> Result<Self, AddError> {
        let limit = SizeLimit::Unlimited;
        match (self.kind(), self.window()) {
            (Kind::Counting, _) => Self::counting(self.counting_parameters(), limit),
            (_, Some(window)) => Self::windowed(self.parameters(), window, limit),
            (_, None) => Self::new(self.parameters(), limit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::{CountingParameters, Growth, Parameters, Window};
    use crate::hash::Seed;
    use proptest::prelude::*;

    const NO_LIMIT: SizeLimit = SizeLimit::Unlimited;

    fn new(kind: u8, capacity: u64, growth: Growth) -> Filter {
        let (error_rate, seed) = (0.01, Seed(7));
        let parameters = Parameters { error_rate, capacity, growth, seed };
        let filter = match kind {
            0 => Filter::new(parameters, NO_LIMIT),
            1 => {
                let window = Window::new(60, 4, true).expect("a window");
                Filter::windowed(parameters, window, NO_LIMIT)
            }
            _ => {
                let parameters = CountingParameters {
                    error_rate,
                    capacity,
                    expansion: growth.factor() as u16,
                    bucket_size: 3,
                    max_iterations: 4,
                    seed,
                };
                Filter::counting(parameters, NO_LIMIT)
            }
        };
        filter.expect("memory")
    }

    proptest! {
        #[test]
        fn a_cleared_filter_is_a_new_one(
            kind in 0..3u8,
            capacity in prop::sample::select(&[1, 3, 100, 5_000, 1_000_000][..]),
            is_fixed: bool,
            items in prop::sample::select(&[0, 1, 50, 3_000][..]),
            removed in 0..60u32,
        ) {
            let growth = if is_fixed { Growth::Fixed } else { Growth::Times(3) };
            let fresh = || new(kind, capacity, growth);
            let mut filter = fresh();
            for n in 0..items {
                // One that is full refuses the rest.
                let _ = filter.add_at(format!("{n}").as_bytes(), u64::from(n) * 50, NO_LIMIT);
            }
            for n in 0..removed.min(items).min(u32::from(kind == 2) * removed) {
                let _ = filter.remove(format!("{n}").as_bytes());
            }
            let before = filter.digest();
            let gone = filter.clear().expect("memory");
            prop_assert_eq!(gone.is_some(), before != fresh().digest());
            prop_assert!(gone.is_none_or(|gone| gone.digest() == before));
            prop_assert_eq!(filter.digest(), fresh().digest());
            prop_assert_eq!(filter.items(), 0);
            prop_assert!(filter.clear().expect("memory").is_none());
            prop_assert!(filter.add_at(b"again", 5, NO_LIMIT).expect("room").is_new());
            let mut other = fresh();
            other.add_at(b"again", 5, NO_LIMIT).expect("room");
            prop_assert_eq!(filter.digest(), other.digest());
        }
    }
}
