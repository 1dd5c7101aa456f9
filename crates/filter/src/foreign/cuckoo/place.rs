//! An item's fingerprint, and its two buckets in a layer.

use super::shape::Layer;
use crate::foreign::murmur::murmur64a;

/// What RedisBloom hashes items with.
const SEED: u64 = 0;
/// A fingerprint is the hash modulo this, plus 1: 0 is an empty slot.
const FINGERPRINTS: u64 = 255;
/// What a fingerprint is multiplied by to find the other bucket.
const MULTIPLIER: u64 = 0x5bd1_e995;

/// Where an item belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    hash: u64,
    /// Never 0.
    pub fingerprint: u8,
}

impl Place {
    /// Hashes the bytes of `item`.
    pub fn of(item: &[u8]) -> Self {
        let hash = murmur64a(item, SEED);
        Self {
            hash,
            fingerprint: (hash % FINGERPRINTS) as u8 + 1,
        }
    }

    /// Its two buckets, which may be the same one.
    pub fn buckets(self, layer: Layer) -> [u64; 2] {
        let other = self.hash ^ u64::from(self.fingerprint).wrapping_mul(MULTIPLIER);
        [self.hash, other].map(|hash| hash & (layer.buckets - 1))
    }
}
