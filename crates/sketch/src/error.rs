//! Why a saved value was refused.

use splitbloom_foundation::OutOfMemory;
use std::fmt::{Display, Formatter, Result};

/// Why a saved value was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// The fields end too early.
    Length,
    /// A field is out of range, or contradicts another one; its name.
    Field(&'static str),
    /// The allocator refused.
    OutOfMemory,
}

impl From<OutOfMemory> for DecodeError {
    fn from(_: OutOfMemory) -> Self {
        Self::OutOfMemory
    }
}

impl Display for DecodeError {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Length => f.write_str("the length is wrong"),
            Self::Field(name) => write!(f, "{name} is out of range"),
            Self::OutOfMemory => f.write_str("not enough memory"),
        }
    }
}

impl std::error::Error for DecodeError {}
