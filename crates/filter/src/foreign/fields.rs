//! Reads the fields of a value that another module saved, and hashes them: the seed follows from
//! them.

use crate::error::DecodeError;
use crate::hash::Seed;
use splitbloom_foundation::fields::Fields;
use xxhash_rust::xxh3::Xxh3;

/// Reads fields, and hashes them.
///
/// The seed of a loaded filter must be the same wherever the same bytes are loaded: a server passes
/// RESTORE on to its replicas unchanged, and both must return the same results from then on. So the
/// seed is a hash of everything that was read. It cannot be guessed without knowing the bits.
pub struct Source<'a, F> {
    fields: &'a mut F,
    hash: Xxh3,
}

impl<'a, F: Fields> Source<'a, F> {
    /// From the first field on.
    pub fn new(fields: &'a mut F) -> Self {
        let hash = Xxh3::new();
        Self { fields, hash }
    }

    /// The seed that follows from the fields so far.
    pub fn seed(&self) -> Seed {
        Seed(self.hash.digest())
    }

    /// An unsigned number.
    pub fn unsigned(&mut self) -> Result<u64, DecodeError> {
        let value = self.fields.unsigned().ok_or(DecodeError::Length)?;
        self.hash.update(&value.to_le_bytes());
        Ok(value)
    }

    /// An unsigned number that must fit a smaller type; `field` is its name.
    pub fn narrow<T: TryFrom<u64>>(&mut self, field: &'static str) -> Result<T, DecodeError> {
        T::try_from(self.unsigned()?).map_err(|_| DecodeError::Field(field))
    }

    /// A double.
    pub fn double(&mut self) -> Result<f64, DecodeError> {
        let value = self.fields.double().ok_or(DecodeError::Length)?;
        self.hash.update(&value.to_le_bytes());
        Ok(value)
    }

    /// A string.
    pub fn string(&mut self) -> Result<F::String, DecodeError> {
        let value = self.fields.string().ok_or(DecodeError::Length)?;
        self.hash.update(value.as_ref());
        Ok(value)
    }
}
