//! What released versions wrote, kept as it was written: it loads, and is what it was.
//!
//! The files hold two filters, made on Redis 7.0.15 by
//!
//! ```text
//! BF.RESERVE growing 0.01 100 SEED 0123456789abcdef                BF.MADD growing item:0 … item:299
//! BF.RESERVE fixed 0.001 500 NONSCALING SEED fedcba9876543210      BF.MADD fixed item:0 … item:399
//! ```
//!
//! `VERSION-KEY.hex` is what DUMP answered, `VERSION.rdb` what SAVE wrote.

use crate::harness::{add_items, missing_items, Connection, Server};
use std::fs;

const RDB_FILE: &[u8] = include_bytes!("golden/0.1.0.rdb");

/// Key, what DUMP answered, the words that make it, number of items, BF.CARD (one item of `growing` was taken for present),
/// digest.
const FILTERS: [(&str, &str, &str, u64, &str, &str); 2] = [
    (
        "growing",
        include_str!("golden/0.1.0-growing.hex"),
        "0.01 100 SEED 0123456789abcdef",
        300,
        ":299",
        "c87ea08457e1d227667e4cda198792ea11d224d6",
    ),
    (
        "fixed",
        include_str!("golden/0.1.0-fixed.hex"),
        "0.001 500 NONSCALING SEED fedcba9876543210",
        400,
        ":400",
        "442c827758fc23df9229731db4c0fdc50a80092a",
    ),
];

#[test]
fn dumps_of_released_versions_restore_to_what_they_were() {
    let server = Server::start();
    let mut db = server.connect();
    for (key, dump, ..) in FILTERS {
        let restored = db.call([b"RESTORE".as_slice(), key.as_bytes(), b"0", &from_hex(dump)]);
        assert_eq!(restored.to_string(), "+OK");
    }
    are_what_they_were(&mut db);
}

#[test]
fn files_of_released_versions_load_to_what_they_were() {
    let server = Server::start();
    let mut db = server.connect();
    fs::write(server.folder().join("dump.rdb"), RDB_FILE).expect("the folder takes a file");
    db.run("DEBUG RELOAD NOSAVE");
    are_what_they_were(&mut db);
}

#[test]
fn the_same_commands_still_make_the_same_bits() {
    let server = Server::start();
    let mut db = server.connect();
    for (key, _, parameters, items, ..) in FILTERS {
        db.run(&format!("BF.RESERVE {key} {parameters}"));
        add_items(&mut db, key, 0..items);
    }
    are_what_they_were(&mut db);
}

fn are_what_they_were(db: &mut Connection) {
    for (key, _, _, items, card, digest) in FILTERS {
        assert_eq!(db.digest(key), digest, "{key}");
        assert_eq!(db.ask(&format!("BF.CARD {key}")), card);
        assert_eq!(missing_items(db, key, 0..items), 0);
    }
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| std::str::from_utf8(pair).map(|pair| u8::from_str_radix(pair, 16));
    digits
        .chunks(2)
        .map(|pair| byte(pair).expect("ASCII").expect("two digits"))
        .collect()
}
