//! The words of splitbloom's commands, parsed once and without a server.
//!
//! ```text
//!   number          integers, error rates and seeds, parsed as strictly as the server does
//!   options         BF.RESERVE and BF.INSERT
//!   counting        CF.RESERVE, CF.INSERT and CF.INSERTNX
//!   packing         many items in one argument
//!   load_arguments  loadmodule
//! ```
//!
//! An error is data ([`WordsError`]); the module has the text that a client sees.

pub mod counting;
pub mod load_arguments;
pub mod number;
pub mod options;
pub mod packing;

/// What is wrong with the words of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordsError {
    /// Too few words.
    WrongArity,
    BadErrorRate,
    ErrorRateRange,
    BadCapacity,
    CapacityRange,
    /// Nothing follows EXPANSION.
    NoExpansion,
    BadExpansion,
    ExpansionRange,
    /// NONSCALING together with an expansion above 0.
    NonScalingExpansion,
    BadSeed,
    BadBucketSize,
    BucketSizeRange,
    BadMaxIterations,
    MaxIterationsRange,
    /// The width of items is no integer.
    BadWidth,
    /// What an argument holds is not items of its layout, one after another.
    BadPacking,
    /// An unknown word.
    Syntax,
}
