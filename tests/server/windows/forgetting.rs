//! When items are forgotten, and what becomes of their memory.

use crate::windows::{field, now};
use splitbloom_harness::{
    absent_item, add_items, count_found, eventually, item, Connection, Server,
};
use std::thread::sleep;
use std::time::{Duration, Instant};

#[test]
fn an_item_is_remembered_for_a_second_and_forgotten_half_a_second_later() {
    let server = Server::start();
    let mut db = server.connect();
    db.run("BF.RESERVE w 0.000001 100 WINDOW 1 SLICES 2");
    for round in 0..3 {
        let before = Instant::now();
        assert_eq!(db.ask("BF.ADD w a"), ":1", "round {round}");
        let after = Instant::now();
        loop {
            let asked = Instant::now();
            let found = db.ask("BF.EXISTS w a") == ":1";
            let answered = Instant::now();
            // The server's clock has milliseconds; the test's is finer.
            if answered - before < Duration::from_millis(998) {
                assert!(found, "forgotten after {:?}", answered - before);
            }
            if !found {
                break;
            }
            let late = asked - after;
            assert!(late < Duration::from_millis(1502), "remembered after {late:?}");
            sleep(Duration::from_millis(3));
        }
    }
}

#[test]
fn time_is_what_the_client_says_and_never_runs_back() {
    let server = Server::start();
    server.connect().converse(&[
        ("BF.RESERVE w 0.000001 100 WINDOW 1000 SLICES 5", "+OK"),
        ("BF.INSERT w AT 1000000100000 ITEMS a b", "[:1, :1]"),
        ("BF.INSERT w AT 1000000900000 ITEMS a c", "[:0, :1]"),
        // An earlier time is the latest.
        ("BF.INSERT w AT 1000000200000 ITEMS d", "[:1]"),
        // a and b came in the slice up to …199 999, c and d in that up to …999 999.
        ("BF.INSERT w AT 1000001199999 ITEMS a b c d", "[:0, :0, :0, :0]"),
        ("BF.INSERT w AT 1000001200000 ITEMS b c d", "[:1, :0, :0]"),
        ("BF.INSERT w AT 1000002000000 ITEMS a b c d", "[:1, :0, :1, :1]"),
    ]);
}

#[test]
fn with_renewal_every_add_starts_the_time_again() {
    let server = Server::start();
    server.connect().converse(&[
        ("BF.RESERVE w 0.000001 100 WINDOW 1000 SLICES 5 RENEW", "+OK"),
        ("BF.INSERT w AT 1000000100000 ITEMS a b", "[:1, :1]"),
        ("BF.INSERT w AT 1000000900000 ITEMS a", "[:0]"),
        ("BF.INSERT w AT 1000001700000 ITEMS a b", "[:0, :1]"),
        ("BF.INSERT w AT 1000002500000 ITEMS a", "[:0]"),
        ("BF.INSERT w AT 1000004000000 ITEMS a", "[:1]"),
    ]);
}

#[test]
fn a_read_goes_by_the_clock_of_the_server() {
    let server = Server::strict(&[]);
    let mut db = server.connect();
    let long_ago = now() - 60_000;
    db.converse(&[
        (&format!("BF.INSERT w WINDOW 20 AT {long_ago} ITEMS a b"), "[:1, :1]"),
        ("BF.MEXISTS w a b", "[:0, :0]"),
        ("BF.CARD w", ":0"),
        ("BF.INFO w ITEMS", "[:0]"),
        ("BF.ADD w a", ":1"),
        ("BF.MEXISTS w a b", "[:1, :0]"),
        ("BF.CARD w", ":1"),
    ]);
}

#[test]
fn a_filter_whose_window_has_passed_gives_its_memory_back_on_primary_and_replica() {
    let primary = Server::start();
    let replica = primary.replica(&[]);
    let mut db = primary.connect();
    let mut there = replica.connect();
    // Long enough for all items to come before the first is forgotten.
    db.run("BF.RESERVE w 0.01 100 WINDOW 4 SLICES 4");
    assert!(add_items(&mut db, "w", 0..50_000) > 49_000);
    let full = db.run("MEMORY USAGE w").integer();
    assert!(full > 50_000, "{full}");
    for db in [&mut db, &mut there] {
        eventually("the memory is back", || db.run("MEMORY USAGE w").integer() < 1024);
    }
    primary.wait_for(&replica);
    assert_eq!(db.digest("w"), there.digest("w"));
    assert_eq!(count_found(&mut db, "w", 0..1000, item), 0);
    assert_eq!(count_found(&mut there, "w", 0..1000, item), 0);
    let forgotten = db.info_number("bf", "bf_items_forgotten");
    assert!(forgotten > 49_000, "{forgotten}");
    assert!(db.info_number("bf", "bf_sweep_steps") > 0);
    assert!(db.info_number("bf", "bf_sweep_slowest_usec") > 0);
    assert_eq!(there.info_number("bf", "bf_sweep_steps"), 0);
    assert_eq!(field(&mut db, "w", "Items forgotten"), format!(":{forgotten}"));
}

#[test]
fn a_replica_follows_a_sweep_that_merges_pages() {
    let primary = Server::start();
    let replica = primary.replica(&[]);
    let mut db = primary.connect();
    let mut there = replica.connect();
    db.run("BF.RESERVE w 0.01 100 WINDOW 100 SLICES 5");
    // By its own time, so that no timer helps.
    let start = now() - 3_600_000;
    let mut steps = 0;
    for slice in 0..8 {
        let at = (start + slice * 20_000).to_string();
        let head = ["BF.INSERT", "w", "AT", &at, "ITEMS"].map(|word| word.as_bytes().to_vec());
        // Much of the table goes with the first slice, but something stays, so that the table does.
        let new = if slice == 0 { 50_000 } else { 10 };
        let items = (slice * 100_000..slice * 100_000 + new).map(item);
        db.call(head.into_iter().chain(items));
        while db.ask(&format!("BF.FORGET w {at}")) == ":0" {
            steps += 1;
        }
        primary.wait_for(&replica);
        let usage = |db: &mut Connection| db.run("MEMORY USAGE w").integer();
        assert_eq!(usage(&mut there), usage(&mut db), "slice {slice}");
        assert_eq!(there.digest("w"), db.digest("w"), "slice {slice}");
    }
    assert!(steps > 20, "{steps} steps");
    assert!(db.run("MEMORY USAGE w").integer() < 4096);
}

#[test]
fn items_that_keep_coming_take_memory_for_a_window_of_them() {
    const A_MINUTE: u64 = 2_000;
    let server = Server::start();
    let mut db = server.connect();
    // By its own time, long ago, so that no timer helps.
    let start = 1_000_000_000_000;
    db.run("BF.RESERVE w 0.01 100 WINDOW 600 SLICES 5 SEED 0123456789abcdef");
    let mut most = 0;
    for minute in 0..100 {
        let at = (start + minute * 60_000).to_string();
        let head = ["BF.INSERT", "w", "AT", &at, "ITEMS"].map(|word| word.as_bytes().to_vec());
        let items = (minute * A_MINUTE..(minute + 1) * A_MINUTE).map(item);
        let new = db.call(head.into_iter().chain(items));
        let new: i64 = new.elements().iter().map(|new| new.integer()).sum();
        assert!(new as u64 > A_MINUTE * 95 / 100, "{new} new in minute {minute}");
        if minute >= 30 {
            most = most.max(db.run("MEMORY USAGE w").integer());
        }
    }
    // Of eleven to thirteen minutes, two bytes and a half each.
    assert!(most < 13 * A_MINUTE as i64 * 5 / 2 + 4096, "{most} bytes");
}

#[test]
fn the_error_rate_holds_over_what_is_remembered() {
    let server = Server::start();
    let mut db = server.connect();
    db.run("BF.RESERVE w 0.01 100 WINDOW 1000");
    add_items(&mut db, "w", 0..20_000);
    let found = count_found(&mut db, "w", 0..20_000, absent_item);
    assert!(found < 2 * 200, "{found} false positives of 20 000");
}
