//! A panic in every entry point of the module, on entry and at each call back into the server.
//!
//! The module is a separate build with the feature `injected-faults`, by `scripts/fault-tests`.

use crate::saves::JOBS;
use crate::server_with_failpoints;
use splitbloom_harness::{add_items, eventually, missing_items, words, Connection, Family, Server};

const ITEMS: u64 = 3000;
/// The key of a counting filter with as many items; `k` is a Bloom filter.
const COUNTING: &str = "counting";
const INTERNAL: &str = "-ERR internal error, see the server's log";

/// More calls into the server than any entry point makes for the small commands of these tests.
const MANY_CALLS: u64 = 500;

fn server_with(settings: &[&str]) -> Server {
    let (server, mut db) = server_with_failpoints(settings).with_client();
    db.run("BF.RESERVE k 0.01 100");
    add_items(&mut db, "k", 0..ITEMS);
    db.run(&format!("CF.RESERVE {COUNTING} 100"));
    Family::Counting.add_items(&mut db, COUNTING, 0..ITEMS);
    server
}

fn caught(db: &mut Connection) -> i64 {
    db.info_number("bf", "bf_caught_panics")
}

fn inject(db: &mut Connection, entry: &str, call: u64) {
    let reply = db.call(["CONFIG", "SET", "bf.inject-panic", &format!("{entry} {call}")]);
    assert_eq!(reply.to_string(), "+OK");
}

/// Provokes a panic at each call of the entry point in turn; returns how many there were.
fn at_every_call(
    db: &mut Connection,
    entry: &str,
    mut provoke: impl FnMut(&mut Connection, u64),
) -> u64 {
    for call in 0..MANY_CALLS {
        let before = caught(db);
        inject(db, entry, call);
        provoke(db, call);
        // The next reply belongs to the next command: the one before was complete.
        assert_eq!(db.ask("ECHO next"), "$next");
        match caught(db) - before {
            0 => {
                assert!(call > 0, "{entry} was never entered");
                db.run("CONFIG SET bf.inject-panic nowhere");
                return call;
            }
            one => assert_eq!(one, 1, "{entry}, call {call}"),
        }
        assert_eq!(missing_items(db, "k", 0..ITEMS), 0, "{entry}, call {call}");
    }
    panic!("{entry} never stops calling into the server");
}

#[test]
fn a_panic_in_a_command_is_an_error_reply_and_the_server_survives() {
    let (server, mut db) = server_with(&[]).with_client();
    let copies = " a".repeat(MANY_CALLS as usize);
    db.run(&format!("CF.INSERT counted ITEMS{copies}"));
    db.run("BF.INSERT window WINDOW 9000 ITEMS a");
    let [load, load_counting] =
        [(Family::Bloom, "k"), (Family::Counting, "counted")].map(|(family, key)| {
            let (iterator, bytes) = family.scan_dump(&mut db, key).remove(0);
            family.loading("new", iterator, &bytes)
        });
    for (entry, command) in [
        ("bf.reserve", words("BF.RESERVE new 0.01 100 SEED 0123456789abcdef")),
        ("bf.add", words("BF.ADD new a")),
        ("bf.madd", words("BF.MADD new a b c")),
        ("bf.insert", words("BF.INSERT new CAPACITY 2 NONSCALING ITEMS a b c")),
        ("bf.exists", words("BF.EXISTS k item:1")),
        ("bf.mexists", words("BF.MEXISTS k item:1 item:2 c")),
        ("bf.packadd", words("BF.PACKADD new FIXED 1 abc BITS")),
        ("bf.packexists", words("BF.PACKEXISTS k LINES c")),
        ("bf.insert", words("BF.INSERT new EX 1000 ITEMS a")),
        ("bf.packexists", words("BF.PACKEXISTS new LINES c MUSTEXIST")),
        ("bf.merge", words("BF.MERGE new 2 k k")),
        ("bf.shrink", words("BF.SHRINK k")),
        ("bf.keys", words("BF.KEYS k PARTITIONS 4")),
        ("bf.card", words("BF.CARD k")),
        ("bf.debug", words("BF.DEBUG k")),
        ("bf.info", words("BF.INFO k")),
        ("bf.info", words("BF.INFO k FULL")),
        ("bf.scandump", words("BF.SCANDUMP k 0")),
        ("bf.changes", words("BF.CHANGES k 0")),
        ("bf.loadchunk", load),
        ("bf.add", words("BF.ADD window b")),
        ("bf.insert", words("BF.INSERT new WINDOW 9000 AT 1000000000005 ITEMS a b")),
        ("bf.mexists", words("BF.MEXISTS window a b")),
        ("bf.info", words("BF.INFO window FULL")),
        ("bf.debug", words("BF.DEBUG window")),
        ("bf.forget", words("BF.FORGET window 1000000000005")),
        ("bf.load", words("BF.LOAD new x")),
        ("cf.reserve", words("CF.RESERVE new 100 SEED 0123456789abcdef")),
        ("cf.add", words("CF.ADD new a")),
        ("cf.addnx", words("CF.ADDNX new a")),
        ("cf.insert", words("CF.INSERT new ITEMS a b c")),
        ("cf.insertnx", words("CF.INSERTNX new ITEMS a b a")),
        ("cf.exists", words("CF.EXISTS counted a")),
        ("cf.mexists", words("CF.MEXISTS counted a b")),
        ("cf.count", words("CF.COUNT counted a")),
        ("cf.del", words("CF.DEL counted a")),
        ("cf.packadd", words("CF.PACKADD new FIXED 1 abc")),
        ("cf.packdel", words("CF.PACKDEL counted FIXED 1 abc")),
        ("cf.packexists", words("CF.PACKEXISTS counted LINES c")),
        ("cf.info", words("CF.INFO counted FULL")),
        ("cf.debug", words("CF.DEBUG counted")),
        ("cf.compact", words("CF.COMPACT counted")),
        ("cf.scandump", words("CF.SCANDUMP counted 0")),
        ("cf.loadchunk", load_counting),
        ("bf.clear", words("BF.CLEAR window")),
        ("cf.clear", words("CF.CLEAR counted")),
    ] {
        for protocol in [2, 3] {
            db.run(&format!("HELLO {protocol}"));
            let panics = at_every_call(&mut db, entry, |db, call| {
                db.run("DEL new");
                let reply = db.call(command.clone());
                if call == 0 {
                    assert_eq!(reply.to_string(), INTERNAL, "{entry}");
                }
            });
            assert!(panics > 1, "{entry} calls into the server");
        }
        db.run("HELLO 2");
        let log = server.log();
        assert!(log.contains(&format!("a panic was caught in {entry}:")), "{entry}");
        assert!(log.contains("panicked at crates/server/src/failpoints.rs"), "{log}");
    }
}

#[test]
fn a_panic_in_a_data_type_callback_fails_the_command_and_the_server_survives() {
    let (_server, mut db) = server_with(&[]).with_client();
    for key in ["k", COUNTING] {
        let payload = db.dump(key);
        let restore = |db: &mut Connection, call| {
            db.run("DEL new");
            let reply = db.restore("new", &payload);
            assert!(call > 0 || reply != "+OK", "{reply}");
            assert_eq!(db.ask("EXISTS new") == ":1", reply == "+OK");
        };
        at_every_call(&mut db, "rdb_load", restore);
        at_every_call(&mut db, "copy", |db, call| {
            db.run("DEL new");
            let reply = db.call(["COPY", key, "new"]);
            assert!(call > 0 || reply.is_error(), "{reply}");
        });
        at_every_call(&mut db, "rdb_save", |db, _| {
            let half = db.dump(key);
            let is_taken = db.restore("half", &half) == "+OK";
            assert!(!is_taken || half == payload, "half a filter was accepted");
        });
        for (entry, command) in
            [("digest", ["DEBUG", "DIGEST-VALUE", key]), ("mem_usage", ["MEMORY", "USAGE", key])]
        {
            at_every_call(&mut db, entry, |db, _| drop(db.call(command)));
        }
        for (entry, command) in [("free_effort", "UNLINK new"), ("free", "DEL new")] {
            at_every_call(&mut db, entry, |db, _| {
                db.call(["COPY", key, "new"]);
                assert_eq!(db.ask(command), ":1");
            });
        }
    }
    at_every_call(&mut db, "info", |db, _| drop(db.line("INFO modules")));
}

#[test]
fn the_server_survives_a_panic_in_an_event_or_a_timer() {
    let (_server, mut db) = server_with(&[]).with_client();
    at_every_call(&mut db, "a server event", |db, _| {
        db.run("SWAPDB 0 1");
        db.run("SWAPDB 0 1");
    });
    at_every_call(&mut db, "a timer", |db, _| {
        db.run("DEL window");
        let before = db.info_number("bf", "bf_items_forgotten");
        // The window has passed before the timer can come.
        db.run_all([
            "CONFIG SET bf.inject-clock-offset 0",
            "MULTI",
            "BF.INSERT window WINDOW 1 ITEMS a",
            "CONFIG SET bf.inject-clock-offset 10000",
            "EXEC",
        ]);
        eventually("the timer comes, after a panic again", || {
            db.info_number("bf", "bf_items_forgotten") > before
        });
    });
    // See `MISPLACES_CLIENTS`.
    if db.run("INFO server").text().contains("valkey_version:8.") {
        return;
    }
    db.run("BF.INSERT window WINDOW 9000 ITEMS a");
    at_every_call(&mut db, "a key event", |db, _| {
        db.run("RENAME window window-2");
        db.run("RENAME window-2 window");
    });
}

#[test]
fn the_server_survives_a_panic_in_a_setting() {
    let (_server, mut db) = server_with(&[]).with_client();
    for command in [
        "CONFIG GET bf.initial-size",
        "CONFIG GET bf.error-rate",
        "CONFIG SET bf.initial-size 7",
        "CONFIG SET bf.error-rate 0.1",
    ] {
        // Arming the failpoint enters `a setting` too, but before the failpoint is armed.
        at_every_call(&mut db, "a setting", |db, _| drop(db.line(command)));
    }
}

#[test]
fn a_panic_in_a_saving_child_leaves_the_previous_file() {
    for (job, entry) in JOBS.iter().zip(["rdb_save", "rdb_save", "aof_rewrite"]) {
        let (mut server, mut db) = server_with(job.settings).with_client();
        assert_eq!(job.run(&mut db), "ok");
        let digest = db.digest_of_everything();
        for call in 0..2 {
            inject(&mut db, entry, call);
            assert_eq!(job.run(&mut db), "err", "{}, {entry}, call {call}", job.command);
            // The child disarmed only its own copy.
            db.run("CONFIG SET bf.inject-panic nowhere");
        }
        server.restart();
        let mut db = server.connect();
        assert_eq!(db.digest_of_everything(), digest, "{}, {entry}", job.command);
        assert_eq!(job.run(&mut db), "ok");
    }
}

/// A server exits when a file or full sync has a value that the module cannot load, whatever the
/// module reports.
#[test]
fn a_replica_that_exits_on_a_panic_in_a_load_restarts_and_catches_up() {
    let (primary, mut here) = Server::start().with_client();
    here.run("BF.RESERVE k 0.01 100");
    add_items(&mut here, "k", 0..ITEMS);
    here.run("CF.INSERT counting ITEMS a a b");
    let (mut replica, mut there) = server_with(&[]).with_client();
    inject(&mut there, "rdb_load", 2);
    let follow = format!("REPLICAOF 127.0.0.1 {}", primary.port());
    there.run(&follow);
    replica.wait_for_exit();
    let log = replica.log();
    assert!(log.contains("a panic was caught in rdb_load"), "{log}");
    assert!(!log.contains("BUG REPORT"), "{log}");
    replica.start_again();
    let mut there = replica.connect();
    there.run(&follow);
    primary.assert_equal(&replica);
}
