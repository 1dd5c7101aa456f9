//! What is replicated, logged and signalled of filters that forget.

use crate::replication::assert_follows;
use crate::windows::field;
use splitbloom_harness::{
    add_items, commands_in_append_only_file, events_of, eventually, load_chunks, now, scan_dump,
    Connection, Server, APPEND_ONLY,
};

#[test]
fn forgetting_is_propagated_and_sends_no_event() {
    let lines = [&APPEND_ONLY[..], &["notify-keyspace-events KEA"]].concat();
    let server = Server::strict(&lines);
    let events = events_of(&server, |db| {
        db.run("BF.INSERT w WINDOW 1 SLICES 2 ITEMS a b");
        eventually("the sweeper has come", || field(db, "w", "Items forgotten") == ":2");
    });
    assert_eq!(events, ["bf.reserve w", "bf.insert w"]);
    let logged = commands_in_append_only_file(&server);
    let is_step = |command: &String| command.starts_with("BF.FORGET w ");
    assert!(logged.iter().any(is_step), "{logged:?}");
}

/// Items of each filter that is filled.
const ITEMS: u64 = 3000;

/// Fills filters with items of several slices that will be over soon.
fn fill(db: &mut Connection, keys: &[&str]) {
    for key in keys {
        // Each item is new to it.
        db.run(&format!("BF.RESERVE {key} 0.000000001 100 WINDOW 2 SLICES 4"));
        add_items(db, key, 0..ITEMS);
    }
}

/// Waits until each filter of `keys` has forgotten `items` items, which are all of its items.
fn wait_until_swept(db: &mut Connection, keys: &[&str], items: u64) {
    for key in keys {
        eventually("the sweeper has come", || {
            field(db, key, "Items forgotten") == format!(":{items}") && {
                db.run(&format!("MEMORY USAGE {key}")).integer() < 1024
            }
        });
    }
}

#[test]
fn the_sweeper_finds_filters_that_have_moved() {
    let (server, mut db) = Server::start().with_client();
    let replica = server.replica(&[]);
    fill(&mut db, &["stays", "renamed", "moved", "copied", "over", "restored", "dumped"]);
    add_items(&mut db, "last", 0..10); // one that does not forget
    let payload = db.dump("restored");
    let chunks = scan_dump(&mut db, "dumped");
    db.run("RENAME renamed new-name");
    db.run("RENAME over last");
    db.run("COPY copied copy");
    db.run("COPY copied copy DB 5");
    db.run("MOVE moved 3");
    assert_eq!(db.ask("EXISTS stays"), ":1", "the client stays in its database");
    db.run("DEL restored dumped");
    db.restore("restored", &payload);
    load_chunks(&mut db, "dumped", &chunks);
    // Valkey 8 tells no module of a move without harm: there the next change counts.
    let needs_more = db.run("INFO server").text().contains("valkey_version:8.");
    if needs_more {
        db.run("BF.ADD new-name more");
        db.run("BF.ADD last more");
        db.run("SELECT 3");
        db.run("BF.ADD moved more");
        db.run("SELECT 0");
    }
    db.run("SWAPDB 3 4");
    let of_moved = ITEMS + u64::from(needs_more);
    wait_until_swept(&mut db, &["stays", "copied", "copy", "restored", "dumped"], ITEMS);
    wait_until_swept(&mut db, &["new-name", "last"], of_moved);
    db.run("SELECT 4");
    wait_until_swept(&mut db, &["moved"], of_moved);
    db.run("SELECT 5");
    wait_until_swept(&mut db, &["copy"], ITEMS);
    assert_follows(&server, &replica);
}

#[test]
fn filters_that_are_gone_when_their_turn_comes_are_no_matter() {
    let (_server, mut db) = Server::start().with_client();
    let held = db.bytes_held();
    fill(&mut db, &["deleted", "expired", "replaced", "text", "stays"]);
    db.run("UNLINK deleted");
    db.run("PEXPIRE expired 1");
    db.run("BF.RESERVE other 0.01 100");
    db.run("RENAME other replaced");
    db.run("SET text x");
    wait_until_swept(&mut db, &["stays"], ITEMS);
    db.run("FLUSHALL ASYNC");
    eventually("all memory is back", || db.bytes_held() <= held + 1000);
    // Filters that are filled later are swept, too.
    fill(&mut db, &["later"]);
    wait_until_swept(&mut db, &["later"], ITEMS);
}

#[test]
fn a_restart_knows_what_is_to_be_forgotten() {
    for settings in [&APPEND_ONLY[..], &["save 3600 100000"]] {
        let (mut server, mut db) = Server::strict(settings).with_client();
        let old = now() - 3_600_000;
        db.run(&format!("BF.INSERT old WINDOW 60 AT {old} ITEMS a b"));
        db.run("BF.INSERT w WINDOW 2 SLICES 2 ITEMS a b");
        db.run("BF.INSERT long WINDOW 2000 ITEMS a b");
        let digest = db.digest("long");
        if settings.len() == 1 {
            db.run("SAVE");
        }
        server.restart();
        let mut db = server.connect();
        assert_eq!(db.ask("BF.MEXISTS old a b"), "[:0, :0]");
        assert_eq!(db.ask("BF.MEXISTS long a b"), "[:1, :1]");
        assert_eq!(db.digest("long"), digest);
        wait_until_swept(&mut db, &["old", "w"], 2);
        db.rewrite_append_only_file();
        db.run("BF.ADD long c");
        let all = db.digest_of_everything();
        db.run("DEBUG RELOAD");
        assert_eq!(db.digest_of_everything(), all);
    }
}

#[test]
fn a_paused_primary_does_not_sweep() {
    let (server, mut db) = Server::strict(&APPEND_ONLY).with_client();
    db.run("BF.INSERT w WINDOW 2 SLICES 2 ITEMS a b");
    db.run("CLIENT PAUSE 100000 WRITE");
    let written = || commands_in_append_only_file(&server).len();
    let before = written();
    eventually("the window has passed", || db.ask("BF.CARD w") == ":0");
    assert_eq!(field(&mut db, "w", "Items forgotten"), ":0");
    assert_eq!(written(), before);
    assert_eq!(db.info("bf", "bf_sweeps_waiting"), "1");
    eventually("the sweep is late", || db.info_number("bf", "bf_sweep_lag_msec") > 0);
    db.run("CLIENT UNPAUSE");
    wait_until_swept(&mut db, &["w"], 2);
    assert_eq!(db.info("bf", "bf_sweeps_waiting"), "0");
    assert_eq!(db.info("bf", "bf_sweep_lag_msec"), "0");
}
