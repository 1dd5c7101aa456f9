//! The end of a slice changes replies although nobody has written: caches are invalidated, and
//! watching transactions fail.

use super::{forgotten, replica_of, server_with, Clocked, SECOND};
use splitbloom_harness::{eventually, Connection};

/// A filter or sketch with a window of 600 seconds in two slices: how it is created and added to,
/// what is asked, and the replies while the item counts and afterwards.
struct Kind {
    module: &'static str,
    create: &'static str,
    add: &'static str,
    ask: &'static str,
    replies: [&'static str; 2],
}

const KINDS: [Kind; 3] = [
    Kind {
        module: "bf",
        create: "BF.RESERVE KEY 0.000001 100 WINDOW 600 SLICES 2",
        add: "BF.ADD KEY a",
        ask: "BF.MEXISTS KEY a",
        replies: ["[#t]", "[#f]"],
    },
    Kind {
        module: "sketch",
        create: "CMS.INITBYDIM KEY 100 3 WINDOW 600 SLICES 2",
        add: "CMS.INCRBY KEY a 5",
        ask: "CMS.QUERY KEY a",
        replies: ["[:5]", "[:0]"],
    },
    Kind {
        module: "sketch",
        create: "TOPK.RESERVE KEY 3 50 3 0.9 WINDOW 600 SLICES 2",
        add: "TOPK.ADD KEY a",
        ask: "TOPK.LIST KEY",
        replies: ["[$a]", "[]"],
    },
];

/// After this time, no item that was added now counts any more.
const ALL_SLICES: u64 = 901 * SECOND;

impl Kind {
    fn create(&self, db: &mut Connection, key: &str) {
        db.run(&self.create.replace("KEY", key));
        db.run(&self.add.replace("KEY", key));
    }

    fn ask(&self, db: &mut Connection, key: &str) -> String {
        db.ask(&self.ask.replace("KEY", key))
    }
}

fn invalidated(key: &str) -> String {
    format!("[$invalidate, [${key}]]")
}

/// The next pushes that a cache receives, sorted.
fn pushes<const N: usize>(cache: &mut Connection) -> [String; N] {
    let mut pushes = [(); N].map(|()| cache.receive().to_string());
    pushes.sort();
    pushes
}

/// A key of each kind, in alphabetical order.
const KEYS: [&str; 3] = ["bloom", "counts", "top"];

fn kinds() -> impl Iterator<Item = (&'static Kind, &'static str)> {
    KINDS.iter().zip(KEYS)
}

#[test]
fn the_end_of_a_slice_invalidates_caches_on_primary_and_replica_by_their_own_clocks() {
    let primary = server_with(&[]);
    let replica = replica_of(&primary, 0);
    let mut servers = [&primary, &replica].map(|server| Clocked::connect(server, 0));
    let mut caches = [&primary, &replica].map(|server| server.connect_resp3());
    let db = &mut servers[0].db;
    for (kind, key) in kinds() {
        kind.create(db, key);
        db.run(&kind.create.replace("KEY", &format!("{key}-empty")));
    }
    primary.wait_for(&replica);
    // The replica first: the primary's sweep forgets on both.
    for (server, cache) in servers.iter_mut().zip(&mut caches).rev() {
        cache.run("CLIENT TRACKING ON");
        for (kind, key) in kinds() {
            assert_eq!(kind.ask(cache, key), kind.replies[0]);
            kind.ask(cache, &format!("{key}-empty"));
        }
        assert_eq!(cache.ask("BF.EXISTS missing a"), "#f");
        assert_eq!(cache.ask("PING"), "+PONG"); // no push before
        server.advance(ALL_SLICES);
        assert_eq!(pushes(cache), KEYS.map(invalidated));
        for (kind, key) in kinds() {
            assert_eq!(kind.ask(cache, key), kind.replies[1]);
        }
        server.advance(2 * ALL_SLICES);
        assert_eq!(cache.ask("PING"), "+PONG"); // there is nothing left that could end
    }
}

#[test]
fn each_slice_with_items_is_signalled() {
    const SLICE: u64 = 300 * SECOND;
    let server = server_with(&[]);
    let mut clocked = Clocked::connect(&server, 0);
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
fn a_transaction_fails_if_a_slice_ends_while_it_watches() {
    let server = server_with(&[]);
    let mut clocked = Clocked::connect(&server, 0);
    for (kind, key) in kinds() {
        let (mut db, mut cache) = (server.connect(), server.connect_resp3());
        kind.create(&mut db, key);
        db.run(&format!("WATCH {key}"));
        cache.run("CLIENT TRACKING ON");
        kind.ask(&mut cache, key);
        clocked.advance(ALL_SLICES);
        assert_eq!(cache.receive().to_string(), invalidated(key));
        db.run("MULTI");
        db.run("PING");
        assert_eq!(db.ask("EXEC"), "_", "{key}");
    }
}

#[test]
fn values_are_signalled_where_they_are_however_they_came_there() {
    let server = server_with(&[]);
    let mut clocked = Clocked::connect(&server, 0);
    let needs_more = clocked.db.run("INFO server").text().contains("valkey_version:8.");
    for kind in KINDS {
        clocked.db.run("FLUSHALL");
        let db = &mut clocked.db;
        kind.create(db, "loaded");
        db.run("DEBUG RELOAD");
        for key in ["renamed", "copied", "moved", "restored", "deleted", "expired", "replaced"] {
            kind.create(db, key);
        }
        let dump = db.dump("restored");
        db.run("RENAME renamed new-name");
        db.run("COPY copied copy");
        db.run("MOVE moved 3");
        db.run("DEL restored deleted");
        db.restore("restored", &dump);
        db.run("PEXPIRE expired 1");
        db.run("SET replaced text");
        if needs_more {
            // Valkey 8 does not say that a key has moved: the next add of a new item does.
            let another = kind.add.replace(" a", " b");
            db.run(&another.replace("KEY", "new-name"));
            db.run("SELECT 3");
            db.run(&another.replace("KEY", "moved"));
            db.run("SELECT 0");
        }
        db.run("SWAPDB 3 4");
        eventually("the key has expired", || db.ask("EXISTS expired") == ":0");

        let mut cache = server.connect_resp3();
        cache.run("CLIENT TRACKING ON");
        let keys = ["copied", "copy", "loaded", "moved", "new-name", "restored"];
        for key in keys {
            cache.run(if key == "moved" { "SELECT 4" } else { "SELECT 0" });
            assert_ne!(kind.ask(&mut cache, key), kind.replies[1], "{key}");
        }
        clocked.advance(ALL_SLICES);
        assert_eq!(pushes(&mut cache), keys.map(invalidated));
        assert_eq!(cache.ask("PING"), "+PONG");
    }
}

#[test]
fn a_key_in_use_is_signalled_later_and_a_filter_swept() {
    let server = server_with(&[]);
    let mut clocked = Clocked::connect(&server, 0);
    for (kind, key) in kinds() {
        let mut cache = server.connect_resp3();
        kind.create(&mut clocked.db, key);
        cache.run("CLIENT TRACKING ON");
        assert_eq!(kind.ask(&mut cache, key), kind.replies[0]);
        let setting = format!("{}.inject-keys-in-use", kind.module);
        clocked.db.run(&format!("CONFIG SET {setting} 5"));
        clocked.advance(ALL_SLICES);
        assert_eq!(cache.receive().to_string(), invalidated(key));
        assert_eq!(kind.ask(&mut cache, key), kind.replies[1]);
        if kind.module == "bf" {
            eventually("the sweeper has come back", || forgotten(&mut clocked.db, key) == 1);
        }
        let left = format!("[${setting}, $0]");
        eventually("it is used no more", || {
            clocked.db.ask(&format!("CONFIG GET {setting}")) == left
        });
    }
}
