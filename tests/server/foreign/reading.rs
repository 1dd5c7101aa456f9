//! What RedisBloom and valkey-bloom wrote loads, whichever way it comes, and lives on.

use super::valkey::load_all;
use splitbloom_harness::samples::{
    earlier_bodies, payload, rdb_for_all_servers, strangers_found, Sample, ALL, AOF,
    AOF_OF_VALKEY_BLOOM, CUCKOO, FIXED, GROWING, OF_VALKEY_BLOOM, RDB, RDB_OF_VALKEY_BLOOM,
};
use splitbloom_harness::{
    add_items, missing_items, server_with_log, Connection, Family, Options, Server,
};
use std::fs;

const WRONG_TYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";

#[test]
fn dumps_files_and_logs_of_both_modules_load_to_what_they_were() {
    let (server, mut db) = Server::start().with_client();
    for (samples, file, log) in
        [(ALL.as_slice(), RDB, AOF), (&OF_VALKEY_BLOOM, RDB_OF_VALKEY_BLOOM, AOF_OF_VALKEY_BLOOM)]
    {
        let assert_all_are_what_they_were = |db: &mut Connection| {
            assert_eq!(db.ask("DBSIZE"), format!(":{}", samples.len()));
            samples.iter().for_each(|sample| sample.assert_is_what_it_was(db));
            db.run("FLUSHALL");
        };
        samples.iter().for_each(|sample| sample.restore(&mut db));
        assert_all_are_what_they_were(&mut db);
        let file = rdb_for_all_servers(file);
        fs::write(server.folder().join("dump.rdb"), &file).expect("a file");
        db.run("DEBUG RELOAD NOSAVE");
        assert_all_are_what_they_were(&mut db);
        // Of commands, and with a preamble.
        for log in [log, &file] {
            let (_server, mut db) = server_with_log(Options::default(), log).with_client();
            assert_all_are_what_they_were(&mut db);
        }
    }
}

#[test]
fn pieces_of_any_size_load_to_what_they_were() {
    let (_server, mut db) = Server::start().with_client();
    for size in [1, 7, 64, usize::MAX] {
        for sample in ALL {
            load_pieces(&mut db, &sample, size);
            sample.assert_is_what_it_was(&mut db);
        }
        db.run("FLUSHALL");
    }
}

/// RedisBloom itself does not find these items since 2.2.
#[test]
fn cuckoo_filters_of_redisbloom_before_2_2_have_their_items() {
    let (_server, mut db) = Server::start().with_client();
    let items = [0..25, 0..40, 60..500];
    for (body, items) in earlier_bodies().skip(4).zip(items) {
        let payload = payload(&mut db, &body);
        assert_eq!(db.restore("key", &payload), "+OK");
        for _ in ["as restored", "as saved by us"] {
            let missing = Family::Counting.missing_items(&mut db, "key", items.clone());
            assert_eq!(missing, 0);
            db.run("DEBUG RELOAD");
        }
    }
}

/// Loads the sample's pieces, of which each but the header is cut into some of at most `size`.
fn load_pieces(db: &mut Connection, sample: &Sample, size: usize) {
    let Sample { family, key, .. } = sample;
    let pieces = sample.pieces();
    let (header, data) = pieces.split_first().expect("a header");
    assert_eq!(family.load(db, key, header.0, &header.1), "+OK");
    for (end, bytes) in data {
        let mut at = end - bytes.len() as i64;
        for part in bytes.chunks(size.min(bytes.len())) {
            at += part.len() as i64;
            assert_eq!(family.load(db, key, at, part), "+OK", "{key}");
        }
    }
}

#[test]
fn a_filter_that_came_lives_on_as_one_of_ours() {
    let mut server = Server::configured(&["appendonly yes", "aof-use-rdb-preamble no"]);
    // Of the error rate of 1 %, RedisBloom's three sub-filters take their share. A series of
    // valkey-bloom's may take twice that.
    for (samples, most_found, layers) in [
        (ALL.as_slice(), 200, "Sub-filters from RedisBloom"),
        (&OF_VALKEY_BLOOM, 300, "Sub-filters from valkey-bloom"),
    ] {
        let mut db = server.connect();
        samples.iter().for_each(|sample| sample.restore(&mut db));
        add_items(&mut db, "growing", 1000..3000);
        assert_eq!(missing_items(&mut db, "growing", 0..300), 0);
        assert_eq!(missing_items(&mut db, "growing", 1000..3000), 0);
        let found = strangers_found(&mut db, "growing");
        assert!(found < most_found, "{found} of 10 000");
        db.converse(&[
            ("BF.ADD fixed item:7", ":0"),
            ("BF.ADD fixed more", "-ERR non scaling filter is full"),
            ("BF.RESERVE growing 0.1 9", "-ERR item exists"),
            ("CF.ADD growing a", WRONG_TYPE),
        ]);
        assert_eq!(db.run("BF.INFO growing FULL").field(layers).elements().len(), 3);
        if samples.len() == ALL.len() {
            db.converse(&[
                ("CF.DEL cuckoo item:3", ":1"),
                ("CF.COUNT cuckoo item:3", ":1"),
                ("CF.ADD cuckoo new", ":1"),
                ("CF.ADD cuckoo new", ":1"),
                ("CF.COUNT cuckoo new", ":2"),
                ("CF.DEL cuckoo new", ":1"),
                ("CF.DEL cuckoo item:3", ":1"),
            ]);
        }
        // Saved, copied, dumped and moved as any other.
        let digests = |db: &mut Connection| -> Vec<String> {
            samples.iter().map(|sample| db.digest(sample.key)).collect()
        };
        let before = digests(&mut db);
        db.run("DEBUG RELOAD");
        assert_eq!(digests(&mut db), before, "reloaded");
        for Sample { family, key, .. } in samples {
            let (digest, of_type) = (db.digest(key), db.ask(&format!("TYPE {key}")));
            db.run(&format!("COPY {key} copy"));
            assert_eq!((db.digest("copy"), db.ask("TYPE copy")), (digest.clone(), of_type));
            let dump = db.dump("copy");
            db.run("UNLINK copy");
            assert_eq!(db.restore("copy", &dump), "+OK");
            assert_eq!(db.digest("copy"), digest, "{key}, restored");
            let chunks = family.scan_dump(&mut db, key);
            assert!(chunks.iter().all(|(_, bytes)| bytes.starts_with(b"SBF")));
            db.run("DEL copy");
            family.load_chunks(&mut db, "copy", &chunks);
            assert_eq!(db.digest("copy"), digest, "{key}, loaded");
            db.run("DEL copy");
            assert!(db.run(&format!("MEMORY USAGE {key}")).integer() > 400);
        }
        // The log has chunks of ours, which make filters of the usual type.
        db.rewrite_append_only_file();
        server.restart();
        let mut db = server.connect();
        assert_eq!(digests(&mut db), before, "from the log");
        assert_eq!(db.ask("TYPE growing"), "+MBbloom--");
        db.run("FLUSHALL");
    }
}

#[test]
fn info_and_debug_say_what_is_from_redisbloom() {
    let (_server, mut db) = Server::start().with_client();
    GROWING.restore(&mut db);
    add_items(&mut db, "growing", 1000..1003);
    let info = db.run("BF.INFO growing FULL");
    let layers = info.field("Sub-filters from RedisBloom");
    let capacities = layers.elements().iter();
    let capacities: Vec<i64> = capacities.map(|one| one.field("Capacity").integer()).collect();
    assert_eq!(capacities, [50, 100, 200]);
    assert_eq!(info.field("Error rate").double(), 0.01);
    assert_eq!(info.field("Capacity").integer(), 350);
    assert_eq!(info.field("Number of filters").integer(), 4);
    assert_eq!(info.field("Table").field("Items").integer(), 3);
    let expected = info.field("Expected false positive rate").double();
    assert!((0.001..0.01).contains(&expected), "{expected}");
    assert_eq!(db.run("BF.DEBUG growing").elements().len(), 1 + 3 + 1);

    CUCKOO.restore(&mut db);
    let info = db.run("CF.INFO cuckoo FULL");
    assert_eq!(info.field("Number of filters").integer(), 2);
    assert_eq!(info.field("Number of buckets").integer(), 128);
    let layers = info.field("Layers from RedisBloom");
    assert_eq!(layers.field("Slots").integer(), 256 + 512);
    assert_eq!(layers.field("Items").integer(), 300);
}

/// The seed of what is added must be the same: else a replica could lack items that its primary
/// took for present.
#[test]
fn primary_and_replica_are_equal_however_a_filter_came() {
    let (primary, mut db) = Server::start().with_client();
    let replica = primary.replica(&[]);
    load_all(&mut db);
    db.run("RENAME growing loaded");
    db.run("DEL fixed");
    OF_VALKEY_BLOOM.iter().for_each(|sample| sample.restore(&mut db));
    db.run("RENAME growing restored");
    db.run("DEL fixed");
    ALL.iter().for_each(|sample| sample.restore(&mut db));
    for (sample, key) in [(FIXED, "pieces"), (CUCKOO, "cuckoo-pieces"), (GROWING, "grown")] {
        load_pieces(&mut db, &sample.under(key), 100);
    }
    for key in ["growing", "grown", "loaded", "restored"] {
        add_items(&mut db, key, 1000..2000);
    }
    db.run("BF.INSERT made SEED 0123456789abcdef0123456789abcdef ITEMS a b");
    Family::Counting.add_items(&mut db, "cuckoo", 100..400);
    Family::Counting.add_items(&mut db, "cuckoo-pieces", 100..400);
    crate::replication::assert_follows(&primary, &replica);
}

#[test]
fn a_newer_encoding_is_refused_with_a_line_that_helps() {
    /// The last byte of the module's id ends with the low bits of the encoding version.
    const LAST_BYTE_OF_IDENTITY: usize = 1 + 8;
    let (server, mut db) = Server::start().with_client();
    let of_redisbloom = ["RedisBloom", "does not know", "SCANDUMP"].as_slice();
    for (sample, begin, help) in [
        (GROWING, "MBbloom-- in encoding version 5", of_redisbloom),
        (CUCKOO, "MBbloomCF in encoding version 5", of_redisbloom),
        (OF_VALKEY_BLOOM[0], "bloomfltr in encoding version 2", &["valkey-bloom"]),
    ] {
        let mut body = sample.body();
        body[LAST_BYTE_OF_IDENTITY] += 1;
        let payload = payload(&mut db, &body);
        assert!(db.restore("k", &payload).starts_with('-'));
        let line = server.logged(begin);
        assert!(help.iter().all(|words| line.contains(words)), "{line}");
    }
}
