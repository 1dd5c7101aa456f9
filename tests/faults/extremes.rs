//! What is legal and far out always loads, whatever the limits are by then.

use crate::harness::{add_items, eventually, missing_items, Server};

const ITEMS: u64 = 10_000;

/// Limits that a filter of this test does not meet, and defaults that are not its own.
const LOWERED: [&str; 4] = [
    "CONFIG SET bf.max-filter-bytes 1",
    "CONFIG SET bf.initial-size 1",
    "CONFIG SET bf.expansion-factor 0",
    "CONFIG SET bf.error-rate 0.5",
];

#[test]
fn ten_thousand_sub_filters_load_from_every_file_after_the_limits_were_lowered() {
    for settings in [
        ["appendonly no", "aof-use-rdb-preamble yes"],
        ["appendonly yes", "aof-use-rdb-preamble yes"],
        ["appendonly yes", "aof-use-rdb-preamble no"],
    ] {
        let mut server = Server::configured(&settings);
        let mut db = server.connect();
        db.run("BF.RESERVE k 0.01 1 EXPANSION 1");
        add_items(&mut db, "k", 0..ITEMS);
        let sub_filters = db.line("BF.INFO k FILTERS").elements()[0].integer();
        assert!(sub_filters > 9000, "{sub_filters}");
        for setting in LOWERED {
            db.run(setting);
        }
        db.run("CONFIG REWRITE");
        if settings[0] == "appendonly yes" {
            db.run("BGREWRITEAOF");
            eventually("the rewrite ends", || {
                db.info("persistence", "aof_rewrite_in_progress") == "0"
                    && db.info("persistence", "aof_rewrite_scheduled") == "0"
            });
        } else {
            db.run("SAVE");
        }
        let digest = db.digest("k");
        server.restart();
        let mut db = server.connect();
        assert_eq!(db.digest("k"), digest, "{settings:?}");
        assert_eq!(missing_items(&mut db, "k", 0..ITEMS), 0);
        assert_eq!(db.ask("BF.ADD k item:0"), ":0");
    }
}
