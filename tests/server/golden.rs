//! Golden bytes: filters that the module saved, which must load for as long as the format lasts,
//! and which the same commands still make.
//!
//! They were made on Redis 7.0.15 by
//!
//! ```text
//! BF.RESERVE fixed 0.001 500 NONSCALING SEED fedcba9876543210
//! BF.MADD fixed item:0 … item:399
//! BF.RESERVE table 0.01 100 SEED 0123456789abcdef
//! BF.MADD table item:0 … item:299
//! BF.RESERVE bloom-and-table 0.01 50 SEED fedcba9876543210
//! BF.MADD bloom-and-table item:0 … item:299
//! CF.RESERVE counting 1000 SEED 0f1e2d3c4b5a6978
//! CF.INSERT counting ITEMS item:0 … item:299
//! CF.INSERT counting ITEMS item:0 … item:99
//! CF.DEL counting item:200 … item:299
//! ```
//!
//! `filters-KEY.hex` is what DUMP returned, `filters.rdb` what SAVE wrote.

use splitbloom_harness::samples::bytes_of;
use splitbloom_harness::{delete_items, item, Connection, Family, Server};
use std::fs;

/// A filter as it was when it was saved.
struct Golden {
    key: &'static str,
    family: Family,
    /// The parameters of its RESERVE.
    parameters: &'static str,
    /// How many of the first items it must contain.
    items: u64,
    /// The number of items inserted that INFO reports: one item of
    /// `bloom-and-table` was a false positive, and `counting` has copies.
    inserted: i64,
    digest: &'static str,
}

const FIXED: Golden = Golden {
    key: "fixed",
    family: Family::Bloom,
    parameters: "0.001 500 NONSCALING SEED fedcba9876543210",
    items: 400,
    inserted: 400,
    digest: "7c032f1c28b76ad7255df93ea2f830a86e3ddcf7",
};

const TABLE: Golden = Golden {
    key: "table",
    parameters: "0.01 100 SEED 0123456789abcdef",
    items: 300,
    inserted: 300,
    digest: "4646cec5e8e479061dfb902c0e6d60b55304f975",
    ..FIXED
};

const BLOOM_AND_TABLE: Golden = Golden {
    key: "bloom-and-table",
    parameters: "0.01 50 SEED fedcba9876543210",
    inserted: 299,
    digest: "2c76f193d1fd4184965872677ffd2d14b2291146",
    ..TABLE
};

const COUNTING: Golden = Golden {
    key: "counting",
    family: Family::Counting,
    parameters: "1000 SEED 0f1e2d3c4b5a6978",
    items: 200,
    inserted: 300,
    digest: "e198256fe01d461cf53311141ece4391244a91ce",
};

const FILE: &[u8] = include_bytes!("golden/filters.rdb");

const DUMPS: [(Golden, &str); 4] = [
    (FIXED, include_str!("golden/filters-fixed.hex")),
    (TABLE, include_str!("golden/filters-table.hex")),
    (BLOOM_AND_TABLE, include_str!("golden/filters-bloom-and-table.hex")),
    (COUNTING, include_str!("golden/filters-counting.hex")),
];

#[test]
fn golden_dumps_and_a_golden_file_load_to_what_they_were() {
    let (server, mut db) = Server::start().with_client();
    for (golden, dump) in DUMPS {
        assert_eq!(db.restore(golden.key, &bytes_of(dump)), "+OK");
        golden.is_what_it_was(&mut db);
    }
    fs::write(server.folder().join("dump.rdb"), FILE).expect("the folder takes a file");
    db.run("DEBUG RELOAD NOSAVE");
    assert_eq!(db.ask("DBSIZE"), format!(":{}", DUMPS.len()));
    DUMPS.iter().for_each(|(golden, _)| golden.is_what_it_was(&mut db));
}

#[test]
fn the_same_commands_still_make_the_same_bits() {
    let (_server, mut db) = Server::start().with_client();
    for golden in [FIXED, TABLE, BLOOM_AND_TABLE, COUNTING] {
        let (key, family) = (golden.key, golden.family);
        family.reserve_with(&mut db, key, golden.parameters);
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
