//! Another module, `saver/main.rs`, saves a filter on several threads, as a server does that saves
//! without forking, while commands read it, copy it, and write to other filters.

use splitbloom_harness::{add_items, eventually, Connection, Options, Server};
use std::env;

/// Saves of each filter that the commands run beside.
const SAVES: i64 = 30;

/// A filter of each kind: segments, a table, counts, and slices.
const KINDS: [(&str, &str); 4] = [
    ("segments", "BF.RESERVE segments 0.01 400000 NONSCALING"),
    ("grown", "BF.RESERVE grown 0.01 1000"),
    ("counting", "CF.RESERVE counting 100000"),
    ("window", "BF.RESERVE window 0.01 100000 WINDOW 600000"),
];

fn add(db: &mut Connection, key: &str, numbers: std::ops::Range<u64>) {
    if key != "counting" {
        add_items(db, key, numbers);
        return;
    }
    let adds =
        numbers.map(|number| [b"CF.ADD", key.as_bytes(), &number.to_le_bytes()].map(Vec::from));
    db.pipeline(adds.map(Vec::from));
}

/// What commands say about a filter that nobody changes.
fn answers(db: &mut Connection, key: &str) -> Vec<String> {
    let family = if key == "counting" { "CF" } else { "BF" };
    [
        format!("{family}.EXISTS {key} item:5"),
        format!("{family}.MEXISTS {key} item:1 item:2 other"),
        format!("{family}.INFO {key}"),
        format!("{family}.SCANDUMP {key} 0"),
        format!("DUMP {key}"),
        format!("MEMORY USAGE {key}"),
        format!("DEBUG DIGEST-VALUE {key}"),
    ]
    .map(|command| db.ask(&command))
    .to_vec()
}

#[test]
fn a_filter_is_saved_on_other_threads_while_commands_read_it_and_write_to_others() {
    let saver = env::var("SPLITBLOOM_SAVER").expect("SPLITBLOOM_SAVER is the path of the saver");
    let settings = [&*format!("loadmodule {saver}"), "save \"\""];
    let (mut server, mut db) = Server::with(Options::settings(&settings)).with_client();
    for (key, reserve) in KINDS {
        db.run(reserve);
        add(&mut db, key, 0..50_000);
    }
    for (key, _) in KINDS {
        let before = answers(&mut db, key);
        let saved = db.run(&format!("DUMP {key}"));
        assert_eq!(db.ask(&format!("SAVER.START {key}")), "+OK");
        db.run("BGSAVE"); // forks while the other threads save
        let (mut rounds, mut added) = (0, 0);
        while db.run("SAVER.SAVES").integer() < SAVES || rounds < 5 {
            assert_eq!(answers(&mut db, key), before, "{key}");
            add_items(&mut db, "other", added..added + 1_000);
            added += 1_000;
            db.run("COPY other copy REPLACE");
            assert_eq!(db.run("DUMP copy"), db.run("DUMP other"), "{key}");
            rounds += 1;
        }
        eventually("the child has saved, too", || {
            db.info("persistence", "rdb_bgsave_in_progress") == "0"
        });
        assert_eq!(db.info("persistence", "rdb_last_bgsave_status"), "ok");
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
    db.run("BGSAVE");
    eventually("the child has saved", || db.info("persistence", "rdb_bgsave_in_progress") == "0");
    server.restart();
    assert_eq!(server.connect().digest_of_everything(), digest);
}
