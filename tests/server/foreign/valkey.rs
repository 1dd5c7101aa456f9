//! What valkey-bloom wrote loads, whichever way it comes, and lives on under its type's name.

use crate::persistence::rewrite_append_only_file;
use crate::replication::{assert_equal_keys, assert_no_error_line};
use splitbloom_harness::samples::{
    loads, rdb_for_all_servers, strangers_found, OF_VALKEY_BLOOM, RDB_OF_VALKEY_BLOOM,
};
use splitbloom_harness::{add_items, missing_items, Connection, Options, Primary, Server};

const BUSY: &str = "-ERR item exists";
const BAD: &str = "-ERR received bad data";

fn assert_all_are_what_they_were(db: &mut Connection) {
    for sample in OF_VALKEY_BLOOM {
        sample.assert_is_what_it_was(db);
    }
}

fn load(db: &mut Connection) {
    for (key, bytes) in loads() {
        let reply = db.call([b"BF.LOAD".as_slice(), key.as_bytes(), &bytes]);
        assert_eq!(reply.to_string(), "+OK");
    }
}

#[test]
fn a_filter_of_valkey_bloom_lives_on_as_any_other() {
    let mut server =
        Server::with(Options::settings(&["appendonly yes", "aof-use-rdb-preamble no"]));
    let mut db = server.connect();
    for sample in OF_VALKEY_BLOOM {
        sample.restore(&mut db);
    }
    assert_eq!(db.ask("TYPE growing"), "+bloomfltr");
    add_items(&mut db, "growing", 1000..3000);
    assert_eq!(missing_items(&mut db, "growing", 0..300), 0);
    assert_eq!(missing_items(&mut db, "growing", 1000..3000), 0);
    // 1 % was asked for, of which a series of valkey-bloom's may be twice.
    let found = strangers_found(&mut db, "growing");
    assert!(found < 300, "{found} of 10 000");
    db.converse(&[
        ("BF.ADD fixed item:7", ":0"),
        ("BF.ADD fixed more", "-ERR non scaling filter is full"),
        ("CF.ADD growing a", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
        ("BF.RESERVE growing 0.1 9", BUSY),
    ]);
    let info = db.run("BF.INFO growing FULL");
    let layers = info.field("Sub-filters from valkey-bloom");
    assert_eq!(layers.elements().len(), 3);

    let digest = db.digest("growing");
    db.run("COPY growing copy");
    assert_eq!(db.ask("TYPE copy"), "+bloomfltr");
    assert_eq!(db.digest("copy"), digest);
    let dump = db.call(["DUMP", "copy"]).bytes().to_vec();
    db.run("UNLINK copy");
    db.call([b"RESTORE".as_slice(), b"restored", b"0", &dump]);
    assert_eq!(db.digest("restored"), digest);
    assert!(db.run("MEMORY USAGE restored").integer() > 1000);
    db.run("DEL restored");
    db.run("DEBUG RELOAD");
    assert_eq!(db.digest("growing"), digest);
    assert_eq!(db.ask("TYPE growing"), "+bloomfltr");
    // The log has chunks of ours, which make filters of the usual type.
    rewrite_append_only_file(&mut db);
    server.restart();
    let mut db = server.connect();
    assert_eq!(db.digest("growing"), digest);
    assert_eq!(db.ask("TYPE growing"), "+MBbloom--");
}

#[test]
fn bf_load_takes_what_valkey_bloom_encoded_and_nothing_else() {
    let server = Server::start();
    let mut db = server.connect();
    load(&mut db);
    assert_all_are_what_they_were(&mut db);
    let (key, bytes) = loads().remove(0);
    let mut again = |key: &str, bytes: &[u8]| {
        let reply = db.call([b"BF.LOAD".as_slice(), key.as_bytes(), bytes]);
        reply.to_string()
    };
    assert_eq!(again(&key, &bytes), BUSY);
    for end in 0..bytes.len() {
        assert_eq!(again("new", &bytes[..end]), BAD, "{end}");
    }
    assert_eq!(again("new", &[bytes.as_slice(), b"x"].concat()), BAD);
    assert_eq!(again("new", b""), BAD);
    db.converse(&[
        ("EXISTS new", ":0"),
        ("SET text x", "+OK"),
        ("BF.LOAD text x", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
        ("CONFIG SET bf.max-filter-bytes 1", "+OK"),
    ]);
    let reply = db.call([b"BF.LOAD".as_slice(), b"new", &bytes]);
    assert_eq!(reply.to_string(), "-ERR filter would exceed bf.max-filter-bytes");
}

#[test]
fn primary_and_replica_are_equal_however_a_filter_of_valkey_bloom_came() {
    let primary = Server::start();
    let replica = primary.replica(&[]);
    let mut db = primary.connect();
    load(&mut db);
    db.run("RENAME growing loaded");
    db.run("DEL fixed");
    for sample in OF_VALKEY_BLOOM {
        sample.restore(&mut db);
    }
    for key in ["growing", "loaded"] {
        add_items(&mut db, key, 1000..2000);
    }
    db.run("BF.INSERT made SEED 0123456789abcdef0123456789abcdef ITEMS a b");
    primary.wait_for(&replica);
    assert_equal_keys(&primary, &replica);
    assert_no_error_line(&replica);
    assert_eq!(replica.connect().info("bf", "bf_replays_ignored"), "0");
}

/// valkey-bloom tells its replicas of a new filter with BF.INSERT, with ITEMS or without.
#[test]
fn a_replica_follows_a_valkey_bloom_and_denies_nothing() {
    let replica = Server::start();
    let file = rdb_for_all_servers(RDB_OF_VALKEY_BLOOM);
    let mut primary = Primary::with_replica(&replica, &file);
    let seed: Vec<u8> = (0..32).map(|n| n * 8 + 7).collect();
    for (key, rest) in [
        ("reserved", "EXPANSION 2"),
        ("fixed-by-it", "NONSCALING"),
        ("added", "EXPANSION 4 ITEMS a b"),
    ] {
        let words = format!("BF.INSERT {key} CAPACITY 100 ERROR 0.01 TIGHTENING 0.5 SEED");
        let words = words.split(' ').map(|word| word.as_bytes().to_vec());
        let rest = rest.split(' ').map(|word| word.as_bytes().to_vec());
        primary.send(words.chain([seed.clone()]).chain(rest));
    }
    primary.send_all(
        &replica,
        &["BF.ADD reserved x", "BF.MADD growing y z", "BF.ADD fixed acknowledged"],
    );
    let mut db = replica.connect();
    for sample in &OF_VALKEY_BLOOM[..1] {
        assert_eq!(missing_items(&mut db, sample.key, 0..300), 0);
    }
    db.converse(&[
        ("BF.INFO reserved CAPACITY", "[:100]"),
        ("BF.INFO fixed-by-it EXPANSION", "[_]"),
        ("BF.INFO added EXPANSION", "[:4]"),
        ("BF.MEXISTS added a b c", "[:1, :1, :0]"),
        ("BF.EXISTS reserved x", ":1"),
        ("BF.MEXISTS growing y z", "[:1, :1]"),
        ("BF.EXISTS fixed acknowledged", ":1"),
    ]);
    assert_no_error_line(&replica);
    assert_eq!(db.info("bf", "bf_replays_ignored"), "0");
}

#[test]
fn words_of_valkey_bloom_are_kept_or_refused_with_a_reason() {
    let server = Server::start();
    let seed = "0123456789abcdef0123456789abcdef";
    let mut db = server.connect();
    for key in ["one", "other"] {
        let command = format!("BF.INSERT {key} SEED {seed} TIGHTENING 0.5 ITEMS a");
        assert_eq!(db.ask(&command), "[:1]");
    }
    assert_eq!(db.digest("one"), db.digest("other"));
    db.converse(&[
        ("BF.INSERT new SEED 01234567 ITEMS a", "-ERR bad seed"),
        ("BF.INSERT new TIGHTENING x ITEMS a", "-ERR bad tightening ratio"),
        (
            "BF.INSERT new TIGHTENING 1 ITEMS a",
            "-ERR tightening ratio must be in the range (0.000000, 1.000000)",
        ),
        (
            "BF.INSERT new VALIDATESCALETO 1000 ITEMS a",
            "-ERR VALIDATESCALETO is not supported: set bf.max-filter-bytes, or reserve the \
             capacity",
        ),
        ("EXISTS new", ":0"),
    ]);
}
