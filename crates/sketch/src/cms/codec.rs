//! RedisBloom's encoding: what a server keeps under the type `CMSk-TYPE`, encoding version 0.
//!
//! ```text
//!   unsigned width, unsigned depth, unsigned count, string of width × depth counters
//! ```
//!
//! The counters are little-endian numbers of 32 bits, row after row.

use super::table::Table;
use super::{Shape, ShapeError};
use crate::counters::Counters;
use crate::error::DecodeError;
use splitbloom_foundation::alloc::{try_vec, OutOfMemory};
use splitbloom_foundation::fields::{FieldSink, Fields};

/// The name of the server's type.
pub const TYPE_NAME: &str = "CMSk-TYPE";

impl Table {
    /// Writes its fields as RedisBloom does. The format has all counters in one string, so this
    /// allocates memory for them.
    ///
    /// # Errors
    /// `OutOfMemory`, before the first field.
    pub fn save(&self, to: &mut impl FieldSink) -> Result<(), OutOfMemory> {
        let len = usize::try_from(self.shape.bytes()).map_err(|_| OutOfMemory)?;
        let mut counters = try_vec(len)?;
        self.counters.write_all(&mut counters);
        to.unsigned(self.shape.width());
        to.unsigned(self.shape.depth());
        to.unsigned(self.count);
        to.string(&counters);
        Ok(())
    }

    /// The sketch that was saved as these fields. All of them are checked before memory is
    /// allocated, and segments that are all 0 take none.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn decode(fields: &mut impl Fields) -> Result<Self, DecodeError> {
        let mut unsigned = || fields.unsigned().ok_or(DecodeError::Length);
        let (width, depth, count) = (unsigned()?, unsigned()?, unsigned()?);
        let shape = Shape::saved(width, depth)?;
        let string = fields.string().ok_or(DecodeError::Length)?;
        let bytes = string.as_ref();
        if bytes.len() as u64 != shape.bytes() {
            return Err(DecodeError::Field("the length of the counters"));
        }
        let counters = Counters::of_bytes(bytes)?;
        Ok(Self::of(shape, count, counters))
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
