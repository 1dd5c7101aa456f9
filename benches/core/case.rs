//! What all contenders have in common: bits, items, probes.

use splitbloom::filter::sizing::Shape;
use std::fmt;

const BITS_PER_MEGABYTE: u64 = 8 << 20;
/// A capacity at which rounding up to whole sub-bitmaps no longer shows in the bits per item.
const LARGE: u64 = 1 << 30;

#[derive(Clone, Copy)]
pub struct Case {
    pub megabytes: u64,
    /// What splitbloom's filter is sized for. The others have its bits and see what rate they reach.
    pub error_rate: f64,
    /// Items at which splitbloom reaches its error rate.
    pub capacity: u64,
    pub num_bits: u64,
    /// Probes of splitbloom and of the undivided filter.
    pub num_hashes: u32,
}

impl Case {
    /// As many items as splitbloom puts into so many megabytes of bits.
    pub fn of_size(megabytes: u64, error_rate: f64) -> Self {
        let large = Shape::for_items(LARGE, error_rate);
        let bits_per_item = large.num_bits() as f64 / LARGE as f64;
        let capacity = ((megabytes * BITS_PER_MEGABYTE) as f64 / bits_per_item) as u64;
        let shape = Shape::for_items(capacity, error_rate);
        Self {
            megabytes,
            error_rate,
            capacity,
            num_bits: shape.num_bits(),
            num_hashes: shape.num_hashes,
        }
    }

    /// A part of the capacity, in items.
    pub fn items_at(&self, fill: f64) -> u64 {
        (self.capacity as f64 * fill) as u64
    }

    pub fn bits_per_item(&self) -> f64 {
        self.num_bits as f64 / self.capacity as f64
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            megabytes,
            error_rate,
            capacity,
            num_hashes,
            ..
        } = self;
        write!(
            f,
            "{megabytes} MB, error rate {error_rate}: {capacity} items, {num_hashes} probes"
        )
    }
}
