//! Items by number.

use redis::{cmd, Connection};
use std::ops::Range;

pub fn item(number: u32) -> String {
    format!("item:{number}")
}

/// Adds the items of these numbers in one command.
pub fn add_items(db: &mut Connection, key: &str, numbers: Range<u32>) {
    let mut command = cmd("BF.MADD");
    command.arg(key);
    numbers.map(item).for_each(|item| {
        command.arg(item);
    });
    let _: Vec<bool> = command.query(db).expect("items can be added");
}

/// How many of the items of these numbers are false negatives; it must always be 0.
pub fn missing_items(db: &mut Connection, key: &str, numbers: Range<u32>) -> usize {
    let mut command = cmd("BF.MEXISTS");
    command.arg(key);
    numbers.map(item).for_each(|item| {
        command.arg(item);
    });
    let found: Vec<bool> = command.query(db).expect("items can be looked up");
    found.iter().filter(|found| !**found).count()
}
