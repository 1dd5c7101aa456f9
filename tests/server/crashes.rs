//! The server is killed at a bad moment: whatever was acknowledged or saved before survives.

use splitbloom_harness::{add_items, eventually, item, missing_items, Family, Fingerprint, Server};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

#[test]
fn no_acknowledged_item_is_lost_with_appendfsync_always() {
    const WRITERS: u64 = 4;
    const ENOUGH: u64 = 500;
    let mut server = Server::configured(&["appendonly yes", "appendfsync always"]);
    server.connect().run("BF.RESERVE k 0.01 100");
    let acknowledged: Vec<AtomicU64> = (0..WRITERS).map(|_| AtomicU64::new(0)).collect();
    let first_of = |writer: u64| writer * 1_000_000_000;
    let mut connections: Vec<_> = (0..WRITERS).map(|_| server.connect()).collect();
    thread::scope(|scope| {
        for (writer, db) in (0..).zip(&mut connections) {
            let count = &acknowledged[writer as usize];
            scope.spawn(move || {
                let add = |number| [b"BF.ADD".to_vec(), b"k".to_vec(), item(number)];
                while let Ok(reply) =
                    db.try_call(add(first_of(writer) + count.load(Ordering::SeqCst)))
                {
                    assert!(!reply.is_error(), "{reply}");
                    count.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        eventually("enough items are added", || {
            acknowledged.iter().all(|count| count.load(Ordering::SeqCst) > ENOUGH)
        });
        server.restart();
    });
    let mut db = server.connect();
    for (writer, count) in (0..).zip(&acknowledged) {
        let first = first_of(writer);
        assert_eq!(missing_items(&mut db, "k", first..first + count.load(Ordering::SeqCst)), 0);
    }
}

#[test]
fn the_old_snapshot_loads_after_a_kill_during_bgsave() {
    let mut server = Server::start();
    let mut db = server.connect();
    db.run("BF.RESERVE k 0.01 100");
    add_items(&mut db, "k", 0..5000);
    db.run("SAVE");
    let before = Fingerprint::of(&mut db, Family::Bloom, "k", 5000);
    db.run("CONFIG SET rdb-key-save-delay 10000000");
    add_items(&mut db, "k", 5000..10_000);
    db.run("BGSAVE");
    assert_eq!(db.info("persistence", "rdb_bgsave_in_progress"), "1");
    server.restart();
    assert_eq!(Fingerprint::of(&mut server.connect(), Family::Bloom, "k", 5000), before);
}

#[test]
fn a_kill_during_a_rewrite_of_the_append_only_file_loses_nothing() {
    for preamble in ["yes", "no"] {
        let preamble = format!("aof-use-rdb-preamble {preamble}");
        let mut server = Server::configured(&["appendonly yes", "appendfsync no", &preamble]);
        let mut db = server.connect();
        db.run("BF.RESERVE k 0.01 100");
        add_items(&mut db, "k", 0..5000);
        db.run("CONFIG SET rdb-key-save-delay 10000000");
        db.run("BGREWRITEAOF");
        add_items(&mut db, "k", 5000..10_000);
        let before = Fingerprint::of(&mut db, Family::Bloom, "k", 10_000);
        assert_eq!(db.info("persistence", "aof_rewrite_in_progress"), "1");
        server.restart();
        assert_eq!(Fingerprint::of(&mut server.connect(), Family::Bloom, "k", 10_000), before);
    }
}

#[test]
fn a_crash_report_has_the_modules_counters_and_nothing_that_it_asks_the_server_for() {
    let mut server = Server::configured(&["crash-memcheck-enabled no"]);
    let mut db = server.connect();
    assert_eq!(db.info("bf", "bf_slow_log_argument_bytes"), "128");
    // The server closes the connection.
    let _ = db.try_call(["DEBUG", "SEGFAULT"]);
    server.wait_for_exit();
    let log = server.log();
    assert!(log.contains("bf_filters:0"), "{log}");
    assert!(!log.contains("bf_slow_log_argument_bytes"), "{log}");
}
