//! Followers against a model: a copy denies no item that was acknowledged longer ago than the copy
//! is old.

use super::following;
use splitbloom_client::Follower;
use splitbloom_harness::{add_items, eventually, item, trials, Connection, Link, Random, Server};
use std::collections::HashMap;
use std::thread::sleep;
use std::time::{Duration, Instant};

const KEYS: [&str; 2] = ["f", "g"];
/// Commands of a test unless it is told another number.
const FEW: u64 = 3_000;
/// Every filter has this seed, so that they may be merged.
const SEED: &str = "SEED 00000000000000aa";

/// The items of the keys, and when they were acknowledged.
#[derive(Default)]
struct Model(HashMap<&'static str, HashMap<u64, Instant>>);

impl Model {
    /// Everything in a key counts as new: it may be in another filter than before.
    fn renew(&mut self, key: &'static str) {
        for since in self.0.entry(key).or_default().values_mut() {
            *since = Instant::now();
        }
    }

    /// One random command.
    fn step(&mut self, db: &mut Connection, random: &mut Random) {
        let (key, other) = (*random.pick(&KEYS), *random.pick(&KEYS));
        let (exists, both) = (self.0.contains_key(key), self.0.contains_key(other));
        match random.below(200) {
            0 => {
                db.run("FLUSHALL");
                self.0.clear();
            }
            1..3 => {
                db.run(&format!("UNLINK {key}"));
                self.0.remove(key);
            }
            3..5 if exists && key != other => {
                db.run(&format!("RENAME {key} {other}"));
                let moved = self.0.remove(key).unwrap_or_default();
                self.0.insert(other, moved);
                self.renew(other);
            }
            5..7 if exists && both => {
                db.run(&format!("BF.MERGE {key} 1 {other} FORCE"));
                let more = self.0[other].clone();
                self.0.entry(key).or_default().extend(more);
                self.renew(key);
            }
            7..9 if exists => {
                let dump = db.run(&format!("DUMP {key}")).bytes().to_vec();
                db.call([b"RESTORE".as_slice(), other.as_bytes(), b"0", &dump, b"REPLACE"]);
                let items = self.0[key].clone();
                self.0.insert(other, items);
                self.renew(other);
            }
            9 => {
                db.run("DEBUG RELOAD");
            }
            10..12 => sleep(Duration::from_millis(random.below(20))),
            _ => {
                if !exists {
                    // With this error rate the server finds many by chance.
                    db.run(&format!("BF.RESERVE {key} 0.1 500 EXPANSION 1 {SEED}"));
                }
                let first = random.below(1 << 16);
                let numbers = first..first + 1 + random.below(30);
                add_items(db, key, numbers.clone());
                let items = self.0.entry(key).or_default();
                for number in numbers {
                    items.entry(number).or_insert_with(Instant::now);
                }
            }
        }
    }

    /// Checks the copy that a follower has, if it has one. Returns whether it does.
    fn check(&self, follower: &Follower, key: &str) -> bool {
        // Before the question, so that a pause in between makes it no later.
        let now = Instant::now();
        let Some(staleness) = follower.staleness() else {
            return false;
        };
        let Some(current_at) = now.checked_sub(staleness) else {
            return false;
        };
        for (number, since) in self.0.get(key).into_iter().flatten() {
            if *since < current_at {
                // None: it has been withdrawn meanwhile.
                assert_ne!(follower.contains(&item(*number)), Some(false), "{key} {number}");
            }
        }
        true
    }
}

#[test]
fn a_copy_denies_nothing_that_was_acknowledged_before_it_was_current() {
    let server = Server::configured(&["bf.max-followed-items 2000"]);
    let mut db = server.connect();
    let link = Link::to(server.port());
    let mut random = Random::seeded(5);
    // One through a line that is cut, and one that is dropped and begun again.
    let steady = KEYS.map(|key| (key, following(server.port(), key)));
    let cut = KEYS.map(|key| (key, following(link.port(), key)));
    let mut fresh = KEYS.map(|key| (key, following(server.port(), key)));
    let (mut model, mut checks) = (Model::default(), 0);
    for _ in 0..trials(FEW) {
        model.step(&mut db, &mut random);
        match random.below(100) {
            0 => link.cut(),
            1 => link.cut_after(random.below(50_000)),
            2 => {
                let (key, follower) = &mut fresh[random.index(KEYS.len())];
                *follower = following(server.port(), key);
            }
            3..40 => {
                let all = [&steady, &cut, &fresh];
                let (key, follower) = &random.pick(&all)[random.index(KEYS.len())];
                checks += u64::from(model.check(follower, key));
            }
            _ => {}
        }
    }
    assert!(checks > 100, "the model tries nothing: {checks}");
    for (key, follower) in &steady {
        assert!(follower.status().fetches > 3, "{key}: {:?}", follower.status());
    }
}

/// A replica has an item when the primary says so, which is when it counts as acknowledged.
#[test]
fn a_copy_of_a_replica_denies_nothing_that_the_replica_had() {
    let server = Server::start();
    let replica = server.replica(&["repl-diskless-load disabled"]);
    let (mut db, mut random) = (server.connect(), Random::seeded(6));
    let followers = KEYS.map(|key| (key, following(replica.port(), key)));
    let (mut model, mut checks) = (Model::default(), 0);
    for _ in 0..trials(FEW / 10) {
        model.step(&mut db, &mut random);
        if random.percent(30) {
            server.wait_for(&replica);
            let (key, follower) = &followers[random.index(KEYS.len())];
            let now = Instant::now();
            // What came since the last wait may be newer on the replica than the model says.
            let had: Vec<u64> = model.0.get(key).into_iter().flatten().map(|(n, _)| *n).collect();
            if had.is_empty() {
                continue; // there is no filter
            }
            eventually("there is a copy, and it is current", || {
                let asked = Instant::now();
                let age = follower.staleness();
                age.and_then(|age| asked.checked_sub(age)).is_some_and(|at| at > now)
            });
            for number in had {
                assert_ne!(follower.contains(&item(number)), Some(false), "{key} {number}");
            }
            checks += 1;
        }
    }
    assert!(checks > 50, "the model tries nothing: {checks}");
}
