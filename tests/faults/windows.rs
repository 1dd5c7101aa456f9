//! Filters that forget, under clocks that jump, run back, and differ between primary and replica.
//!
//! The module is the build with the feature `injected-faults`, whose clock a setting moves.

mod model;

use crate::harness::{add_items, eventually, Connection, Server};
use crate::server_with_failpoints;
use std::time::{SystemTime, UNIX_EPOCH};

const SECOND: u64 = 1_000;

/// A connection to a server whose clock is moved.
struct Clocked {
    db: Connection,
    offset: u64,
}

impl Clocked {
    fn connect(server: &Server, offset: u64) -> Clocked {
        let mut clocked = Clocked {
            db: server.connect(),
            offset,
        };
        clocked.advance(0);
        clocked
    }

    fn advance(&mut self, milliseconds: u64) {
        self.offset += milliseconds;
        let offset = self.offset;
        self.db
            .run(&format!("CONFIG SET bf.inject-clock-offset {offset}"));
    }

    /// What the server's clock shows, but for the time that the question takes.
    fn now(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.expect("a clock after 1970").as_millis() as u64 + self.offset
    }
}

fn replica_of(primary: &Server, offset: i64) -> Server {
    let follow = format!("replicaof 127.0.0.1 {}", primary.port());
    let offset = format!("bf.inject-clock-offset {offset}");
    let replica = server_with_failpoints(&[&follow, &offset]);
    primary.wait_for(&replica);
    replica
}

fn forgotten(db: &mut Connection, key: &str) -> i64 {
    let info = db.run(&format!("BF.INFO {key} FULL"));
    info.field("Items forgotten").integer()
}

#[test]
fn a_replica_answers_by_its_own_clock_and_holds_the_same() {
    let primary = server_with_failpoints(&[]);
    let replica = replica_of(&primary, 120 * SECOND as i64);
    let mut here = Clocked::connect(&primary, 0);
    let mut there = replica.connect();
    here.db.run("BF.INSERT w WINDOW 60 SLICES 4 ITEMS a b");
    primary.wait_for(&replica);
    assert_eq!(here.db.ask("BF.MEXISTS w a b"), "[:1, :1]");
    assert_eq!(there.ask("BF.MEXISTS w a b"), "[:0, :0]");
    assert_eq!(there.ask("BF.CARD w"), ":0");
    // It does not sweep by itself.
    assert_eq!(forgotten(&mut there, "w"), 0);
    assert_eq!(here.db.digest("w"), there.digest("w"));
    here.advance(80 * SECOND);
    eventually("the step arrives", || forgotten(&mut there, "w") == 2);
    assert_eq!(here.db.digest("w"), there.digest("w"));
}

#[test]
fn a_clock_that_runs_back_makes_nothing_forgotten_early() {
    let server = server_with_failpoints(&[]);
    let mut clocked = Clocked::connect(&server, 3_600 * SECOND);
    clocked.db.run("BF.INSERT w WINDOW 60 SLICES 4 ITEMS a");
    clocked.offset = 0;
    clocked.advance(0);
    assert_eq!(clocked.db.ask("BF.INSERT w ITEMS a b"), "[:0, :1]");
    clocked.advance(1_800 * SECOND);
    assert_eq!(clocked.db.ask("BF.MEXISTS w a b"), "[:1, :1]");
    // Both came at the latest time, an hour ahead.
    clocked.advance(1_859 * SECOND);
    assert_eq!(clocked.db.ask("BF.MEXISTS w a b"), "[:1, :1]");
    clocked.advance(17 * SECOND);
    assert_eq!(clocked.db.ask("BF.MEXISTS w a b"), "[:0, :0]");
    eventually("the sweeper has come", || {
        forgotten(&mut clocked.db, "w") == 2
    });
}

#[test]
fn a_restart_after_the_window_answers_at_once() {
    for settings in [
        &["appendonly yes", "appendfsync no"][..],
        &["save 3600 1000000"],
    ] {
        let mut server = server_with_failpoints(settings);
        let mut db = server.connect();
        db.run("BF.RESERVE w 0.01 100 WINDOW 60");
        add_items(&mut db, "w", 0..10_000);
        if settings.len() == 1 {
            db.run("SAVE");
        }
        server.restart();
        let mut clocked = Clocked::connect(&server, 70 * SECOND);
        assert_eq!(clocked.db.ask("BF.EXISTS w item:1"), ":0");
        assert_eq!(clocked.db.ask("BF.CARD w"), ":0");
        eventually("the memory is back", || {
            clocked.db.run("MEMORY USAGE w").integer() < 1024
        });
    }
}

#[test]
fn many_filters_that_are_due_at_once_are_all_swept() {
    const FILTERS: u64 = 20_000;
    let server = server_with_failpoints(&[]);
    let mut clocked = Clocked::connect(&server, 0);
    let inserts = (0..FILTERS).map(|n| {
        let line = format!("BF.INSERT w{n} WINDOW 60 ITEMS a b c");
        crate::harness::words(&line)
    });
    clocked.db.pipeline(inserts);
    clocked.advance(70 * SECOND);
    // In one of so many filters an item may have been taken for another.
    let added = clocked.db.info_number("bf", "bf_items_added");
    assert!(added > 3 * FILTERS as i64 - 100, "{added} items were added");
    eventually("all are swept", || {
        clocked.db.info_number("bf", "bf_items_forgotten") == added
    });
}
