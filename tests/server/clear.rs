//! BF.CLEAR and CF.CLEAR empty a filter and keep its parameters.

use crate::keyspace::events_of;
use crate::replication::{
    assert_equal_keys, assert_no_error_line, propagated_by, APPEND_ONLY, REPLICA_SETTINGS,
};
use splitbloom_harness::follower::{changes, position};
use splitbloom_harness::{add_items, eventually, Family, Server, Specimens};

const SEED: &str = "SEED 00112233aabbccdd";

/// Ways to create a filter, without the key.
const RESERVES: [(&str, &str); 7] = [
    ("BF", "0.01 100"),
    ("BF", "0.001 50000 EXPANSION 4"),
    ("BF", "0.01 2000 NONSCALING"),
    ("BF", "0.01 100 WINDOW 100000 SLICES 4 RENEW"),
    ("BF", "0.01 500 NONSCALING WINDOW 100000"),
    ("CF", "1000 BUCKETSIZE 4 MAXITERATIONS 50 EXPANSION 3 ERROR 0.001"),
    ("CF", "3000 EXPANSION 0"),
];

fn family(name: &str) -> Family {
    if name == "BF" {
        Family::Bloom
    } else {
        Family::Counting
    }
}

#[test]
fn a_cleared_filter_has_the_digest_of_a_new_one_and_its_expiry() {
    let server = Server::start();
    let mut db = server.connect();
    for (name, words) in RESERVES {
        db.run("FLUSHALL");
        for key in ["k", "new"] {
            db.run(&format!("{name}.RESERVE {key} {words} {SEED}"));
        }
        let empty = db.digest("new");
        assert_eq!(db.digest("k"), empty);
        db.run("EXPIRE k 1000");
        let capacity = if words.contains("NONSCALING") { 400 } else { 3000 };
        family(name).add_items(&mut db, "k", 0..capacity);
        db.run("COPY k other");
        db.run("PERSIST other");
        let full = db.digest("other");
        assert_ne!(full, empty);
        assert_eq!(db.ask(&format!("{name}.CLEAR k")), "+OK");
        assert!(db.line("TTL k").integer() > 900);
        db.run("PERSIST k"); // the server's digest covers that there is an expiry
        assert_eq!(db.digest("k"), empty, "{name} {words}");
        assert_eq!(db.digest("other"), full, "a copy stays");
        let info = ["k", "new"].map(|key| db.ask(&format!("{name}.INFO {key} FULL")));
        assert_eq!(info[0], info[1]);
        assert_eq!(db.ask(&format!("{name}.EXISTS k {}", "item:1")), ":0");
        assert!(!db.ask(&format!("{name}.ADD k again")).starts_with('-'));
    }
}

#[test]
fn replies_and_errors() {
    let server = Server::start();
    for mut db in [server.connect(), server.connect_resp3()] {
        db.run("FLUSHALL");
        db.converse(&[
            ("BF.CLEAR k", "-ERR not found"),
            ("CF.CLEAR k", "-ERR not found"),
            ("BF.CLEAR", "-ERR wrong number of arguments for 'bf.clear' command"),
            ("BF.CLEAR k l", "-ERR wrong number of arguments for 'bf.clear' command"),
            ("SET text a", "+OK"),
            ("BF.CLEAR text", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
            ("BF.RESERVE b 0.01 100", "+OK"),
            ("CF.RESERVE c 100", "+OK"),
            ("BF.CLEAR c", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
            ("CF.CLEAR b", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
            ("BF.CLEAR b", "+OK"),
            ("CF.CLEAR c", "+OK"),
        ]);
    }
}

#[test]
fn only_a_clear_that_changes_something_has_effects() {
    let server = Server::configured(&[&APPEND_ONLY[..], &["notify-keyspace-events KEA"]].concat());
    let mut db = server.connect();
    db.run("BF.RESERVE b 0.01 100");
    db.run("CF.RESERVE c 100");
    db.run("BF.RESERVE w 0.01 100 WINDOW 1000");
    for line in ["BF.CLEAR b", "CF.CLEAR c", "BF.CLEAR w", "BF.CLEAR missing"] {
        assert!(propagated_by(&server, &mut db, line).is_empty(), "{line}");
    }
    for line in ["BF.ADD b a", "CF.ADD c a", "BF.ADD w a"] {
        db.run(line);
    }
    for line in ["BF.CLEAR b", "CF.CLEAR c", "BF.CLEAR w"] {
        assert_eq!(propagated_by(&server, &mut db, line), [line]);
        assert!(propagated_by(&server, &mut db, line).is_empty(), "{line} again");
    }
    // A counting filter of which all was removed counts that.
    db.run("CF.ADD c a");
    db.run("CF.DEL c a");
    let events = events_of(&server, |db| {
        for line in ["CF.CLEAR c", "CF.CLEAR c", "BF.CLEAR b", "BF.ADD b a", "BF.CLEAR b"] {
            db.run(line);
        }
    });
    assert_eq!(events, ["cf.clear c", "bf.add b", "bf.clear b"]);
    let mut other = server.connect();
    for (line, expected) in [("BF.CLEAR b", "[+PONG]"), ("BF.CLEAR b", "[+PONG]")] {
        other.run("WATCH b");
        other.run("MULTI");
        other.run("PING");
        db.run(line);
        assert_eq!(other.ask("EXEC"), expected, "no change breaks no WATCH");
    }
}

#[test]
fn replicas_and_a_file_clear_what_the_primary_clears() {
    let mut primary = Server::configured(&APPEND_ONLY);
    let replica = primary.replica(&REPLICA_SETTINGS);
    let mut db = primary.connect();
    Specimens::create(&mut db);
    for (number, (name, words)) in RESERVES.into_iter().enumerate() {
        db.run(&format!("{name}.RESERVE r{number} {words}"));
        db.run(&format!("{name}.ADD r{number} a"));
    }
    let keys: Vec<String> = db.run("KEYS *").elements().iter().map(|key| key.text()).collect();
    for (number, key) in keys.iter().enumerate().filter(|(number, _)| number % 2 == 0) {
        let replies = ["BF", "CF"].map(|name| db.ask(&format!("{name}.CLEAR {key}")));
        assert!(replies.contains(&"+OK".to_owned()), "{number} {key}: {replies:?}");
        let _ = ["BF", "CF"].map(|name| db.ask(&format!("{name}.ADD {key} more")));
    }
    primary.wait_for(&replica);
    assert_equal_keys(&primary, &replica);
    assert_no_error_line(&replica);
    let before = db.digest_of_everything();
    primary.kill();
    primary.start_again();
    assert_eq!(primary.connect().digest_of_everything(), before);
}

#[test]
fn a_filter_that_is_being_loaded_is_not_cleared() {
    let server = Server::start();
    let mut db = server.connect();
    db.run("BF.RESERVE source 0.01 3000000");
    add_items(&mut db, "source", 0..30_000);
    let chunks = splitbloom_harness::scan_dump(&mut db, "source");
    assert!(chunks.len() > 1);
    splitbloom_harness::load_chunks(&mut db, "half", &chunks[..1]);
    let half = db.digest("half");
    assert_eq!(db.ask("BF.CLEAR half"), "-ERR filter is being loaded");
    assert_eq!(db.digest("half"), half);
    splitbloom_harness::load_chunks(&mut db, "half", &chunks[1..]);
    assert_eq!(db.digest("half"), db.digest("source"));
    assert_eq!(db.ask("BF.CLEAR half"), "+OK");
}

#[test]
fn the_memory_of_a_large_filter_is_given_back() {
    let server = Server::start();
    let mut db = server.connect();
    for (name, reserve) in [("BF", "BF.RESERVE k 0.01 1000000"), ("CF", "CF.RESERVE k 100")] {
        db.run(reserve);
        let empty = db.info_number("bf", "bf_bytes_held");
        family(name).add_items(&mut db, "k", 0..100_000);
        assert!(db.info_number("bf", "bf_bytes_held") > empty + 100_000);
        db.run(&format!("{name}.CLEAR k"));
        eventually("the memory is free", || {
            db.info_number("bf", "bf_bytes_held") <= empty + 10_000
        });
        db.run("DEL k");
    }
}

#[test]
fn a_clear_ends_the_journal_of_followers_and_one_without_effect_does_not() {
    let server = Server::start();
    let mut db = server.connect();
    db.run("BF.RESERVE f 0.01 1000");
    let before = position(&mut db, "f");
    db.run("BF.CLEAR f");
    assert_eq!(changes(&mut db, &format!("f {before}")).1, Some(vec![]));
    db.run("BF.ADD f a");
    db.run("BF.CLEAR f");
    assert_eq!(changes(&mut db, &format!("f {before}")).1, None);
}
