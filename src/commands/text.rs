//! Every error that a client can see, in one place. Clients compare these texts; they are part of the interface.

use crate::filter::error::{AddError, DecodeError};
use crate::redis::context::Context;

/// An error reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorText {
    /// The server's words for a wrong number of arguments.
    WrongArity,
    /// The server's words for a key that holds something else.
    WrongType,
    BadErrorRate,
    ErrorRateRange,
    BadCapacity,
    CapacityRange,
    NoExpansion,
    BadExpansion,
    ExpansionRange,
    NonScalingExpansion,
    BadSeed,
    Syntax,
    ItemExists,
    NotFound,
    Full,
    OverLimit,
    NoMemoryToCreate,
    NoMemoryToAdd,
    BadInfoField,
    NotNumeric,
    BadData,
    BadPartitions,
    PartitionsRange,
    BraceInName,
    ReplyTooLong,
}

impl ErrorText {
    /// The words, after the server's own for the first two.
    pub fn text(self) -> &'static str {
        match self {
            Self::WrongArity => "ERR wrong number of arguments",
            Self::WrongType => "WRONGTYPE Operation against a key holding the wrong kind of value",
            Self::BadErrorRate => "ERR bad error rate",
            Self::ErrorRateRange => "ERR error rate must be in the range (0.000000, 1.000000)",
            Self::BadCapacity => "ERR bad capacity",
            Self::CapacityRange => "ERR capacity must be in the range [1, 1099511627776]",
            Self::NoExpansion => "ERR no expansion",
            Self::BadExpansion => "ERR bad expansion",
            Self::ExpansionRange => "ERR expansion must be in the range [0, 32768]",
            Self::NonScalingExpansion => "ERR Nonscaling filters cannot expand",
            Self::BadSeed => "ERR bad seed",
            Self::Syntax => "ERR syntax error",
            Self::ItemExists => "ERR item exists",
            Self::NotFound => "ERR not found",
            Self::Full => "ERR non scaling filter is full",
            Self::OverLimit => "ERR filter would exceed bf.max-filter-bytes",
            Self::NoMemoryToCreate => "ERR Insufficient memory to create filter",
            Self::NoMemoryToAdd => "ERR Insufficient memory to add item",
            Self::BadInfoField => "ERR Invalid information value",
            Self::NotNumeric => "ERR Second argument must be numeric",
            Self::BadData => "ERR received bad data",
            Self::BadPartitions => "ERR bad number of partitions",
            Self::PartitionsRange => {
                "ERR partitions must be a power of two in the range [1, 16384]"
            }
            Self::BraceInName => "ERR the name of a partitioned filter must not contain {",
            Self::ReplyTooLong => "ERR the keys would take more than 64 MiB",
        }
    }

    /// Sends it.
    pub fn reply(self, context: &Context) {
        match self {
            Self::WrongArity => context.reply_wrong_arity(),
            Self::WrongType => context.reply_wrong_type(),
            other => context.reply_error(other.text()),
        }
    }

    /// Why a filter was not made.
    pub fn of_creation(error: AddError) -> Self {
        match error {
            AddError::OutOfMemory => Self::NoMemoryToCreate,
            other => Self::of_add(other),
        }
    }

    /// Why an item was not added.
    pub fn of_add(error: AddError) -> Self {
        match error {
            AddError::Full => Self::Full,
            AddError::OverLimit => Self::OverLimit,
            AddError::OutOfMemory => Self::NoMemoryToAdd,
        }
    }

    /// Why a piece was not taken in. What exactly is wrong with hostile bytes is nobody's business.
    pub fn of_load(error: DecodeError) -> Self {
        match error {
            DecodeError::OverLimit => Self::OverLimit,
            DecodeError::OutOfMemory => Self::NoMemoryToCreate,
            _ => Self::BadData,
        }
    }
}
