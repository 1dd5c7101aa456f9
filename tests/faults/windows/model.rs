//! Filters with and without RENEW, and sketches, against models that know when each item came:
//! through restarts, rewritten append-only files, replicas with other clocks, and a failover.

use super::{replica_of, server_with, Clocked, SECOND};
use crate::times;
use splitbloom_harness::{
    commands_in_append_only_file, eventually, item, trials, Connection, Random, Server,
};

const WINDOW: u64 = 60 * SECOND;
const SLICES: u64 = 4;
const TWO_MINUTES: u64 = 120 * SECOND;

const UNIVERSE: usize = 100_000;
/// Items of a command.
const BATCH: usize = 250;
/// Items added to filters and looked up, unless [`trials`] says otherwise.
const ITEMS: u64 = 200_000;

/// Items of the sketches: so few that in 20 000 counters a row, and seven rows, each has some of
/// its own, and estimates are exact.
const SKETCHED: usize = 50;
/// Items of a command.
const COUNTED: usize = 10;

/// A value with a window, and what it must remember.
trait Model {
    /// Adds random items and looks up others.
    fn play(&mut self, server: &mut Clocked, random: &mut Random);

    fn check_in_the_end(&self, _rounds: u64) {}
}

/// When an item was added last, as far as that counts: between the two times.
#[derive(Clone, Copy)]
struct Added {
    earliest: u64,
    latest: u64,
}

/// What a filter must remember, must have forgotten, or may do either with.
struct Filter {
    key: &'static str,
    renews: bool,
    items: Vec<Option<Added>>,
    /// Lookups of items that must be forgotten, and how many found the item.
    gone: u64,
    found: u64,
}

impl Filter {
    fn new(db: &mut Connection, key: &'static str, renews: bool) -> Filter {
        let renew = if renews { "RENEW" } else { "" };
        let seconds = WINDOW / SECOND;
        db.run(&format!("BF.RESERVE {key} 0.001 100 WINDOW {seconds} SLICES {SLICES} {renew}"));
        Filter { key, renews, items: vec![None; UNIVERSE], gone: 0, found: 0 }
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

/// What has been counted: when at the earliest, when at the latest, and how much.
struct Counted {
    earliest: u64,
    latest: u64,
    increment: u64,
}

struct Sketch {
    key: &'static str,
    count: &'static str,
    ask: &'static str,
    items: Vec<Vec<Counted>>,
}

impl Sketch {
    fn new(
        db: &mut Connection,
        (key, create, count, ask): (&'static str, &str, &'static str, &'static str),
    ) -> Self {
        db.run(&format!("{create} WINDOW {} SLICES {SLICES}", WINDOW / SECOND));
        Sketch { key, count, ask, items: (0..SKETCHED).map(|_| Vec::new()).collect() }
    }

    fn count(&mut self, server: &mut Clocked, random: &mut Random) {
        let counted: Vec<(usize, u64)> =
            (0..COUNTED).map(|_| (random.index(SKETCHED), 1 + random.below(9))).collect();
        let pairs: String =
            counted.iter().map(|(item, increment)| format!(" {item} {increment}")).collect();
        let earliest = server.now();
        server.db.run(&format!("{} {}{pairs}", self.count, self.key));
        let latest = server.now();
        for (item, increment) in counted {
            self.items[item].push(Counted { earliest, latest, increment });
        }
    }

    /// Each increment counts for the window, and at most a slice longer; none counts twice.
    fn check(&self, server: &mut Clocked) {
        let all: String = (0..SKETCHED).map(|item| format!(" {item}")).collect();
        let before = server.now();
        let reply = server.db.run(&format!("{} {}{all}", self.ask, self.key));
        let after = server.now();
        for (item, (answer, counted)) in reply.elements().iter().zip(&self.items).enumerate() {
            let sum = |is_in: &dyn Fn(&Counted) -> bool| {
                counted.iter().filter(|one| is_in(one)).map(|one| one.increment).sum::<u64>()
            };
            let least = sum(&|one| after < one.earliest + WINDOW);
            let most = sum(&|one| before < one.latest + WINDOW + WINDOW / SLICES);
            let estimate = answer.integer() as u64;
            let key = self.key;
            assert!((least..=most).contains(&estimate), "{key} {item}: {estimate}, {least}–{most}");
        }
    }
}

impl Model for Filter {
    fn play(&mut self, server: &mut Clocked, random: &mut Random) {
        self.add(server, random);
        self.look_up(server, random);
    }

    /// False positives are at most five standard deviations above the error rate.
    fn check_in_the_end(&self, rounds: u64) {
        let Filter { key, gone, found, .. } = *self;
        let expected = gone as f64 / 1000.0;
        let most = expected + 5.0 * expected.sqrt();
        eprintln!("{key}: {found} of {gone} items that were over were found");
        assert!(gone > rounds * 25, "{key}: {gone} to be forgotten");
        assert!(found as f64 <= most, "{key}: {found} of {gone} found");
    }
}

impl Model for Sketch {
    fn play(&mut self, server: &mut Clocked, random: &mut Random) {
        self.count(server, random);
        self.check(server);
    }
}

fn wait_until_equal(primary: &Server, replicas: &[Server]) {
    /// The digest, and what DUMP replies of each filter.
    fn contents(db: &mut Connection) -> (String, Vec<Vec<u8>>) {
        let dumps = ["keeps", "renews"].map(|key| db.dump(key));
        (db.digest_of_everything(), dumps.to_vec())
    }
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
fn models_with_clocks_agree_over_fifty_windows_restarts_and_a_failover() {
    let rounds = times(50, 500) * SLICES;
    let plays = (trials(ITEMS) / (2 * 2 * rounds * BATCH as u64)).max(1);
    let mut primary = server_with(&["appendonly yes", "appendfsync no"]);
    let mut server = Clocked::connect(&primary, 0);
    let ahead = TWO_MINUTES as i64;
    let mut replicas = [ahead, -ahead].map(|offset| replica_of(&primary, offset));
    let mut random = Random::seeded(15);
    let db = &mut server.db;
    let mut models: Vec<Box<dyn Model>> = Vec::new();
    for (key, renews) in [("keeps", false), ("renews", true)] {
        models.push(Box::new(Filter::new(db, key, renews)));
    }
    for (key, create, count, ask) in [
        ("counts", "CMS.INITBYDIM counts 20000 7", "CMS.INCRBY", "CMS.QUERY"),
        ("top", "TOPK.RESERVE top 50 20000 7 0.9", "TOPK.INCRBY", "TOPK.COUNT"),
    ] {
        models.push(Box::new(Sketch::new(db, (key, create, count, ask))));
    }
    for round in 0..rounds {
        server.advance(random.below(2 * WINDOW / SLICES));
        for model in &mut models {
            (0..plays).for_each(|_| model.play(&mut server, &mut random));
        }
        if round % (rounds / 10) == 3 {
            wait_until_equal(&primary, &replicas);
            server.db.rewrite_append_only_file();
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
        models.iter_mut().for_each(|model| model.play(&mut ahead, &mut random));
        ahead.advance(WINDOW / SLICES);
    }
    wait_until_equal(&promoted, &[primary, other]);
    models.iter().for_each(|model| model.check_in_the_end(rounds));
}
