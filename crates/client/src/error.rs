//! The errors that a caller sees.

use redis::{RedisError, ServerError};
use std::fmt;

#[derive(Clone, Debug)]
pub enum Error {
    /// The name of the filter contains `{`.
    BraceInName,
    /// A node refused with this text, such as `ERR non scaling filter is full`.
    Refused(String),
    /// An earlier item of the same partition was refused, so the node did not try this one.
    NotTried,
    /// No reply in time. The command may or may not have been executed.
    Unreachable(RedisError),
    /// A reply that the command never gives.
    Unexpected(String),
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BraceInName => {
                write!(out, "the name of a partitioned filter must not contain {{")
            }
            Self::Refused(text) => write!(out, "{text}"),
            Self::NotTried => write!(out, "not tried: an earlier item was refused"),
            Self::Unreachable(error) => write!(out, "no reply in time: {error}"),
            Self::Unexpected(reply) => write!(out, "unexpected reply: {reply}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<&ServerError> for Error {
    fn from(error: &ServerError) -> Self {
        Self::Refused(format!(
            "{} {}",
            error.code(),
            error.details().unwrap_or_default()
        ))
    }
}
