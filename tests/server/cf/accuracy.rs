//! After half of many items are deleted, the others are all there, those deleted are found as
//! seldom as any absent item, and their memory is given back.

use splitbloom_harness::{absent_item, delete_items, item, Connection, Family, Server};
use std::ops::Range;

const ITEMS: u64 = 100_000;
/// The share of absent items that may be found: that of the default, and five standard deviations
/// of it in as many lookups as half of the items.
const MOST_FOUND: u64 = 500 + 5 * 23;
/// Memory after the deletions, by that of a fresh filter. A page is written anew with fewer lines
/// only once its entries fill 88 % of those, and the fingerprints of a table that was larger are
/// longer. Measured: 1.22.
const MOST_MEMORY: f64 = 1.25;

fn found(db: &mut Connection, numbers: Range<u64>, name: fn(u64) -> Vec<u8>) -> u64 {
    Family::Counting.count_found(db, "k", numbers, name)
}

fn memory(db: &mut Connection, key: &str) -> f64 {
    db.line(&format!("MEMORY USAGE {key} SAMPLES 0")).integer() as f64
}

#[test]
fn deleted_items_are_gone_and_all_others_there() {
    const HALF: u64 = ITEMS / 2;
    let server = Server::configured(&["appendonly yes", "appendfsync no"]);
    let replica = server.replica(&[]);
    let mut db = server.connect();
    db.run("CF.RESERVE k 1000 SEED 0123456789abcdef");
    db.run("CF.RESERVE fresh 1000 SEED 0123456789abcdef");
    Family::Counting.add_items(&mut db, "fresh", 0..HALF);
    Family::Counting.add_items(&mut db, "k", 0..ITEMS);
    assert_eq!(found(&mut db, 0..ITEMS, item), ITEMS);
    assert!(found(&mut db, 0..HALF, absent_item) <= MOST_FOUND);

    delete_items(&mut db, "k", HALF..ITEMS);
    assert_eq!(found(&mut db, 0..HALF, item), HALF);
    for found in [found(&mut db, HALF..ITEMS, item), found(&mut db, 0..HALF, absent_item)] {
        assert!(found <= MOST_FOUND, "{found} of {HALF}");
    }
    let (left, fresh) = (memory(&mut db, "k"), memory(&mut db, "fresh"));
    assert!(left <= MOST_MEMORY * fresh, "{left} bytes, {fresh} in a fresh one");

    // Once everything is deleted, nothing is left: no item, and no more memory than at first.
    delete_items(&mut db, "k", 0..HALF);
    let info = db.line("CF.INFO k FULL");
    assert_eq!(info.field("Number of items inserted").integer(), 0);
    assert_eq!(info.field("Number of items deleted").integer() as u64, ITEMS);
    assert_eq!(found(&mut db, 0..ITEMS, item), 0);
    db.run("CF.RESERVE empty 1000");
    assert_eq!(memory(&mut db, "k"), memory(&mut db, "empty"));
    assert_eq!(found(&mut db, 0..HALF, absent_item), 0);
    let digest = db.digest("k");
    server.wait_for(&replica);
    assert_eq!(replica.connect().digest("k"), digest);
    db.run("DEBUG LOADAOF");
    assert_eq!(db.digest("k"), digest);
    db.run("DEBUG RELOAD");
    assert_eq!(db.digest("k"), digest);
}
