//! Acknowledged items survive constant slot moves and the death of a primary.

use splitbloom_client::{Growth, PartitionedFilter};
use splitbloom_harness::trial::{absent_item, count_found, item, outlive, Cluster};
use splitbloom_partition::Partitions;

const ITEMS: u64 = 100_000;
const PARTITIONS: u64 = 16;
const BATCH: u64 = 1000;
const ERROR_RATE: f64 = 0.01;
/// Absent items to look up: enough for a standard error of 1/30 of the requested error rate.
const ABSENT_ITEMS: u64 = 100_000;
const PRIMARIES: usize = 3;

#[test]
fn every_acknowledged_item_survives_the_death_of_a_primary_while_slots_move() {
    let mut cluster = Cluster::form(PRIMARIES, 1);
    let partitions = Partitions::new(PARTITIONS).expect("a power of two");
    let users = PartitionedFilter::connect(&cluster.urls(), "users", partitions);
    let mut users = users.expect("a cluster");
    users.reserve(ERROR_RATE, ITEMS, Growth::Fixed).expect("an empty cluster");
    outlive(&mut cluster, PRIMARIES, &mut users, 0..ITEMS, BATCH, |_| ());

    assert_eq!(count_found(&mut users, 0..ITEMS, BATCH, item, |_| ()), ITEMS);
    let found = count_found(&mut users, 0..ABSENT_ITEMS, BATCH, absent_item, |_| ());
    let rate = found as f64 / ABSENT_ITEMS as f64;
    let deviation = (ERROR_RATE / ABSENT_ITEMS as f64).sqrt();
    assert!(rate < ERROR_RATE + 6.0 * deviation, "{rate}");
    // Each partition has room for a tenth more than its share, so the rate is that of a filter that
    // is 9/10 full, about 0.6 %.
    assert!(rate > ERROR_RATE / 3.0, "{rate}");

    let info = users.info().expect("all partitions");
    assert!(info.items <= ITEMS, "{info:?}");
    assert!(info.items as f64 > ITEMS as f64 * (1.0 - 2.0 * ERROR_RATE), "{info:?}");
    assert_eq!(info.sub_filters, PARTITIONS);
    assert_eq!(users.delete().expect("all partitions"), PARTITIONS);
}
