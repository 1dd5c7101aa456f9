//! What all contenders share: bits, items, number of probes.

use splitbloom_filter::bloom::sizing::shape_for;

const BITS_PER_MEGABYTE: u64 = 8 << 20;
/// Large enough that rounding up to whole sub-bitmaps does not affect the bits per item.
const LARGE: u64 = 1 << 30;

#[derive(Clone, Copy)]
pub struct Case {
    pub megabytes: u64,
    /// The rate that splitbloom's filter is sized for. The others get as many bits; their rates
    /// follow.
    pub error_rate: f64,
    /// Items at which splitbloom reaches `error_rate`.
    pub capacity: u64,
    pub num_bits: u64,
    /// Probes of splitbloom and of the standard filter.
    pub num_hashes: u32,
}

impl Case {
    /// Sized to the number of items that splitbloom stores in this many megabytes of bits.
    pub fn of_size(megabytes: u64, error_rate: f64) -> Self {
        let large = shape_for(LARGE, error_rate);
        let bits_per_item = large.num_bits() as f64 / LARGE as f64;
        let capacity = ((megabytes * BITS_PER_MEGABYTE) as f64 / bits_per_item) as u64;
        let shape = shape_for(capacity, error_rate);
        Self {
            megabytes,
            error_rate,
            capacity,
            num_bits: shape.num_bits(),
            num_hashes: shape.num_hashes,
        }
    }

    /// A fraction of the capacity, in items.
    pub fn items_at(&self, fill: f64) -> u64 {
        (self.capacity as f64 * fill) as u64
    }

    pub fn bits_per_item(&self) -> f64 {
        self.num_bits as f64 / self.capacity as f64
    }
}
