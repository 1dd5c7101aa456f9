//! Items by number: those that tests add, and absent items, which they never add.

use super::{Connection, Reply};
use std::ops::Range;

/// Items per command.
const BATCH: usize = 1000;

pub fn item(number: u64) -> Vec<u8> {
    format!("item:{number}").into_bytes()
}

/// An item that no test ever adds.
pub fn absent_item(number: u64) -> Vec<u8> {
    format!("absent:{number}").into_bytes()
}

/// Adds the items of these numbers; returns how many were new.
pub fn add_items(db: &mut Connection, key: &str, numbers: Range<u64>) -> u64 {
    let replies = db.pipeline(batches("BF.MADD", key, numbers, item));
    replies.iter().map(count_true).sum()
}

/// How many of the candidates of these numbers the filter reports as present.
pub fn count_found(
    db: &mut Connection,
    key: &str,
    numbers: Range<u64>,
    candidate: fn(u64) -> Vec<u8>,
) -> u64 {
    let replies = db.pipeline(batches("BF.MEXISTS", key, numbers, candidate));
    replies.iter().map(count_true).sum()
}

/// How many of these items are false negatives; it must always be 0.
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

fn count_true(reply: &Reply) -> u64 {
    reply
        .elements()
        .iter()
        .map(|answer| answer.integer() as u64)
        .sum()
}
