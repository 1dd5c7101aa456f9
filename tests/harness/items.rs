//! Items by number: those that were added, and strangers that never are.

use super::{Connection, Reply};
use std::ops::Range;

/// So many items go into one command.
const BATCH: usize = 1000;

pub fn item(number: u64) -> Vec<u8> {
    format!("item:{number}").into_bytes()
}

/// An item that no test ever adds.
pub fn stranger(number: u64) -> Vec<u8> {
    format!("stranger:{number}").into_bytes()
}

/// Adds the items of these numbers and returns how many the filter called new.
pub fn add_items(db: &mut Connection, key: &str, numbers: Range<u64>) -> u64 {
    let replies = db.pipeline(batches("BF.MADD", key, numbers, item));
    replies.iter().map(ones).sum()
}

/// How many of the candidates of these numbers the filter knows.
pub fn count_found(
    db: &mut Connection,
    key: &str,
    numbers: Range<u64>,
    candidate: fn(u64) -> Vec<u8>,
) -> u64 {
    let replies = db.pipeline(batches("BF.MEXISTS", key, numbers, candidate));
    replies.iter().map(ones).sum()
}

/// How many of these items the filter denies; it must never be any.
pub fn missing_items(db: &mut Connection, key: &str, numbers: Range<u64>) -> u64 {
    let asked = numbers.end - numbers.start;
    asked - count_found(db, key, numbers, item)
}

fn batches<'a>(
    command: &'a str,
    key: &'a str,
    numbers: Range<u64>,
    name: fn(u64) -> Vec<u8>,
) -> impl Iterator<Item = Vec<Vec<u8>>> + 'a {
    numbers.clone().step_by(BATCH).map(move |first| {
        let last = numbers.end.min(first + BATCH as u64);
        let head = [command.as_bytes().to_vec(), key.as_bytes().to_vec()];
        head.into_iter().chain((first..last).map(name)).collect()
    })
}

fn ones(reply: &Reply) -> u64 {
    reply
        .elements()
        .iter()
        .map(|answer| answer.integer() as u64)
        .sum()
}
