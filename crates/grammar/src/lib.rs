//! The words of splitbloom's commands, parsed once and without a server.
//!
//! ```text
//!   number          integers, error rates and seeds, parsed as strictly as the server does
//!   options         BF.RESERVE and BF.INSERT
//!   window          what both say of filters that forget
//!   counting        CF.RESERVE, CF.INSERT and CF.INSERTNX
//!   packed          commands with many items in one argument
//!   changes         BF.CHANGES, and its positions
//!   load_arguments  loadmodule
//!   loose           words that RedisBloom takes, in what it replicated
//! ```
//!
//! An error is data ([`WordsError`]); the module has the text that a client sees.

pub mod changes;
pub mod counting;
pub mod load_arguments;
pub mod loose;
pub mod options;
pub mod packed;
pub mod window;

pub use splitbloom_foundation::number;

use number::parse_within;
use std::ops::RangeInclusive;

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
    BadTightening,
    TighteningRange,
    /// VALIDATESCALETO, a limit that this module cannot honour.
    ScaleTo,
    BadBucketSize,
    BucketSizeRange,
    BadMaxIterations,
    MaxIterationsRange,
    /// The width of items is no integer.
    BadWidth,
    /// The argument is not a sequence of items in its layout.
    BadPacking,
    /// A window for a counting filter.
    CountingWindow,
    BadWindow,
    WindowRange,
    BadSlices,
    SlicesRange,
    /// SLICES or RENEW without WINDOW.
    WindowMissing,
    BadTime,
    /// The seconds of EX are no integer.
    BadExpiry,
    ExpiryRange,
    /// Neither `0` nor what BF.CHANGES returns.
    BadPosition,
    BadCount,
    CountRange,
    BadBlock,
    BlockRange,
    /// More than 16384 positions after ALSO.
    TooManyPositions,
    /// An unknown word.
    Syntax,
}

/// Room for the longest keyword, VALIDATESCALETO.
const LONGEST_KEYWORD: usize = 16;

/// `word` in upper case, in `room`, to be matched with keywords; empty if it is too long for one.
fn keyword<'a>(word: &[u8], room: &'a mut [u8; LONGEST_KEYWORD]) -> &'a [u8] {
    let Some(keyword) = room.get_mut(..word.len()) else {
        return b"";
    };
    keyword.copy_from_slice(word);
    keyword.make_ascii_uppercase();
    keyword
}

/// Parses a number within a range. The errors are for a malformed word, and for one out of range.
fn number_within(
    word: &[u8],
    range: RangeInclusive<u64>,
    (malformed, out_of_range): (WordsError, WordsError),
) -> Result<u64, WordsError> {
    parse_within(word, range).map_err(|error| error.either(malformed, out_of_range))
}

/// The words of a line, as a test writes them.
#[cfg(test)]
fn words(line: &str) -> Vec<&[u8]> {
    line.split_ascii_whitespace().map(str::as_bytes).collect()
}
