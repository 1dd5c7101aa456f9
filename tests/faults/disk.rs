//! A full disk. A limit on the server's file size (`RLIMIT_FSIZE`) makes its writes fail in the
//! same way, without a disk of the test's own and without root.

use crate::saves::SNAPSHOT;
use splitbloom_harness::{add_items, eventually, limit, missing_items, Family, Resource, Server};

/// The files of these tests are several times as long.
const ROOM: u64 = 64 << 10;
const ITEMS: u64 = 100_000;
const FILTERS: [(Family, &str, &str); 2] =
    [(Family::Bloom, "k", "0.001 200000"), (Family::Counting, "counting", "100")];

#[test]
fn a_snapshot_without_disk_space_fails_and_the_next_one_works() {
    let (mut server, mut db) = Server::start().with_client();
    for (family, key, parameters) in FILTERS {
        family.reserve_with(&mut db, key, parameters);
        family.add_items(&mut db, key, 0..ITEMS);
    }
    let digest = db.digest_of_everything();
    db.run("SAVE");
    add_items(&mut db, "k", ITEMS..ITEMS + 1000);

    limit(server.process(), Resource::FileSize, Some(ROOM));
    assert_eq!(db.ask("SAVE"), "-ERR");
    assert_eq!(SNAPSHOT.run(&mut db), "err");
    assert_eq!(missing_items(&mut db, "k", 0..ITEMS + 1000), 0);
    assert_eq!(Family::Counting.missing_items(&mut db, "counting", 0..ITEMS), 0);

    // The old snapshot is unchanged.
    server.restart();
    let mut db = server.connect();
    assert_eq!(db.digest_of_everything(), digest);

    add_items(&mut db, "k", ITEMS..ITEMS + 1000);
    let digest = db.digest_of_everything();
    limit(server.process(), Resource::FileSize, Some(ROOM));
    assert_eq!(db.ask("SAVE"), "-ERR");
    limit(server.process(), Resource::FileSize, None);
    assert_eq!(db.ask("SAVE"), "+OK");
    server.restart();
    assert_eq!(server.connect().digest_of_everything(), digest);
}

#[test]
fn writes_are_refused_while_the_append_only_file_cannot_grow_and_none_is_lost() {
    let (mut server, mut db) = Server::configured(&[
        "appendonly yes",
        "appendfsync everysec",
        "auto-aof-rewrite-percentage 0",
    ])
    .with_client();
    for (family, key, parameters) in FILTERS {
        family.reserve_with(&mut db, key, parameters);
    }
    limit(server.process(), Resource::FileSize, Some(ROOM));
    let mut added = 0;
    eventually("the server refuses writes", || {
        let reply = db.ask(&format!("CF.ADD counting item:{added}"));
        if !reply.starts_with(':') {
            return reply.starts_with("-MISCONF ");
        }
        let reply = db.ask(&format!("BF.ADD k item:{added}"));
        if reply.starts_with(':') {
            added += 1;
        }
        reply.starts_with("-MISCONF ")
    });
    let digest = db.digest_of_everything();
    assert!(db.ask("CF.DEL counting item:0").starts_with("-MISCONF "));
    for (family, key, _) in FILTERS {
        let missing = family.missing_items(&mut db, key, 0..added);
        assert_eq!(missing, 0, "{key}: reads still work");
    }
    assert_eq!(db.digest_of_everything(), digest);

    limit(server.process(), Resource::FileSize, None);
    eventually("the server accepts writes again", || !db.line("BF.ADD k late").is_error());
    assert_eq!(db.ask("CF.ADD counting late"), ":1");
    let digest = db.digest_of_everything();
    // A kill could lose the writes of the last second.
    server.shut_down("SHUTDOWN NOSAVE");
    server.start_again();
    let mut db = server.connect();
    for (family, key, _) in FILTERS {
        assert_eq!(family.missing_items(&mut db, key, 0..added), 0, "{key}");
    }
    assert_eq!(db.digest_of_everything(), digest);
}
