//! Commands while the server is loading, and what the module must declare for that.

use crate::harness::{add_items, eventually, item, missing_items, Connection, Link, Reply, Server};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::scope;

const KEYS: u64 = 40;
const ITEMS: u64 = 500;

/// Makes a loading server serve its clients often and pause at each key.
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

/// How many items the filter has, or nothing while the server is loading.
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
fn the_module_declares_that_it_handles_truncated_files_and_reads_while_loading() {
    let server = Server::start();
    let modules = server.connect().run("INFO modules").text();
    let ours = modules
        .lines()
        .find(|line| line.starts_with("module:name=bf,"))
        .expect("the module is listed");
    for option in ["handle-io-errors", "handle-repl-async-load"] {
        assert!(ours.contains(option), "{option}: {ours}");
    }
}

#[test]
fn a_loading_server_refuses_commands_and_then_answers_correctly() {
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
        reader.join().expect("the reader got only valid replies")
    });
    assert!(
        refusals > 0,
        "no command arrived while the server was loading"
    );
    assert_eq!(db.digest_of_everything(), digest);
}

#[test]
fn a_replica_loading_with_swapdb_answers_from_its_old_data() {
    let primary = Server::configured(&["repl-backlog-size 16kb"]);
    let mut here = primary.connect();
    fill(&mut here);
    let link = Link::to(primary.port());
    let replica = primary.replica_through(link.port(), &[SLOW[0], "repl-diskless-load swapdb"]);
    let mut there = replica.connect();
    there.run(&format!("CONFIG SET {}", SLOW[1]));
    let before = there.digest("k3");
    link.cut_after(1);
    // More than the backlog holds, so that a full sync follows; and changes to a filter that is
    // read.
    add_items(&mut here, "k3", ITEMS..ITEMS + 20_000);
    eventually("the link is cut", || link.cuts() == 1);
    let is_loading = |db: &mut Connection| db.info("persistence", "async_loading") == "1";
    eventually("the replica is loading", || is_loading(&mut there));
    let mut reads = 0;
    loop {
        let found = read(&mut there, "k3").expect("clients do not notice the loading");
        let (digest, info) = (there.digest("k3"), there.line("BF.INFO k3 FULL"));
        let write = there.ask("BF.ADD k3 new");
        assert_eq!(missing_items(&mut there, "k3", 0..ITEMS), 0);
        if !is_loading(&mut there) {
            break;
        }
        assert_eq!((found, digest), (ITEMS, before.clone()), "{info}");
        assert!(
            write.starts_with("-READONLY ") || write.starts_with("-LOADING "),
            "{write}"
        );
        reads += 1;
    }
    assert!(
        reads > 0,
        "no command arrived while the replica was loading"
    );
    there.run("CONFIG SET key-load-delay 0");
    primary.wait_for(&replica);
    assert_eq!(here.digest_of_everything(), there.digest_of_everything());
    assert_eq!(missing_items(&mut there, "k3", 0..ITEMS + 20_000), 0);
}
