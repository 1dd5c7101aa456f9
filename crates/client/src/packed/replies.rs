//! The replies to packed commands, and to those of an item that is sent by itself.

use crate::Error;
use bitvec::prelude::{BitSlice, Lsb0};
use redis::Value;

/// Returns how many items of a piece changed the filter, how many of its first items were carried
/// out, and the error of the next one if it was refused.
pub fn change(reply: &Value, len: u64) -> Result<(u64, u64, Option<Error>), Error> {
    let known = match reply {
        Value::Int(changed) => natural(*changed).map(|changed| (changed, len, None)),
        Value::Boolean(changed) if len == 1 => Some((u64::from(*changed), 1, None)),
        Value::Array(elements) => match elements.as_slice() {
            [Value::Int(before), Value::Int(changed), Value::ServerError(error)] => {
                natural(*changed)
                    .zip(natural(*before))
                    .map(|(changed, before)| (changed, before, Some(Error::from(error))))
            }
            _ => None,
        },
        _ => None,
    };
    let known = known.filter(|(changed, done, _)| changed <= done && *done <= len);
    known.ok_or_else(|| unexpected(reply))
}

fn natural(number: i64) -> Option<u64> {
    u64::try_from(number).ok()
}

/// A bit for each item: item i is bit i mod 8 of byte i / 8. For a single item, its answer.
pub fn bits(reply: Value, len: usize) -> Result<Vec<bool>, Error> {
    match reply {
        Value::BulkString(bytes) if bytes.len() == len.div_ceil(8) => {
            let bits = BitSlice::<u8, Lsb0>::from_slice(&bytes);
            Ok(bits.iter().by_vals().take(len).collect())
        }
        Value::Int(_) | Value::Boolean(_) if len == 1 => Ok(vec![crate::batch::answer(&reply)?]),
        other => Err(unexpected(&other)),
    }
}

/// A boolean for each item, an integer in RESP2.
pub fn booleans(reply: Value, len: usize) -> Result<Vec<bool>, Error> {
    match reply {
        Value::Array(elements) if elements.len() == len => {
            elements.iter().map(crate::batch::answer).collect()
        }
        other => Err(unexpected(&other)),
    }
}

/// The error for a reply that the command never gives; it quotes the beginning.
fn unexpected(reply: &Value) -> Error {
    Error::Unexpected(format!("{reply:?}").chars().take(200).collect())
}
