//! What BF.CHANGES returns.

use crate::Error;
use redis::Value;
use splitbloom_filter::hash::ItemHash;

/// The most hashes in one reply: a reply with as many may not be all.
pub(super) const MAX_CHANGES: usize = 1 << 16;

/// The position that the follower has with this reply, and what is new.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Changes {
    pub position: Vec<u8>,
    /// `None` if the filter is to be fetched.
    pub hashes: Option<Vec<ItemHash>>,
}

impl Changes {
    /// Whether the copy changes by them.
    pub fn has_news(&self) -> bool {
        self.hashes.as_ref().is_none_or(|hashes| !hashes.is_empty())
    }
}

/// Parses the reply to a question about several filters: the places of those that have news.
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
                if let Some(hashes) = hashes {
                    return Ok(Some(Changes { position, hashes }));
                }
            }
        }
        _ => {}
    }
    Err(Error::Unexpected("to BF.CHANGES".into()))
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

    fn parsed(reply: &str) -> Result<Option<Changes>, Error> {
        parse(redis::parse_redis_value(reply.as_bytes()).expect("a reply"))
    }

    #[test]
    fn a_reply_has_a_position_and_hashes_or_none() {
        let hash = "\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0";
        let changes = |hashes| Some(Changes { position: b"7-1".to_vec(), hashes });
        for (reply, expected) in [
            ("*-1\r\n".to_owned(), None),
            ("_\r\n".to_owned(), None),
            ("*2\r\n$3\r\n7-1\r\n$-1\r\n".to_owned(), changes(None)),
            ("*2\r\n$3\r\n7-1\r\n_\r\n".to_owned(), changes(None)),
            ("*2\r\n$3\r\n7-1\r\n$0\r\n\r\n".to_owned(), changes(Some(vec![]))),
            (
                format!("*2\r\n$3\r\n7-1\r\n$16\r\n{hash}\r\n"),
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
            "*1\r\n$1\r\n0\r\n",
            "*2\r\n:1\r\n$0\r\n\r\n",
            "*2\r\n$1\r\n0\r\n:1\r\n",
            "*2\r\n$1\r\n0\r\n$15\r\n123456789012345\r\n",
            "*2\r\n$1\r\n0\r\n$8\r\n12345678\r\n",
        ] {
            assert!(parsed(reply).is_err(), "{reply:?}");
        }
    }
}
