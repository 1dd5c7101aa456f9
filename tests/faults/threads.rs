//! Another module, `saver/main.rs`, saves a filter on several threads, as a server does that saves
//! without forking, while commands read it, copy it, and write to other filters.

use crate::saves::SNAPSHOT;
use splitbloom_harness::{add_items, Connection, Family, Options, Server};
use std::env;

/// How often each filter is saved while the commands run.
const SAVES: i64 = 30;

/// A filter of each kind: segments, a table, counts, and slices.
const KINDS: [(Family, &str, &str); 4] = [
    (Family::Bloom, "segments", "0.01 400000 NONSCALING"),
    (Family::Bloom, "grown", "0.01 1000"),
    (Family::Counting, "counting", "100000"),
    (Family::Bloom, "window", "0.01 100000 WINDOW 600000"),
];

/// What commands say about a filter that nobody changes.
fn answers(db: &mut Connection, family: Family, key: &str) -> [String; 7] {
    let ours = ["EXISTS {} item:5", "MEXISTS {} item:1 item:2 other", "INFO {}", "SCANDUMP {} 0"];
    let [exists, mexists, info, dump] = ours.map(|line| family.command(line));
    [&*exists, &mexists, &info, &dump, "DUMP {}", "MEMORY USAGE {}", "DEBUG DIGEST-VALUE {}"]
        .map(|line| db.ask(&line.replace("{}", key)))
}

#[test]
fn a_filter_is_saved_on_other_threads_while_commands_read_it_and_write_to_others() {
    let saver = env::var("SPLITBLOOM_SAVER").expect("SPLITBLOOM_SAVER is the path of the saver");
    let settings = [&*format!("loadmodule {saver}"), "save \"\""];
    let (mut server, mut db) = Server::with(Options::settings(&settings)).with_client();
    for (family, key, parameters) in KINDS {
        family.reserve_with(&mut db, key, parameters);
        family.add_items(&mut db, key, 0..50_000);
    }
    for (family, key, _) in KINDS {
        let before = answers(&mut db, family, key);
        let saved = db.run(&format!("DUMP {key}"));
        assert_eq!(db.ask(&format!("SAVER.START {key}")), "+OK");
        db.run("BGSAVE"); // forks while the other threads save
        let (mut rounds, mut added) = (0, 0);
        while db.run("SAVER.SAVES").integer() < SAVES || rounds < 5 {
            assert_eq!(answers(&mut db, family, key), before, "{key}");
            add_items(&mut db, "other", added..added + 1_000);
            added += 1_000;
            db.run("COPY other copy REPLACE");
            assert_eq!(db.run("DUMP copy"), db.run("DUMP other"), "{key}");
            rounds += 1;
        }
        assert_eq!(SNAPSHOT.end(&mut db), "ok");
        // A copy of what is being saved fails, or is equal.
        let copy = format!("COPY {key} copy REPLACE");
        for _ in 0..100 {
            match &*db.ask(&copy) {
                ":1" => assert_eq!(db.run("DUMP copy"), saved, "{key}"),
                error => assert_eq!(error, "-ERR module key failed to copy", "{key}"),
            }
        }
        assert_eq!(db.ask("SAVER.STOP"), ":0", "{key}: bytes of saves differ");
        assert_eq!(db.ask(&copy), ":1", "{key}");
        for key in [key, "copy"] {
            assert_eq!(db.run(&format!("DUMP {key}")), saved, "{key}");
        }
        db.run("DEL other copy");
    }
    let digest = db.digest_of_everything();
    assert_eq!(SNAPSHOT.run(&mut db), "ok");
    server.restart();
    assert_eq!(server.connect().digest_of_everything(), digest);
}
