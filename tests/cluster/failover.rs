//! What was acknowledged stays, while slots are moved all the time and a primary dies.

use crate::trial::{count_found, item, outlive, stranger, Cluster};
use splitbloom::client::{Growth, PartitionedFilter};
use splitbloom::partition::Partitions;

const ITEMS: u64 = 100_000;
const PARTITIONS: u64 = 16;
const BATCH: u64 = 1000;
const ERROR_RATE: f64 = 0.01;
/// Asked for in vain: enough for the measured rate to have a standard error of 1/30 of what was asked for.
const STRANGERS: u64 = 100_000;
const PRIMARIES: usize = 3;

#[test]
fn every_acknowledged_item_outlives_a_killed_primary_while_slots_move() {
    let mut cluster = Cluster::form(PRIMARIES, 1);
    let partitions = Partitions::new(PARTITIONS).expect("a power of two");
    let users = PartitionedFilter::connect(&cluster.urls(), "users", partitions);
    let mut users = users.expect("a cluster");
    users
        .reserve(ERROR_RATE, ITEMS, Growth::Fixed)
        .expect("an empty cluster");
    outlive(&mut cluster, PRIMARIES, &mut users, 0..ITEMS, BATCH, |_| ());

    assert_eq!(
        count_found(&mut users, 0..ITEMS, BATCH, item, |_| ()),
        ITEMS
    );
    let found = count_found(&mut users, 0..STRANGERS, BATCH, stranger, |_| ());
    let rate = found as f64 / STRANGERS as f64;
    let deviation = (ERROR_RATE / STRANGERS as f64).sqrt();
    assert!(rate < ERROR_RATE + 6.0 * deviation, "{rate}");
    // Each partition has room for a tenth more than its share: the rate is that of a filter that is 9/10 full, some 0.6 %.
    assert!(rate > ERROR_RATE / 3.0, "{rate}");

    let info = users.info().expect("all partitions");
    assert!(info.items <= ITEMS, "{info:?}");
    assert!(
        info.items as f64 > ITEMS as f64 * (1.0 - 2.0 * ERROR_RATE),
        "{info:?}"
    );
    assert_eq!(info.sub_filters, PARTITIONS);
    assert_eq!(users.delete().expect("all partitions"), PARTITIONS);
}
