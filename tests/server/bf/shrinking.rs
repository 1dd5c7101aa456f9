//! BF.SHRINK of large filters, which are folded between commands.

use splitbloom_harness::{add_items, eventually, missing_items, Connection, Reply, Server};
use std::thread;

/// Enough to touch every segment.
const ITEMS: u64 = 200_000;
const CHANGED: &str = "-ERR filter was not shrunk, as it was replaced, cleared or merged meanwhile";

/// Where the server wakes a client when its key is deleted.
const GONE: &str = "-ERR not found";
const NO_PERMISSION: &str =
    "-NOPERM User has no permissions to run the 'bf.shrink' command, or to access its key";

/// A filter of 60 MiB, which takes some thirty steps. Its error rate is so low that all items are
/// counted, before it is shrunk and after.
const LARGE: &str = "0.000001 17000000 SEED 0123456789abcdef";

fn reserve_large(db: &mut Connection, key: &str) {
    db.run(&format!("BF.RESERVE {key} {LARGE}"));
    add_items(db, key, 0..ITEMS);
}

/// Shrinks the filter `key` to a capacity of `capacity` items or more on a connection of its own,
/// and calls `meanwhile` again and again until the reply is there.
fn shrink_while(
    mut db: Connection,
    key: &str,
    capacity: i64,
    mut meanwhile: impl FnMut(),
) -> Reply {
    let command = format!("BF.SHRINK {key} CAPACITY {capacity}");
    thread::scope(|scope| {
        let shrinking = scope.spawn(move || db.line(&command));
        while !shrinking.is_finished() {
            meanwhile();
        }
        shrinking.join().expect("the reply")
    })
}

#[test]
fn what_is_added_while_a_large_filter_shrinks_is_in_it() {
    let settings = ["appendonly yes", "appendfsync no", "bf.max-merge-bytes 256mb"];
    let (primary, mut db) = Server::configured(&settings).with_client();
    let replica = primary.replica(&["bf.max-merge-bytes 1"]);
    reserve_large(&mut db, "original");
    // A quarter of the size, and a size that does not divide it.
    for (resp3, wanted) in [(false, 4_200_000), (true, 3_000_000)] {
        let client = if resp3 { primary.connect_resp3() } else { primary.connect() };
        db.run("DEL k twin");
        db.run("COPY original k");
        db.run("COPY original twin");
        let mut next = ITEMS;
        let capacity = shrink_while(client, "k", wanted, || {
            add_items(&mut db, "k", next..next + 200);
            next += 200;
        });
        let capacity = capacity.integer();
        assert!((wanted..wanted + wanted / 10).contains(&capacity), "{capacity}");
        assert_eq!(db.ask("BF.INFO k CAPACITY"), format!("[:{capacity}]"));
        assert_eq!(missing_items(&mut db, "k", 0..next), 0);
        // The same at once, in a transaction. If the sizes do not divide each other, what came
        // after the shrink is in one of two sub-bitmaps of k, but in both of the twin.
        add_items(&mut db, "twin", ITEMS..next);
        db.run("MULTI");
        db.run(&format!("BF.SHRINK twin CAPACITY {wanted}"));
        assert_eq!(db.ask("EXEC"), format!("[:{capacity}]"));
        assert!(wanted == 3_000_000 || db.digest("k") == db.digest("twin"));
        let all = primary.assert_equal(&replica);
        db.run("DEBUG LOADAOF");
        assert_eq!(db.digest_of_everything(), all);
    }
}

/// The journal of the filter holds far less than one batch.
#[test]
fn a_batch_of_any_size_may_come_while_a_large_filter_shrinks() {
    let (server, mut db) = Server::configured(&["bf.max-followed-items 256"]).with_client();
    reserve_large(&mut db, "k");
    let mut next = ITEMS;
    let capacity = shrink_while(server.connect(), "k", 3_000_000, || {
        add_items(&mut db, "k", next..next + 5_000);
        next += 5_000;
    });
    assert!(capacity.integer() >= 3_000_000, "{capacity}");
    assert_eq!(missing_items(&mut db, "k", 0..next), 0);
}

/// Commands during a shrink of `k`, how its reply begins then, and whether the filter stays.
const INTERRUPTIONS: [(&str, &[&str], bool); 6] = [
    ("DEL k", &[CHANGED, GONE], false),
    ("RENAME k renamed", &[CHANGED, GONE], false),
    ("BF.CLEAR k", &[CHANGED], false),
    ("BF.MERGE k 1 other", &[CHANGED], false),
    ("ACL SETUSER default -bf.shrink", &[NO_PERMISSION], true),
    // There is no such primary, so the data stays.
    ("REPLICAOF 127.0.0.1 1", &["-UNBLOCKED"], true),
];

/// Each command is repeated until it arrives before the shrink ends. The first one does, unless the
/// machine stands still.
#[test]
fn a_shrink_that_is_interrupted_ends_with_an_error_and_changes_nothing() {
    let (server, mut db) = Server::start().with_client();
    reserve_large(&mut db, "original");
    let original = db.digest("original");
    db.run(&format!("BF.RESERVE other {LARGE}"));
    db.run("BF.ADD other x");
    for (command, errors, stays) in INTERRUPTIONS {
        let was_refused = (0..100).any(|_| {
            db.run("REPLICAOF NO ONE");
            db.run("ACL SETUSER default +@all");
            db.run("DEL k renamed");
            db.run("COPY original k");
            let mut is_sent = false;
            let reply = shrink_while(server.connect(), "k", 3_000_000, || {
                if !is_sent && db.info_number("clients", "blocked_clients") > 0 {
                    db.run(command);
                    is_sent = true;
                    // Redis 7.0 does not wake clients whose key is gone.
                    for line in ["BF.RESERVE k2 0.01 10", "COPY k2 k", "DEL k2"] {
                        db.line(line);
                    }
                }
            });
            let text = reply.to_string();
            let is_expected = errors.iter().any(|error| text.starts_with(error));
            assert!(is_expected || !reply.is_error(), "{command}: {text}");
            reply.is_error()
        });
        assert!(was_refused, "{command} never came before the end");
        assert!(!stays || db.digest("k") == original, "{command}");
    }
}

#[test]
fn a_filter_is_shrunk_by_one_client_at_a_time() {
    let (server, mut db) = Server::start().with_client();
    reserve_large(&mut db, "original");
    let mut has_been_refused = false;
    for _ in 0..100 {
        db.run("DEL k");
        db.run("COPY original k");
        shrink_while(server.connect(), "k", 3_000_000, || {
            if db.info_number("clients", "blocked_clients") > 0 {
                match db.line("BF.SHRINK k") {
                    Reply::Integer(_) => {} // the other has just been served
                    reply => {
                        let error = "-ERR filter is being shrunk by another client";
                        assert_eq!(reply.to_string(), error);
                        has_been_refused = true;
                    }
                }
            }
        });
        if has_been_refused {
            return;
        }
    }
    panic!("the second client never came before the end");
}

/// On a server that wakes no client when a key is renamed, the first one goes on.
#[test]
fn two_clients_that_shrink_a_filter_by_two_names_lose_nothing() {
    let server = Server::start();
    let (mut db, mut other) = (server.connect(), server.connect());
    reserve_large(&mut db, "k");
    other.run("CLIENT SETNAME other");
    let (mut next, mut is_sent) = (ITEMS, false);
    shrink_while(server.connect(), "k", 3_000_000, || {
        if !is_sent && db.info_number("clients", "blocked_clients") > 0 {
            db.run("RENAME k k2");
            other.send(["BF.SHRINK", "k2", "CAPACITY", "3000000"]);
            eventually("it has come", || {
                let clients = db.run("CLIENT LIST").text();
                let has_come = |line: &str| line.contains("=other ") && line.contains("bf.shrink");
                clients.lines().any(has_come)
            });
            db.run("RENAME k2 k");
            is_sent = true;
        }
        add_items(&mut db, "k", next..next + 200);
        next += 200;
    });
    assert_eq!(missing_items(&mut db, "k", 0..next), 0);
}

#[test]
fn a_client_that_leaves_leaves_the_filter_as_it_was() {
    let (server, mut db) = Server::start().with_client();
    reserve_large(&mut db, "k");
    let digest = db.digest("k");
    for how in ["CLIENT KILL ID", "CLIENT UNBLOCK"] {
        let mut client = server.connect();
        let id = client.run("CLIENT ID").integer();
        client.send(["BF.SHRINK", "k", "CAPACITY", "16900000"]); // no smaller size: no wait
        client.receive();
        client.send(["BF.SHRINK", "k", "CAPACITY", "7000000"]);
        db.run(&format!("{how} {id}"));
        eventually("nobody waits", || db.info_number("clients", "blocked_clients") == 0);
        let has_shrunk = db.ask("BF.INFO k CAPACITY") != "[:17000000]";
        if has_shrunk {
            continue; // it was too fast
        }
        assert_eq!(db.digest("k"), digest);
    }
    // The next one is served.
    assert!(db.line("BF.SHRINK k CAPACITY 3000000").integer() < 6_060_000);
}

#[test]
fn a_large_filter_is_bounded_where_its_client_cannot_wait() {
    let (_server, mut db) = Server::start().with_client();
    reserve_large(&mut db, "k");
    db.run("CONFIG SET bf.max-merge-bytes 16mb");
    db.run("MULTI");
    db.run("BF.SHRINK k");
    assert_eq!(db.ask("EXEC"), "[-ERR filter to shrink would exceed bf.max-merge-bytes]");
    let script = "return redis.pcall('BF.SHRINK', 'k')";
    let reply = db.call(["EVAL", script, "0"]).to_string();
    assert_eq!(reply, "-ERR filter to shrink would exceed bf.max-merge-bytes");
    db.run("CONFIG SET bf.max-journal-bytes 0");
    let error = "-ERR the journals of followed filters would exceed bf.max-journal-bytes";
    assert_eq!(db.ask("BF.SHRINK k"), error);
    db.run("CONFIG SET bf.max-journal-bytes 64mb");
    assert!(db.line("BF.SHRINK k").integer() >= ITEMS as i64 - 20_000);
}
