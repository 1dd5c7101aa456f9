//! The module for sketches: panics, and memory that is refused. For windows see `windows.rs`.
//!
//! It is the build with the feature `injected-faults`, next to that of the module for filters.

use crate::faulty_module;
use splitbloom_harness::{Connection, Options, Server};

/// A server with the module for sketches alone.
fn server_with(settings: &[&str]) -> Server {
    let module = faulty_module().with_file_name("libsplitsketch.so");
    let load = format!("loadmodule {}", module.display());
    let alone = Options { without_module: true, ..Options::settings(&[&load]) };
    Server::with(alone.and_settings(settings))
}

fn replica_of(primary: &Server, settings: &[&str]) -> Server {
    let follow = format!("replicaof 127.0.0.1 {}", primary.port());
    let replica = server_with(&[&[follow.as_str()], settings].concat());
    primary.wait_for(&replica);
    replica
}

/// The sketches that the commands of [`COMMANDS`] start from.
const SKETCHES: [&str; 10] = [
    "CMS.INITBYDIM counts 500 3",
    "CMS.INCRBY counts a 1 b 2",
    "CMS.INITBYDIM day 500 3 WINDOW 86400",
    "CMS.INITBYDIM bytes 500 3 CELL_SIZE 1",
    "CMS.INCRBY bytes a 250",
    "TOPK.RESERVE top 2 50 3 0.9",
    "TOPK.ADD top a a b",
    "TOPK.RESERVE hour 2 50 3 0.9 WINDOW 3600",
    "TDIGEST.CREATE times",
    "TDIGEST.ADD times 1 2 3",
];

const COMMANDS: [&str; 36] = [
    "CMS.INITBYDIM new 50 3",
    "CMS.INITBYPROB new 0.1 0.1 WINDOW 60",
    "CMS.INCRBY counts x 1 y 2 z 3 a 4 b 5 c 6",
    "CMS.INCRBY day x 1 y 2",
    "CMS.INCRBYAT day 1700000000000 x 1",
    "CMS.PACKINCR counts FIXED 1 abc",
    "CMS.INITBYDIM new 50 3 CELL_SIZE 8",
    "CMS.INCRBY bytes x 1 a 9 y 2 a -1 z 300 a -250 x 4",
    "CMS.PACKINCR bytes BY 9 FIXED 1 bac",
    "CMS.QUERY counts a b c",
    "CMS.MERGE counts 2 counts counts",
    "CMS.INFO day",
    "TOPK.RESERVE new 10",
    "TOPK.ADD top x y z x y z",
    "TOPK.ADD hour x y",
    "TOPK.ADDAT hour 1700000000000 x y",
    "TOPK.INCRBY top x 10 longer-than-the-item-that-leaves-the-list-for-it 20",
    "TOPK.INCRBYAT hour 1700000000000 x 10",
    "TOPK.QUERY top a b",
    "TOPK.COUNT top a b",
    "TOPK.LIST top WITHCOUNT",
    "TOPK.LIST hour",
    "TOPK.INFO hour",
    "TDIGEST.CREATE new COMPRESSION 50",
    "TDIGEST.ADD times 4 5 6",
    "TDIGEST.RESET times",
    "TDIGEST.MERGE new 2 times times",
    "TDIGEST.MIN times",
    "TDIGEST.MAX times",
    "TDIGEST.QUANTILE times 0.1 0.5",
    "TDIGEST.CDF times 1 2",
    "TDIGEST.TRIMMED_MEAN times 0.1 0.9",
    "TDIGEST.RANK times 1 2",
    "TDIGEST.REVRANK times 1 2",
    "TDIGEST.BYRANK times 0 1",
    "TDIGEST.BYREVRANK times 0 1",
];

/// Replaces all keys by those of [`SKETCHES`].
fn start_over(db: &mut Connection) {
    db.run("FLUSHALL");
    db.run_all(SKETCHES);
}

/// More calls into the server, or blocks of memory, than any of these commands needs.
const MANY: u64 = 300;

#[test]
fn a_panic_in_a_command_on_sketches_is_an_error_reply_and_the_server_survives() {
    const INTERNAL: &str = "-ERR internal error, see the server's log";
    let (mut server, mut db) = server_with(&[]).with_client();
    for (protocol, command) in COMMANDS.iter().flat_map(|command| [(2, command), (3, command)]) {
        db.run(&format!("HELLO {protocol}"));
        let entry = command.split(' ').next().unwrap_or_default().to_lowercase();
        let calls = (0..MANY).take_while(|call| {
            start_over(&mut db);
            let before = db.info_number("sketch", "sketch_caught_panics");
            db.call(["CONFIG", "SET", "sketch.inject-panic", &format!("{entry} {call}")]);
            let reply = db.line(command);
            assert!(*call > 0 || reply.to_string() == INTERNAL, "{command}: {reply}");
            assert_eq!(db.ask("ECHO next"), "$next", "{command}, call {call}");
            db.info_number("sketch", "sketch_caught_panics") > before
        });
        let calls = calls.count() as u64;
        assert!((2..MANY).contains(&calls), "{command}: {calls} calls");
    }
    server.check_health();
}

#[test]
fn a_command_that_is_refused_memory_changes_nothing_and_its_replica_agrees() {
    // A node of the tree of keys that wait for the end of a slice takes 280 bytes. If its
    // allocation fails, the process ends, as the server does when it has no memory for a string.
    let primary = server_with(&["sketch.inject-refusal-from 281"]);
    let replica = replica_of(&primary, &[]);
    let (mut db, mut there) = (primary.connect(), replica.connect());
    let mut refused = 0;
    for command in COMMANDS {
        let blocks = (0..MANY).take_while(|blocks| {
            start_over(&mut db);
            let before = db.digest_of_everything();
            db.run(&format!("CONFIG SET sketch.inject-refusal {blocks}"));
            let reply = db.line(command);
            db.run(&format!("CONFIG SET sketch.inject-refusal {}", i64::MAX));
            primary.wait_for(&replica);
            let after = db.digest_of_everything();
            assert_eq!(there.digest_of_everything(), after, "{command}, {blocks} blocks");
            // In a window the time may have advanced.
            let has_window = command.contains(" day") || command.contains(" hour");
            if reply.is_error() && !has_window {
                assert_eq!(after, before, "{command}, {blocks} blocks: {reply}");
            }
            let is_refused = reply.to_string().contains("nsufficient memory");
            refused += u64::from(is_refused);
            is_refused
        });
        assert!((blocks.count() as u64) < MANY, "{command}");
    }
    assert!(refused >= 10, "only {refused} refusals");
}
