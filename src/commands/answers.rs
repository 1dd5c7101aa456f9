//! The answers to many items, kept until all have been added: an add replies after it has acted.

use crate::commands::reply_error::ReplyError;

/// Room for `items` answers. A command may have millions of them. No command has more items than
/// words.
pub fn room_for_answers<T>(items: usize) -> Result<Vec<T>, ReplyError> {
    let mut answers = Vec::new();
    match answers.try_reserve_exact(items) {
        Ok(()) => Ok(answers),
        Err(_) => Err(ReplyError::NoMemoryToAdd),
    }
}
