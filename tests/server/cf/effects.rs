//! What the CF commands replicate, signal and count: what took effect, and nothing else.

use crate::keyspace::events_of;
use crate::replication::{
    assert_equal_keys, assert_no_error_line, propagated_by, APPEND_ONLY, REPLICA_SETTINGS,
};
use splitbloom_harness::{commands_in_append_only_file, Family, Server};

#[test]
fn commands_are_propagated_as_they_took_effect() {
    let server = Server::strict(&APPEND_ONLY);
    let mut db = server.connect();
    const K: &str =
        "CF.RESERVE k 1024 BUCKETSIZE 2 MAXITERATIONS 20 EXPANSION 1 ERROR 0.000001 SEED …";
    for (command, propagated) in [
        (
            "CF.RESERVE r 1000",
            ["CF.RESERVE r 1000 BUCKETSIZE 2 MAXITERATIONS 20 EXPANSION 1 ERROR 0.000001 SEED …"]
                .as_slice(),
        ),
        (
            "cf.reserve f 3 error 1e-6 expansion 0 bucketsize 4 maxiterations 500",
            &["CF.RESERVE f 3 BUCKETSIZE 4 MAXITERATIONS 500 EXPANSION 0 ERROR 0.000001 SEED …"],
        ),
        ("CF.RESERVE r 1000", &[]),
        ("CF.ADD k a", &["MULTI", K, "CF.ADD k a", "EXEC"]),
        ("CF.ADD k a", &["CF.ADD k a"]),
        ("CF.ADDNX k a", &[]),
        ("CF.ADDNX k b", &["CF.ADDNX k b"]),
        ("CF.INSERT k ITEMS a b", &["CF.INSERT k ITEMS a b"]),
        ("CF.INSERTNX k ITEMS a b", &[]),
        ("CF.INSERTNX k NOCREATE ITEMS a c", &["CF.INSERTNX k NOCREATE ITEMS a c"]),
        ("CF.INSERT missing NOCREATE ITEMS a", &[]),
        ("CF.DEL k a", &["CF.DEL k a"]),
        ("CF.DEL k z", &[]),
        ("CF.DEL missing a", &[]),
        // Three copies fit.
        ("CF.INSERT f CAPACITY 9 ITEMS a b c d", &["CF.INSERT f ITEMS a b c"]),
        ("CF.INSERT f ITEMS a", &[]),
        ("CF.ADD f a", &[]),
        ("CF.DEL f a", &["CF.DEL f a"]),
        ("CF.INSERTNX f ITEMS b d a", &["CF.INSERTNX f ITEMS b d"]),
        ("CF.INSERTNX f ITEMS a b", &[]),
        ("CF.EXISTS k a", &[]),
        ("CF.MEXISTS k a b", &[]),
        ("CF.COUNT k a", &[]),
        ("CF.INFO k FULL", &[]),
        ("CF.DEBUG k", &[]),
        ("CF.COMPACT k", &[]),
        ("CF.SCANDUMP k 0", &[]),
        ("CF.LOADCHUNK k 1 a", &[]),
    ] {
        assert_eq!(propagated_by(&server, &mut db, command), propagated, "{command}");
    }
}

#[test]
fn events_are_published_for_changes_only() {
    let server = Server::strict(&["notify-keyspace-events KEA"]);
    let mut db = server.connect();
    db.run("CF.RESERVE full 1 EXPANSION 0");
    db.run("CF.ADD full a");
    for (command, events) in [
        ("CF.RESERVE k 100", ["cf.reserve k"].as_slice()),
        ("CF.RESERVE k 100", &[]),
        ("CF.ADD k a", &["cf.add k"]),
        ("CF.ADDNX k a", &[]),
        ("CF.ADDNX k b", &["cf.addnx k"]),
        ("CF.INSERT k ITEMS a b", &["cf.insert k"]),
        ("CF.INSERTNX k ITEMS a b", &[]),
        ("CF.INSERTNX k ITEMS a c", &["cf.insertnx k"]),
        ("CF.ADD l a", &["cf.reserve l", "cf.add l"]),
        ("CF.INSERTNX m ITEMS a", &["cf.reserve m", "cf.insertnx m"]),
        ("CF.ADD full b", &[]),
        ("CF.INSERT full ITEMS b c", &[]),
        ("CF.DEL k a", &["cf.del k"]),
        ("CF.DEL k z", &[]),
        ("CF.DEL missing a", &[]),
        ("CF.INSERT missing NOCREATE ITEMS a", &[]),
        ("CF.EXISTS k a", &[]),
        ("CF.MEXISTS k a b", &[]),
        ("CF.COUNT k a", &[]),
        ("CF.INFO k", &[]),
        ("CF.DEBUG k", &[]),
        ("CF.COMPACT k", &[]),
        ("CF.SCANDUMP k 0", &[]),
        ("CF.LOADCHUNK k 1 a", &[]),
    ] {
        let told = events_of(&server, |db| drop(db.line(command)));
        assert_eq!(told, events, "{command}");
    }
    let chunks = Family::Counting.scan_dump(&mut db, "k");
    let told = events_of(&server, |db| Family::Counting.load_chunks(db, "loaded", &chunks));
    assert_eq!(told, vec!["cf.loadchunk loaded"; chunks.len()]);
}

#[test]
fn a_chunk_is_propagated_as_it_came() {
    let server = Server::strict(&APPEND_ONLY);
    let mut db = server.connect();
    db.run("CF.INSERT k ITEMS a a b");
    let chunks = Family::Counting.scan_dump(&mut db, "k");
    let before = commands_in_append_only_file(&server).len();
    Family::Counting.load_chunks(&mut db, "loaded", &chunks);
    let after = commands_in_append_only_file(&server);
    assert_eq!(after.len(), before + 1);
    assert!(after[before].starts_with(&format!("CF.LOADCHUNK loaded {} ", chunks[0].0)));
    assert_eq!(db.ask("CF.COUNT loaded a"), ":2");
    db.run("DEBUG LOADAOF");
    assert_eq!(db.digest("loaded"), db.digest("k"));
}

#[test]
fn only_a_real_change_breaks_a_watch() {
    let server = Server::strict(&[]);
    let mut db = server.connect();
    let mut other = server.connect();
    db.run("CF.RESERVE full 1 EXPANSION 0 ERROR 0.000001");
    db.run("CF.ADD full a");
    db.run("CF.ADD k a");
    for (command, transaction) in [
        ("CF.ADDNX k a", "[+PONG]"),
        ("CF.INSERTNX k ITEMS a a", "[+PONG]"),
        ("CF.DEL k z", "[+PONG]"),
        ("CF.DEL missing z", "[+PONG]"),
        ("CF.ADD full b", "[+PONG]"),
        ("CF.INSERT full ITEMS a b", "[+PONG]"),
        ("CF.RESERVE k 10", "[+PONG]"),
        ("CF.COUNT k a", "[+PONG]"),
        ("CF.INFO k FULL", "[+PONG]"),
        ("CF.COMPACT k", "[+PONG]"),
        ("CF.SCANDUMP k 0", "[+PONG]"),
        ("CF.LOADCHUNK k 1 a", "[+PONG]"),
        ("CF.ADD k a", "_"),
        ("CF.DEL k a", "_"),
        ("CF.INSERTNX k ITEMS a b", "_"),
        ("CF.RESERVE missing 10", "_"),
    ] {
        db.run("WATCH k full missing");
        other.line(command);
        db.run("MULTI");
        db.run("PING");
        assert_eq!(db.ask("EXEC"), transaction, "{command}");
    }
}

#[test]
fn a_replica_with_other_settings_holds_the_same() {
    let primary = Server::configured(&["bf.max-filter-bytes 20000"]);
    let replica = primary.replica(&REPLICA_SETTINGS);
    if replica.dialect().has_unprefixed_settings() {
        let mut db = replica.connect();
        db.run("CONFIG SET cf.error-rate 0.3 cf-initial-size 7 cf-expansion-factor 0");
    }
    let mut db = primary.connect();
    db.converse(&[
        ("CF.RESERVE f 3 EXPANSION 0 ERROR 0.000001", "+OK"),
        ("CF.INSERT f ITEMS a b c d", "[:1, :1, :1, :-1]"),
        ("CF.ADD f d", "-ERR Filter is full"),
        ("CF.INSERTNX f ITEMS d a", "[:-1, :0]"),
        ("CF.DEL f a", ":1"),
    ]);
    db.run("CF.RESERVE reserved 100000");
    // Far beyond the limit, where each item is tried by itself.
    for first in (0..20_000).step_by(500) {
        let items: String = (first..first + 500).map(|item| format!(" {item}")).collect();
        db.run(&format!("CF.INSERT k ITEMS{items}"));
        db.run(&format!("CF.DEL k {first}"));
        db.run(&format!("CF.INSERT reserved ITEMS{items}"));
    }
    db.run("CF.INSERTNX k ITEMS 1 2 3 one two three");
    primary.wait_for(&replica);
    assert_equal_keys(&primary, &replica);
    assert_eq!(replica.connect().ask("CF.EXISTS f d"), ":0");
    assert_no_error_line(&replica);
}

#[test]
fn a_copy_is_equal_and_independent() {
    let server = Server::start();
    let mut db = server.connect();
    for first in (0..20_000).step_by(500) {
        let items: String = (first..first + 500).map(|item| format!(" {item}")).collect();
        db.run(&format!("CF.INSERT k ITEMS{items}"));
    }
    let digest = db.digest("k");
    assert_eq!(db.ask("COPY k copy"), ":1");
    assert_eq!(db.digest("copy"), digest);
    for item in 0..1000 {
        assert_eq!(db.ask(&format!("CF.DEL copy {item}")), ":1");
    }
    assert_eq!(db.digest("k"), digest);
    assert_ne!(db.digest("copy"), digest);
    db.run("DEL k");
    assert_eq!(db.ask("CF.MEXISTS copy 1000 19999"), "[:1, :1]");
}

#[test]
fn info_counts_the_work_done_and_deletion_returns_the_memory() {
    let server = Server::strict(&[]);
    let mut db = server.connect();
    let numbers = |db: &mut splitbloom_harness::Connection| {
        ["bf_filters", "bf_items_added", "bf_items_deleted", "bf_lookups", "bf_lookup_hits"]
            .map(|name| db.info_number("bf", name))
    };
    let held = db.info_number("bf", "bf_bytes_held");
    assert_eq!(numbers(&mut db), [0, 0, 0, 0, 0]);
    db.run("CF.INSERT k ITEMS a a b");
    db.run("CF.INSERTNX k ITEMS a c");
    db.run("CF.MEXISTS k a b");
    db.run("CF.COUNT k a");
    db.run("CF.EXISTS missing a");
    db.run("CF.DEL k a");
    db.run("CF.DEL k z");
    assert_eq!(numbers(&mut db), [1, 4, 1, 4, 3]);
    db.run("CF.COUNT k y");
    db.run("CF.EXISTS k c");
    db.run("CF.PACKEXISTS k FIXED 1 abz");
    assert_eq!(numbers(&mut db), [1, 4, 1, 9, 6]);
    db.run("DEL k");
    assert_eq!(numbers(&mut db), [0, 4, 1, 9, 6]);
    assert_eq!(db.info_number("bf", "bf_bytes_held"), held);
}
