//! The errors that a caller sees.

use redis::{RedisError, ServerError};
use std::borrow::Cow;
use std::fmt;

/// Why there is no answer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The name of the filter contains `{`.
    BraceInName,
    /// These keys of the filter do not exist, so it is unknown which of their items were added.
    Missing(Vec<Vec<u8>>),
    /// This key exists, which only a filter of the same name with more partitions has.
    MorePartitions(Vec<u8>),
    /// A node refused with this text, such as `ERR non scaling filter is full`.
    Refused(String),
    /// An earlier item of the same partition was refused, so the node did not try this one.
    NotTried,
    /// No reply came, or none in time. The command may or may not have been executed.
    Unreachable(RedisError),
    /// This process is a child of the one that had the follower, and has no copy of its own yet.
    Forked,
    /// A reply that the command never gives.
    Unexpected(String),
    /// The filter of this key was replaced, cleared, united or loaded while it was fetched.
    Replaced(Vec<u8>),
    /// The filter of this key changes faster than it can be followed: its journal is too small.
    Outpaced(Vec<u8>),
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BraceInName => {
                write!(out, "the name of a partitioned filter must not contain {{")
            }
            Self::Missing(keys) => match keys.as_slice() {
                [key] => write!(out, "{} does not exist", name(key)),
                [first, .., last] => write!(
                    out,
                    "{} keys of the filter do not exist, from {} to {}: it may have been lost in \
                     part, or have fewer partitions",
                    keys.len(),
                    name(first),
                    name(last)
                ),
                [] => write!(out, "a key of the filter does not exist"),
            },
            Self::MorePartitions(key) => {
                write!(out, "{} exists: the filter has more partitions", name(key))
            }
            Self::Refused(text) => write!(out, "{text}"),
            Self::NotTried => write!(out, "not tried: an earlier item was refused"),
            // The system's own text for a timeout is that a resource is temporarily unavailable.
            Self::Unreachable(error) if error.is_timeout() => write!(out, "no reply in time"),
            Self::Unreachable(error) => write!(out, "{error}"),
            Self::Forked => write!(out, "not followed since this process was forked"),
            Self::Unexpected(reply) => write!(out, "unexpected reply: {reply}"),
            Self::Replaced(key) => {
                write!(out, "{} was replaced or changed while it was fetched", name(key))
            }
            Self::Outpaced(key) => write!(
                out,
                "{} changes faster than it is followed: raise bf.max-followed-items, and \
                 bf.max-journal-bytes",
                name(key)
            ),
        }
    }
}

fn name(key: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(key)
}

impl std::error::Error for Error {}

impl From<&ServerError> for Error {
    fn from(error: &ServerError) -> Self {
        Self::Refused(format!("{} {}", error.code(), error.details().unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Error as IoError, ErrorKind};

    #[test]
    fn only_a_reply_that_is_late_is_said_to_be() {
        let text = |kind| Error::Unreachable(IoError::new(kind, "why").into()).to_string();
        for late in [ErrorKind::TimedOut, ErrorKind::WouldBlock] {
            assert_eq!(text(late), "no reply in time");
        }
        for other in [ErrorKind::ConnectionRefused, ErrorKind::InvalidData, ErrorKind::NotFound] {
            assert_eq!(text(other), "why");
        }
    }
}
