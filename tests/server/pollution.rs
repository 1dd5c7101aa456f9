//! Somebody knows the seed of a filter and chooses items. The fill guard must close a sub-filter before its error rate is twice the one
//! asked for, and say so.

use crate::harness::{count_found, stranger, Connection, Server};
use splitbloom::filter::hash::{ItemHash, Seed};

const SEED: u64 = 0x5eed_5eed_5eed_5eed;
const STRANGERS: u64 = 200_000;

/// Items that all fall into the same fiftieth of every sub-filter.
fn crowding_items() -> impl Iterator<Item = Vec<u8>> {
    (0u64..)
        .map(|i| format!("crowding:{i}").into_bytes())
        .filter(|item| ItemHash::of(item, Seed(SEED)).place < u64::MAX / 50)
}

/// Adds crowding items until `enough` says so; answers how many were added.
fn crowd(db: &mut Connection, mut enough: impl FnMut(&mut Connection) -> bool) -> usize {
    let mut added = 0;
    let mut items = crowding_items();
    while !enough(db) {
        let head = [b"BF.MADD".to_vec(), b"k".to_vec()];
        db.call(head.into_iter().chain(items.by_ref().take(100)));
        added += 100;
        assert!(added < 100_000, "the guard sleeps");
    }
    added
}

fn measured_rate(db: &mut Connection) -> f64 {
    count_found(db, "k", 0..STRANGERS, stranger) as f64 / STRANGERS as f64
}

fn guards(db: &mut Connection) -> Vec<f64> {
    let sub_filters = db.line("BF.INFO k FULL").field("Sub-filters");
    let guards = sub_filters.elements().iter();
    guards.map(|one| one.field("Guard").double()).collect()
}

#[test]
fn crowding_items_close_a_filter_that_does_not_grow_long_before_it_errs_twice_as_often() {
    let server = Server::start();
    let mut db = server.connect();
    db.run(&format!("BF.RESERVE k 0.01 20000 NONSCALING SEED {SEED:x}"));
    let added = crowd(&mut db, |db| guards(db)[0] >= 1.0);
    assert!(added < 10_000, "{added}");
    let refused = "-ERR non scaling filter is full";
    assert_eq!(db.ask("BF.ADD k one-that-is-new"), refused);
    assert_eq!(db.info("bf", "bf_fill_guard_closings"), "1");

    // 0.02 of 200 000 strangers are 4000, with a standard deviation of 63.
    let rate = measured_rate(&mut db);
    assert!((0.009..0.0215).contains(&rate), "{rate}");
    let told = db
        .line("BF.INFO k FULL")
        .field("Expected false positive rate");
    assert!((told.double() / rate - 1.0).abs() < 0.15, "{told} {rate}");
}

#[test]
fn crowding_items_make_a_filter_grow_and_never_err_twice_as_often() {
    let server = Server::start();
    let mut db = server.connect();
    db.run(&format!("BF.RESERVE k 0.01 10000 SEED {SEED:x}"));
    let filters = |db: &mut Connection| db.line("BF.INFO k FILTERS").elements()[0].integer();
    crowd(&mut db, |db| filters(db) == 5);
    assert!(db.info_number("bf", "bf_fill_guard_closings") >= 4);
    let rate = measured_rate(&mut db);
    assert!(rate < 0.0215, "{rate}");
}

#[test]
fn what_the_guard_has_weighed_survives_a_reload_and_reaches_a_replica() {
    let server = Server::start();
    let replica = server.replica(&[]);
    let mut db = server.connect();
    db.run(&format!("BF.RESERVE k 0.01 20000 SEED {SEED:x}"));
    let half_way = |db: &mut Connection| guards(db)[0] >= 0.5;
    crowd(&mut db, half_way);
    let before = guards(&mut db);
    server.wait_for(&replica);
    assert_eq!(guards(&mut replica.connect()), before);
    db.run("DEBUG RELOAD");
    assert_eq!(guards(&mut db), before);
}
