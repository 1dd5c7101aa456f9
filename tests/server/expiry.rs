//! `EX seconds`: a filter and its expiry in one step.

use crate::replication::assert_follows;
use splitbloom_harness::words;
use splitbloom_harness::{eventually, Connection, Primary, Server, APPEND_ONLY};

/// Commands that create the key `k` with an expiry.
const CREATIONS: [&str; 6] = [
    "BF.RESERVE k 0.01 1000 EX 1000",
    "BF.RESERVE k 0.01 1000 WINDOW 60 ex 1000 EXPANSION 4",
    "BF.INSERT k EX 1000 ITEMS a b",
    "CF.RESERVE k 1000 EX 5 EX 1000",
    "CF.INSERT k CAPACITY 50 EX 1000 ITEMS a b",
    "CF.INSERTNX k EX 1000 ITEMS a b",
];

fn seconds_left(db: &mut Connection, key: &str) -> i64 {
    db.line(&format!("TTL {key}")).integer()
}

#[test]
fn a_filter_is_created_with_its_expiry() {
    let server = Server::start();
    for resp3 in [false, true] {
        let mut db = if resp3 { server.connect_resp3() } else { server.connect() };
        for creation in CREATIONS {
            db.run("DEL k");
            db.run(creation);
            let left = seconds_left(&mut db, "k");
            assert!((900..=1000).contains(&left), "{creation}: {left}");
        }
    }
    let mut db = server.connect();
    db.run("BF.RESERVE brief 0.01 100 EX 1");
    eventually("the filter expires", || db.ask("EXISTS brief") == ":0");
}

#[test]
fn an_insert_into_a_filter_that_exists_leaves_its_expiry_as_it_is() {
    let (_server, mut db) = Server::start().with_client();
    for family in ["BF", "CF"] {
        db.run("FLUSHALL");
        db.run(&format!("{family}.ADD k a"));
        db.run(&format!("{family}.INSERT k EX 5 ITEMS b"));
        assert_eq!(seconds_left(&mut db, "k"), -1);
        db.run("EXPIRE k 1000");
        db.run(&format!("{family}.INSERT k EX 5 ITEMS c"));
        assert!(seconds_left(&mut db, "k") > 5);
        db.run(&format!(
            "{family}.RESERVE full 1{} EX 7",
            if family == "BF" { "e-9 1 NONSCALING" } else { " EXPANSION 0" }
        ));
        db.run(&format!("{family}.ADD full a"));
        assert!((0..=7).contains(&seconds_left(&mut db, "full")), "an add keeps it");
    }
}

#[test]
fn errors_are_those_of_set_and_change_nothing() {
    let (_server, mut db) = Server::start().with_client();
    for (line, name) in [
        ("BF.RESERVE k 0.01 100 EX {} NONSCALING", "bf.reserve"),
        ("BF.INSERT k EX {} ITEMS a", "bf.insert"),
        ("CF.RESERVE k 100 EX {}", "cf.reserve"),
        ("CF.INSERT k EX {} ITEMS a", "cf.insert"),
        ("cf.INSERTNX k EX {} ITEMS a", "cf.insertnx"),
    ] {
        for value in [
            "0",
            "-1",
            "9223372036854775807",
            "9223372036854776",
            // In milliseconds this fits, but not when the current time is added.
            "9223372036854775",
            "x",
            "1.5",
            "9223372036854775808",
        ] {
            let told = db.ask(&line.replace("{}", value));
            let by_set = db.ask(&format!("SET other text EX {value}"));
            assert_eq!(told, by_set.replace("'set'", &format!("'{name}'")), "{line} {value}");
            assert!(told.starts_with("-ERR "), "{told}");
        }
        // The most that fits.
        let most = 9_223_372_036_854_775 - 9_000_000_000;
        assert!(!db.ask(&line.replace("{}", &most.to_string())).starts_with('-'));
        assert!(seconds_left(&mut db, "k") > most - 9_000_000_000);
        db.run("DEL k");
        for missing in ["BF.RESERVE k 0.01 100 EX", "CF.RESERVE k 100 EX"] {
            assert!(db.ask(missing).starts_with("-ERR wrong number of arguments"), "{missing}");
        }
    }
    assert_eq!(db.ask("EXISTS k other"), ":0");
}

#[test]
fn replica_restart_and_rewrite_keep_the_time() {
    let (mut primary, mut db) = Server::configured(&APPEND_ONLY).with_client();
    let replica = primary.replica(&["bf.initial-size 7"]);
    for (number, creation) in CREATIONS.iter().enumerate() {
        db.run(&creation.replacen(" k ", &format!(" k{number} "), 1));
    }
    assert_follows(&primary, &replica);
    let times = |db: &mut Connection| {
        (0..CREATIONS.len())
            .map(|number| db.line(&format!("PEXPIRETIME k{number}")).integer())
            .collect::<Vec<i64>>()
    };
    let before = times(&mut db);
    assert!(before.iter().all(|time| *time > 0), "{before:?}");
    assert_eq!(times(&mut replica.connect()), before);
    for rewrites in [false, true] {
        if rewrites {
            db.rewrite_append_only_file();
        }
        primary.kill();
        primary.start_again();
        db = primary.connect();
        assert_eq!(times(&mut db), before, "rewritten: {rewrites}");
    }
}

/// RedisBloom takes `EX` in BF.INSERT for EXPANSION, and ignores it in RESERVE.
#[test]
fn the_words_of_a_redisbloom_make_no_filter_expire() {
    let replica = Server::strict(&[]);
    let mut primary = Primary::with_empty_replica(&replica);
    for line in [
        "BF.INSERT i EX 4 ITEMS a",
        "BF.INSERT n EX 0 ITEMS a",
        "BF.RESERVE r 0.01 100 EX 4",
        "CF.RESERVE c 100 EX 4",
    ] {
        primary.send(words(line));
    }
    primary.wait_for(&replica);
    let mut db = replica.connect();
    for key in ["i", "n", "r", "c"] {
        assert_eq!(seconds_left(&mut db, key), -1, "{key}");
    }
    assert_eq!(db.ask("BF.INFO i EXPANSION"), "[:4]");
    assert_eq!(db.ask("BF.MEXISTS i a b"), "[:1, :0]");
}
