//! What valkey-bloom wrote loads, whichever way it comes, and lives on under its type's name.

use splitbloom_harness::samples::{
    loads, rdb_for_all_servers, OF_VALKEY_BLOOM, RDB_OF_VALKEY_BLOOM,
};
use splitbloom_harness::{missing_items, Connection, Primary, Server};

const BUSY: &str = "-ERR item exists";
const BAD: &str = "-ERR received bad data";

fn assert_all_are_what_they_were(db: &mut Connection) {
    for sample in OF_VALKEY_BLOOM {
        sample.assert_is_what_it_was(db);
    }
}

pub fn load_all(db: &mut Connection) {
    for (key, bytes) in loads() {
        let reply = db.call([b"BF.LOAD".as_slice(), key.as_bytes(), &bytes]);
        assert_eq!(reply.to_string(), "+OK");
    }
}

#[test]
fn bf_load_takes_what_valkey_bloom_encoded_and_nothing_else() {
    let (_server, mut db) = Server::start().with_client();
    load_all(&mut db);
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
    assert_eq!(replica.errors_logged(), [""; 0]);
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
