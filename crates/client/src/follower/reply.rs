//! What BF.CHANGES and BF.SCANDUMP return.

use crate::Error;
use redis::Value;
use splitbloom_filter::filter::Part;
use splitbloom_filter::{AddError, Filter, ItemHash};

/// The maximum number of hashes in one reply. After that many, there may be more.
pub(super) const MAX_CHANGES: usize = 1 << 16;

/// The position that the follower reaches with this reply, and what is new up to there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Changes {
    pub position: Vec<u8>,
    /// `None` if the filter is to be fetched.
    pub hashes: Option<Vec<ItemHash>>,
    /// The number of hashes at the end that are in the table; those before are in the sub-filter.
    in_table: usize,
}

impl Changes {
    /// Whether nothing is new.
    pub fn is_empty(&self) -> bool {
        self.hashes.as_ref().is_some_and(Vec::is_empty)
    }

    /// The hashes of either part, in order.
    pub fn parts(&self) -> [(Part, &[ItemHash]); 2] {
        let hashes = self.hashes.as_deref().unwrap_or_default();
        let (of_sub_filter, of_table) = hashes.split_at(hashes.len().saturating_sub(self.in_table));
        [(Part::SubFilter, of_sub_filter), (Part::Table, of_table)]
    }

    /// Applies them to a copy.
    ///
    /// # Errors
    /// As [`Filter::follow`].
    pub fn apply_to(&self, filter: &mut Filter) -> Result<(), AddError> {
        self.parts().into_iter().try_for_each(|(part, hashes)| filter.follow(part, hashes))
    }

    /// Whether the changes come from the journal that `position` names.
    pub fn are_of_journal_of(&self, position: &[u8]) -> bool {
        let journal =
            |position: &[u8]| position.split(|byte| *byte == b'-').next().map(<[u8]>::to_vec);
        journal(&self.position) == journal(position)
    }
}

/// The number of hashes just before a position that are in the table: the position's last number.
fn in_table(position: &[u8]) -> Option<usize> {
    let number = position.rsplit(|byte| *byte == b'-').next()?;
    std::str::from_utf8(number).ok()?.parse().ok()
}

impl Changes {
    /// Whether they change the copy.
    pub fn has_news(&self) -> bool {
        self.hashes.as_ref().is_none_or(|hashes| !hashes.is_empty())
    }
}

/// Parses the reply to a question about several filters. Returns the indexes of those with news.
///
/// # Errors
/// `Unexpected` for a reply that the command never gives.
pub(super) fn places(reply: &Value) -> Result<Vec<usize>, Error> {
    let place = |place: &Value| match place {
        Value::Int(place) => usize::try_from(*place).ok(),
        _ => None,
    };
    let places = match reply {
        Value::Nil => Some(Vec::new()),
        Value::Array(places) => places.iter().map(place).collect(),
        _ => None,
    };
    places.ok_or_else(|| Error::Unexpected("to BF.CHANGES".into()))
}

/// Parses a reply; `None` if the time to wait is over and nothing is new.
///
/// # Errors
/// `Unexpected` for a reply that the command never gives.
pub(super) fn parse(reply: Value) -> Result<Option<Changes>, Error> {
    match reply {
        Value::Nil => return Ok(None),
        Value::Array(parts) => {
            if let Ok([Value::BulkString(position), new]) = <[Value; 2]>::try_from(parts) {
                let hashes = match new {
                    Value::Nil => Some(None),
                    Value::BulkString(bytes) => hashes(&bytes).map(Some),
                    _ => None,
                };
                if let (Some(hashes), Some(in_table)) = (hashes, in_table(&position)) {
                    return Ok(Some(Changes { position, hashes, in_table }));
                }
            }
        }
        _ => {}
    }
    Err(Error::Unexpected("to BF.CHANGES".into()))
}

/// The iterator of the next chunk, 0 at the end, and a chunk.
pub(super) type NumberedChunk = (i64, Vec<u8>);

/// Parses a reply with a chunk; `None` if the filter is not, or no longer, that of the position.
///
/// # Errors
/// `Unexpected` for a reply that the command never gives.
pub(super) fn parse_chunk(reply: Value) -> Result<Option<NumberedChunk>, Error> {
    match reply {
        Value::Nil => return Ok(None),
        Value::Array(parts) => {
            if let Ok([Value::Int(next), Value::BulkString(bytes)]) = <[Value; 2]>::try_from(parts)
            {
                return Ok(Some((next, bytes)));
            }
        }
        _ => {}
    }
    Err(Error::Unexpected("to BF.SCANDUMP".into()))
}

/// The hashes, of 16 bytes each: two little-endian numbers.
fn hashes(bytes: &[u8]) -> Option<Vec<ItemHash>> {
    let (words, []) = bytes.as_chunks::<8>() else {
        return None;
    };
    let (pairs, []) = words.as_chunks::<2>() else {
        return None;
    };
    let number = |bytes: [u8; 8]| u64::from_le_bytes(bytes);
    let hash = |[place, probes]: &[[u8; 8]; 2]| ItemHash {
        place: number(*place),
        probes: number(*probes),
    };
    Some(pairs.iter().map(hash).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(reply: &str) -> Value {
        redis::parse_redis_value(reply.as_bytes()).expect("a reply")
    }

    fn parsed(reply: &str) -> Result<Option<Changes>, Error> {
        parse(value(reply))
    }

    #[test]
    fn a_reply_has_a_position_and_hashes_or_none() {
        let hash = "\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0";
        let changes = |hashes| Some(Changes { position: b"7-9-1".to_vec(), hashes, in_table: 1 });
        for (reply, expected) in [
            ("*-1\r\n".to_owned(), None),
            ("_\r\n".to_owned(), None),
            ("*2\r\n$5\r\n7-9-1\r\n$-1\r\n".to_owned(), changes(None)),
            ("*2\r\n$5\r\n7-9-1\r\n_\r\n".to_owned(), changes(None)),
            ("*2\r\n$5\r\n7-9-1\r\n$0\r\n\r\n".to_owned(), changes(Some(vec![]))),
            (
                format!("*2\r\n$5\r\n7-9-1\r\n$16\r\n{hash}\r\n"),
                changes(Some(vec![ItemHash { place: 1, probes: 2 }])),
            ),
        ] {
            assert_eq!(parsed(&reply).expect(&reply), expected, "{reply:?}");
        }
    }

    #[test]
    fn a_reply_about_several_filters_has_places_or_none() {
        let parsed = |reply: &str| {
            places(&redis::parse_redis_value(reply.as_bytes()).expect("a reply")).ok()
        };
        assert_eq!(parsed("*-1\r\n"), Some(vec![]));
        assert_eq!(parsed("_\r\n"), Some(vec![]));
        assert_eq!(parsed("*2\r\n:0\r\n:7\r\n"), Some(vec![0, 7]));
        for reply in [":1\r\n", "*1\r\n:-1\r\n", "*2\r\n$1\r\n0\r\n$0\r\n\r\n"] {
            assert_eq!(parsed(reply), None, "{reply:?}");
        }
    }

    #[test]
    fn anything_else_is_unexpected() {
        for reply in [
            ":1\r\n",
            "*0\r\n",
            "*1\r\n$3\r\n7-0\r\n",
            "*2\r\n:1\r\n$0\r\n\r\n",
            "*2\r\n$3\r\n7-0\r\n:1\r\n",
            "*2\r\n$2\r\n7-\r\n$0\r\n\r\n",
            "*2\r\n$3\r\n7-x\r\n$0\r\n\r\n",
            "*2\r\n$3\r\n7-0\r\n$15\r\n123456789012345\r\n",
            "*2\r\n$3\r\n7-0\r\n$8\r\n12345678\r\n",
        ] {
            assert!(parsed(reply).is_err(), "{reply:?}");
        }
        for reply in [":1\r\n", "*1\r\n:1\r\n", "*2\r\n:1\r\n:1\r\n", "+OK\r\n"] {
            assert!(parse_chunk(value(reply)).is_err(), "{reply:?}");
        }
    }

    #[test]
    fn a_chunk_has_the_next_iterator_or_is_null() {
        assert_eq!(parse_chunk(value("$-1\r\n")).expect("null"), None);
        assert_eq!(parse_chunk(value("_\r\n")).expect("null"), None);
        let chunk = parse_chunk(value("*2\r\n:7\r\n$2\r\nxy\r\n")).expect("a chunk");
        assert_eq!(chunk, Some((7, b"xy".to_vec())));
    }

    #[test]
    fn the_last_hashes_are_those_of_the_table() {
        let hash = |place| ItemHash { place, probes: 0 };
        let all = [hash(1), hash(2), hash(3)];
        for (in_table, first) in [(0, 3), (1, 2), (3, 0), (9, 0)] {
            let changes =
                Changes { position: b"7-9-1".to_vec(), hashes: Some(all.to_vec()), in_table };
            let (of_sub_filter, of_table) = all.split_at(first);
            let expected = [(Part::SubFilter, of_sub_filter), (Part::Table, of_table)];
            assert_eq!(changes.parts(), expected);
            assert!(changes.are_of_journal_of(b"7-1-1") && !changes.are_of_journal_of(b"78-9-1"));
        }
    }
}
