//! Followers against a model of what was acknowledged: a follower that is up to date denies nothing
//! of it, whatever else happened.

use crate::followers::random::{Model, KEYS};
use splitbloom_harness::follower::Follower;
use splitbloom_harness::{add_items, item, layers, load_chunks, trials, Random, Server};
use std::thread;

/// Commands of a test, unless [`trials`] says otherwise.
const FEW: u64 = 4_000;

/// Follows filters of one shape through random commands.
fn follow_a_model(shape: &str, settings: &[&str], seed: u64) {
    let server = Server::configured(settings);
    let (mut db, mut random) = (server.connect(), Random::seeded(seed));
    let mut follow = server.connect();
    let mut model = Model::default();
    let mut followers = KEYS.map(|key| (key, Follower::default()));
    for _ in 0..trials(FEW) {
        model.step(&mut db, &mut random, shape, 100);
        let (key, follower) = &mut followers[random.index(KEYS.len())];
        if random.percent(50) {
            continue;
        }
        let options = match random.percent(30) {
            true => format!("COUNT {}", 1 + random.below(20)),
            false => String::new(),
        };
        if random.percent(40) {
            let _ = follower.step(&mut follow, key, &options); // and stays behind
            continue;
        }
        match (follower.catch_up(&mut follow, key, &options), model.items(key)) {
            (Ok(()), Some(items)) => {
                let missing = items.keys().filter(|number| !follower.contains(&item(**number)));
                assert_eq!(missing.count(), 0, "{shape}, {key}, seed {seed}");
            }
            (Err(error), None) => assert_eq!(error, "ERR not found"),
            // The journal of a filter that was unlinked counts until a thread has freed it.
            (Err(error), Some(_)) if error.contains("bf.max-journal-bytes") => {}
            (end, items) => panic!("{key}: {end:?}, but {items:?}, seed {seed}"),
        }
    }
    let fetches: u64 = followers.iter().map(|(_, follower)| follower.fetches).sum();
    assert!(fetches > 10, "the model tries nothing");
}

#[test]
fn an_up_to_date_follower_denies_nothing() {
    let narrow = ["bf.max-followed-items 256", "bf.max-journal-bytes 12kb"];
    let cases: [(&str, &[&str]); 5] = [
        // A Bloom filter that gets a table; a table alone; one within narrow limits.
        ("0.001 3000 EXPANSION 1", &[]),
        ("0.001 10 EXPANSION 1", &[]),
        ("0.001 10 EXPANSION 1", &narrow),
        // Every tenth or fourth item is a false positive, and not in the journal.
        ("0.1 1000 EXPANSION 1", &[]),
        ("0.25 300 EXPANSION 1", &narrow[..1]),
    ];
    thread::scope(|scope| {
        for (seed, (shape, settings)) in (1..).zip(cases) {
            scope.spawn(move || follow_a_model(shape, settings, seed));
        }
    });
}

/// The table of a filter from RedisBloom begins with the first item, at any step of a fetch.
#[test]
fn an_up_to_date_follower_denies_nothing_that_came_after_layers() {
    let server = Server::start();
    let (mut db, mut follow) = (server.connect(), server.connect());
    for steps in 0..6 {
        db.run("DEL f");
        load_chunks(&mut db, "f", &layers(4));
        let mut follower = Follower::default();
        for first in (0..steps * 2_000).step_by(2_000) {
            follower.step(&mut follow, "f", "").expect("a follower");
            add_items(&mut db, "f", first..first + 2_000);
        }
        follower.catch_up(&mut follow, "f", "").expect("news");
        add_items(&mut db, "f", 50_000..60_000);
        follower.catch_up(&mut follow, "f", "").expect("news");
        let all = (0..steps * 2_000).chain(50_000..60_000);
        assert_eq!(all.filter(|number| !follower.contains(&item(*number))).count(), 0, "{steps}");
    }
}

#[test]
fn a_follower_keeps_up_with_writers_while_it_fetches() {
    let server = Server::start();
    for shape in ["0.01 100 EXPANSION 1", "0.01 1000000", "0.001 20000 EXPANSION 1"] {
        let mut db = server.connect();
        db.run("FLUSHALL");
        db.run(&format!("BF.RESERVE f {shape}"));
        add_items(&mut db, "f", 0..100_000);
        thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut db = server.connect();
                for first in (100_000..250_000).step_by(500) {
                    add_items(&mut db, "f", first..first + 500);
                }
            });
            let mut follow = server.connect();
            while !writer.is_finished() {
                // From the beginning, so that it fetches amid the writes, and then some changes.
                let mut follower = Follower::default();
                for _ in 0..5 {
                    follower.step(&mut follow, "f", "").expect("a follower");
                }
                let there = db.run("BF.CARD f");
                follower.catch_up(&mut follow, "f", "").expect("news");
                let known = (0..100_000).filter(|number| follower.contains(&item(*number)));
                assert_eq!(known.count(), 100_000, "{shape}, {there}");
            }
            let mut follower = Follower::default();
            follower.catch_up(&mut follow, "f", "").expect("a follower");
            let known = (0..250_000).filter(|number| follower.contains(&item(*number)));
            assert_eq!(known.count(), 250_000, "{shape}");
        });
    }
}
