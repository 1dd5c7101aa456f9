//! When a journal ends, and when it does not.

use splitbloom_harness::follower::{changes, position};
use splitbloom_harness::{add_items, eventually, Connection, Server};

fn journals(db: &mut Connection) -> i64 {
    db.info_number("bf", "bf_journals")
}

#[test]
fn a_journal_ends_with_its_filter() {
    let (_server, mut db) = Server::start().with_client();
    for (command, left) in [
        ("DEL f", 1),
        ("UNLINK f", 1),
        ("COPY g f REPLACE", 1),
        ("RENAME g f", 1),
        ("PEXPIRE f 1", 1),
        ("SET f text", 1),
        ("FLUSHDB", 0),
        ("FLUSHALL ASYNC", 0),
        ("DEBUG RELOAD", 0),
    ] {
        // A growing filter takes many allocations, so the server frees it on another thread.
        db.run("FLUSHALL");
        eventually("none is left", || journals(&mut db) == 0);
        for key in ["f", "g"] {
            add_items(&mut db, key, 0..30_000);
        }
        let before = ["f", "g"].map(|key| position(&mut db, key));
        assert_eq!(journals(&mut db), 2);
        db.run(command);
        eventually(command, || journals(&mut db) == left);
        for (key, before) in ["f", "g"].into_iter().zip(before) {
            let is_ours = db.ask(&format!("TYPE {key}")) == "+MBbloom--";
            if is_ours && (left == 0 || key == "f" && command != "RENAME g f") {
                assert_eq!(changes(&mut db, &format!("{key} {before}")).1, None, "{command}");
            }
        }
    }
    db.run("FLUSHALL");
    eventually("no bytes are left", || db.info("bf", "bf_journal_bytes") == "0");
}

#[test]
fn a_journal_stays_with_its_filter_wherever_it_goes() {
    let (_server, mut db) = Server::start().with_client();
    db.run("BF.RESERVE f 0.000001 100");
    db.run("BF.ADD f a");
    let before = position(&mut db, "f");
    let mut expected = 0;
    let mut check = |db: &mut Connection, key: &str, lines: &[&str]| {
        db.run_all(lines);
        db.run(&format!("BF.ADD {key} {expected}"));
        expected += 1;
        let (now, hashes) = changes(db, &format!("{key} {before}"));
        assert_eq!(hashes.map(|hashes| hashes.len()), Some(expected), "{lines:?}");
        assert_eq!(now, format!("{}-{expected}-{expected}", &before[..16]));
    };
    check(&mut db, "f", &["EXPIRE f 1000", "PERSIST f"]);
    check(&mut db, "f", &["DUMP f", "SAVE", "BGREWRITEAOF", "BF.SCANDUMP f 0"]);
    check(&mut db, "f", &["COPY f g"]);
    check(&mut db, "f", &["BF.MERGE f 1 g"]); // which changes nothing
    check(&mut db, "h", &["RENAME f h"]);
    check(&mut db, "h", &["MOVE h 3", "SELECT 3"]);
    check(&mut db, "h", &["SWAPDB 3 5", "SELECT 5"]);
    db.run("SELECT 0");
    assert_eq!(changes(&mut db, &format!("g {before}")).1, None, "a copy has its own");
}
