//! Sketches that count the last seconds only.

use crate::module::{now, server};
use std::thread::sleep;
use std::time::Duration;

#[test]
fn counts_are_forgotten_after_the_window() {
    let server = server();
    let mut db = server.connect();
    db.run("CMS.INITBYDIM k 2000 7 WINDOW 3 SLICES 2");
    db.converse(&[
        ("CMS.INCRBY k a 3 a 1 b 1", "[:3, :4, :1]"),
        ("CMS.QUERY k a b c", "[:4, :1, :0]"),
        (
            "CMS.INFO k",
            "[+width, :2000, +depth, :7, +count, :5, +cell_size, :4, +window, :3, +slices, :2]",
        ),
    ]);
    let used = db.run("MEMORY USAGE k").integer();
    sleep(Duration::from_millis(4_600));
    db.converse(&[
        ("CMS.QUERY k a b", "[:0, :0]"),
        ("CMS.INCRBYAT k 0", "-ERR the time is before 1973: it must be in milliseconds since 1970"),
        ("CMS.INCRBY k c 2", "[:2]"),
    ]);
    // The slice that is over has been freed.
    assert_eq!(db.run("MEMORY USAGE k").integer(), used);
}

#[test]
fn a_history_is_counted_at_its_own_times() {
    let server = server();
    let mut db = server.connect();
    db.run("CMS.INITBYDIM k 2000 7 WINDOW 3600 SLICES 4");
    let start = now() / 900_000 * 900_000;
    let at = |minutes: u64| start - 7_200_000 + minutes * 60_000;
    let mut count = |time: u64| db.ask(&format!("CMS.INCRBYAT k {time} a 1"));
    assert_eq!(count(at(0)), "[:1]");
    assert_eq!(count(at(59)), "[:2]");
    assert_eq!(count(at(74)), "[:3]");
    assert_eq!(count(at(75)), "[:3]"); // the first is forgotten
    assert_eq!(count(at(5)), "[:4]"); // time never runs backwards
    db.converse(&[
        (
            "CMS.INCRBYAT k 1789000000 a 1",
            "-ERR the time is before 1973: it must be in milliseconds since 1970",
        ),
        (
            "CMS.INCRBYAT k 9007199254740991 a 1",
            "-ERR the time is more than one window ahead of the server's clock",
        ),
        ("CMS.INCRBYAT k x a 1", "-ERR bad time"),
        (
            "CMS.INCRBYAT k 1789000000000 a",
            "-ERR wrong number of arguments for 'cms.incrbyat' command",
        ),
    ]);
    let time = now();
    assert_eq!(db.ask(&format!("CMS.INCRBYAT k {time}")), "[]");
}

#[test]
fn words_of_windows_are_checked() {
    server().connect().converse(&[
        ("CMS.INITBYDIM k 5 2 WINDOW 0", "-ERR window must be in the range [1, 315360000]"),
        ("CMS.INITBYDIM k 5 2 WINDOW x", "-ERR bad window"),
        ("CMS.INITBYPROB k 0.1 0.1 WINDOW 9 SLICES 1", "-ERR slices must be in the range [2, 14]"),
        (
            "CMS.INITBYDIM k 5 2 WINDOW",
            "-ERR wrong number of arguments for 'cms.initbydim' command",
        ),
        ("CMS.INITBYDIM k 5 2 window 9", "+OK"),
        ("CMS.INITBYDIM plain 5 2", "+OK"),
        ("CMS.INCRBYAT plain 1789000000000 a 1", "-CMS: the sketch has no window"),
        ("CMS.MERGE k 1 plain", "-CMS: sketches with a window cannot be merged"),
        ("CMS.MERGE plain 1 k", "-CMS: sketches with a window cannot be merged"),
    ]);
}

#[test]
fn replicas_and_restarted_servers_count_in_the_same_slices() {
    let mut server = server();
    let mut db = server.connect();
    let replica = server.replica(&[]);
    db.run("CMS.INITBYDIM k 2000 7 WINDOW 1 SLICES 10");
    for _ in 0..30 {
        db.run("CMS.INCRBY k a 1 b 2");
        sleep(Duration::from_millis(50));
    }
    server.wait_for(&replica);
    let digest = db.digest("k");
    assert_eq!(replica.connect().digest("k"), digest);
    db.run("SAVE");
    server.restart();
    assert_eq!(server.connect().digest("k"), digest);
}
