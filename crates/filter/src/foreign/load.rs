//! A filter of RedisBloom as a server gives it: its fields, and the seed for what is added later.
//!
//! The seed must be the same wherever the same bytes are loaded: a server passes RESTORE on to its
//! replicas as it came, and both must answer alike from then on. So it is a hash of everything that
//! was read. Whoever does not know the bits cannot tell it.

use super::rdb::{read_bloom, Fields};
use super::ForeignFilter;
use crate::error::DecodeError;
use crate::hash::Seed;
use xxhash_rust::xxh3::Xxh3;

/// Passes fields on, and hashes them.
pub(crate) struct Hashed<'a, F> {
    fields: &'a mut F,
    hash: Xxh3,
}

impl<'a, F: Fields> Hashed<'a, F> {
    pub fn new(fields: &'a mut F) -> Self {
        let hash = Xxh3::new();
        Self { fields, hash }
    }

    /// The seed that follows from the fields so far.
    pub fn seed(&self) -> Seed {
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
