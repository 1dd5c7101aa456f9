//! Items by number: those that tests add, and absent items, which they never add.

use crate::{Connection, Family};
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

/// Adds the items of these numbers to a Bloom filter; returns how many were new.
pub fn add_items(db: &mut Connection, key: &str, numbers: Range<u64>) -> u64 {
    Family::Bloom.add_items(db, key, numbers)
}

/// How many of these items are false negatives of a Bloom filter; it must always be 0.
pub fn missing_items(db: &mut Connection, key: &str, numbers: Range<u64>) -> u64 {
    Family::Bloom.missing_items(db, key, numbers)
}

/// The commands that begin with `head`, each with a batch of items.
pub fn batches(
    head: Vec<Vec<u8>>,
    numbers: Range<u64>,
    name: fn(u64) -> Vec<u8>,
) -> impl Iterator<Item = Vec<Vec<u8>>> {
    numbers.clone().step_by(BATCH).map(move |first| {
        let last = numbers.end.min(first + BATCH as u64);
        head.iter().cloned().chain((first..last).map(name)).collect()
    })
}

/// The argument of a packed command: items in this layout, LINES, PREFIXED or FIXED.
pub fn packed(layout: &str, items: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for item in items {
        match layout {
            "LINES" => bytes.extend(item.iter().chain(b"\n")),
            "PREFIXED" => {
                bytes.extend((item.len() as u32).to_le_bytes());
                bytes.extend(item);
            }
            _ => bytes.extend(item),
        }
    }
    bytes
}
