//! The fields of a value that another module saved, as a server returns them: one at a time. Each
//! is checked before the next is read, so an array of bits is read only once its length is known,
//! and none is kept in one piece.

use crate::error::DecodeError;
use crate::hash::Seed;
use xxhash_rust::xxh3::Xxh3;

/// The fields of a value, in order. Each is `None` at the end, or where the file is damaged.
pub trait Fields {
    /// A string.
    type String: AsRef<[u8]>;
    /// The next field, an unsigned number.
    fn unsigned(&mut self) -> Option<u64>;
    /// The next field, a double.
    fn double(&mut self) -> Option<f64>;
    /// The next field, a string.
    fn string(&mut self) -> Option<Self::String>;
}

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
