//! Filters of several layers, as other modules have them.

use super::plain_reader::LN_2;
use std::fmt::Debug;

/// The parameters of a layer, and its number of items.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Description {
    pub entries: u64,
    pub error_rate: f64,
    pub hashes: u64,
    pub bits_per_item: f64,
    pub bits: u64,
    pub n2: u64,
    pub items: u64,
}

impl Description {
    /// Whether RedisBloom can have such a layer.
    pub fn is_good(&self) -> bool {
        self.entries >= 1
            && self.error_rate > 0.0
            && self.error_rate < 1.0
            && self.bits_per_item > 0.0
            && (LN_2 * self.bits_per_item).ceil() == self.hashes as f64
            && (1..=1076).contains(&self.hashes)
            && (1..=1 << 47).contains(&self.bits)
            && (self.n2 == 0 || self.n2 < 64 && 1 << self.n2 <= self.bits)
    }
}

/// A filter as a second reader represents it.
pub trait Layers: Debug {
    fn descriptions(&self) -> Vec<Description>;
    fn set_bits(&self) -> u64;
    fn contains(&self, item: &[u8]) -> bool;
}
