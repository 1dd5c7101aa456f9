//! Commands while the server loads, and what it must know of the module for that.

use crate::harness::{add_items, eventually, item, missing_items, Connection, Link, Reply, Server};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::scope;

const KEYS: u64 = 40;
const ITEMS: u64 = 500;

/// A loading server looks after its clients all the time, and takes its time over each key.
const SLOW: [&str; 2] = [
    "loading-process-events-interval-bytes 1024",
    "key-load-delay 50000",
];

fn fill(db: &mut Connection) {
    for key in 0..KEYS {
        db.run(&format!("BF.RESERVE k{key} 0.01 100"));
        add_items(db, &format!("k{key}"), 0..ITEMS);
    }
}

/// What the reads of a filter answer: what they always do, or that the server loads.
fn read(db: &mut Connection, key: &str) -> Option<u64> {
    let head = [b"BF.MEXISTS".to_vec(), key.as_bytes().to_vec()];
    match db.call(head.into_iter().chain((0..ITEMS).map(item))) {
        Reply::Error(text) => {
            assert!(text.starts_with("LOADING "), "{text}");
            None
        }
        found => Some(
            found
                .elements()
                .iter()
                .map(|one| one.integer() as u64)
                .sum(),
        ),
    }
}

#[test]
fn the_server_knows_that_truncated_files_and_reads_while_it_loads_are_coped_with() {
    let server = Server::start();
    let modules = server.connect().run("INFO modules").text();
    let ours = modules
        .lines()
        .find(|line| line.starts_with("module:name=bf,"))
        .expect("the module");
    for option in ["handle-io-errors", "handle-repl-async-load"] {
        assert!(ours.contains(option), "{option}: {ours}");
    }
}

#[test]
fn a_loading_server_refuses_commands_and_then_answers_right() {
    let server = Server::configured(&SLOW);
    let mut db = server.connect();
    fill(&mut db);
    let digest = db.digest_of_everything();
    let is_over = AtomicBool::new(false);
    let refusals = scope(|threads| {
        let reader = threads.spawn(|| {
            let mut db = server.connect();
            let mut refusals = 0;
            while !is_over.load(SeqCst) {
                match read(&mut db, "k3") {
                    Some(found) => assert_eq!(found, ITEMS),
                    None => refusals += 1,
                }
                let write = db.ask("BF.ADD k3 item:0");
                assert!(write == ":0" || write.starts_with("-LOADING "), "{write}");
            }
            refusals
        });
        db.run("DEBUG RELOAD");
        is_over.store(true, SeqCst);
        reader.join().expect("the reader got good answers only")
    });
    assert!(refusals > 0, "nobody asked while the server loaded");
    assert_eq!(db.digest_of_everything(), digest);
}

#[test]
fn a_replica_that_loads_aside_answers_with_what_it_had() {
    let primary = Server::configured(&["repl-backlog-size 16kb"]);
    let mut here = primary.connect();
    fill(&mut here);
    let link = Link::to(primary.port());
    let replica = primary.replica_through(link.port(), &[SLOW[0], "repl-diskless-load swapdb"]);
    let mut there = replica.connect();
    there.run(&format!("CONFIG SET {}", SLOW[1]));
    let before = there.digest("k3");
    link.cut_after(1);
    // More than the backlog holds, so that a full copy comes; and news for a filter that is asked for.
    add_items(&mut here, "k3", ITEMS..ITEMS + 20_000);
    eventually("the link is cut", || link.cuts() == 1);
    let is_aside = |db: &mut Connection| db.info("persistence", "async_loading") == "1";
    eventually("the replica loads aside", || is_aside(&mut there));
    let mut reads = 0;
    loop {
        let found = read(&mut there, "k3").expect("it is no loading as others see it");
        let (digest, info) = (there.digest("k3"), there.line("BF.INFO k3 FULL"));
        let write = there.ask("BF.ADD k3 new");
        assert_eq!(missing_items(&mut there, "k3", 0..ITEMS), 0);
        if !is_aside(&mut there) {
            break;
        }
        assert_eq!((found, digest), (ITEMS, before.clone()), "{info}");
        assert!(
            write.starts_with("-READONLY ") || write.starts_with("-LOADING "),
            "{write}"
        );
        reads += 1;
    }
    assert!(reads > 0, "nobody asked while the replica loaded");
    there.run("CONFIG SET key-load-delay 0");
    primary.wait_for(&replica);
    assert_eq!(here.digest_of_everything(), there.digest_of_everything());
    assert_eq!(missing_items(&mut there, "k3", 0..ITEMS + 20_000), 0);
}
