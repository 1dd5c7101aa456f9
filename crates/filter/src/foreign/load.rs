//! A filter of RedisBloom as a server gives it: its fields, and what decides about items that are
//! added later.
//!
//! The seed must be the same wherever the same bytes are loaded: a server passes RESTORE on to its
//! replicas as it came, and both must answer alike from then on. So it is a hash of everything that
//! was read. Whoever does not know the bits cannot tell it.

use super::cuckoo::rdb::read_cuckoo;
use super::cuckoo::Remainder;
use super::rdb::{read_bloom, Fields};
use super::ForeignFilter;
use crate::counting::CountingFilter;
use crate::error::DecodeError;
use crate::hash::Seed;
use xxhash_rust::xxh3::Xxh3;

/// The error rate of the table behind a cuckoo filter. RedisBloom's has none that was asked for: it
/// begins at 1.5 %. A deletion looks into the table first, and where it mistakes an item of the
/// series for one there, it takes away the copy of another item. So the rate is low, at a price of
/// some nine bits for each new item over the usual 1 %. It is no setting: a replica may have others.
const REMAINDER_RATE: f64 = 0.0001;

/// What decides about the table behind a cuckoo filter.
pub(super) fn remainder(seed: Seed) -> Remainder {
    Remainder {
        error_rate: REMAINDER_RATE,
        seed,
    }
}

/// Passes fields on, and hashes them.
struct Hashed<'a, F> {
    fields: &'a mut F,
    hash: Xxh3,
}

impl<'a, F: Fields> Hashed<'a, F> {
    fn new(fields: &'a mut F) -> Self {
        let hash = Xxh3::new();
        Self { fields, hash }
    }

    /// The seed that follows from the fields so far.
    fn seed(&self) -> Seed {
        Seed(self.hash.digest())
    }
}

impl<F: Fields> Fields for Hashed<'_, F> {
    type String = F::String;

    fn unsigned(&mut self) -> Option<u64> {
        let value = self.fields.unsigned()?;
        self.hash.update(&value.to_le_bytes());
        Some(value)
    }

    fn double(&mut self) -> Option<f64> {
        let value = self.fields.double()?;
        self.hash.update(&value.to_le_bytes());
        Some(value)
    }

    fn string(&mut self) -> Option<F::String> {
        let value = self.fields.string()?;
        self.hash.update(value.as_ref());
        Some(value)
    }
}

impl ForeignFilter {
    /// Reads a Bloom filter of RedisBloom's encoding `version`: see [`read_bloom`].
    ///
    /// # Errors
    /// As [`read_bloom`].
    pub fn load(version: u32, fields: &mut impl Fields) -> Result<Self, DecodeError> {
        let mut hashed = Hashed::new(fields);
        let mut filter = read_bloom(version, &mut hashed, Seed(0))?;
        filter.seed = hashed.seed();
        Ok(filter)
    }
}

impl CountingFilter {
    /// Reads a cuckoo filter of RedisBloom's encoding `version`: see [`read_cuckoo`].
    ///
    /// # Errors
    /// As [`read_cuckoo`].
    pub fn load(version: u32, fields: &mut impl Fields) -> Result<Self, DecodeError> {
        let mut hashed = Hashed::new(fields);
        let filter = read_cuckoo(version, &mut hashed, remainder(Seed(0)))?;
        Ok(filter.reseeded(hashed.seed()))
    }
}
