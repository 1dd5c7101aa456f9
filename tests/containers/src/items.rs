//! Items by number.

use redis::{cmd, Connection};
use std::ops::Range;

pub fn item(number: u32) -> String {
    format!("item:{number}")
}

/// Adds the items of these numbers in one command.
pub fn add_items(db: &mut Connection, key: &str, numbers: Range<u32>) {
    let items: Vec<String> = numbers.map(item).collect();
    let _: Vec<bool> = cmd("BF.MADD").arg(key).arg(items).query(db).expect("items can be added");
}

/// How many of the items of these numbers are false negatives; it must always be 0.
pub fn missing_items(db: &mut Connection, key: &str, numbers: Range<u32>) -> usize {
    let items: Vec<String> = numbers.map(item).collect();
    let found = cmd("BF.MEXISTS").arg(key).arg(items).query(db);
    let found: Vec<bool> = found.expect("items can be looked up");
    found.iter().filter(|found| !**found).count()
}
