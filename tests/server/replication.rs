//! Primary and replica have equal digests, whatever their settings and whatever fails.

mod commands;

use commands::random_command;
use splitbloom_harness::{
    add_items, item, scan_dump, Family, Random, Reply, Server, OTHER_SETTINGS,
};
use std::collections::BTreeMap;

const PRIMARY_SETTINGS: [&str; 2] = ["bf.initial-size 20", "bf.max-filter-bytes 50000"];

const COMMANDS: usize = 40_000;

#[test]
fn random_commands_leave_equal_digests_whatever_the_configurations() {
    const ROUNDS: usize = 10;
    let (primary, mut db) = Server::configured(&PRIMARY_SETTINGS).with_client();
    let replica = primary.replica(&OTHER_SETTINGS);
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
        assert_follows(&primary, &replica);
    }
    assert_every_error_occurred(&errors);
}

/// At the limit each item of a counting filter is tried by itself.
#[test]
fn a_replica_holds_what_its_primary_has_room_for() {
    const COUNTING: Family = Family::Counting;
    let primary = Server::configured(&["bf.max-filter-bytes 20000"]);
    let replica = primary.replica(&OTHER_SETTINGS);
    if replica.dialect().has_unprefixed_settings() {
        let mut db = replica.connect();
        db.run("CONFIG SET cf.error-rate 0.3 cf-initial-size 7 cf-expansion-factor 0");
    }
    let mut db = primary.connect();
    db.converse(&[
        ("CF.RESERVE f 3 EXPANSION 0 ERROR 0.000001", "+OK"),
        ("CF.INSERT f ITEMS a b c d", "[:1, :1, :1, :-1]"),
        ("CF.ADD f d", "-ERR Filter is full"),
        ("CF.INSERTNX f ITEMS d a", "[:-1, :0]"),
        ("CF.DEL f a", ":1"),
        ("CF.RESERVE reserved 100000", "+OK"),
    ]);
    for first in (0..20_000).step_by(500) {
        for key in ["k", "reserved"] {
            let items = (first..first + 500).map(item);
            db.call(COUNTING.adding(key).into_iter().chain(items));
        }
        db.run(&format!("CF.DEL k item:{first}"));
    }
    db.run("CF.INSERTNX k ITEMS 1 2 3 one two three");
    assert_follows(&primary, &replica);
    assert_eq!(replica.connect().ask("CF.EXISTS f d"), ":0");
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
        "ERR bad packing",
        "ERR filters differ in seed",
    ] {
        let occurred = errors.contains_key(expected);
        assert!(occurred, "never seen: {expected}; seen: {errors:#?}");
    }
}

/// Replica, log and snapshot hold what the primary holds, which has no room for unions any more:
/// the files load all the same.
pub fn assert_replica_and_files_agree(primary: &Server, replica: &Server) {
    let all = primary.assert_equal(replica);
    let mut db = primary.connect();
    db.run("CONFIG SET bf.max-merge-bytes 1");
    for reload in ["DEBUG LOADAOF", "DEBUG RELOAD"] {
        db.run(reload);
        assert_eq!(db.digest_of_everything(), all, "{reload}");
    }
    db.run("CONFIG SET bf.max-merge-bytes 64mb");
}

/// The replica holds what the primary holds, and has met no error: a primary with this module
/// passes on nothing that fails.
pub fn assert_follows(primary: &Server, replica: &Server) {
    primary.assert_equal(replica);
    for counter in ["bf_replays_ignored", "bf_replays_refused"] {
        assert_eq!(replica.connect().info("bf", counter), "0");
    }
    assert_eq!(replica.errors_logged(), [""; 0]);
}
