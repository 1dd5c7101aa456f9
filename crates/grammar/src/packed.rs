//! The words of packed commands: an optional time, a layout, the packed items, and options.

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
    pub options: PackedOptions,
}

/// The options of packed commands. Each command knows some of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PackedOptions {
    /// BITS: the reply is a bit for each item.
    pub bits: bool,
    /// NOCREATE, of an add: a missing key is an error.
    pub no_create: bool,
    /// MUSTEXIST, of a lookup: the same.
    pub must_exist: bool,
}

/// `AT milliseconds`.
const AT_WORDS: usize = 2;

const BITS: &[u8] = b"BITS";
const NOCREATE: &[u8] = b"NOCREATE";
const MUSTEXIST: &[u8] = b"MUSTEXIST";

/// Parses the words of an add: `(FIXED width | LINES | PREFIXED) items [BITS] [NOCREATE]`.
///
/// # Errors
/// What is wrong with the words, but not with the items.
pub fn parse_packed_add<'a>(words: &[&'a [u8]]) -> Result<PackedWords<'a>, WordsError> {
    parse(words, &[BITS, NOCREATE])
}

/// Parses the words of a removal: `(FIXED width | LINES | PREFIXED) items [BITS]`.
///
/// # Errors
/// As [`parse_packed_add`].
pub fn parse_packed_removal<'a>(words: &[&'a [u8]]) -> Result<PackedWords<'a>, WordsError> {
    parse(words, &[BITS])
}

/// Parses the words of a lookup: `(FIXED width | LINES | PREFIXED) items [MUSTEXIST]`.
///
/// # Errors
/// As [`parse_packed_add`].
pub fn parse_packed_lookup<'a>(words: &[&'a [u8]]) -> Result<PackedWords<'a>, WordsError> {
    parse(words, &[MUSTEXIST])
}

/// Parses a layout, the items, and options that are `known`, in any order, once or several times.
fn parse<'a>(words: &[&'a [u8]], known: &[&[u8]]) -> Result<PackedWords<'a>, WordsError> {
    let (layout, bytes, options) = parse_layout(words)?;
    let is = |word: &[u8], option: &[u8]| word.eq_ignore_ascii_case(option);
    if !options.iter().all(|word| known.iter().any(|option| is(word, option))) {
        return Err(WordsError::Syntax);
    }
    let has = |option| options.iter().any(|word| is(word, option));
    Ok(PackedWords {
        layout,
        bytes,
        at: None,
        first: 0,
        place: words.len() - options.len() - 1,
        options: PackedOptions {
            bits: has(BITS),
            no_create: has(NOCREATE),
            must_exist: has(MUSTEXIST),
        },
    })
}

/// As [`parse_packed_add`], after `[AT milliseconds]`: for filters that may forget.
///
/// # Errors
/// As [`parse_packed_add`]; `BadTime`.
pub fn parse_packed_add_at<'a>(words: &[&'a [u8]]) -> Result<PackedWords<'a>, WordsError> {
    match words {
        [at, rest @ ..] if at.eq_ignore_ascii_case(b"AT") => {
            let (time, rest) = rest.split_first().ok_or(WordsError::WrongArity)?;
            let (at, packed) = (parse_time(time)?, parse_packed_add(rest)?);
            Ok(PackedWords {
                at: Some(at),
                first: AT_WORDS,
                place: AT_WORDS + packed.place,
                ..packed
            })
        }
        _ => parse_packed_add(words),
    }
}

#[cfg(test)]
mod tests;
