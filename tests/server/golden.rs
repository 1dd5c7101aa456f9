//! What earlier versions wrote, kept as it was written: it loads, and is what it was.
//!
//! The files hold two filters, made on Redis 7.0.15 by
//!
//! ```text
//! BF.RESERVE growing 0.01 100 SEED 0123456789abcdef                BF.MADD growing item:0 … item:299
//! BF.RESERVE fixed 0.001 500 NONSCALING SEED fedcba9876543210      BF.MADD fixed item:0 … item:399
//! ```
//!
//! `VERSION-KEY.hex` is what DUMP returned, `VERSION.rdb` what SAVE wrote: `0.1.0` in chunks of
//! version 1, `chunks-2` in chunks of version 2.

use crate::harness::{add_items, missing_items, Connection, Server};
use std::fs;

const RDB_FILES: [&[u8]; 2] = [
    include_bytes!("golden/0.1.0.rdb"),
    include_bytes!("golden/chunks-2.rdb"),
];

struct Golden {
    key: &'static str,
    dumps: [&'static str; 2],
    /// The words that make it.
    parameters: &'static str,
    items: u64,
    /// One item of `growing` was a false positive.
    card: &'static str,
    digest: &'static str,
}

const FILTERS: [Golden; 2] = [
    Golden {
        key: "growing",
        dumps: [
            include_str!("golden/0.1.0-growing.hex"),
            include_str!("golden/chunks-2-growing.hex"),
        ],
        parameters: "0.01 100 SEED 0123456789abcdef",
        items: 300,
        card: ":299",
        digest: "c87ea08457e1d227667e4cda198792ea11d224d6",
    },
    Golden {
        key: "fixed",
        dumps: [
            include_str!("golden/0.1.0-fixed.hex"),
            include_str!("golden/chunks-2-fixed.hex"),
        ],
        parameters: "0.001 500 NONSCALING SEED fedcba9876543210",
        items: 400,
        card: ":400",
        digest: "442c827758fc23df9229731db4c0fdc50a80092a",
    },
];

#[test]
fn dumps_of_earlier_versions_restore_to_what_they_were() {
    let server = Server::start();
    let mut db = server.connect();
    for version in 0..RDB_FILES.len() {
        for Golden { key, dumps, .. } in FILTERS {
            let dump = from_hex(dumps[version]);
            let restored = db.call([b"RESTORE".as_slice(), key.as_bytes(), b"0", &dump]);
            assert_eq!(restored.to_string(), "+OK");
        }
        are_what_they_were(&mut db);
        db.run("FLUSHALL");
    }
}

#[test]
fn files_of_earlier_versions_load_to_what_they_were() {
    for file in RDB_FILES {
        let server = Server::start();
        let mut db = server.connect();
        fs::write(server.folder().join("dump.rdb"), file).expect("the folder takes a file");
        db.run("DEBUG RELOAD NOSAVE");
        are_what_they_were(&mut db);
    }
}

#[test]
fn a_filter_that_was_dumped_in_chunks_of_version_1_is_dumped_in_those_of_version_2() {
    let server = Server::start();
    let mut db = server.connect();
    db.run("CONFIG SET rdbcompression no");
    for Golden { key, dumps, .. } in FILTERS {
        let old = from_hex(dumps[0]);
        db.call([b"RESTORE".as_slice(), key.as_bytes(), b"0", &old]);
        let new = db.call(["DUMP", key]).bytes().to_vec();
        let has = |magic: &[u8]| new.windows(magic.len()).any(|window| window == magic);
        assert!(has(b"SBF\x02") && !has(b"SBF\x01"), "{key}");
    }
}

#[test]
fn the_same_commands_still_make_the_same_bits() {
    let server = Server::start();
    let mut db = server.connect();
    for Golden {
        key,
        parameters,
        items,
        ..
    } in FILTERS
    {
        db.run(&format!("BF.RESERVE {key} {parameters}"));
        add_items(&mut db, key, 0..items);
    }
    are_what_they_were(&mut db);
}

fn are_what_they_were(db: &mut Connection) {
    for Golden {
        key,
        items,
        card,
        digest,
        ..
    } in FILTERS
    {
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
