//! When items are forgotten, and what becomes of their memory.

use crate::windows::field;
use splitbloom_harness::{add_items, eventually, now, Family, Server};

#[test]
fn time_is_what_the_client_says_and_never_runs_back() {
    Server::start().connect().converse(&[
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
fn a_read_goes_by_the_clock_of_the_server() {
    let (_server, mut db) = Server::strict(&[]).with_client();
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
    let (primary, mut db) = Server::start().with_client();
    let replica = primary.replica(&[]);
    let mut there = replica.connect();
    // Long enough for all items to come before the first is forgotten.
    db.run("BF.RESERVE w 0.01 100 WINDOW 4 SLICES 4");
    assert!(add_items(&mut db, "w", 0..50_000) > 49_000);
    let full = db.run("MEMORY USAGE w").integer();
    assert!(full > 50_000, "{full}");
    for db in [&mut db, &mut there] {
        eventually("the memory is back", || db.run("MEMORY USAGE w").integer() < 1024);
    }
    primary.assert_equal(&replica);
    for db in [&mut db, &mut there] {
        assert_eq!(Family::Bloom.missing_items(db, "w", 0..1000), 1000);
    }
    let forgotten = db.info_number("bf", "bf_items_forgotten");
    assert!(forgotten > 49_000, "{forgotten}");
    assert!(db.info_number("bf", "bf_sweep_steps") > 0);
    assert!(db.info_number("bf", "bf_sweep_slowest_usec") > 0);
    assert_eq!(there.info_number("bf", "bf_sweep_steps"), 0);
    db.run("BF.INSERT later WINDOW 1000 ITEMS a");
    primary.wait_for(&replica);
    for (db, waiting) in [(&mut db, 1), (&mut there, 0)] {
        let fields = ["bf_sweeps_waiting", "bf_sweep_lag_msec"];
        assert_eq!(fields.map(|field| db.info_number("bf", field)), [waiting, 0]);
    }
    assert_eq!(field(&mut db, "w", "Items forgotten"), format!(":{forgotten}"));
}
