//! Extreme but legal filters always load, even if the limits are lower by then.

use splitbloom_harness::{add_items, eventually, layers, load_chunks, missing_items, Server};

/// As many as fit one header.
const LAYERS: u32 = 6_000;

/// A limit that this test's filter exceeds, and defaults that differ from its parameters.
const LOWERED: [&str; 4] = [
    "CONFIG SET bf.max-filter-bytes 1",
    "CONFIG SET bf.initial-size 1",
    "CONFIG SET bf.expansion-factor 0",
    "CONFIG SET bf.error-rate 0.5",
];

#[test]
fn thousands_of_layers_load_from_every_kind_of_file_after_limits_are_lowered() {
    for settings in [
        ["appendonly no", "aof-use-rdb-preamble yes"],
        ["appendonly yes", "aof-use-rdb-preamble yes"],
        ["appendonly yes", "aof-use-rdb-preamble no"],
    ] {
        let mut server = Server::configured(&settings);
        let mut db = server.connect();
        load_chunks(&mut db, "k", &layers(LAYERS));
        assert_eq!(db.ask("BF.INFO k FILTERS"), format!("[:{LAYERS}]"));
        add_items(&mut db, "k", 0..LAYERS.into());
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
        assert_eq!(missing_items(&mut db, "k", 0..LAYERS.into()), 0);
        assert_eq!(db.ask("BF.ADD k item:0"), ":0");
    }
}
