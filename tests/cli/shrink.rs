//! `splitbloom shrink`, `pull --shrink` and `push --shrink`.

use crate::tool::{tool, tool_on, url, Folder, Runs};
use splitbloom_harness::{add_items, missing_items, Connection, Server};
use std::fs;

const SEED: &str = "0123456789abcdef";

/// A filter of 4 MB of which a hundredth is used.
fn roomy(db: &mut Connection) {
    db.run(&format!("BF.RESERVE roomy 0.01 3000000 SEED {SEED}"));
    add_items(db, "roomy", 0..30_000);
}

#[test]
fn only_what_is_in_a_filter_is_pulled_and_pushed_and_the_key_stays_as_it_is() {
    let (server, other, folder) = (Server::start(), Server::start(), Folder::new());
    let mut db = server.connect();
    roomy(&mut db);
    let digest = db.digest("roomy");
    let [whole, shrunk, pulled] = ["whole", "shrunk", "pulled"].map(|name| folder.path(name));
    tool_on(&server, &["pull", "roomy", "-o", &whole]).prints();
    let text = tool(&["shrink", &whole, "-o", &shrunk]).prints();
    assert!(text.contains(" instead of 3000000, "), "{text}");

    let sent = |db: &mut Connection| db.info_number("stats", "total_net_output_bytes");
    let before = sent(&mut db);
    tool_on(&server, &["pull", "roomy", "-o", &pulled, "--shrink"]).prints();
    let bytes = sent(&mut db) - before;
    assert!(bytes < 100_000, "{bytes} bytes of {}", fs::metadata(&whole).unwrap().len());
    assert!(fs::read(&pulled).unwrap() == fs::read(&shrunk).unwrap());
    let to = url(&other);
    tool_on(&server, &["pull", "roomy", "--to", &to, "--shrink"]).prints();
    tool_on(&server, &["push", &whole, "pushed", "--shrink"]).prints();
    tool_on(&server, &["push", &shrunk, "plain"]).prints();
    assert_eq!(db.digest("roomy"), digest);
    assert_eq!(db.ask("DBSIZE"), ":3");
    let small = db.digest("plain");
    assert_eq!((db.digest("pushed"), other.connect().digest("roomy")), (small.clone(), small));
    assert_eq!(missing_items(&mut db, "plain", 0..30_000), 0);

    let info = tool_on(&server, &["info", "plain"]).prints();
    let shrinks = |info: &str| !info.contains("Capacity if shrunk            -\n");
    assert!(!shrinks(&info), "{info}");
    for words in [["info", "roomy"], ["info", whole.as_str()]] {
        let info = tool_on(&server, &words).prints();
        assert!(shrinks(&info) && info.contains("\nSize if shrunk"), "{info}");
    }

    let roomier = folder.path("roomier");
    tool(&["shrink", &whole, "-o", &roomier, "--capacity", "100000"]).prints();
    tool_on(&server, &["push", &roomier, "roomier"]).prints();
    db.run("BF.SHRINK roomy CAPACITY 100000");
    assert_eq!(db.digest("roomier"), db.digest("roomy"));
}

#[test]
fn a_server_that_shrinks_no_copy_sends_the_whole_filter_and_keeps_nothing() {
    let (server, folder) = (Server::start(), Folder::new());
    let replica = server.replica(&[]);
    let mut db = server.connect();
    roomy(&mut db);
    db.run("ACL SETUSER reader on nopass ~roomy +bf.scandump +@read +@connection +@transaction");
    server.wait_for(&replica);
    let shrunk = folder.path("shrunk");
    tool_on(&server, &["pull", "roomy", "-o", &shrunk, "--shrink"]).prints();
    let user = url(&server).replace("://", "://reader:any@");
    for (at, limit, why) in [
        (url(&server), "1", "ERR filter to shrink would exceed bf.max-merge-bytes"),
        (url(&replica), "64mb", "READONLY"),
        (user, "64mb", "NOPERM"),
    ] {
        db.run(&format!("CONFIG SET bf.max-merge-bytes {limit}"));
        let pulled = folder.path("pulled");
        let pull = ["pull", "roomy", "-o", &pulled, "--shrink", "--url", &at];
        let run = tool(&pull).run();
        let is_noted = run.stderr.starts_with("splitbloom: note: the server refused: ")
            && run.stderr.contains(why)
            && run.stderr.ends_with(": the whole filter is transferred\n");
        assert!((run.code, run.stdout.as_str()) == (0, "") && is_noted, "{run:?}");
        assert!(fs::read(&pulled).unwrap() == fs::read(&shrunk).unwrap(), "{why}");
        assert_eq!(db.ask("DBSIZE"), ":1", "{why}");
    }
}

#[test]
fn what_cannot_be_shrunk_is_an_error_and_leaves_nothing() {
    let (server, folder) = (Server::start(), Folder::new());
    let mut db = server.connect();
    db.run("BF.RESERVE window 0.01 100 WINDOW 3600");
    db.run("CF.ADD counting a");
    db.run(&format!("BF.INSERT few SEED {SEED} ITEMS a b c"));
    for key in ["window", "counting", "few"] {
        tool_on(&server, &["pull", key, "-o", &folder.path(key)]).prints();
    }
    let (out, none) = (folder.path("out"), "filters of this kind cannot be shrunk");
    for key in ["window", "counting"] {
        let file = folder.path(key);
        assert_eq!(tool(&["shrink", &file, "-o", &out]).error(6), none);
        assert_eq!(tool_on(&server, &["push", &file, "new", "--shrink"]).error(6), none);
        assert_eq!(tool_on(&server, &["pull", key, "-o", &out, "--shrink"]).error(6), none);
    }
    let few = folder.path("few");
    let message = tool(&["shrink", &few, "-o", &out, "--capacity", "2"]).error(6);
    assert_eq!(message, "the filter has 3 items, more than that capacity");
    tool(&["shrink", &few, "-o", &few]).error(2);
    assert_eq!(db.ask("DBSIZE"), ":3");
    assert_eq!(folder.names(), ["counting", "few", "window"]);
    // One that has no smaller size stays as it is.
    tool(&["shrink", &few, "-o", &out]).prints();
    assert!(fs::read(&few).unwrap() == fs::read(&out).unwrap());
}
