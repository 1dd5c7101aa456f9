//! BF.CHANGES with ALSO: one question about several filters.

use splitbloom_harness::follower::{changes, position};
use splitbloom_harness::{eventually, Connection, Dialect, Server};

const KEYS: [&str; 4] = ["a", "b", "c", "d"];

/// Creates the filters; returns their positions.
fn positions(db: &mut Connection) -> [String; 4] {
    KEYS.map(|key| {
        db.run(&format!("BF.ADD {key} first"));
        position(db, key)
    })
}

fn question(positions: &[String; 4]) -> String {
    let [a, b, c, d] = positions;
    format!("BF.CHANGES a {a} BLOCK 0 ALSO {b} {c} {d}")
}

/// The client waits for news of any of the filters.
fn wait(client: &mut Connection, db: &mut Connection, positions: &[String; 4]) {
    client.send(question(positions).split(' '));
    eventually("it waits", || db.info_number("clients", "blocked_clients") == 1);
}

#[test]
fn the_reply_names_the_places_of_the_filters_with_news() {
    let server = Server::start();
    for mut db in [server.connect(), server.connect_resp3()] {
        db.run("FLUSHALL");
        let [a, b, c, d] = positions(&mut db);
        let ask = |db: &mut Connection| db.ask(&format!("BF.CHANGES a {a} ALSO {b} {c} {d}"));
        assert_eq!(ask(&mut db), "[]");
        assert_eq!(db.ask(&format!("BF.CHANGES a {a} BLOCK 1 ALSO {b} {c} {d}")), "_");
        for (key, places) in [("c", "[:2]"), ("a", "[:0, :2]"), ("d", "[:0, :2, :3]")] {
            db.run(&format!("BF.ADD {key} second"));
            assert_eq!(ask(&mut db), places);
        }
        // What is new in each filter takes a request of its own.
        assert_eq!(changes(&mut db, &format!("c {c}")).1.expect("news").len(), 1);
        let d = position(&mut db, "d");
        assert_eq!(db.ask(&format!("BF.CHANGES b {b} ALSO {d}")), "[]");
        db.run("DEL d");
        eventually("its end is news", || db.ask(&format!("BF.CHANGES b {b} ALSO {d}")) == "[:1]");
        let unknown = "0000000000000000-0-0";
        assert_eq!(db.ask(&format!("BF.CHANGES b 0 ALSO {unknown} {b} 0")), "[:0, :1, :3]");
    }
}

#[test]
fn whatever_happens_to_one_of_the_filters_wakes_the_client() {
    let (server, mut db) = Server::start().with_client();
    let wakes_of_deletions = server.dialect() >= Dialect::Redis { major: 7, minor: 2 };
    for (command, reply) in [
        ("BF.ADD a x", "[:0]"),
        ("BF.MADD c x y", "[:2]"),
        ("BF.CLEAR a", "[:0]"),
        ("BF.CLEAR b", "[:1]"),
        ("DEL c", "[:2]"),
        ("RENAME b d", "[:3]"),
        ("DEL a", "-ERR not found"),
    ] {
        if command == "DEL a" && !wakes_of_deletions {
            continue;
        }
        let (now, mut client) = (positions(&mut db), server.connect());
        wait(&mut client, &mut db, &now);
        db.run(command);
        assert_eq!(client.receive().to_string(), reply, "{command}");
        db.run("FLUSHALL");
    }
}

/// The client has no right to read the other filters, and learns only that they change.
#[test]
fn it_is_a_question_about_its_own_key() {
    let (server, mut db) = Server::start().with_client();
    let now = positions(&mut db);
    db.run("ACL SETUSER follows on nopass ~a +bf.changes");
    let mut client = server.connect();
    client.run("AUTH follows any");
    wait(&mut client, &mut db, &now);
    db.run("BF.ADD b x");
    assert_eq!(client.receive().to_string(), "[:1]");
    assert!(client.ask(&format!("BF.CHANGES b {}", now[1])).starts_with("-NOPERM"));
    wait(&mut client, &mut db, &[0, 0, 2, 3].map(|place: usize| now[place].clone()));
    db.run("ACL SETUSER follows resetkeys");
    db.run("BF.ADD c x");
    assert!(client.receive().to_string().starts_with("-NOPERM"));
}

/// The request names each of the filters, so none of their journals is idle.
#[test]
fn a_client_that_waits_keeps_the_journals_of_all_its_filters() {
    let (server, mut db) = Server::start().with_client();
    let now = positions(&mut db);
    db.run("BF.ADD other x");
    position(&mut db, "other");
    let mut client = server.connect();
    wait(&mut client, &mut db, &now);
    db.run("CONFIG SET bf.journal-idle-time 1");
    eventually("the other ends", || db.info("bf", "bf_journals") == "4");
    db.run("BF.ADD d x");
    assert_eq!(client.receive().to_string(), "[:3]");
}
