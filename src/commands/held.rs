//! What a command makes of the key that it opened.

use crate::commands::reply_error::ReplyError;
use crate::server::key::Held;

/// The filter, which must be there.
pub fn found<T>(held: Held<T>) -> Result<T, ReplyError> {
    found_or_missing(held)?.ok_or(ReplyError::NotFound)
}

/// The filter, if the key is not missing.
pub fn found_or_missing<T>(held: Held<T>) -> Result<Option<T>, ReplyError> {
    match held {
        Held::Nothing => Ok(None),
        Held::Other => Err(ReplyError::WrongType),
        Held::Value(value) => Ok(Some(value)),
    }
}

/// Nothing must be there, where a filter is to be created.
pub fn missing<T>(held: Held<T>) -> Result<(), ReplyError> {
    match found_or_missing(held)? {
        None => Ok(()),
        Some(_) => Err(ReplyError::ItemExists),
    }
}
