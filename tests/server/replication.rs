//! Primary and replica have equal digests, whatever their settings and whatever fails.

mod commands;

use commands::random_command;
use splitbloom_harness::{
    add_items, commands_in_append_only_file, scan_dump, Connection, Family, Random, Reply, Server,
    Specimens,
};
use std::collections::BTreeMap;

/// Other defaults and a limit that every filter exceeds: a replica must apply neither.
pub const REPLICA_SETTINGS: [&str; 4] =
    ["bf.error-rate 0.2", "bf.initial-size 7", "bf.expansion-factor 4", "bf.max-filter-bytes 1"];

const PRIMARY_SETTINGS: [&str; 2] = ["bf.initial-size 20", "bf.max-filter-bytes 50000"];

/// With `appendfsync no` the file contains every command that has been answered.
pub const APPEND_ONLY: [&str; 3] =
    ["appendonly yes", "appendfsync no", "auto-aof-rewrite-percentage 0"];

const COMMANDS: usize = 100_000;

#[test]
fn random_commands_leave_equal_digests_whatever_the_configurations() {
    const ROUNDS: usize = 10;
    let primary = Server::configured(&PRIMARY_SETTINGS);
    let replica = primary.replica(&REPLICA_SETTINGS);
    let mut db = primary.connect();
    db.run("BF.RESERVE donor 0.01 200 EXPANSION 1");
    add_items(&mut db, "donor", 0..1000);
    db.run("CF.RESERVE counting-donor 100");
    Family::Counting.add_items(&mut db, "counting-donor", 0..1000);
    let donated = [
        (Family::Bloom, scan_dump(&mut db, "donor")),
        (Family::Counting, Family::Counting.scan_dump(&mut db, "counting-donor")),
    ];
    let mut random = Random::seeded(20);
    let mut errors: BTreeMap<String, usize> = BTreeMap::new();
    for round in 0..ROUNDS {
        if round % 4 == 3 {
            db.run("CLIENT KILL TYPE replica");
        }
        let commands = (0..COMMANDS / ROUNDS).map(|_| random_command(&mut random, &donated));
        for reply in db.pipeline(commands) {
            count_errors(&reply, &mut errors);
        }
        primary.wait_for(&replica);
        assert_equal_keys(&primary, &replica);
    }
    assert_every_error_occurred(&errors);
    assert_no_error_line(&replica);
}

#[test]
fn a_primary_that_already_has_filters_is_copied_in_full() {
    for (diskless, load) in [("no", "disabled"), ("yes", "disabled"), ("yes", "swapdb")] {
        let primary = Server::configured(&[&format!("repl-diskless-sync {diskless}")]);
        Specimens::create(&mut primary.connect());
        let before = Specimens::fingerprints(&mut primary.connect());
        let load = format!("repl-diskless-load {load}");
        let replica = primary.replica(&[&load, "bf.max-filter-bytes 1", "bf.initial-size 7"]);
        assert_eq!(Specimens::fingerprints(&mut replica.connect()), before);
        add_items(&mut primary.connect(), "grown", 20_000..21_000);
        primary.wait_for(&replica);
        assert_equal_keys(&primary, &replica);
        assert_no_error_line(&replica);
    }
}

#[test]
fn a_refused_item_of_a_full_filter_does_not_reach_the_replica() {
    let primary = Server::start();
    let replica = primary.replica(&REPLICA_SETTINGS);
    let mut db = primary.connect();
    db.converse(&[
        ("BF.RESERVE k 0.000001 3 NONSCALING", "+OK"),
        ("BF.MADD k a b c d e", "[:1, :1, :1, -ERR non scaling filter is full]"),
        ("BF.ADD k d", "-ERR non scaling filter is full"),
        ("BF.MADD k a d", "[:0, -ERR non scaling filter is full]"),
        (
            "BF.INSERT l CAPACITY 2 ERROR 0.000001 NONSCALING ITEMS a b c",
            "[:1, :1, -ERR non scaling filter is full]",
        ),
        ("BF.ADD m a", ":1"),
    ]);
    primary.wait_for(&replica);
    assert_equal_keys(&primary, &replica);
    let mut db = replica.connect();
    db.converse(&[
        ("BF.MEXISTS k a b c d e", "[:1, :1, :1, :0, :0]"),
        ("BF.INFO m CAPACITY", "[:100]"),
    ]);
    assert_no_error_line(&replica);
}

#[test]
fn a_promoted_replica_continues_like_its_primary() {
    let primary = Server::start();
    let replica = primary.replica(&[]);
    let mut db = primary.connect();
    db.run("BF.RESERVE k 0.01 100");
    add_items(&mut db, "k", 0..500);
    primary.wait_for(&replica);
    let mut other = replica.connect();
    other.run("REPLICAOF NO ONE");
    add_items(&mut db, "k", 500..5000);
    add_items(&mut other, "k", 500..5000);
    assert_eq!(db.digest("k"), other.digest("k"));
}

#[test]
fn a_replica_answers_reads_and_refuses_writes() {
    let primary = Server::strict(&[]);
    let replica = primary.replica(&[]);
    primary.connect().run("BF.MADD k a b");
    primary.wait_for(&replica);
    let mut db = replica.connect();
    db.converse(&[("BF.EXISTS k a", ":1"), ("BF.CARD k", ":2")]);
    for write in [
        "BF.ADD k c",
        "BF.MADD k a",
        "BF.RESERVE l 0.01 100",
        "BF.INSERT k ITEMS c",
        "BF.LOADCHUNK l 1 a",
    ] {
        assert!(db.ask(write).starts_with("-READONLY "), "{write}");
    }
}

#[test]
fn commands_are_propagated_as_they_took_effect() {
    let server = Server::strict(&APPEND_ONLY);
    let mut db = server.connect();
    for (command, propagated) in [
        ("BF.RESERVE r 0.01 1000", ["BF.RESERVE r 0.01 1000 EXPANSION 2 SEED …"].as_slice()),
        ("BF.RESERVE s 0.001 10 nonscaling", &["BF.RESERVE s 0.001 10 NONSCALING SEED …"]),
        ("BF.RESERVE t 0.001 10 3", &["BF.RESERVE t 0.001 10 EXPANSION 3 SEED …"]),
        ("BF.RESERVE u 0.001 10 EXPANSION 0", &["BF.RESERVE u 0.001 10 NONSCALING SEED …"]),
        (
            "BF.ADD k a",
            &["MULTI", "BF.RESERVE k 0.000001 100 EXPANSION 2 SEED …", "BF.ADD k a", "EXEC"],
        ),
        ("BF.ADD k a", &[]),
        ("BF.ADD k b", &["BF.ADD k b"]),
        ("BF.MADD k a b", &[]),
        ("BF.MADD k a b c", &["BF.MADD k a b c"]),
        (
            "BF.MADD l a b",
            &["MULTI", "BF.RESERVE l 0.000001 100 EXPANSION 2 SEED …", "BF.MADD l a b", "EXEC"],
        ),
        ("BF.RESERVE n 0.000001 3 NONSCALING", &["BF.RESERVE n 0.000001 3 NONSCALING SEED …"]),
        ("BF.MADD n a b", &["BF.MADD n a b"]),
        ("BF.MADD n a c d e", &["BF.MADD n a c"]),
        ("BF.MADD n a d", &[]),
        ("BF.ADD n d", &[]),
        ("BF.EXISTS k a", &[]),
        ("BF.INFO k FULL", &[]),
        ("BF.SCANDUMP k 0", &[]),
        ("BF.RESERVE k 0.01 100", &[]),
        ("BF.LOADCHUNK k 1 a", &[]),
        ("BF.INSERT missing NOCREATE ITEMS a", &[]),
        ("BF.INSERT k ITEMS a b", &[]),
    ] {
        assert_eq!(propagated_by(&server, &mut db, command), propagated, "{command}");
    }
}

#[test]
fn an_insert_is_propagated_as_it_took_effect() {
    let server = Server::strict(&APPEND_ONLY);
    let mut db = server.connect();
    for (command, reserve, added) in [
        ("BF.INSERT k ITEMS a b", Some("BF.RESERVE k 0.000001 100 EXPANSION 2 SEED …"), "a b"),
        ("BF.INSERT k CAPACITY 7 NONSCALING ITEMS a c", None, "a c"),
        (
            "BF.INSERT l ERROR 0.000001 CAPACITY 2 NONSCALING ITEMS a b c d",
            Some("BF.RESERVE l 0.000001 2 NONSCALING SEED …"),
            "a b",
        ),
    ] {
        let mut new = propagated_by(&server, &mut db, command);
        new.retain(|command| command != "MULTI" && command != "EXEC");
        let add = new.pop().expect("an add");
        assert!(add.ends_with(&format!(" {added}")), "{command}: {add}");
        assert_eq!(new, Vec::from_iter(reserve), "{command}");
    }
}

#[test]
fn effects_of_a_transaction_or_script_are_replicated_once() {
    let primary = Server::strict(&[]);
    let replica = primary.replica(&REPLICA_SETTINGS);
    let mut db = primary.connect();
    for line in ["MULTI", "BF.ADD k a", "BF.ADD k a", "BF.ADD l a", "BF.RESERVE k 0.01 100", "EXEC"]
    {
        db.run(line);
    }
    let script =
        "redis.call('BF.ADD', KEYS[1], 'b') return redis.pcall('BF.RESERVE', KEYS[1], 0.01, 100)";
    db.call(["EVAL", script, "1", "k"]);
    primary.wait_for(&replica);
    assert_equal_keys(&primary, &replica);
    replica.connect().converse(&[("BF.CARD k", ":2"), ("BF.CARD l", ":1")]);
    assert_no_error_line(&replica);
}

#[test]
fn a_loaded_filter_reaches_the_replica() {
    let primary = Server::start();
    let replica = primary.replica(&REPLICA_SETTINGS);
    let mut db = primary.connect();
    db.run("BF.RESERVE k 0.001 1000000");
    add_items(&mut db, "k", 0..20_000);
    let chunks = scan_dump(&mut db, "k");
    splitbloom_harness::load_chunks(&mut db, "l", &chunks);
    primary.wait_for(&replica);
    assert_equal_keys(&primary, &replica);
    assert_eq!(db.digest("l"), replica.connect().digest("k"));
}

fn count_errors(reply: &Reply, errors: &mut BTreeMap<String, usize>) {
    match reply {
        Reply::Error(text) => *errors.entry(text.clone()).or_default() += 1,
        Reply::Array(elements) => elements.iter().for_each(|element| count_errors(element, errors)),
        _ => {}
    }
}

fn assert_every_error_occurred(errors: &BTreeMap<String, usize>) {
    for expected in [
        "WRONGTYPE Operation against a key holding the wrong kind of value",
        "ERR bad error rate",
        "ERR error rate must be in the range (0.000000, 1.000000)",
        "ERR bad capacity",
        "ERR capacity must be in the range [1, 1099511627776]",
        "ERR no expansion",
        "ERR bad expansion",
        "ERR expansion must be in the range [0, 32768]",
        "ERR Nonscaling filters cannot expand",
        "ERR item exists",
        "ERR non scaling filter is full",
        "ERR not found",
        "ERR Invalid information value",
        "ERR Second argument must be numeric",
        "ERR received bad data",
        "ERR filter would exceed bf.max-filter-bytes",
        "ERR Filter is full",
        "ERR Not found",
        "ERR bucket size must be in the range [1, 255]",
        "ERR bad max iterations",
        "ERR window must be in the range [1, 315360000]",
        "ERR a window is missing",
        "ERR bad time",
        "ERR the time is more than one window ahead of the server's clock",
    ] {
        let occurred = errors.contains_key(expected);
        assert!(occurred, "never seen: {expected}; seen: {errors:#?}");
    }
}

pub fn assert_equal_keys(primary: &Server, replica: &Server) {
    let mut here = primary.connect();
    let mut there = replica.connect();
    // A primary with this module passes on nothing that fails.
    for counter in ["bf_replays_ignored", "bf_replays_refused"] {
        assert_eq!(there.info("bf", counter), "0");
    }
    let keys = sorted_keys(&mut here);
    assert_eq!(keys, sorted_keys(&mut there));
    for key in keys {
        assert_eq!(
            here.digest(&key),
            there.digest(&key),
            "{key}: {}",
            here.ask(&format!("BF.INFO {key} FULL"))
        );
    }
}

fn sorted_keys(db: &mut Connection) -> Vec<String> {
    let mut keys: Vec<String> = db.run("KEYS *").elements().iter().map(Reply::text).collect();
    keys.sort();
    keys
}

pub fn assert_no_error_line(replica: &Server) {
    let log = replica.log().replace("error-rate", ""); // settings, named in the line of the start
    let lines: Vec<&str> =
        log.lines().filter(|line| line.to_lowercase().contains("error")).collect();
    assert!(lines.is_empty(), "{lines:#?}");
}

/// What a command adds to the append-only file, without seeds.
pub fn propagated_by(server: &Server, db: &mut Connection, command: &str) -> Vec<String> {
    let before = commands_in_append_only_file(server).len();
    db.line(command);
    let new = commands_in_append_only_file(server).split_off(before);
    new.iter().map(|command| without_seed(command)).collect()
}

/// Checks that a seed of sixteen digits is present, and removes it, because it is random.
pub fn without_seed(command: &str) -> String {
    match command.split_once(" SEED ") {
        Some((head, seed))
            if seed.len() == 16 && seed.bytes().all(|digit| digit.is_ascii_hexdigit()) =>
        {
            format!("{head} SEED …")
        }
        _ => command.to_owned(),
    }
}
