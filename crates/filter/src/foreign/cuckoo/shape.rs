//! Where the slots of a series are, and in which of them an item can be.

use crate::bloom::sizing::MAX_CAPACITY;
use crate::bytes::within;
use crate::error::DecodeError;
use splitbloom_foundation::murmur::{murmur32, murmur64a};

/// The most slots of a series, which are bytes: 16 TiB, far more than any server has.
const MAX_SLOTS: u64 = 1 << 44;
/// The largest bucket size that RedisBloom takes.
const MAX_BUCKET_SIZE: u16 = 255;
/// The largest expansion that it takes.
const MAX_EXPANSION: u16 = 32_768;

/// The numbers that a series is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Buckets of the oldest layer, a power of two. Each next layer has `expansion` times as many
    /// as the one before.
    pub buckets: u64,
    /// Slots of a bucket, 1 to 255.
    pub bucket_size: u16,
    /// A power of two up to 32768; or 0, which has a single layer.
    pub expansion: u16,
    /// Number of layers, at least 1.
    pub layers: u16,
    /// What decides in which slots an item can be.
    pub hashing: Hashing,
}

/// How RedisBloom hashed the items of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hashing {
    /// To 64 bits, since 2.2.
    Wide,
    /// To 32 bits, before.
    Narrow,
}

impl Hashing {
    /// The share of pairs of items that have the same fingerprint.
    pub(super) fn collision_rate(self) -> f64 {
        match self {
            Self::Wide => 1.0 / 255.0,
            // Of 255, one comes twice as often as the others.
            Self::Narrow => (254.0 + 2.0 * 2.0) / (256.0 * 256.0),
        }
    }
}

/// One layer of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layer {
    /// Its first slot, counted over the series.
    pub start: u64,
    /// A power of two.
    pub buckets: u64,
    /// How much a slot of it counts for the error rate, in slots of the newest layer.
    pub weight: u64,
}

/// Slots of a bucket of the size that RedisBloom stores. Until 2024 it accepted sizes above
/// 255, but its buckets have as many slots as the low byte says.
pub(super) fn bucket_slots(stored: u16) -> u16 {
    stored & MAX_BUCKET_SIZE
}

impl Shape {
    /// Checks the numbers against each other.
    ///
    /// # Errors
    /// The `Field` that is out of range.
    pub(crate) fn checked(self) -> Result<Self, DecodeError> {
        let Self { buckets, bucket_size, expansion, layers, hashing: _ } = self;
        within("buckets", buckets.is_power_of_two() && buckets <= MAX_SLOTS)?;
        within("bucket size", (1..=MAX_BUCKET_SIZE).contains(&bucket_size))?;
        let is_known = expansion == 0 || expansion.is_power_of_two();
        within("expansion", is_known && expansion <= MAX_EXPANSION)?;
        within("layers", layers == 1 || layers > 1 && expansion > 0)?;
        within("slots", self.checked_slots().is_some())?;
        within("capacity", self.first_slots() <= MAX_CAPACITY)?;
        Ok(self)
    }

    /// The number of slots, if it is not too large. Where layers grow, that ends the sum early.
    fn checked_slots(self) -> Option<u64> {
        let (mut sum, mut of_layer) = (0u64, self.buckets.checked_mul(self.bucket_size.into())?);
        for _ in 0..self.layers {
            sum = sum.checked_add(of_layer).filter(|sum| *sum <= MAX_SLOTS)?;
            of_layer = of_layer.saturating_mul(self.expansion.into());
        }
        Some(sum)
    }

    /// Slots of the oldest layer.
    pub(crate) fn first_slots(self) -> u64 {
        self.buckets * u64::from(self.bucket_size)
    }

    /// Slots of all layers.
    pub(super) fn slots(self) -> u64 {
        self.layers_from_newest().map(|layer| self.slots_of(layer)).sum()
    }

    /// Slots of a layer.
    pub(super) fn slots_of(self, layer: Layer) -> u64 {
        layer.buckets * u64::from(self.bucket_size)
    }

    /// Layer `index`, counted from the oldest, which is 0.
    pub(super) fn layer(self, index: u16) -> Layer {
        let shift = self.shift();
        let before = match shift {
            0 => u64::from(index),
            // 1 + e + e^2 + … for e = 2^shift.
            _ => ((1 << (shift * u32::from(index))) - 1) / ((1 << shift) - 1),
        };
        Layer {
            start: before * self.first_slots(),
            buckets: self.buckets << (shift * u32::from(index)),
            weight: 1 << (shift * u32::from(self.layers - 1 - index)),
        }
    }

    /// All layers, the newest first, as RedisBloom asks them.
    pub(super) fn layers_from_newest(self) -> impl Iterator<Item = Layer> {
        (0..self.layers).rev().map(move |index| self.layer(index))
    }

    /// The layer in which a slot is, and where the next one begins.
    pub(super) fn layer_of(self, slot: u64) -> (Layer, u64) {
        let index = match self.shift() {
            0 => (slot / self.first_slots()).min(u64::from(self.layers - 1)) as u16,
            // There are at most 45 of them.
            _ => (1..self.layers)
                .find(|index| self.layer(*index).start > slot)
                .map_or(self.layers - 1, |index| index - 1),
        };
        let layer = self.layer(index);
        (layer, layer.start + self.slots_of(layer))
    }

    /// The binary logarithm of the expansion.
    fn shift(self) -> u32 {
        self.expansion.checked_ilog2().unwrap_or(0)
    }
}

/// What RedisBloom hashes items with.
const SEED: u32 = 0;
/// A fingerprint of a wide hash is the hash modulo this, plus 1: 0 is an empty slot.
const FINGERPRINTS: u64 = 255;
/// What stands for the fingerprint 0 of a narrow hash, which is its high byte.
const INSTEAD_OF_0: u8 = 7;
/// What a fingerprint is multiplied by to find the other bucket.
const MULTIPLIER: u32 = 0x5bd1_e995;

/// Where an item belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    hashing: Hashing,
    /// Modulo the buckets of a layer, its two buckets.
    hashes: [u64; 2],
    /// Never 0.
    pub fingerprint: u8,
}

impl Place {
    /// Hashes the bytes of `item`.
    pub fn of(item: &[u8], hashing: Hashing) -> Self {
        let (fingerprint, hashes) = match hashing {
            Hashing::Wide => {
                let hash = murmur64a(item, SEED.into());
                let fingerprint = (hash % FINGERPRINTS) as u8 + 1;
                let distance = u64::from(fingerprint) * u64::from(MULTIPLIER);
                (fingerprint, [hash, hash ^ distance])
            }
            Hashing::Narrow => {
                let hash = murmur32(item, SEED);
                let fingerprint = match (hash >> 24) as u8 {
                    0 => INSTEAD_OF_0,
                    high => high,
                };
                let distance = u32::from(fingerprint).wrapping_mul(MULTIPLIER);
                (fingerprint, [hash, hash ^ distance].map(u64::from))
            }
        };
        Self { hashing, hashes, fingerprint }
    }

    /// The first slots of its two buckets in a layer, of `size` slots each. If the two are one
    /// bucket, RedisBloom counts it twice since 2.2.
    pub fn buckets(self, layer: Layer, size: u64) -> impl Iterator<Item = u64> {
        let [one, other] = self.hashes.map(|hash| hash & (layer.buckets - 1));
        let is_wide = self.hashing == Hashing::Wide;
        let other = (other != one || is_wide).then_some(other);
        let slots = [one].into_iter().chain(other).map(move |bucket| bucket * size);
        slots.map(move |slot| match self.hashing {
            // RedisBloom computes it in 32 bits, so in a layer of more it wraps round.
            Hashing::Wide => layer.start + u64::from(slot as u32),
            Hashing::Narrow => layer.start + slot,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shapes() -> impl Strategy<Value = Shape> {
        let expansion = prop_oneof![Just(0), (0u32..16).prop_map(|log| 1u16 << log)];
        (0u32..46, 0u16..300, expansion, 0u16..70).prop_map(
            |(log, bucket_size, expansion, layers)| Shape {
                buckets: 1 << log,
                bucket_size,
                expansion,
                layers,
                hashing: Hashing::Wide,
            },
        )
    }

    proptest! {
        #[test]
        fn layers_follow_one_another_and_multiply(shape in shapes()) {
            let Ok(shape) = shape.checked() else { return Ok(()) };
            let (mut start, mut buckets, mut sum) = (0, shape.buckets, 0u64);
            for index in 0..shape.layers {
                let layer = shape.layer(index);
                prop_assert_eq!((layer.start, layer.buckets), (start, buckets));
                let end = start + buckets * u64::from(shape.bucket_size);
                prop_assert_eq!(shape.layer_of(start), (layer, end));
                prop_assert_eq!(shape.layer_of(end - 1), (layer, end));
                start = end;
                sum += layer.weight * shape.slots_of(layer);
                buckets *= u64::from(shape.expansion);
            }
            prop_assert_eq!(shape.slots(), start);
            prop_assert!(start <= MAX_SLOTS);
            let newest = shape.slots_of(shape.layer(shape.layers - 1));
            prop_assert_eq!(sum, newest * u64::from(shape.layers));
        }
    }

    #[test]
    fn what_redisbloom_cannot_have_is_refused() {
        let sound =
            Shape { buckets: 8, bucket_size: 2, expansion: 2, layers: 3, hashing: Hashing::Wide };
        assert_eq!(sound.checked(), Ok(sound));
        for (shape, field) in [
            (Shape { buckets: 0, ..sound }, "buckets"),
            (Shape { buckets: 6, ..sound }, "buckets"),
            (Shape { bucket_size: 0, ..sound }, "bucket size"),
            (Shape { bucket_size: 256, ..sound }, "bucket size"),
            (Shape { expansion: 3, ..sound }, "expansion"),
            (Shape { expansion: 0, ..sound }, "layers"),
            (Shape { layers: 0, ..sound }, "layers"),
            (Shape { layers: 42, ..sound }, "slots"),
            (Shape { layers: u16::MAX, ..sound }, "slots"),
            (Shape { buckets: 1 << 63, ..sound }, "buckets"),
        ] {
            assert_eq!(shape.checked(), Err(DecodeError::Field(field)), "{shape:?}");
        }
    }
}
