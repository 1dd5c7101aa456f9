//! What a filter is created with.

use crate::bloom::sizing::MAX_CAPACITY;
use crate::filter::growth::{Growth, MAX_EXPANSION};
use crate::hash::Seed;

/// The parameters that decide where the bits of a filter lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// The requested error rate, above 0 and below 1.
    pub error_rate: f64,
    /// The number of items that it is made for.
    pub capacity: u64,
    /// What it does when that is full.
    pub growth: Growth,
    /// Makes the positions of its bits unpredictable.
    pub seed: Seed,
}

/// Parameters in 24 bytes.
#[derive(Clone, Copy)]
pub(crate) struct Packed {
    error_rate: f64,
    pub seed: Seed,
    /// The capacity, at most 2^40, times 2^16, and the growth factor, at most 2^15.
    capacity_and_factor: u64,
}

impl Packed {
    pub fn new(parameters: Parameters) -> Self {
        let Parameters {
            error_rate,
            capacity,
            growth,
            seed,
        } = parameters;
        let factor = growth.factor().min(MAX_EXPANSION);
        Self {
            error_rate,
            seed,
            capacity_and_factor: capacity.min(MAX_CAPACITY) << 16 | u64::from(factor),
        }
    }

    pub fn unpacked(self) -> Parameters {
        Parameters {
            error_rate: self.error_rate,
            capacity: self.capacity_and_factor >> 16,
            growth: Growth::from_factor(self.capacity_and_factor as u32 & 0xffff),
            seed: self.seed,
        }
    }
}
