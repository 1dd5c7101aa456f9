//! Every way to save, copy or move a filter: all lookups and the digest stay the same.

use crate::hostile::{large, Large};
use splitbloom_harness::{
    add_items, missing_items, now, scan_dump, words, Fingerprint, Server, Specimen, Specimens,
    APPEND_ONLY,
};
use std::fs;

const MIB: usize = 1 << 20;

/// A way to save, copy or move all filters of a server, which has them afterwards.
type Way = fn(&mut Server);

const WAYS: [(&str, Way); 9] = [
    ("an append-only file that was never rewritten", Server::restart),
    ("a rewritten append-only file with preamble", |server| rewrite_and_restart(server, "yes")),
    ("a rewritten append-only file of commands", |server| rewrite_and_restart(server, "no")),
    ("DEBUG RELOAD", debug_reload),
    ("COPY", |server| {
        let mut db = server.connect();
        for Specimen { key, .. } in Specimens::all() {
            db.run(&format!("COPY {key} {key} DB 1"));
        }
        db.run("FLUSHDB");
        db.run("SWAPDB 0 1");
    }),
    ("DUMP and RESTORE", |server| {
        there_and_back(server, |from, to, Specimen { key, .. }| {
            let payload = from.connect().dump(key);
            assert_eq!(to.connect().restore(key, &payload), "+OK");
        });
    }),
    ("MIGRATE", |server| {
        there_and_back(server, |from, to, Specimen { key, .. }| {
            let migrate = format!("MIGRATE 127.0.0.1 {} {key} 0 30000", to.port());
            assert_eq!(from.connect().ask(&migrate), "+OK");
            assert_eq!(from.connect().ask(&format!("EXISTS {key}")), ":0");
        });
    }),
    ("SCANDUMP and LOADCHUNK", |server| {
        there_and_back(server, |from, to, Specimen { family, key, .. }| {
            let chunks = family.scan_dump(&mut from.connect(), key);
            let is_fit = |bytes: &[u8]| !bytes.is_empty() && bytes.len() <= MIB;
            assert!(chunks.iter().all(|(iterator, bytes)| *iterator > 0 && is_fit(bytes)));
            family.load_chunks(&mut to.connect(), key, &chunks);
        });
    }),
    ("SAVE", save_and_restart),
];

fn rewrite_and_restart(server: &mut Server, preamble: &str) {
    let mut db = server.connect();
    db.run(&format!("CONFIG SET aof-use-rdb-preamble {preamble}"));
    db.rewrite_append_only_file();
    server.restart();
}

/// Carries each filter to another server, and then back.
fn there_and_back(here: &Server, carry: fn(&Server, &Server, Specimen)) {
    let there = Server::start();
    for (from, to) in [(here, &there), (&there, here)] {
        Specimens::all().for_each(|specimen| carry(from, to, specimen));
        from.connect().run("FLUSHALL");
    }
}

#[test]
fn filters_survive_every_way_to_save_copy_and_move_them() {
    let (mut server, mut db) = Server::configured(&APPEND_ONLY).with_client();
    Specimens::create(&mut db);
    db.run("BF.INSERT created-by-insert CAPACITY 3 ERROR 0.0001 NONSCALING ITEMS a b c d");
    db.run("BF.MADD created-by-madd a b c a");
    db.run("BF.ADD created-by-add a");
    let before = Specimens::fingerprints(&mut db);
    let everything = db.digest_of_everything();
    server.restart();
    assert_eq!(server.connect().digest_of_everything(), everything);
    server.connect().run("DEL created-by-insert created-by-madd created-by-add");
    for (way, go) in WAYS {
        go(&mut server);
        assert!(Specimens::fingerprints(&mut server.connect()) == before, "{way}");
    }
}

#[test]
fn loaded_filters_behave_like_their_originals() {
    let (_server, mut db) = Server::start().with_client();
    Specimens::create(&mut db);
    let later = now() + 1_000_000;
    for Specimen { family, key, .. } in Specimens::all() {
        let chunks = family.scan_dump(&mut db, key);
        family.load_chunks(&mut db, "loaded", &chunks);
        let payload = db.dump(key);
        db.restore("restored", &payload);
        let answers = [key, "loaded", "restored"].map(|copy| {
            let further = (0..500).map(|number| format!("new:{number}").into_bytes());
            // Filters that forget get the same time, later than that of all other items.
            let head = match key.starts_with("window") {
                true => words(&format!("BF.INSERT {copy} AT {later} ITEMS")),
                false => family.adding(copy),
            };
            db.call(head.into_iter().chain(further)).to_string()
        });
        assert_eq!(answers[0], answers[1], "{key}");
        assert_eq!(answers[0], answers[2], "{key}");
        assert_eq!(db.digest(key), db.digest("loaded"), "{key}");
        assert_eq!(db.digest(key), db.digest("restored"), "{key}");
        db.run("DEL loaded restored");
    }
}

#[test]
fn a_sparse_filter_of_any_capacity_is_small_in_every_file_and_dump() {
    const ITEMS: u64 = 1_000;
    // A line, what names it, and what each file has besides.
    const MOST: u64 = 84 * ITEMS + 4_000;
    for preamble in ["yes", "no"] {
        let preamble = format!("aof-use-rdb-preamble {preamble}");
        let settings = ["appendonly yes", "appendfsync no", "rdbcompression no", preamble.as_str()];
        let (mut server, mut db) = Server::configured(&settings).with_client();
        db.run("BF.RESERVE k 0.01 1000000000000");
        add_items(&mut db, "k", 0..ITEMS);
        assert!((db.run("DUMP k").bytes().len() as u64) < MOST);
        let chunks = scan_dump(&mut db, "k");
        assert!((chunks[0].1.len() as u64) < MOST && chunks.len() == 1);
        db.run("SAVE");
        let file = fs::metadata(server.folder().join("dump.rdb")).expect("a file");
        assert!(file.len() < MOST);
        db.rewrite_append_only_file();
        assert!(db.info_number("persistence", "aof_base_size") < MOST as i64);
        let digest = db.digest("k");
        server.restart();
        let mut db = server.connect();
        assert_eq!(db.digest("k"), digest);
        assert_eq!(missing_items(&mut db, "k", 0..ITEMS), 0);
    }
}

/// All of the large filters have these items.
const LARGE: u64 = 200_000;

#[test]
fn a_partly_loaded_filter_can_be_saved_reloaded_and_completed() {
    let (mut server, mut db) = Server::configured(&APPEND_ONLY).with_client();
    let before = large().iter().map(|Large { family, chunks, .. }| {
        family.load_chunks(&mut db, "whole", chunks);
        let before = Fingerprint::of(&mut db, *family, "whole", LARGE);
        db.run("DEL whole");
        before
    });
    let before: Vec<Fingerprint> = before.collect();
    db.rewrite_append_only_file();
    let rewrite: fn(&mut Server) = |server| rewrite_and_restart(server, "no");
    for journey in [debug_reload, dump_and_restore, copy_and_rename, rewrite, save_and_restart] {
        for (Large { family, chunks, .. }, before) in large().iter().zip(&before) {
            let (first, rest) = chunks.split_at(chunks.len() / 2);
            family.load_chunks(&mut server.connect(), "part", first);
            journey(&mut server);
            let mut db = server.connect();
            family.load_chunks(&mut db, "part", rest);
            assert_eq!(&Fingerprint::of(&mut db, *family, "part", LARGE), before);
            db.run("DEL part");
        }
    }
}

fn save_and_restart(server: &mut Server) {
    let mut db = server.connect();
    db.run("CONFIG SET appendonly no");
    db.run("CONFIG REWRITE");
    db.run("SAVE");
    server.restart();
}

fn debug_reload(server: &mut Server) {
    server.connect().run("DEBUG RELOAD");
}

fn dump_and_restore(server: &mut Server) {
    let mut db = server.connect();
    let payload = db.dump("part");
    assert_eq!(db.restore("part", &payload), "+OK");
}

fn copy_and_rename(server: &mut Server) {
    let mut db = server.connect();
    db.run("COPY part copy");
    assert_eq!(db.digest("part"), db.digest("copy"));
    db.run("RENAME copy part");
}
