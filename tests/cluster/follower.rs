//! A partitioned filter is followed as one, wherever its partitions move.

use crate::harness::eventually;
use crate::trial::{item, outlive, Cluster};
use redis::IntoConnectionInfo;
use splitbloom_client::{Error, Follower, Growth, Keys, PartitionedFilter, Topology};
use splitbloom_partition::{Name, Partitions};
use std::time::Instant;

const ITEMS: u64 = 30_000;
const BATCH: u64 = 500;
const PRIMARIES: usize = 3;

fn partitions() -> Partitions {
    Partitions::new(8).expect("a power of two")
}

fn following(cluster: &Cluster) -> Follower {
    let nodes = cluster.urls().into_iter().map(|url| url.into_connection_info().expect("a URL"));
    let name = Name::new(b"users").expect("a name");
    let keys = Keys::Partitioned(name, partitions());
    Follower::start(nodes.collect(), Topology::Cluster, keys).expect("a thread")
}

fn has_all(follower: &Follower, mut numbers: std::ops::Range<u64>) -> bool {
    numbers.all(|number| follower.contains(&item(number)) == Some(true))
}

#[test]
fn a_copy_denies_nothing_that_was_acknowledged_while_slots_move_and_a_primary_dies() {
    let mut cluster = Cluster::form(PRIMARIES, 1);
    let users = PartitionedFilter::connect(&cluster.urls(), "users", partitions());
    let mut users = users.expect("a cluster");
    users.reserve(0.001, 1_000, Growth::Times(2)).expect("an empty cluster");
    let follower = following(&cluster);
    eventually("there is a copy", || follower.is_ready());

    // When each batch was acknowledged, by the primary and its replica.
    let (mut acknowledged, mut checks) = (Vec::new(), 0);
    outlive(&mut cluster, PRIMARIES, &mut users, 0..ITEMS, BATCH, |_| {
        acknowledged.push(Instant::now());
        let Some(staleness) = follower.staleness() else {
            return;
        };
        let Some(current_at) = Instant::now().checked_sub(staleness) else {
            return;
        };
        let known = acknowledged.iter().filter(|at| **at < current_at).count() as u64 * BATCH;
        for number in 0..known {
            // None: a key was missing for a moment while its slot moved.
            assert_ne!(follower.contains(&item(number)), Some(false), "{number} of {known}");
        }
        checks += u64::from(known > 0);
    });
    assert!(checks > 10, "the copy was hardly ever current: {checks}");
    eventually("all have come", || has_all(&follower, 0..ITEMS));
    let items: Vec<_> = (0..ITEMS).map(item).collect();
    assert_eq!(follower.contains_many(&items), Some(vec![true; items.len()]));
    assert!(follower.status().fetches > 8, "{:?}", follower.status());
}

#[test]
fn without_one_of_its_partitions_a_filter_has_no_copy() {
    let cluster = Cluster::form(PRIMARIES, 0);
    let users = PartitionedFilter::connect(&cluster.urls(), "users", partitions());
    let mut users = users.expect("a cluster");
    let follower = following(&cluster);
    eventually("it says why", || matches!(follower.status().error, Some(Error::Missing(_))));
    assert_eq!(follower.contains(b"a"), None);
    users.reserve(0.001, 1_000, Growth::Times(2)).expect("an empty cluster");
    eventually("there is a copy", || follower.is_ready());
    let items: Vec<_> = (0..1_000).map(item).collect();
    assert!(users.madd(&items).into_iter().all(|answer| answer.is_ok()));
    eventually("all have come", || has_all(&follower, 0..1_000));

    let key = String::from_utf8(users.keys()[3].clone()).expect("a text");
    let gone =
        cluster.nodes().iter().find(|node| node.connect().ask(&format!("DEL {key}")) == ":1");
    assert!(gone.is_some());
    eventually("there is none", || !follower.is_ready());
}
