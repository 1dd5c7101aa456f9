//! What a filter from RedisBloom holds now, for people to read.

use super::layer::Layer;
use super::ForeignFilter;
use crate::table::Table;

impl Layer {
    /// The estimated number of items, from the set bits: -m/k * ln(1 - X/m).
    pub fn estimated_items(&self) -> f64 {
        // With every bit set the estimate would be infinite, so half a bit counts as clear.
        let bits = self.num_bits() as f64;
        let fill = self.fill_ratio().min(1.0 - 0.5 / bits);
        -bits / f64::from(self.hashes()) * (-fill).ln_1p()
    }
}

impl ForeignFilter {
    /// The estimated number of items, from the set bits of the layers.
    pub fn estimated_items(&self) -> f64 {
        let layers = self.layers().iter().map(Layer::estimated_items);
        layers.sum::<f64>() + self.table().map_or(0, Table::len) as f64
    }

    /// The expected false-positive rate now: the share of absent items that are in some part.
    pub fn expected_false_positive_rate(&self) -> f64 {
        let layers = self.layers().iter();
        let spared = layers.map(|layer| 1.0 - layer.false_positive_rate());
        let table = self.table().map_or(0.0, Table::false_positive_rate);
        1.0 - spared.product::<f64>() * (1.0 - table)
    }

    /// The share of the layers' bits that are set.
    pub fn fill_ratio(&self) -> f64 {
        let bits = self.layers().iter().map(Layer::num_bits);
        match bits.fold(0, u64::saturating_add) {
            0 => 0.0,
            bits => self.set_bits() as f64 / bits as f64,
        }
    }

    /// Number of set bits of the layers.
    pub fn set_bits(&self) -> u64 {
        self.layers().iter().map(Layer::set_bits).sum()
    }
}
