//! An item's fingerprint, and its two buckets in a layer.

use super::shape::{Hashing, Layer};
use crate::foreign::murmur::{murmur32, murmur64a};

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
        Self {
            hashing,
            hashes,
            fingerprint,
        }
    }

    /// The first slots of its two buckets in a layer, of `size` slots each. If the two are one
    /// bucket, RedisBloom counts it twice since 2.2.
    pub fn buckets(self, layer: Layer, size: u64) -> impl Iterator<Item = u64> {
        let [one, other] = self.hashes.map(|hash| hash & (layer.buckets - 1));
        let is_wide = self.hashing == Hashing::Wide;
        let other = (other != one || is_wide).then_some(other);
        let slots = [one]
            .into_iter()
            .chain(other)
            .map(move |bucket| bucket * size);
        slots.map(move |slot| match self.hashing {
            // RedisBloom computes it in 32 bits, so in a layer of more it wraps round.
            Hashing::Wide => layer.start + u64::from(slot as u32),
            Hashing::Narrow => layer.start + slot,
        })
    }
}
