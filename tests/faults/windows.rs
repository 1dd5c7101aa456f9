//! Filters that forget, under clocks that jump, run back, and differ between primary and replica.
//!
//! The module is the build with the feature `injected-faults`, whose clock a setting moves.

use crate::harness::{
    add_items, commands_in_append_only_file, eventually, item, Connection, Random, Server,
};
use crate::{server_with_failpoints, times};
use std::time::{SystemTime, UNIX_EPOCH};

const SECOND: u64 = 1_000;

/// A connection to a server whose clock is moved.
struct Clocked {
    db: Connection,
    offset: u64,
}

impl Clocked {
    fn connect(server: &Server, offset: u64) -> Clocked {
        let mut clocked = Clocked {
            db: server.connect(),
            offset,
        };
        clocked.advance(0);
        clocked
    }

    fn advance(&mut self, milliseconds: u64) {
        self.offset += milliseconds;
        let offset = self.offset;
        self.db
            .run(&format!("CONFIG SET bf.inject-clock-offset {offset}"));
    }

    /// What the server's clock shows, but for the time that the question takes.
    fn now(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.expect("a clock after 1970").as_millis() as u64 + self.offset
    }
}

fn replica_of(primary: &Server, offset: u64) -> Server {
    let follow = format!("replicaof 127.0.0.1 {}", primary.port());
    let offset = format!("bf.inject-clock-offset {offset}");
    let replica = server_with_failpoints(&[&follow, &offset]);
    primary.wait_for(&replica);
    replica
}

fn wait_for_equal_digests(primary: &Server, replica: &Server) {
    let (mut here, mut there) = (primary.connect(), replica.connect());
    // The sweeper may have a step between the two questions.
    eventually("digests are equal", || {
        primary.wait_for(replica);
        here.digest_of_everything() == there.digest_of_everything()
    });
}

fn forgotten(db: &mut Connection, key: &str) -> i64 {
    let info = db.run(&format!("BF.INFO {key} FULL"));
    info.field("Items forgotten").integer()
}

/// When an item was added last, as far as that counts: between the two times.
#[derive(Clone, Copy)]
struct Added {
    earliest: u64,
    latest: u64,
}

/// What a filter must remember, must have forgotten, or may do either with.
struct Model {
    key: &'static str,
    renews: bool,
    items: Vec<Option<Added>>,
    /// Lookups of what is to be forgotten, and those that found it.
    gone: u64,
    found: u64,
}

const WINDOW: u64 = 60 * SECOND;
const SLICES: u64 = 4;
const UNIVERSE: u64 = 100_000;
const BATCH: usize = 500;

impl Model {
    fn new(db: &mut Connection, key: &'static str, renews: bool) -> Model {
        let renew = if renews { "RENEW" } else { "" };
        let seconds = WINDOW / SECOND;
        db.run(&format!(
            "BF.RESERVE {key} 0.001 100 WINDOW {seconds} SLICES {SLICES} {renew}"
        ));
        Model {
            key,
            renews,
            items: vec![None; UNIVERSE as usize],
            gone: 0,
            found: 0,
        }
    }

    fn call(&self, server: &mut Clocked, head: &[&str], numbers: &[usize]) -> (u64, Vec<i64>, u64) {
        let head = head.iter().map(|word| word.as_bytes().to_vec());
        let items = numbers.iter().map(|number| item(*number as u64));
        let before = server.now();
        let reply = server.db.call(head.chain(items));
        let after = server.now();
        let answers = reply.elements().iter().map(|answer| answer.integer());
        (before, answers.collect(), after)
    }

    fn add(&mut self, server: &mut Clocked, random: &mut Random) {
        let numbers: Vec<usize> = (0..BATCH)
            .map(|_| random.index(UNIVERSE as usize))
            .collect();
        let head = ["BF.INSERT", self.key, "ITEMS"];
        let (before, answers, after) = self.call(server, &head, &numbers);
        let now = Added {
            earliest: before,
            latest: after,
        };
        for (number, is_new) in numbers.into_iter().zip(answers) {
            let added = &mut self.items[number];
            let is_remembered = added.is_some_and(|added| after < added.earliest + WINDOW);
            if is_new == 1 {
                assert!(!is_remembered, "{}: forgotten too early", self.key);
                *added = Some(now);
            } else if let (true, Some(added)) = (self.renews, added) {
                added.latest = after;
                if is_remembered {
                    added.earliest = before;
                }
            }
        }
    }

    fn look_up(&mut self, server: &mut Clocked, random: &mut Random) {
        let numbers: Vec<usize> = (0..BATCH)
            .map(|_| random.index(UNIVERSE as usize))
            .collect();
        let head = ["BF.MEXISTS", self.key];
        let (before, answers, after) = self.call(server, &head, &numbers);
        for (number, is_found) in numbers.into_iter().zip(answers) {
            let added = self.items[number];
            if added.is_some_and(|added| after < added.earliest + WINDOW) {
                assert_eq!(is_found, 1, "{}: forgotten too early", self.key);
            }
            let end = |added: Added| added.latest + WINDOW + WINDOW / SLICES;
            if added.is_none_or(|added| before >= end(added)) {
                self.gone += 1;
                self.found += is_found as u64;
            }
        }
    }
}

#[test]
fn a_model_with_a_clock_agrees_over_fifty_windows_restarts_and_a_failover() {
    let rounds = times(50, 500) * SLICES;
    let mut primary = server_with_failpoints(&["appendonly yes", "appendfsync no"]);
    let mut server = Clocked::connect(&primary, 0);
    // Two minutes ahead: two windows.
    let replica = replica_of(&primary, 120 * SECOND);
    let mut random = Random::seeded(15);
    let mut models = [("keeps", false), ("renews", true)]
        .map(|(key, renews)| Model::new(&mut server.db, key, renews));
    for round in 0..rounds {
        server.advance(random.below(2 * WINDOW / SLICES));
        for model in &mut models {
            model.add(&mut server, &mut random);
            model.look_up(&mut server, &mut random);
        }
        if round % (rounds / 10) == 3 {
            wait_for_equal_digests(&primary, &replica);
            server.db.run("BGREWRITEAOF");
            eventually("the file is rewritten", || {
                server.db.info("persistence", "aof_rewrite_in_progress") == "0"
            });
        }
        if round % (rounds / 4) == 7 {
            let digest = server.db.digest_of_everything();
            primary.restart();
            server = Clocked::connect(&primary, server.offset);
            if digest != server.db.digest_of_everything() {
                // Only the sweeper has been here since.
                assert!(commands_in_append_only_file(&primary).iter().any(is_step));
            }
            primary.wait_for(&replica);
        }
    }
    wait_for_equal_digests(&primary, &replica);
    let mut other = Clocked::connect(&replica, server.offset + 120 * SECOND);
    other.db.run("REPLICAOF NO ONE");
    let follow = format!("REPLICAOF 127.0.0.1 {}", replica.port());
    server.db.run(&follow);
    for _ in 0..3 * SLICES {
        for model in &mut models {
            model.look_up(&mut other, &mut random);
            model.add(&mut other, &mut random);
        }
        other.advance(WINDOW / SLICES);
    }
    wait_for_equal_digests(&replica, &primary);
    for Model {
        key, gone, found, ..
    } in models
    {
        assert!(gone > rounds * 50, "{key}: {gone} to be forgotten");
        assert!(
            found <= 2 * gone / 1_000 + 10,
            "{key}: {found} of {gone} found"
        );
    }
}

fn is_step(command: &String) -> bool {
    command.starts_with("BF.FORGET ")
}

#[test]
fn a_replica_answers_by_its_own_clock_and_holds_the_same() {
    let primary = server_with_failpoints(&[]);
    let replica = replica_of(&primary, 120 * SECOND);
    let mut here = Clocked::connect(&primary, 0);
    let mut there = replica.connect();
    here.db.run("BF.INSERT w WINDOW 60 SLICES 4 ITEMS a b");
    primary.wait_for(&replica);
    assert_eq!(here.db.ask("BF.MEXISTS w a b"), "[:1, :1]");
    assert_eq!(there.ask("BF.MEXISTS w a b"), "[:0, :0]");
    assert_eq!(there.ask("BF.CARD w"), ":0");
    // It does not sweep by itself.
    assert_eq!(forgotten(&mut there, "w"), 0);
    assert_eq!(here.db.digest("w"), there.digest("w"));
    here.advance(80 * SECOND);
    eventually("the step arrives", || forgotten(&mut there, "w") == 2);
    assert_eq!(here.db.digest("w"), there.digest("w"));
}

#[test]
fn a_clock_that_runs_back_makes_nothing_forgotten_early() {
    let server = server_with_failpoints(&[]);
    let mut clocked = Clocked::connect(&server, 3_600 * SECOND);
    clocked.db.run("BF.INSERT w WINDOW 60 SLICES 4 ITEMS a");
    clocked.offset = 0;
    clocked.advance(0);
    assert_eq!(clocked.db.ask("BF.INSERT w ITEMS a b"), "[:0, :1]");
    clocked.advance(1_800 * SECOND);
    assert_eq!(clocked.db.ask("BF.MEXISTS w a b"), "[:1, :1]");
    // Both came at the latest time, an hour ahead.
    clocked.advance(1_859 * SECOND);
    assert_eq!(clocked.db.ask("BF.MEXISTS w a b"), "[:1, :1]");
    clocked.advance(17 * SECOND);
    assert_eq!(clocked.db.ask("BF.MEXISTS w a b"), "[:0, :0]");
    eventually("the sweeper has come", || {
        forgotten(&mut clocked.db, "w") == 2
    });
}

#[test]
fn a_restart_after_the_window_answers_at_once() {
    for settings in [
        &["appendonly yes", "appendfsync no"][..],
        &["save 3600 1000000"],
    ] {
        let mut server = server_with_failpoints(settings);
        let mut db = server.connect();
        db.run("BF.RESERVE w 0.01 100 WINDOW 60");
        add_items(&mut db, "w", 0..10_000);
        if settings.len() == 1 {
            db.run("SAVE");
        }
        server.restart();
        let mut clocked = Clocked::connect(&server, 70 * SECOND);
        assert_eq!(clocked.db.ask("BF.EXISTS w item:1"), ":0");
        assert_eq!(clocked.db.ask("BF.CARD w"), ":0");
        eventually("the memory is back", || {
            clocked.db.run("MEMORY USAGE w").integer() < 1024
        });
    }
}

#[test]
fn many_filters_that_are_due_at_once_are_all_swept() {
    const FILTERS: u64 = 20_000;
    let server = server_with_failpoints(&[]);
    let mut clocked = Clocked::connect(&server, 0);
    let inserts = (0..FILTERS).map(|n| {
        let line = format!("BF.INSERT w{n} WINDOW 60 ITEMS a b c");
        crate::harness::words(&line)
    });
    clocked.db.pipeline(inserts);
    clocked.advance(70 * SECOND);
    // In one of so many filters an item may have been taken for another.
    let added = clocked.db.info_number("bf", "bf_items_added");
    assert!(added > 3 * FILTERS as i64 - 100, "{added} items were added");
    eventually("all are swept", || {
        clocked.db.info_number("bf", "bf_items_forgotten") == added
    });
}
