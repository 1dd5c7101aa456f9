//! Filters and sketches that forget, under clocks that jump, run back, and differ between primary
//! and replica.
//!
//! The modules are the builds with the feature `injected-faults`, whose clocks a setting moves.

mod model;
mod signals;

use crate::{faulty_module, server_with_failpoints};
use splitbloom_harness::{add_items, eventually, Connection, Server};

const SECOND: u64 = 1_000;

/// A server with both modules.
fn server_with(settings: &[&str]) -> Server {
    let sketches = faulty_module().with_file_name("libsplitsketch.so");
    let load = format!("loadmodule {}", sketches.display());
    server_with_failpoints(&[&[load.as_str()], settings].concat())
}

/// A replica whose clocks differ by the offset.
fn replica_of(primary: &Server, offset: i64) -> Server {
    let follow = format!("replicaof 127.0.0.1 {}", primary.port());
    let clocks = ["bf", "sketch"].map(|name| format!("{name}.inject-clock-offset {offset}"));
    let replica = server_with(&[&follow, &clocks[0], &clocks[1]]);
    primary.wait_for(&replica);
    replica
}

/// A connection to a server, where settings move the clocks of the modules.
struct Clocked {
    db: Connection,
    offset: u64,
}

impl Clocked {
    fn connect(server: &Server, offset: u64) -> Clocked {
        let mut clocked = Clocked { db: server.connect(), offset };
        clocked.advance(0);
        clocked
    }

    fn advance(&mut self, milliseconds: u64) {
        self.offset += milliseconds;
        for module in ["bf", "sketch"] {
            let setting = format!("{module}.inject-clock-offset");
            self.db.run(&format!("CONFIG SET {setting} {}", self.offset));
        }
    }

    /// The time of the modules' clocks, except for the delay until a command arrives.
    fn now(&self) -> u64 {
        splitbloom_harness::now() + self.offset
    }
}

fn forgotten(db: &mut Connection, key: &str) -> i64 {
    let info = db.run(&format!("BF.INFO {key} FULL"));
    info.field("Items forgotten").integer()
}

#[test]
fn a_replica_answers_by_its_own_clock_and_holds_the_same() {
    let primary = server_with(&[]);
    let replica = replica_of(&primary, 120 * SECOND as i64);
    let mut here = Clocked::connect(&primary, 0);
    let mut there = replica.connect();
    here.db.run("BF.INSERT w ERROR 0.000001 WINDOW 60 SLICES 4 ITEMS a b");
    primary.wait_for(&replica);
    assert_eq!(here.db.ask("BF.MEXISTS w a b"), "[:1, :1]");
    assert_eq!(there.ask("BF.MEXISTS w a b"), "[:0, :0]");
    assert_eq!(there.ask("BF.CARD w"), ":0");
    // The replica does not sweep by itself.
    assert_eq!(forgotten(&mut there, "w"), 0);
    assert_eq!(here.db.digest("w"), there.digest("w"));
    here.advance(80 * SECOND);
    eventually("the step arrives", || forgotten(&mut there, "w") == 2);
    assert_eq!(here.db.digest("w"), there.digest("w"));
}

#[test]
fn a_clock_that_runs_back_makes_nothing_forgotten_early() {
    let server = server_with(&[]);
    let mut clocked = Clocked::connect(&server, 3_600 * SECOND);
    clocked.db.run("BF.INSERT w ERROR 0.000001 WINDOW 60 SLICES 4 ITEMS a");
    clocked.offset = 0;
    clocked.advance(0);
    assert_eq!(clocked.db.ask("BF.INSERT w ITEMS a b"), "[:0, :1]");
    clocked.advance(1_800 * SECOND);
    assert_eq!(clocked.db.ask("BF.MEXISTS w a b"), "[:1, :1]");
    // Both came at the latest time, an hour ahead.
    clocked.advance(1_840 * SECOND);
    assert_eq!(clocked.db.ask("BF.MEXISTS w a b"), "[:1, :1]");
    clocked.advance(36 * SECOND);
    assert_eq!(clocked.db.ask("BF.MEXISTS w a b"), "[:0, :0]");
    eventually("the sweeper has come", || forgotten(&mut clocked.db, "w") == 2);
}

#[test]
fn each_slice_is_signalled_also_while_a_history_is_loaded_and_after_a_move() {
    const SLICE: u64 = 300 * SECOND;
    let server = server_with(&[]);
    let mut clocked = Clocked::connect(&server, 0);
    let mut cache = server.connect_resp3();
    // At the beginning of a slice, so that the next ends are that of the first item's slice and,
    // well apart, those of the others.
    clocked.advance(SLICE - clocked.now() % SLICE);
    let start = clocked.now() - 500 * SECOND;
    let at = [start, start + SLICE];
    let [first, second] = at.map(|at| format!("BF.INSERT w NOCREATE AT {at} ITEMS"));
    clocked.db.run("BF.RESERVE w 0.0001 100 WINDOW 600 SLICES 2");
    clocked.db.run(&format!("{first} a"));
    clocked.db.run(&format!("{second} b"));
    clocked.db.run("RENAME w moved");
    // Valkey 8 does not say that the key has moved: the module learns it at the next change.
    clocked.db.run(&second.replace(" w ", " moved ").replace("ITEMS", "ITEMS c"));
    cache.run("CLIENT TRACKING ON");
    for left in ["[#f, #t, #t]", "[#f, #f, #f]"] {
        cache.ask("BF.MEXISTS moved a b c");
        clocked.advance(400 * SECOND);
        assert_eq!(cache.receive().to_string(), "[$invalidate, [$moved]]");
        assert_eq!(cache.ask("BF.MEXISTS moved a b c"), left);
    }
}

#[test]
fn forgetting_ahead_of_the_clock_invalidates_caches() {
    let primary = server_with(&[]);
    let replica = replica_of(&primary, -1_000 * SECOND as i64);
    let mut here = Clocked::connect(&primary, 0);
    let mut cache = replica.connect_resp3();
    here.db.run("BF.INSERT w WINDOW 600 SLICES 2 ITEMS a");
    primary.wait_for(&replica);
    cache.run("CLIENT TRACKING ON");
    assert_eq!(cache.ask("BF.EXISTS w a"), "#t");
    here.advance(901 * SECOND);
    assert_eq!(cache.receive().to_string(), "[$invalidate, [$w]]");
    assert_eq!(cache.ask("BF.EXISTS w a"), "#f");
}

#[test]
fn adds_that_are_replayed_from_a_file_or_by_the_primary_do_not_delay_a_sweep() {
    const SLICE: u64 = 300 * SECOND;
    let primary = server_with(&["appendonly yes", "appendfsync no"]);
    let replica = replica_of(&primary, 0);
    let mut servers = [&primary, &replica].map(|server| Clocked::connect(server, 0));
    let rest_of_slice = SLICE - servers[0].now() % SLICE;
    let advance = |servers: &mut [Clocked; 2], by| servers.iter_mut().for_each(|s| s.advance(by));
    advance(&mut servers, rest_of_slice);
    // At this rate the other item is no false positive, so no add renews an item.
    servers[0].db.run("BF.RESERVE w 0.000000001 100 WINDOW 600 SLICES 2");
    add_items(&mut servers[0].db, "w", 0..10_000);
    primary.wait_for(&replica); // before its clock passes the time of the adds by a slice

    // They are remembered for three slices. Shortly before, another item is added.
    advance(&mut servers, 3 * SLICE - 60 * SECOND);
    assert_eq!(servers[0].db.ask("BF.ADD w another"), ":1");
    primary.wait_for(&replica);
    servers[0].db.run("DEBUG LOADAOF");
    servers[1].db.run("REPLICAOF NO ONE");
    advance(&mut servers, 60 * SECOND);
    for (Clocked { db, .. }, what) in servers.iter_mut().zip(["loaded", "promoted"]) {
        eventually(&format!("the {what} filter is swept"), || forgotten(db, "w") > 9_000);
        assert_eq!(db.ask("BF.EXISTS w another"), ":1");
    }
}

#[test]
fn a_history_that_is_loaded_delays_a_sweep_also_on_a_promoted_replica() {
    let primary = server_with(&[]);
    let replica = replica_of(&primary, 0);
    let mut here = Clocked::connect(&primary, 0);
    here.db.run("BF.RESERVE w 0.0001 100 WINDOW 600 SLICES 2");
    let start = here.now() - 100_000 * SECOND;
    let insert = |seconds: u64, item: &str| {
        let at = start + seconds * SECOND;
        format!("BF.INSERT w NOCREATE AT {at} ITEMS {item}")
    };
    assert_eq!(here.db.ask(&insert(0, "a")), "[:1]");
    assert_eq!(here.db.ask(&insert(599, "a")), "[:0]");
    primary.wait_for(&replica);
    let mut there = Clocked::connect(&replica, 0);
    there.db.run("REPLICAOF NO ONE");
    for server in [&mut here, &mut there] {
        // Were it swept, its time would be the clock's, and every later add would be at that time.
        server.advance(200 * SECOND);
        assert_eq!(server.db.ask(&insert(600, "b")), "[:1]");
        assert_eq!(server.db.ask(&insert(1_600, "a b")), "[:1, :1]");
        assert_eq!(server.db.ask(&insert(2_600, "a b")), "[:1, :1]");
        // The sweep comes a slice after the last of the items.
        server.advance(301 * SECOND);
        eventually("the sweeper has come", || forgotten(&mut server.db, "w") == 6);
    }
}

#[test]
fn a_write_to_a_key_in_use_changes_nothing_and_can_be_repeated() {
    const LATER: &str = "-TRYAGAIN the server is saving the key";
    // At a rate at which each item is new.
    let (_server, mut db) = server_with(&["bf.error-rate 0.000001"]).with_client();
    db.run("BF.ADD source a");
    db.run("CF.RESERVE counting 1000 ERROR 0.000001");
    db.run("CF.ADD counting a");
    for command in [
        "BF.RESERVE reserved 0.01 100",
        "BF.ADD k a",
        "BF.MADD k b c",
        "BF.INSERT k ITEMS d",
        "BF.PACKADD k LINES e",
        "BF.MERGE merged 1 source",
        "CF.RESERVE cuckoo 100",
        "CF.ADD counting b",
        "CF.ADDNX counting c",
        "CF.INSERT counting ITEMS d",
        "CF.PACKADD counting LINES e",
        "CF.PACKDEL counting LINES e",
        "CF.DEL counting a",
    ] {
        let before = db.digest_of_everything();
        db.run("CONFIG SET bf.inject-keys-in-use 1");
        assert_eq!(db.ask(command), LATER, "{command}");
        assert_eq!(db.digest_of_everything(), before, "{command}");
        let repeated = db.line(command);
        assert!(!repeated.is_error(), "{command}: {repeated}");
        assert_ne!(db.digest_of_everything(), before, "{command}");
    }
}

#[test]
fn many_filters_that_are_due_at_once_are_all_swept() {
    const FILTERS: u64 = 20_000;
    let server = server_with(&[]);
    let mut clocked = Clocked::connect(&server, 0);
    let inserts = (0..FILTERS).map(|n| {
        let line = format!("BF.INSERT w{n} WINDOW 60 ITEMS a b c");
        splitbloom_harness::words(&line)
    });
    clocked.db.pipeline(inserts);
    clocked.advance(70 * SECOND);
    // In so many filters, some items may have been false positives.
    let added = clocked.db.info_number("bf", "bf_items_added");
    assert!(added > 3 * FILTERS as i64 - 100, "{added} items were added");
    eventually("all are swept", || clocked.db.info_number("bf", "bf_items_forgotten") == added);
}
