//! What earlier versions wrote, and this one writes, kept as it was written: it loads, and is what
//! it was.
//!
//! The files hold filters made on Redis 7.0.15 by
//!
//! ```text
//! BF.RESERVE growing 0.01 100 SEED 0123456789abcdef                BF.MADD growing item:0 … item:299
//! BF.RESERVE fixed 0.001 500 NONSCALING SEED fedcba9876543210      BF.MADD fixed item:0 … item:399
//!
//! BF.RESERVE table 0.01 100 SEED 0123456789abcdef                  BF.MADD table item:0 … item:299
//! BF.RESERVE bloom-and-table 0.01 50 SEED fedcba9876543210         BF.MADD bloom-and-table item:0 … item:299
//! CF.RESERVE counting 1000 SEED 0f1e2d3c4b5a6978                   CF.INSERT counting ITEMS item:0 … item:299
//!                                                                  CF.INSERT counting ITEMS item:0 … item:99
//!                                                                  CF.DEL counting item:200 … item:299
//! ```
//!
//! `VERSION-KEY.hex` is what DUMP returned, `VERSION.rdb` what SAVE wrote: `0.1.0` in chunks of
//! version 1, `chunks-2` in chunks of version 2, both with a series of Bloom filters for `growing`;
//! `tables` with tables.

use crate::harness::{
    absent_item, add_items, count_found, delete_items, item, missing_items, Connection, Family,
    Server,
};
use std::fs;

/// A filter as it was when it was saved.
struct Golden {
    key: &'static str,
    family: Family,
    /// Those of its RESERVE.
    parameters: &'static str,
    /// How many of the first items it must contain.
    items: u64,
    /// The number of items inserted that INFO reports: one item of `growing`, and of
    /// `bloom-and-table`, was a false positive, and `counting` has copies.
    inserted: i64,
    digest: &'static str,
}

/// Two Bloom filters, which is how filters grew before there were tables.
const GROWING: Golden = Golden {
    key: "growing",
    family: Family::Bloom,
    parameters: "0.01 100 SEED 0123456789abcdef",
    items: 300,
    inserted: 299,
    digest: "c87ea08457e1d227667e4cda198792ea11d224d6",
};

const FIXED: Golden = Golden {
    key: "fixed",
    parameters: "0.001 500 NONSCALING SEED fedcba9876543210",
    items: 400,
    inserted: 400,
    digest: "442c827758fc23df9229731db4c0fdc50a80092a",
    ..GROWING
};

const TABLE: Golden = Golden {
    key: "table",
    parameters: "0.01 100 SEED 0123456789abcdef",
    inserted: 300,
    digest: "aefa5c6bc34eaf7cb4ed6a01a7c9810ff07af83d",
    ..GROWING
};

const BLOOM_AND_TABLE: Golden = Golden {
    key: "bloom-and-table",
    parameters: "0.01 50 SEED fedcba9876543210",
    inserted: 299,
    digest: "fad2558bb59b9e77912df20ac127572b1a9f6aa1",
    ..GROWING
};

const COUNTING: Golden = Golden {
    key: "counting",
    family: Family::Counting,
    parameters: "1000 SEED 0f1e2d3c4b5a6978",
    items: 200,
    inserted: 300,
    digest: "e2724dd35c74bd9d66715374736eb29ee08979c2",
};

/// What a version wrote: a file with all of its filters, and a dump of each.
struct Version {
    file: &'static [u8],
    dumps: &'static [(&'static Golden, &'static str)],
}

const VERSIONS: [Version; 3] = [
    Version {
        file: include_bytes!("golden/0.1.0.rdb"),
        dumps: &[
            (&GROWING, include_str!("golden/0.1.0-growing.hex")),
            (&FIXED, include_str!("golden/0.1.0-fixed.hex")),
        ],
    },
    Version {
        file: include_bytes!("golden/chunks-2.rdb"),
        dumps: &[
            (&GROWING, include_str!("golden/chunks-2-growing.hex")),
            (&FIXED, include_str!("golden/chunks-2-fixed.hex")),
        ],
    },
    Version {
        file: include_bytes!("golden/tables.rdb"),
        dumps: &[
            (&TABLE, include_str!("golden/tables-table.hex")),
            (
                &BLOOM_AND_TABLE,
                include_str!("golden/tables-bloom-and-table.hex"),
            ),
            (&COUNTING, include_str!("golden/tables-counting.hex")),
        ],
    },
];

#[test]
fn dumps_of_every_version_restore_to_what_they_were() {
    let server = Server::start();
    let mut db = server.connect();
    for Version { dumps, .. } in VERSIONS {
        for (golden, dump) in dumps {
            restore(&mut db, golden.key, dump);
            golden.is_what_it_was(&mut db);
        }
        db.run("FLUSHALL");
    }
}

#[test]
fn files_of_every_version_load_to_what_they_were() {
    for Version { file, dumps } in VERSIONS {
        let server = Server::start();
        let mut db = server.connect();
        fs::write(server.folder().join("dump.rdb"), file).expect("the folder takes a file");
        db.run("DEBUG RELOAD NOSAVE");
        assert_eq!(db.ask("DBSIZE"), format!(":{}", dumps.len()));
        for (golden, _) in dumps {
            golden.is_what_it_was(&mut db);
        }
    }
}

#[test]
fn a_filter_that_was_dumped_in_chunks_of_version_1_is_dumped_in_those_of_version_2() {
    let server = Server::start();
    let mut db = server.connect();
    db.run("CONFIG SET rdbcompression no");
    for (Golden { key, .. }, dump) in VERSIONS[0].dumps {
        restore(&mut db, key, dump);
        let new = db.call(["DUMP", key]).bytes().to_vec();
        let has = |magic: &[u8]| new.windows(magic.len()).any(|window| window == magic);
        assert!(has(b"SBF\x02") && !has(b"SBF\x01"), "{key}");
    }
}

#[test]
fn the_same_commands_still_make_the_same_bits() {
    let server = Server::start();
    let mut db = server.connect();
    for golden in [FIXED, TABLE, BLOOM_AND_TABLE, COUNTING] {
        let (key, family) = (golden.key, golden.family);
        let reserve = family.command("RESERVE");
        db.run(&format!("{reserve} {key} {}", golden.parameters));
        family.add_items(&mut db, key, 0..golden.items);
        if family == Family::Counting {
            family.add_items(&mut db, key, 200..300);
            family.add_items(&mut db, key, 0..100);
            delete_items(&mut db, key, 200..300);
            assert_eq!(db.ask("CF.COUNT counting item:7"), ":2");
        }
        golden.is_what_it_was(&mut db);
    }
}

/// The error rate holds, too: the table gets what the series has left of it.
#[test]
fn a_series_of_an_earlier_version_grows_on_by_a_table() {
    const ITEMS: u64 = 5000;
    const ABSENT: u64 = 50_000;
    /// 1 % of those, and five standard deviations.
    const MOST_FOUND: u64 = 500 + 5 * 23;
    let server = Server::start();
    let mut db = server.connect();
    for Version { dumps, .. } in &VERSIONS[..2] {
        let (Golden { key, .. }, dump) = dumps[0];
        restore(&mut db, key, dump);
        assert_eq!(db.ask("BF.INFO growing FILTERS"), "[:2]");
        assert!(add_items(&mut db, key, 300..ITEMS) > 4600);
        assert_eq!(db.ask("BF.INFO growing FILTERS"), "[:3]");
        assert_eq!(missing_items(&mut db, key, 0..ITEMS), 0);
        let found = count_found(&mut db, key, 0..ABSENT, absent_item);
        assert!(found <= MOST_FOUND, "{found}");

        let digest = db.digest(key);
        let dump = db.call(["DUMP", key]).bytes().to_vec();
        db.call([b"RESTORE".as_slice(), b"restored", b"0", &dump]);
        assert_eq!(db.digest("restored"), digest);
        let chunks = Family::Bloom.scan_dump(&mut db, key);
        Family::Bloom.load_chunks(&mut db, "loaded", &chunks);
        assert_eq!(db.digest("loaded"), digest);
        db.run("DEBUG RELOAD");
        assert_eq!(db.digest(key), digest);
        db.run("FLUSHALL");
    }
}

impl Golden {
    fn is_what_it_was(&self, db: &mut Connection) {
        let key = self.key;
        assert_eq!(db.digest(key), self.digest, "{key}");
        let info = db.call([&self.family.command("INFO"), key]);
        let inserted = info.field("Number of items inserted").integer();
        assert_eq!(inserted, self.inserted, "{key}");
        let found = self.family.count_found(db, key, 0..self.items, item);
        assert_eq!(found, self.items, "{key}");
    }
}

fn restore(db: &mut Connection, key: &str, dump: &str) {
    let dump = from_hex(dump);
    let restored = db.call([b"RESTORE".as_slice(), key.as_bytes(), b"0", &dump]);
    assert_eq!(restored.to_string(), "+OK", "{key}");
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| std::str::from_utf8(pair).map(|pair| u8::from_str_radix(pair, 16));
    digits
        .chunks(2)
        .map(|pair| byte(pair).expect("ASCII").expect("two digits"))
        .collect()
}
