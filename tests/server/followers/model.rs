//! Followers against a model: a copy denies no item that was acknowledged longer ago than the copy
//! is old.

use super::following;
use super::random::{Model, KEYS};
use splitbloom_client::Follower;
use splitbloom_harness::{eventually, item, trials, Link, Random, Server};
use std::cell::Cell;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Commands of a test, unless [`trials`] says otherwise.
const FEW: u64 = 3_000;

/// At this error rate the server has many false positives.
const SHAPE: &str = "0.1 500 EXPANSION 1";

/// Checks the copy that a follower has, if it has one. Returns whether it does.
fn check(model: &Model, follower: &Follower, key: &str) -> bool {
    // Before the question, so that a pause in between makes it no later.
    let now = Instant::now();
    let Some(current_at) = follower.staleness().and_then(|age| now.checked_sub(age)) else {
        return false;
    };
    for (number, since) in model.items(key).into_iter().flatten() {
        if *since < current_at {
            // None: it has been withdrawn meanwhile.
            assert_ne!(follower.contains(&item(*number)), Some(false), "{key} {number}");
        }
    }
    true
}

#[test]
fn a_copy_denies_nothing_that_was_acknowledged_before_it_was_current() {
    let (server, mut db) = Server::configured(&["bf.max-followed-items 2000"]).with_client();
    let link = Link::to(server.port());
    let mut random = Random::seeded(5);
    // Also followers through a link that is cut, and some that are dropped and begun again.
    let steady = KEYS.map(|key| (key, following(server.port(), key)));
    let cut = KEYS.map(|key| (key, following(link.port(), key)));
    let mut fresh = KEYS.map(|key| (key, following(server.port(), key)));
    let (mut model, checks) = (Model::default(), Cell::new(0));
    let mut step = || {
        model.step(&mut db, &mut random, SHAPE, 200);
        match random.below(100) {
            99 => sleep(Duration::from_millis(random.below(20))),
            0 => link.cut(),
            1 => link.cut_after(random.below(50_000)),
            2 => {
                let (key, follower) = &mut fresh[random.index(KEYS.len())];
                *follower = following(server.port(), key);
            }
            3..40 => {
                let all = [&steady, &cut, &fresh];
                let (key, follower) = &random.pick(&all)[random.index(KEYS.len())];
                checks.set(checks.get() + u64::from(check(&model, follower, key)));
            }
            _ => {}
        }
    };
    (0..trials(FEW)).for_each(|_| step());
    // A quick server has done all this while a follower pauses before it asks again.
    eventually("each has been fetched and checked often", || {
        (0..100).for_each(|_| step());
        checks.get() > 100 && steady.iter().all(|(_, follower)| follower.status().fetches > 3)
    });
}
