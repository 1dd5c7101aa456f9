//! The end of a slice changes replies although nobody has written: caches are told, and watching
//! transactions fail.

use super::{replica_of, server_with};
use crate::windows::{Clocked, SECOND};
use splitbloom_harness::{eventually, Connection};

/// A sketch with a window of 600 seconds in two slices: how it is created and added to, what is
/// asked, and the replies while the item counts and afterwards.
struct Sketch {
    create: &'static str,
    add: &'static str,
    ask: &'static str,
    replies: [&'static str; 2],
}

const SKETCHES: [Sketch; 2] = [
    Sketch {
        create: "CMS.INITBYDIM KEY 100 3 WINDOW 600 SLICES 2",
        add: "CMS.INCRBY KEY a 5",
        ask: "CMS.QUERY KEY a",
        replies: ["[:5]", "[:0]"],
    },
    Sketch {
        create: "TOPK.RESERVE KEY 3 50 3 0.9 WINDOW 600 SLICES 2",
        add: "TOPK.ADD KEY a",
        ask: "TOPK.LIST KEY",
        replies: ["[$a]", "[]"],
    },
];

/// After so long nothing counts that came now.
const ALL_SLICES: u64 = 901 * SECOND;

impl Sketch {
    fn create(&self, db: &mut Connection, key: &str) {
        db.run(&self.create.replace("KEY", key));
        self.add(db, key);
    }

    fn add(&self, db: &mut Connection, key: &str) {
        db.run(&self.add.replace("KEY", key));
    }

    fn ask(&self, db: &mut Connection, key: &str) -> String {
        db.ask(&self.ask.replace("KEY", key))
    }
}

fn invalidated(key: &str) -> String {
    format!("[$invalidate, [${key}]]")
}

#[test]
fn the_end_of_a_slice_invalidates_caches_on_primary_and_replica_by_their_own_clocks() {
    let primary = server_with(&[]);
    let replica = replica_of(&primary, &[]);
    let mut servers = [&primary, &replica].map(|server| Clocked::of("sketch", server, 0));
    let mut caches = [&primary, &replica].map(|server| server.connect_resp3());
    let db = &mut servers[0].db;
    for (sketch, key) in SKETCHES.iter().zip(["counts", "top"]) {
        sketch.create(db, key);
        db.run(&sketch.create.replace("KEY", &format!("{key}-empty")));
    }
    primary.wait_for(&replica);
    let keys = ["[$invalidate, [$counts]]", "[$invalidate, [$top]]"];
    for (server, cache) in servers.iter_mut().zip(&mut caches).rev() {
        cache.run("CLIENT TRACKING ON");
        for (sketch, key) in SKETCHES.iter().zip(["counts", "top"]) {
            assert_eq!(sketch.ask(cache, key), sketch.replies[0]);
            sketch.ask(cache, &format!("{key}-empty"));
        }
        assert_eq!(cache.ask("PING"), "+PONG"); // no push before
        server.advance(ALL_SLICES);
        let mut pushes = [cache.receive().to_string(), cache.receive().to_string()];
        pushes.sort();
        assert_eq!(pushes, keys);
        for (sketch, key) in SKETCHES.iter().zip(["counts", "top"]) {
            assert_eq!(sketch.ask(cache, key), sketch.replies[1]);
        }
        server.advance(2 * ALL_SLICES);
        assert_eq!(cache.ask("PING"), "+PONG"); // there is nothing left that could end
    }
}

#[test]
fn each_slice_with_items_is_signalled() {
    const SLICE: u64 = 300 * SECOND;
    let server = server_with(&[]);
    let mut clocked = Clocked::of("sketch", &server, 0);
    let mut cache = server.connect_resp3();
    // In the middle of a slice, so that each later time is, too.
    clocked.advance(SLICE + SLICE / 2 - clocked.now() % SLICE);
    let before = clocked.now() - SLICE;
    clocked.db.run("CMS.INITBYDIM k 100 3 WINDOW 600 SLICES 2");
    clocked.db.run(&format!("CMS.INCRBYAT k {before} a 1"));
    clocked.db.run("CMS.PACKINCR k LINES a");
    cache.run("CLIENT TRACKING ON");
    assert_eq!(cache.ask("CMS.QUERY k a"), "[:2]");
    for left in ["[:1]", "[:0]"] {
        clocked.advance(if left == "[:1]" { 2 * SLICE } else { SLICE });
        assert_eq!(cache.receive().to_string(), invalidated("k"));
        assert_eq!(cache.ask("CMS.QUERY k a"), left);
    }
}

#[test]
fn a_transaction_fails_if_a_slice_of_a_sketch_ends_while_it_watches() {
    for sketch in SKETCHES {
        let server = server_with(&[]);
        let mut clocked = Clocked::of("sketch", &server, 0);
        let (mut db, mut cache) = (server.connect(), server.connect_resp3());
        sketch.create(&mut db, "k");
        db.run("WATCH k");
        cache.run("CLIENT TRACKING ON");
        sketch.ask(&mut cache, "k");
        clocked.advance(ALL_SLICES);
        assert_eq!(cache.receive().to_string(), invalidated("k"));
        db.run("MULTI");
        db.run("PING");
        assert_eq!(db.ask("EXEC"), "_");
    }
}

#[test]
fn sketches_are_signalled_where_they_are_however_they_came_there() {
    let server = server_with(&[]);
    let mut clocked = Clocked::of("sketch", &server, 0);
    let needs_more = clocked.db.run("INFO server").text().contains("valkey_version:8.");
    for sketch in SKETCHES {
        clocked.db.run("FLUSHALL");
        let db = &mut clocked.db;
        sketch.create(db, "loaded");
        db.run("DEBUG RELOAD");
        for key in ["renamed", "copied", "moved", "restored", "deleted", "expired", "replaced"] {
            sketch.create(db, key);
        }
        let dump = db.run("DUMP restored").bytes().to_vec();
        db.run("RENAME renamed new-name");
        db.run("COPY copied copy");
        db.run("MOVE moved 3");
        db.run("DEL restored deleted");
        db.call([b"RESTORE".as_slice(), b"restored", b"0", &dump]);
        db.run("PEXPIRE expired 1");
        db.run("SET replaced text");
        if needs_more {
            // Valkey 8 does not say that a key has moved: the next add does.
            sketch.add(db, "new-name");
            db.run("SELECT 3");
            sketch.add(db, "moved");
            db.run("SELECT 0");
        }
        db.run("SWAPDB 3 4");
        eventually("the key has expired", || db.ask("EXISTS expired") == ":0");

        let mut cache = server.connect_resp3();
        cache.run("CLIENT TRACKING ON");
        let keys = ["copied", "copy", "loaded", "moved", "new-name", "restored"];
        for key in keys {
            cache.run(if key == "moved" { "SELECT 4" } else { "SELECT 0" });
            assert_ne!(sketch.ask(&mut cache, key), sketch.replies[1], "{key}");
        }
        clocked.advance(ALL_SLICES);
        let mut pushes = keys.map(|_| cache.receive().to_string());
        pushes.sort();
        assert_eq!(pushes, keys.map(invalidated));
        assert_eq!(cache.ask("PING"), "+PONG");
    }
}

#[test]
fn a_restarted_server_signals_the_sketches_of_its_files() {
    for settings in [&["appendonly yes", "appendfsync no"][..], &["save 3600 1000000"]] {
        let mut server = server_with(settings);
        let mut db = server.connect();
        SKETCHES[0].create(&mut db, "counts");
        SKETCHES[1].create(&mut db, "top");
        if settings.len() == 1 {
            db.run("SAVE");
        }
        server.restart();
        let mut cache = server.connect_resp3();
        cache.run("CLIENT TRACKING ON");
        assert_eq!(SKETCHES[0].ask(&mut cache, "counts"), SKETCHES[0].replies[0]);
        assert_eq!(SKETCHES[1].ask(&mut cache, "top"), SKETCHES[1].replies[0]);
        Clocked::of("sketch", &server, ALL_SLICES);
        let mut pushes = [cache.receive().to_string(), cache.receive().to_string()];
        pushes.sort();
        assert_eq!(pushes, ["counts", "top"].map(invalidated));
    }
}

#[test]
fn a_sketch_in_use_is_signalled_later() {
    for sketch in SKETCHES {
        let server = server_with(&[]);
        let mut clocked = Clocked::of("sketch", &server, 0);
        let mut cache = server.connect_resp3();
        sketch.create(&mut clocked.db, "k");
        cache.run("CLIENT TRACKING ON");
        assert_eq!(sketch.ask(&mut cache, "k"), sketch.replies[0]);
        clocked.db.run("CONFIG SET sketch.inject-keys-in-use 3");
        clocked.advance(ALL_SLICES);
        assert_eq!(cache.receive().to_string(), invalidated("k"));
        assert_eq!(sketch.ask(&mut cache, "k"), sketch.replies[1]);
        let left = clocked.db.ask("CONFIG GET sketch.inject-keys-in-use");
        assert_eq!(left, "[$sketch.inject-keys-in-use, $0]");
    }
}
