//! Two filters that forget, with and without RENEW, against a model that knows when each item came:
//! through restarts, rewritten append-only files, replicas with other clocks, and a failover.

use super::{replica_of, rewrite_append_only_file, Clocked, SECOND, TWO_MINUTES};
use crate::{server_with_failpoints, times};
use splitbloom_harness::{
    commands_in_append_only_file, eventually, item, trials, Connection, Random, Server,
};

const WINDOW: u64 = 60 * SECOND;
const SLICES: u64 = 4;
const UNIVERSE: usize = 100_000;
/// Items of a command.
const BATCH: usize = 500;
/// Items added and looked up, unless [`trials`] says otherwise.
const ITEMS: u64 = 400_000;

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

impl Model {
    fn new(db: &mut Connection, key: &'static str, renews: bool) -> Model {
        let renew = if renews { "RENEW" } else { "" };
        let seconds = WINDOW / SECOND;
        db.run(&format!("BF.RESERVE {key} 0.001 100 WINDOW {seconds} SLICES {SLICES} {renew}"));
        Model { key, renews, items: vec![None; UNIVERSE], gone: 0, found: 0 }
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
        let numbers: Vec<usize> = (0..BATCH).map(|_| random.index(UNIVERSE)).collect();
        let head = ["BF.INSERT", self.key, "ITEMS"];
        let (before, answers, after) = self.call(server, &head, &numbers);
        let now = Added { earliest: before, latest: after };
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
        let numbers: Vec<usize> = (0..BATCH).map(|_| random.index(UNIVERSE)).collect();
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

/// Everything that a server holds: its digest, and what DUMP replies of each filter.
fn contents(db: &mut Connection) -> (String, Vec<Vec<u8>>) {
    let dumps = ["keeps", "renews"].map(|key| db.run(&format!("DUMP {key}")).bytes().to_vec());
    (db.digest_of_everything(), dumps.to_vec())
}

fn wait_until_equal(primary: &Server, replicas: &[Server]) {
    let mut here = primary.connect();
    for replica in replicas {
        let mut there = replica.connect();
        // The sweeper may have a step between the two questions.
        eventually("the replica holds the same", || {
            primary.wait_for(replica);
            contents(&mut here) == contents(&mut there)
        });
    }
}

#[test]
fn a_model_with_a_clock_agrees_over_fifty_windows_restarts_and_a_failover() {
    let rounds = times(50, 500) * SLICES;
    let commands = trials(ITEMS) / (2 * 2 * rounds * BATCH as u64);
    let mut primary = server_with_failpoints(&["appendonly yes", "appendfsync no"]);
    let mut server = Clocked::connect(&primary, 0);
    let ahead = TWO_MINUTES as i64;
    let mut replicas = [ahead, -ahead].map(|offset| replica_of(&primary, offset));
    let mut random = Random::seeded(15);
    let mut models = [("keeps", false), ("renews", true)]
        .map(|(key, renews)| Model::new(&mut server.db, key, renews));
    for round in 0..rounds {
        server.advance(random.below(2 * WINDOW / SLICES));
        for model in &mut models {
            for _ in 0..commands.max(1) {
                model.add(&mut server, &mut random);
                model.look_up(&mut server, &mut random);
            }
        }
        if round % (rounds / 10) == 3 {
            wait_until_equal(&primary, &replicas);
            rewrite_append_only_file(&mut server.db);
        }
        if round % (rounds / 4) == 7 {
            let digest = server.db.digest_of_everything();
            primary.restart();
            server = Clocked::connect(&primary, server.offset);
            if digest != server.db.digest_of_everything() {
                // Only the sweeper has been here since.
                assert!(commands_in_append_only_file(&primary)
                    .iter()
                    .any(|command| command.starts_with("BF.FORGET ")));
            }
            wait_until_equal(&primary, &replicas);
        }
        if round % (rounds / 4) == 11 {
            replicas[1].restart();
            wait_until_equal(&primary, &replicas);
        }
    }
    wait_until_equal(&primary, &replicas);
    let [promoted, other] = replicas;
    let mut ahead = Clocked::connect(&promoted, server.offset + TWO_MINUTES);
    ahead.db.run("REPLICAOF NO ONE");
    let follow = format!("REPLICAOF 127.0.0.1 {}", promoted.port());
    server.db.run(&follow);
    other.connect().run(&follow);
    for _ in 0..3 * SLICES {
        for model in &mut models {
            model.look_up(&mut ahead, &mut random);
            model.add(&mut ahead, &mut random);
        }
        ahead.advance(WINDOW / SLICES);
    }
    wait_until_equal(&promoted, &[primary, other]);
    for Model { key, gone, found, .. } in models {
        // Five standard deviations above the error rate.
        let expected = gone as f64 / 1000.0;
        let most = expected + 5.0 * expected.sqrt();
        eprintln!("{key}: {found} of {gone} items that were over were found");
        assert!(gone > rounds * 50, "{key}: {gone} to be forgotten");
        assert!(found as f64 <= most, "{key}: {found} of {gone} found");
    }
}
