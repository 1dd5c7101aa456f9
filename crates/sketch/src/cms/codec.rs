//! RedisBloom's encoding: what a server keeps under the type `CMSk-TYPE`.
//!
//! ```text
//!   version 0   unsigned width, depth, count, string of counters of 4 bytes
//!   version 1   unsigned width, depth, count, bytes of a counter, string of counters
//! ```
//!
//! The counters are little-endian numbers, row after row. RedisBloom writes version 1 from Redis
//! 8.12 on; before that it reads version 0 only.
//!
//! A server writes one version for all values of a type, and version 0 has no room for counters of
//! other sizes. There such a value is
//!
//! ```text
//!   version 0   unsigned 0, the fields of version 1
//! ```
//!
//! No sketch has a width of 0. RedisBloom refuses the value: it finds a number where its string of
//! counters would be.

use super::cell::CellSize;
use super::table::Table;
use super::{Shape, ShapeError, MAX_COUNT};
use crate::counters::Counters;
use crate::error::DecodeError;
use splitbloom_foundation::alloc::{try_vec, OutOfMemory};
use splitbloom_foundation::fields::{FieldSink, Fields};

/// The name of the server's type.
pub const TYPE_NAME: &str = "CMSk-TYPE";

/// An encoding version of that type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// Every RedisBloom reads it, if the counters have 4 bytes.
    Zero,
    /// RedisBloom reads it from Redis 8.12 on.
    One,
}

impl Table {
    /// Writes its fields in encoding `version`. The format has all counters in one string, so this
    /// allocates memory for them.
    ///
    /// # Errors
    /// `OutOfMemory`, before the first field.
    pub fn save(&self, version: Version, to: &mut impl FieldSink) -> Result<(), OutOfMemory> {
        let len = usize::try_from(self.shape.bytes()).map_err(|_| OutOfMemory)?;
        let mut counters = try_vec(len)?;
        self.counters.write_all(&mut counters);
        let size = self.shape.cell_size();
        let has_size = version == Version::One || size != CellSize::Four;
        if has_size && version == Version::Zero {
            to.unsigned(0);
        }
        to.unsigned(self.shape.width());
        to.unsigned(self.shape.depth());
        to.unsigned(self.count);
        if has_size {
            to.unsigned(size.bytes());
        }
        to.string(&counters);
        Ok(())
    }

    /// The sketch that was saved as these fields in encoding `version`. All of them are checked
    /// before memory is allocated, and segments that are all 0 take none.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn decode(version: Version, fields: &mut impl Fields) -> Result<Self, DecodeError> {
        let (width, has_size) = match (version, unsigned(fields)?) {
            (Version::Zero, 0) => (unsigned(fields)?, true),
            (version, width) => (width, version == Version::One),
        };
        let (depth, count) = (unsigned(fields)?, unsigned(fields)?);
        let size = if has_size { read_cell_size(fields)? } else { CellSize::Four };
        if has_size && count > MAX_COUNT {
            return Err(DecodeError::Field("the count"));
        }
        let shape = Shape::saved(width, depth, size)?;
        let string = fields.string().ok_or(DecodeError::Length)?;
        let bytes = string.as_ref();
        if bytes.len() as u64 != shape.bytes() {
            return Err(DecodeError::Field("the length of the counters"));
        }
        check_counters(bytes, size)?;
        let counters = Counters::of_bytes(bytes)?;
        Ok(Self::of(shape, count, counters))
    }
}

/// Reads a number.
pub(super) fn unsigned(fields: &mut impl Fields) -> Result<u64, DecodeError> {
    fields.unsigned().ok_or(DecodeError::Length)
}

/// Reads the bytes of a counter.
pub(super) fn read_cell_size(fields: &mut impl Fields) -> Result<CellSize, DecodeError> {
    CellSize::of(unsigned(fields)?).ok_or(DecodeError::Field("the size of a counter"))
}

/// Checks that no counter is above its maximum, which counters of 8 bytes can be.
pub(super) fn check_counters(bytes: &[u8], size: CellSize) -> Result<(), DecodeError> {
    let counters = bytes.as_chunks().0.iter().map(|counter| u64::from_le_bytes(*counter));
    match size {
        CellSize::Eight if counters.max() > Some(size.max()) => {
            Err(DecodeError::Field("a counter"))
        }
        _ => Ok(()),
    }
}

impl From<ShapeError> for DecodeError {
    fn from(error: ShapeError) -> Self {
        Self::Field(match error {
            ShapeError::NoWidth => "the width",
            ShapeError::NoDepth | ShapeError::TooDeep => "the depth",
            ShapeError::TooLarge | ShapeError::WindowTooLarge => "the number of counters",
        })
    }
}
