//! What can go wrong between the caller and the nodes.

use redis::{RedisError, ServerError};
use std::fmt;

#[derive(Clone, Debug)]
pub enum Error {
    /// The name of the filter has a `{` in it.
    BraceInName,
    /// A node refused, in these words, such as `ERR non scaling filter is full`.
    Refused(String),
    /// An item in front of this one, in the same partition, was refused; so the node did not look at this one.
    NotTried,
    /// No answer in time. What was asked may have happened or not.
    Unreachable(RedisError),
    /// An answer that the command never gives.
    Nonsense(String),
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BraceInName => {
                write!(out, "the name of a partitioned filter must not contain {{")
            }
            Self::Refused(words) => write!(out, "{words}"),
            Self::NotTried => write!(out, "not tried: an item in front of it was refused"),
            Self::Unreachable(error) => write!(out, "no answer in time: {error}"),
            Self::Nonsense(reply) => write!(out, "not an answer to this: {reply}"),
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
