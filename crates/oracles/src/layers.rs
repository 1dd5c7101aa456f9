//! Filters of several layers, as other modules have them.

use std::fmt::Debug;

/// What a layer is: its parameters, and items.
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

/// A filter as a second reader has it.
pub trait Layers: Debug {
    fn descriptions(&self) -> Vec<Description>;
    fn set_bits(&self) -> u64;
    fn contains(&self, item: &[u8]) -> bool;
}
