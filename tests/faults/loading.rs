//! Commands while the server is loading, and what the module must declare for that.

use splitbloom_harness::{eventually, item, Connection, Family, Link, Reply, Server};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::scope;

const KEYS: u64 = 40;
const ITEMS: u64 = 500;

/// Makes a loading server serve its clients often and pause at each key.
const SLOW: [&str; 2] = ["loading-process-events-interval-bytes 1024", "key-load-delay 50000"];

fn fill(db: &mut Connection) {
    for key in 0..KEYS {
        let (family, key) = (Family::by_turns(key), format!("k{key}"));
        family.reserve(db, &key);
        family.add_items(db, &key, 0..ITEMS);
    }
}

/// One filter of each family.
const READ: [(Family, &str); 2] = [(Family::Bloom, "k2"), (Family::Counting, "k3")];

/// How many of these items the filter has, or nothing while the server is loading.
pub fn read(db: &mut Connection, (family, key): (Family, &str), items: u64) -> Option<u64> {
    let head = family.looking_up(key);
    match db.call(head.into_iter().chain((0..items).map(item))) {
        Reply::Error(text) => {
            assert!(text.starts_with("LOADING "), "{text}");
            None
        }
        found => Some(found.elements().iter().map(|one| one.integer() as u64).sum()),
    }
}

/// Reloads a server of many keys while another client asks again and again; the sum of what `ask`
/// counts must not be zero.
fn ask_while_loading(ask: impl Fn(&mut Connection) -> u64 + Sync) -> Server {
    let (server, mut db) = Server::configured(&SLOW).with_client();
    fill(&mut db);
    let digest = db.digest_of_everything();
    let is_over = AtomicBool::new(false);
    let counted = scope(|threads| {
        let asker = threads.spawn(|| {
            let mut db = server.connect();
            let mut counted = 0;
            while !is_over.load(SeqCst) {
                counted += ask(&mut db);
            }
            counted
        });
        db.run("DEBUG RELOAD");
        is_over.store(true, SeqCst);
        asker.join().expect("the asker got only valid replies")
    });
    assert!(counted > 0, "no command arrived while the server was loading");
    assert_eq!(db.digest_of_everything(), digest);
    server
}

#[test]
fn a_loading_server_refuses_commands_and_then_answers_correctly() {
    ask_while_loading(|db| {
        let found = READ.map(|filter| read(db, filter, ITEMS));
        assert!(found.iter().flatten().all(|found| *found == ITEMS), "{found:?}");
        for write in ["BF.ADD k2 item:0", "CF.ADDNX k3 item:0"] {
            let reply = db.ask(write);
            assert!(reply == ":0" || reply.starts_with("-LOADING "), "{reply}");
        }
        found.iter().filter(|found| found.is_none()).count() as u64
    });
}

#[test]
fn an_error_of_a_command_without_a_key_is_no_loss_while_a_file_loads() {
    let server = ask_while_loading(|db| {
        let error = "-ERR the name of a partitioned filter must not contain {";
        assert_eq!(db.ask("BF.KEYS a{ PARTITIONS 4"), error);
        u64::from(db.info("persistence", "loading") == "1")
    });
    assert_eq!(server.connect().info("bf", "bf_replays_refused"), "0");
    assert!(!server.log().contains("refused bf.keys"));
}

#[test]
fn a_replica_loading_with_swapdb_answers_from_its_old_data() {
    let (primary, mut here) = Server::configured(&["repl-backlog-size 16kb"]).with_client();
    fill(&mut here);
    let link = Link::to(primary.port());
    let replica = primary.replica_through(link.port(), &[SLOW[0], "repl-diskless-load swapdb"]);
    let mut there = replica.connect();
    there.run(&format!("CONFIG SET {}", SLOW[1]));
    let before = READ.map(|(_, key)| there.digest(key));
    // The replica must stay away until everything is written, or the backlog might suffice.
    link.break_after(1);
    // More than the backlog holds, so that a full sync follows; and changes to a filter that is
    // read.
    for (family, key) in READ {
        family.add_items(&mut here, key, ITEMS..ITEMS + 20_000);
    }
    eventually("the link is cut", || link.cuts() == 1);
    link.repair();
    let is_loading = |db: &mut Connection| db.info("persistence", "async_loading") == "1";
    eventually("the replica is loading", || is_loading(&mut there));
    let mut reads = 0;
    loop {
        let found = READ.map(|filter| read(&mut there, filter, ITEMS));
        let digests = READ.map(|(_, key)| there.digest(key));
        // A client gets its errors, though the server is loading.
        let error = there.ask("BF.INFO missing");
        let writes =
            READ.map(|(family, key)| there.ask(&family.command(&format!("ADD {key} new"))));
        if !is_loading(&mut there) {
            break;
        }
        assert_eq!((found, &digests), ([Some(ITEMS); 2], &before));
        assert_eq!(error, "-ERR not found");
        let is_refused =
            |reply: &String| reply.starts_with("-READONLY ") || reply.starts_with("-LOADING ");
        assert!(writes.iter().all(is_refused), "{writes:?}");
        reads += 1;
    }
    assert!(reads > 0, "no command arrived while the replica was loading");
    there.run("CONFIG SET key-load-delay 0");
    primary.assert_equal(&replica);
    for (family, key) in READ {
        let missing = family.missing_items(&mut there, key, 0..ITEMS + 20_000);
        assert_eq!(missing, 0, "{key}");
    }
}
