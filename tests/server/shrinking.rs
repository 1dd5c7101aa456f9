//! BF.SHRINK of large filters, which are folded between commands.

use splitbloom_harness::{add_items, eventually, missing_items, Connection, Reply, Server};
use std::thread;

const ITEMS: u64 = 1_000_000;
const CHANGED: &str = "-ERR filter was not shrunk, as it was replaced, cleared or merged meanwhile";

/// Where the server wakes a client when its key is deleted.
const GONE: &str = "-ERR not found";

/// A filter of 60 MiB, which takes some thirty steps. Its error rate is so low that all items are
/// counted, before it is shrunk and after.
const LARGE: &str = "0.000001 17000000 SEED 0123456789abcdef";

fn reserve_large(db: &mut Connection, key: &str) {
    db.run(&format!("BF.RESERVE {key} {LARGE}"));
    add_items(db, key, 0..ITEMS);
}

/// Shrinks the filter `key` to a capacity of 3 000 000 items or more on a connection of its own,
/// and calls `meanwhile` again and again until the reply is there.
fn shrink_while(mut db: Connection, key: &str, mut meanwhile: impl FnMut()) -> Reply {
    thread::scope(|scope| {
        let shrinking = scope.spawn(move || db.line(&format!("BF.SHRINK {key} CAPACITY 3000000")));
        while !shrinking.is_finished() {
            meanwhile();
        }
        shrinking.join().expect("the reply")
    })
}

#[test]
fn what_is_added_while_a_large_filter_shrinks_is_in_it() {
    let settings = ["appendonly yes", "appendfsync no", "bf.max-merge-bytes 256mb"];
    let primary = Server::configured(&settings);
    let replica = primary.replica(&["bf.max-merge-bytes 1"]);
    let mut db = primary.connect();
    reserve_large(&mut db, "original");
    for resp3 in [false, true] {
        let client = if resp3 { primary.connect_resp3() } else { primary.connect() };
        db.run("DEL k twin");
        db.run("COPY original k");
        db.run("COPY original twin");
        let mut next = ITEMS;
        let capacity = shrink_while(client, "k", || {
            add_items(&mut db, "k", next..next + 200);
            next += 200;
        });
        let capacity = capacity.integer();
        assert!((3_000_000..6_060_000).contains(&capacity), "{capacity}");
        assert_eq!(db.ask("BF.INFO k CAPACITY"), format!("[:{capacity}]"));
        assert_eq!(missing_items(&mut db, "k", 0..next), 0);
        // The same at once, in a transaction.
        add_items(&mut db, "twin", ITEMS..next);
        db.run("MULTI");
        db.run("BF.SHRINK twin CAPACITY 3000000");
        assert_eq!(db.ask("EXEC"), format!("[:{capacity}]"));
        assert_eq!(db.digest("k"), db.digest("twin"));
        let all = db.digest_of_everything();
        primary.wait_for(&replica);
        assert_eq!(replica.connect().digest_of_everything(), all);
        db.run("DEBUG LOADAOF");
        assert_eq!(db.digest_of_everything(), all);
    }
}

/// The journal of the filter holds far less than one batch.
#[test]
fn a_batch_of_any_size_may_come_while_a_large_filter_shrinks() {
    let server = Server::configured(&["bf.max-followed-items 256"]);
    let mut db = server.connect();
    reserve_large(&mut db, "k");
    let mut next = ITEMS;
    let capacity = shrink_while(server.connect(), "k", || {
        add_items(&mut db, "k", next..next + 5_000);
        next += 5_000;
    });
    assert!(capacity.integer() >= 3_000_000, "{capacity}");
    assert_eq!(missing_items(&mut db, "k", 0..next), 0);
}

/// Shrinks `k` and sends `command` meanwhile, until the command comes before the end. It does at
/// once, unless the machine stands still. Returns the server.
fn interrupted_by(command: &str, errors: &[&str]) -> Server {
    let server = Server::start();
    let mut db = server.connect();
    reserve_large(&mut db, "original");
    db.run(&format!("BF.RESERVE other {LARGE}"));
    db.run("BF.ADD other x");
    for _ in 0..100 {
        db.run("ACL SETUSER default +@all");
        db.run("DEL k renamed");
        db.run("COPY original k");
        let mut is_sent = false;
        let reply = shrink_while(server.connect(), "k", || {
            if !is_sent && db.info_number("clients", "blocked_clients") > 0 {
                db.run(command);
                is_sent = true;
                // Redis 7.0 does not wake clients whose key is gone.
                db.run("BF.RESERVE k2 0.01 10");
                db.run("COPY k2 k");
                db.run("DEL k2");
            }
        });
        if reply.is_error() {
            assert!(errors.contains(&reply.to_string().as_str()), "{command}: {reply}");
            return server;
        }
        reply.integer();
    }
    panic!("{command} never came before the end");
}

#[test]
fn a_shrink_of_a_filter_that_is_deleted_meanwhile_ends_with_an_error() {
    interrupted_by("DEL k", &[CHANGED, GONE]);
}

#[test]
fn a_shrink_of_a_filter_that_is_renamed_meanwhile_ends_with_an_error() {
    interrupted_by("RENAME k renamed", &[CHANGED, GONE]);
}

#[test]
fn a_shrink_of_a_filter_that_is_cleared_meanwhile_ends_with_an_error() {
    interrupted_by("BF.CLEAR k", &[CHANGED]);
}

#[test]
fn a_shrink_of_a_filter_that_is_merged_meanwhile_ends_with_an_error() {
    interrupted_by("BF.MERGE k 1 other", &[CHANGED]);
}

#[test]
fn a_shrink_whose_user_loses_the_permission_meanwhile_changes_nothing() {
    let text = "User has no permissions to run the 'bf.shrink' command, or to access its key";
    let command = "ACL SETUSER default -bf.shrink";
    let server = interrupted_by(command, &[&format!("-NOPERM {text}")]);
    assert_eq!(server.connect().ask("BF.INFO k CAPACITY"), "[:17000000]");
}

#[test]
fn a_primary_that_becomes_a_replica_shrinks_nothing_more() {
    let server = Server::start();
    let mut db = server.connect();
    reserve_large(&mut db, "original");
    for _ in 0..100 {
        db.run("REPLICAOF NO ONE");
        db.run("DEL k");
        db.run("COPY original k");
        let digest = db.digest("k");
        let mut is_sent = false;
        let reply = shrink_while(server.connect(), "k", || {
            if !is_sent && db.info_number("clients", "blocked_clients") > 0 {
                db.run("REPLICAOF 127.0.0.1 1"); // nobody is there, so the data stays
                is_sent = true;
            }
        });
        if reply.is_error() {
            assert!(reply.to_string().starts_with("-UNBLOCKED"), "{reply}");
            assert_eq!(db.digest("k"), digest);
            return;
        }
        reply.integer();
    }
    panic!("it never became a replica before the end");
}

#[test]
fn a_filter_is_shrunk_by_one_client_at_a_time() {
    let server = Server::start();
    let mut db = server.connect();
    reserve_large(&mut db, "original");
    let mut has_been_refused = false;
    for _ in 0..100 {
        db.run("DEL k");
        db.run("COPY original k");
        shrink_while(server.connect(), "k", || {
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

#[test]
fn a_client_that_leaves_leaves_the_filter_as_it_was() {
    let server = Server::start();
    let mut db = server.connect();
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
    let server = Server::start();
    let mut db = server.connect();
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
