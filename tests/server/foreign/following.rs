//! A replica of a primary that is played by the test: RedisBloom's full copy, then its stream word
//! for word, with commands that failed there or that only it takes.

use splitbloom_harness::samples::{rdb_for_all_servers, CUCKOO, GROWING, RDB};
use splitbloom_harness::{
    commands_in_append_only_file, eventually, missing_items, Family, Options, Primary, Server,
};

/// What a RedisBloom replicates, some of it although it changed nothing, named as it names things.
const STREAM: [&str; 17] = [
    "SELECT 0",
    "BF.RESERVE growing 0.01 100",
    "BF.RESERVE made 0.000001 100 FOO EXPANSION 4",
    "BF.ADD made a",
    "BF.ADD made a",
    "BF.MADD made a b c",
    "BF.INSERT short cap 10 err 0.000001 nons items a b c",
    "BF.ADD fixed item:1",
    "BF.ADD fixed acknowledged",
    "SET text 1",
    "CF.RESERVE cuckoo 100",
    "CF.RESERVE counting 100 FOO BUCKETSIZE 4",
    "CF.DEL absent a",
    "CF.DEL counting a",
    "CF.INSERT counting c 100 i a b",
    "CF.ADDNX counting a",
    "CF.COMPACT absent",
];

/// What a RedisBloom before 2.2 passes on as well: commands that failed. A later one passes on none
/// of them unless it succeeded, so that items may be lost here.
const FAILED: [&str; 7] = [
    "BF.RESERVE bad 2 100",
    "BF.INSERT absent NOCREATE ITEMS a",
    "BF.INSERT short what 10 ITEMS a",
    "BF.LOADCHUNK growing 1 nonsense",
    "BF.LOADCHUNK absent 7 nonsense",
    "BF.ADD text a",
    "CF.INSERT absent nocreate items a",
];

#[test]
fn a_replica_follows_a_redisbloom_without_an_error_and_denies_nothing() {
    let replica = Server::strict(&[]);
    let mut primary = Primary::with_replica(&replica, &rdb_for_all_servers(RDB));
    primary.send_all(&replica, &STREAM);
    let mut db = replica.connect();
    for sample in [GROWING, CUCKOO] {
        sample.assert_is_what_it_was(&mut db);
    }
    db.converse(&[
        ("BF.MEXISTS made a b c d", "[:1, :1, :1, :0]"),
        ("BF.INFO made EXPANSION", "[:4]"),
        ("BF.MEXISTS short a b c d", "[:1, :1, :1, :0]"),
        ("BF.INFO short CAPACITY", "[:10]"),
        ("BF.INFO short EXPANSION", "[_]"),
        ("BF.MEXISTS fixed item:1 acknowledged", "[:1, :1]"),
        ("CF.MEXISTS counting a b", "[:1, :1]"),
        ("CF.COUNT counting a", ":1"),
        ("EXISTS absent", ":0"),
    ]);
    assert_eq!(replica.errors_logged(), [""; 0]);
    assert_eq!(db.info_number("bf", "bf_replays_ignored"), 4);
    assert_eq!(db.info_number("bf", "bf_replays_refused"), 0);
    // A client still gets errors, and the filter that does not grow is full for it.
    db.run("REPLICAOF NO ONE");
    db.converse(&[
        ("BF.RESERVE growing 0.01 100", "-ERR item exists"),
        ("BF.RESERVE other 0.01 100 FOO", "-ERR syntax error"),
        ("BF.ADD fixed more", "-ERR non scaling filter is full"),
        ("CF.DEL absent a", "-ERR Not found"),
    ]);
}

#[test]
fn commands_of_a_redisbloom_that_failed_are_counted_and_logged_and_change_nothing() {
    let replica = Server::with(Options { provokes_replay_errors: true, ..Options::default() });
    let mut primary = Primary::with_replica(&replica, &rdb_for_all_servers(RDB));
    primary.send_all(&replica, &STREAM);
    let digest = replica.connect().digest_of_everything();
    primary.send_all(&replica, &FAILED);
    let mut db = replica.connect();
    assert_eq!(db.digest_of_everything(), digest);
    assert_eq!(db.info_number("bf", "bf_replays_ignored"), 4);
    let refused = db.info_number("bf", "bf_replays_refused");
    assert_eq!(refused, FAILED.len() as i64);
    let log = replica.log();
    assert_eq!(log.matches("from the replication stream").count(), FAILED.len());
}

#[test]
fn a_filter_that_does_not_grow_takes_all_that_its_primary_acknowledged() {
    const ITEMS: u64 = 500;
    let replica = Server::start();
    let mut primary = Primary::with_replica(&replica, &rdb_for_all_servers(RDB));
    primary.send(["BF.RESERVE", "full", "0.25", "20", "NONSCALING"]);
    primary.send(["CF.RESERVE", "counting", "20", "EXPANSION", "0"]);
    for number in 0..ITEMS {
        let item = splitbloom_harness::item(number);
        primary.send([b"BF.ADD".as_slice(), b"full", &item]);
        primary.send([b"BF.MADD".as_slice(), b"fixed", b"x", &item, b"y"]);
        primary.send([b"CF.ADD".as_slice(), b"counting", &item]);
    }
    primary.wait_for(&replica);
    let mut db = replica.connect();
    assert_eq!(missing_items(&mut db, "full", 0..ITEMS), 0);
    assert_eq!(missing_items(&mut db, "fixed", 0..ITEMS), 0);
    let counting = Family::Counting.missing_items(&mut db, "counting", 0..ITEMS);
    assert_eq!(counting, 0);
    assert_eq!(replica.errors_logged(), [""; 0]);
    db.run("REPLICAOF NO ONE");
    let digests = ["full", "fixed", "counting"].map(|key| db.digest(key));
    db.run("DEBUG RELOAD");
    assert_eq!(["full", "fixed", "counting"].map(|key| db.digest(key)), digests);
    // A third of the new items here are false positives.
    let replies: Vec<String> = (0..100).map(|n| db.ask(&format!("BF.ADD full new:{n}"))).collect();
    assert!(replies.iter().all(|reply| reply != ":1"), "{replies:?}");
    let full = "-ERR non scaling filter is full".to_owned();
    assert!(replies.contains(&full), "{replies:?}");
    assert_eq!(db.ask("CF.ADD counting -"), "-ERR Filter is full");
}

/// The replica's own log has what took effect, with seeds: it loads to equal filters.
#[test]
fn a_replica_logs_what_it_followed() {
    let mut replica = Server::with(Options::settings(&[
        "appendonly yes",
        "appendfsync no",
        "aof-use-rdb-preamble no",
    ]));
    let mut primary = Primary::with_replica(&replica, &rdb_for_all_servers(RDB));
    let mut db = replica.connect();
    eventually("the log begins anew with the copy", || {
        db.ask("DBSIZE") == ":3" && db.info("persistence", "aof_rewrite_in_progress") == "0"
    });
    primary.send_all(&replica, &STREAM);
    db.run("REPLICAOF NO ONE");
    let keys = ["growing", "fixed", "cuckoo", "made", "short", "counting"];
    let digests = keys.map(|key| db.digest(key));
    let logged = commands_in_append_only_file(&replica);
    assert!(logged.iter().any(|line| line.contains(" SEED ")), "{logged:#?}");
    replica.restart();
    let mut db = replica.connect();
    for (key, digest) in keys.iter().zip(digests) {
        assert_eq!(db.digest(key), digest, "{key}");
    }
}
