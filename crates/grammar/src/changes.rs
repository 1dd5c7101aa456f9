//! The words of BF.CHANGES, and the positions that it returns.

use crate::number::{parse_seed, parse_within};
use crate::{keyword, number_within, WordsError, LONGEST_KEYWORD};
use std::fmt::{Display, Formatter, Result as Formatted};
use std::ops::RangeInclusive;

/// The most hashes in one reply, and their number without COUNT: with 16 bytes each a reply is at
/// most 1 MiB, as a chunk of BF.SCANDUMP is.
pub const MAX_CHANGES: u64 = 1 << 16;
/// The most positions after ALSO: those of a filter with a partition in each slot. There is a limit
/// because each add to a followed filter reads the positions of each waiting client.
const MAX_OTHERS: usize = 1 << 14;

/// How long a client may wait, in milliseconds; 0 is for ever. At most ten years: a server adds it
/// to its clock in 64 bits.
const BLOCK: RangeInclusive<u64> = 0..=315_360_000_000;

/// How far a client follows a filter: up to a hash in the journal of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The random number that the journal got when it began.
    pub journal: u64,
    /// The number of hashes so far.
    pub hashes: u64,
    /// How many of the last hashes are in the filter's table; those before are in its sub-filter.
    pub in_table: u64,
}

impl Display for Position {
    fn fmt(&self, out: &mut Formatter<'_>) -> Formatted {
        write!(out, "{:016x}-{}-{}", self.journal, self.hashes, self.in_table)
    }
}

impl Position {
    /// Parses a `word` that `Display` wrote; `None` for `0`, where a client begins.
    ///
    /// # Errors
    /// `BadPosition`.
    pub fn parse(word: &[u8]) -> Result<Option<Self>, WordsError> {
        if word == b"0" {
            return Ok(None);
        }
        Self::parts(word).map(Some).ok_or(WordsError::BadPosition)
    }

    fn parts(word: &[u8]) -> Option<Self> {
        let (journal, rest) = word.split_at_checked(16)?;
        let mut numbers = rest.strip_prefix(b"-")?.split(|byte| *byte == b'-');
        let mut number = || parse_within(numbers.next()?, 0..=u64::MAX >> 1).ok();
        let (journal, hashes, in_table) = (parse_seed(journal)?, number()?, number()?);
        let is_one = in_table <= hashes && numbers.next().is_none();
        is_one.then_some(Self { journal, hashes, in_table })
    }
}

/// The words of BF.CHANGES.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Following<'a> {
    /// Where the client is; `None` if it has nothing yet.
    pub position: Option<Position>,
    /// The most hashes of the reply.
    pub count: u64,
    /// How long to wait for news, in milliseconds, 0 for ever; `None` means not at all.
    pub block: Option<u64>,
    /// Positions in journals of other filters of the node.
    others: &'a [&'a [u8]],
}

impl Following<'_> {
    /// All positions, if the client asks which of several filters have news. A position is `None`
    /// if the client has nothing yet.
    pub fn several(&self) -> Option<impl ExactSizeIterator<Item = Option<Position>> + '_> {
        let number = self.others.len() + 1;
        let position = |place: usize| match place.checked_sub(1) {
            None => self.position,
            Some(other) => Position::parse(self.others[other]).ok()?,
        };
        (number > 1).then(|| (0..number).map(position))
    }
}

/// Parses the words of BF.CHANGES after the key: `position [COUNT n] [BLOCK milliseconds] [ALSO
/// position…]`. Options may come in any order, but ALSO last; the last of a kind wins.
///
/// # Errors
/// What is wrong with the first bad word.
pub fn parse_changes<'a>(words: &'a [&'a [u8]]) -> Result<Following<'a>, WordsError> {
    let [position, options @ ..] = words else {
        return Err(WordsError::WrongArity);
    };
    let position = Position::parse(position)?;
    let mut following = Following { position, count: MAX_CHANGES, block: None, others: &[] };
    let mut rest = options.iter();
    while let Some(option) = rest.next() {
        let mut value = || rest.next().ok_or(WordsError::WrongArity);
        match keyword(option, &mut [0; LONGEST_KEYWORD]) {
            b"COUNT" => {
                let errors = (WordsError::BadCount, WordsError::CountRange);
                following.count = number_within(value()?, 1..=MAX_CHANGES, errors)?;
            }
            b"BLOCK" => {
                let errors = (WordsError::BadBlock, WordsError::BlockRange);
                following.block = Some(number_within(value()?, BLOCK, errors)?);
            }
            b"ALSO" if rest.len() == 0 => return Err(WordsError::WrongArity),
            b"ALSO" if rest.len() > MAX_OTHERS => return Err(WordsError::TooManyPositions),
            b"ALSO" => {
                following.others = rest.as_slice();
                following.others.iter().try_for_each(|word| Position::parse(word).map(drop))?;
                break;
            }
            _ => return Err(WordsError::Syntax),
        }
    }
    Ok(following)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words;
    use proptest::prelude::*;

    fn parse(line: &str) -> Result<(Option<Position>, u64, Option<u64>), WordsError> {
        let words = words(line);
        let Following { position, count, block, .. } = parse_changes(&words)?;
        Ok((position, count, block))
    }

    proptest! {
        #[test]
        fn a_position_is_read_as_it_was_written(
            journal: u64,
            hashes in 0..=u64::MAX >> 1,
            share in 0.0..=1.0f64,
        ) {
            let in_table = ((hashes as f64 * share) as u64).min(hashes);
            let position = Position { journal, hashes, in_table };
            let read = Position::parse(position.to_string().as_bytes());
            prop_assert_eq!(read, Ok(Some(position)));
        }

        #[test]
        fn any_bytes_are_a_position_or_an_error(word: Vec<u8>) {
            if let Ok(Some(position)) = Position::parse(&word) {
                let written = position.to_string();
                prop_assert!(word.eq_ignore_ascii_case(written.as_bytes()));
            }
        }
    }

    #[test]
    fn options_come_in_any_order_and_case() {
        let position = Some(Position { journal: 255, hashes: 3, in_table: 1 });
        for (line, count, block) in [
            ("00000000000000ff-3-1", MAX_CHANGES, None),
            ("00000000000000FF-3-1 count 7", 7, None),
            ("00000000000000ff-3-1 BLOCK 0", MAX_CHANGES, Some(0)),
            ("00000000000000ff-3-1 Block 9 COUNT 65536", MAX_CHANGES, Some(9)),
            ("00000000000000ff-3-1 COUNT 1 BLOCK 1 COUNT 2 BLOCK 3", 2, Some(3)),
        ] {
            assert_eq!(parse(line), Ok((position, count, block)), "{line}");
        }
        assert_eq!(parse("0"), Ok((None, MAX_CHANGES, None)));
    }

    #[test]
    fn everything_after_also_is_a_position() {
        let words = words("0 BLOCK 3 ALSO 00000000000000ff-3-1 0");
        let following = parse_changes(&words).expect("they are right");
        assert_eq!((following.block, following.count), (Some(3), MAX_CHANGES));
        let several: Vec<_> = following.several().expect("several").collect();
        assert_eq!(several, [None, Some(Position { journal: 255, hashes: 3, in_table: 1 }), None]);
        assert!(parse_changes(&words[..3]).expect("they are right").several().is_none());
    }

    #[test]
    fn it_names_what_is_wrong() {
        for (line, error) in [
            ("", WordsError::WrongArity),
            ("00", WordsError::BadPosition),
            ("-1", WordsError::BadPosition),
            ("$", WordsError::BadPosition),
            ("00000000000000ff", WordsError::BadPosition),
            ("00000000000000ff-", WordsError::BadPosition),
            ("00000000000000ff-3", WordsError::BadPosition),
            ("00000000000000ff-3-", WordsError::BadPosition),
            ("00000000000000ff-3-4", WordsError::BadPosition),
            ("00000000000000ff-3-1-1", WordsError::BadPosition),
            ("00000000000000ff-03-1", WordsError::BadPosition),
            ("00000000000000ff-3-01", WordsError::BadPosition),
            ("00000000000000ff--3-1", WordsError::BadPosition),
            ("00000000000000ff-3x-1", WordsError::BadPosition),
            ("00000000000000fg-3-1", WordsError::BadPosition),
            ("00000000000000ff-9223372036854775808-0", WordsError::BadPosition),
            ("0 COUNT", WordsError::WrongArity),
            ("0 COUNT x", WordsError::BadCount),
            ("0 COUNT 0", WordsError::CountRange),
            ("0 COUNT 65537", WordsError::CountRange),
            ("0 BLOCK", WordsError::WrongArity),
            ("0 BLOCK 1.5", WordsError::BadBlock),
            ("0 BLOCK -1", WordsError::BlockRange),
            ("0 BLOCK 315360000001", WordsError::BlockRange),
            ("0 ALSO", WordsError::WrongArity),
            ("0 ALSO 0 COUNT", WordsError::BadPosition),
            ("0 1", WordsError::Syntax),
        ] {
            assert_eq!(parse(line), Err(error), "{line}");
        }
    }
}
