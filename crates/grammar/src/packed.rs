//! The words of packed commands: an optional time, a layout, the packed items, and an option.

use crate::window::parse_time;
use crate::WordsError;
use splitbloom_foundation::packing::{parse_layout, Layout, PackingError};

pub use splitbloom_foundation::packing::Packing;

impl From<PackingError> for WordsError {
    fn from(error: PackingError) -> Self {
        match error {
            PackingError::TooFewWords => Self::WrongArity,
            PackingError::UnknownLayout => Self::Syntax,
            PackingError::BadWidth => Self::BadWidth,
            PackingError::BadPacking => Self::BadPacking,
        }
    }
}

/// The words of a packed command after its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackedWords<'a> {
    pub layout: Layout,
    /// The argument with the items, not checked yet.
    pub bytes: &'a [u8],
    /// When the items came, in milliseconds since 1970; `None` if no word says so.
    pub at: Option<u64>,
    /// The index of the first word of the layout.
    pub first: usize,
    /// The index of the word after the layout, which is the argument with the items.
    pub place: usize,
    /// Whether the command's option follows: BITS, for a reply of a bit for each item; MUSTEXIST,
    /// for an error if the key is missing.
    pub has_option: bool,
}

/// `AT milliseconds`.
const AT_WORDS: usize = 2;

/// Parses `(FIXED width | LINES | PREFIXED) items [BITS]`.
///
/// # Errors
/// What is wrong with the words, but not with the items.
pub fn parse_packed<'a>(words: &[&'a [u8]]) -> Result<PackedWords<'a>, WordsError> {
    parse_with_option(words, b"BITS")
}

/// Parses `(FIXED width | LINES | PREFIXED) items`, and whether `option` follows, once or several
/// times.
fn parse_with_option<'a>(words: &[&'a [u8]], option: &[u8]) -> Result<PackedWords<'a>, WordsError> {
    let (layout, bytes, options) = parse_layout(words)?;
    if !options.iter().all(|word| word.eq_ignore_ascii_case(option)) {
        return Err(WordsError::Syntax);
    }
    Ok(PackedWords {
        layout,
        bytes,
        at: None,
        first: 0,
        place: words.len() - options.len() - 1,
        has_option: !options.is_empty(),
    })
}

/// Parses the words of an add to a filter that may forget: the same after `[AT milliseconds]`.
///
/// # Errors
/// As [`parse_packed`]; `BadTime`.
pub fn parse_packed_at<'a>(words: &[&'a [u8]]) -> Result<PackedWords<'a>, WordsError> {
    match words {
        [at, rest @ ..] if at.eq_ignore_ascii_case(b"AT") => {
            let (time, rest) = rest.split_first().ok_or(WordsError::WrongArity)?;
            let (at, packed) = (parse_time(time)?, parse_packed(rest)?);
            Ok(PackedWords {
                at: Some(at),
                first: AT_WORDS,
                place: AT_WORDS + packed.place,
                ..packed
            })
        }
        _ => parse_packed(words),
    }
}

/// Parses the words of a command that only looks items up:
/// `(FIXED width | LINES | PREFIXED) items [MUSTEXIST]`.
///
/// # Errors
/// As [`parse_packed`].
pub fn parse_packed_lookup<'a>(words: &[&'a [u8]]) -> Result<PackedWords<'a>, WordsError> {
    parse_with_option(words, b"MUSTEXIST")
}

#[cfg(test)]
mod tests;
