//! Someone who knows a filter's seed chooses the items. The fill guard must close a sub-filter
//! before its false-positive rate is twice the requested error rate, and report it.

use splitbloom_filter::hash::{ItemHash, Seed};
use splitbloom_harness::{absent_item, Connection, Family, Server};

const SEED: u64 = 0x5eed_5eed_5eed_5eed;
const ABSENT_ITEMS: u64 = 200_000;

/// Items that all land in the same fiftieth of every sub-filter.
fn crowding_items() -> impl Iterator<Item = Vec<u8>> {
    (0u64..)
        .map(|i| format!("crowding:{i}").into_bytes())
        .filter(|item| ItemHash::of(item, Seed(SEED)).place < u64::MAX / 50)
}

/// Adds crowding items until `enough` is true; returns how many were added.
fn add_crowding_items(
    db: &mut Connection,
    mut enough: impl FnMut(&mut Connection) -> bool,
) -> usize {
    let mut added = 0;
    let mut items = crowding_items();
    while !enough(db) {
        let head = [b"BF.MADD".to_vec(), b"k".to_vec()];
        db.call(head.into_iter().chain(items.by_ref().take(100)));
        added += 100;
        assert!(added < 100_000, "the guard does not act");
    }
    added
}

fn guards(db: &mut Connection) -> Vec<f64> {
    let sub_filters = db.line("BF.INFO k FULL").field("Sub-filters");
    let guards = sub_filters.elements().iter();
    guards.map(|one| one.field("Guard").double()).collect()
}

#[test]
fn crowding_items_close_a_non_scaling_filter_before_its_error_rate_doubles() {
    let (_server, mut db) = Server::start().with_client();
    db.run(&format!("BF.RESERVE k 0.01 20000 NONSCALING SEED {SEED:x}"));
    let added = add_crowding_items(&mut db, |db| guards(db)[0] >= 1.0);
    assert!(added < 10_000, "{added}");
    let refused = "-ERR non scaling filter is full";
    assert_eq!(db.ask("BF.ADD k one-that-is-new"), refused);
    assert_eq!(db.info("bf", "bf_fill_guard_closings"), "1");

    // 0.02 of 200 000 absent items are 4000, with a standard deviation of 63.
    let found = Family::Bloom.count_found(&mut db, "k", 0..ABSENT_ITEMS, absent_item);
    let rate = found as f64 / ABSENT_ITEMS as f64;
    assert!((0.009..0.0215).contains(&rate), "{rate}");
    let told = db.line("BF.INFO k FULL").field("Expected false positive rate");
    assert!((told.double() / rate - 1.0).abs() < 0.15, "{told} {rate}");
}
