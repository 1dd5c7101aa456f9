//! Extreme but legal filters always load, even if the limits are lower by then.

use crate::harness::{eventually, load_chunks, long_series, missing_items, Server};

/// As many as fit one piece.
const SUB_FILTERS: u32 = 6_000;

/// A limit that this test's filter exceeds, and defaults that differ from its parameters.
const LOWERED: [&str; 4] = [
    "CONFIG SET bf.max-filter-bytes 1",
    "CONFIG SET bf.initial-size 1",
    "CONFIG SET bf.expansion-factor 0",
    "CONFIG SET bf.error-rate 0.5",
];

#[test]
fn thousands_of_sub_filters_load_from_every_kind_of_file_after_limits_are_lowered() {
    for settings in [
        ["appendonly no", "aof-use-rdb-preamble yes"],
        ["appendonly yes", "aof-use-rdb-preamble yes"],
        ["appendonly yes", "aof-use-rdb-preamble no"],
    ] {
        let mut server = Server::configured(&settings);
        let mut db = server.connect();
        load_chunks(&mut db, "k", &[long_series(SUB_FILTERS)]);
        assert_eq!(db.ask("BF.INFO k FILTERS"), format!("[:{SUB_FILTERS}]"));
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
        assert_eq!(missing_items(&mut db, "k", 0..SUB_FILTERS.into()), 0);
        assert_eq!(db.ask("BF.ADD k item:0"), ":0");
    }
}
