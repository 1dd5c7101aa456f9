//! What was acknowledged stays, while slots are moved all the time and a primary dies.

use crate::harness::eventually;
use crate::trial::{add_until_acknowledged, count_found, stranger, Cluster, Mover};
use crate::trial::{item, Sent};
use splitbloom::client::{Growth, PartitionedFilter};
use splitbloom::partition::{slot_of, Partitions};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Mutex;
use std::thread;

const ITEMS: u64 = 100_000;
const PARTITIONS: u64 = 16;
const BATCH: u64 = 1000;
const ERROR_RATE: f64 = 0.01;
/// Asked for in vain: enough for the measured rate to have a standard error of 1/30 of what was asked for.
const STRANGERS: u64 = 100_000;
/// Moves that must happen in each third of the time.
const MOVES: u64 = 10;
/// The primary that dies; its replica is so many places behind it.
const VICTIM: usize = 1;
const PRIMARIES: usize = 3;

#[test]
fn every_acknowledged_item_outlives_a_killed_primary_while_slots_move() {
    let mut cluster = Cluster::form(PRIMARIES, 1);
    let partitions = Partitions::new(PARTITIONS).expect("a power of two");
    let mut filter =
        PartitionedFilter::connect(&cluster.urls(), "users", partitions).expect("a cluster");
    filter
        .reserve(ERROR_RATE, ITEMS, Growth::Fixed)
        .expect("an empty cluster");
    let slots: Vec<u16> = filter.keys().iter().map(|key| slot_of(key)).collect();

    let (gate, moves, is_over) = (Mutex::new(()), AtomicU64::new(0), AtomicBool::new(false));
    let nodes = cluster.nodes().to_vec();
    let mover = Mover {
        nodes: &nodes,
        slots: &slots,
        gate: &gate,
        moves: &moves,
        is_over: &is_over,
    };
    let seen = |wanted: u64| {
        let before = moves.load(Ordering::Acquire);
        eventually("slots go on moving", || {
            moves.load(Ordering::Acquire) >= before + wanted
        });
    };
    let mut add =
        |numbers| -> Sent { add_until_acknowledged(&mut filter, numbers, BATCH, 1, |_| ()) };

    let third = ITEMS / 3;
    thread::scope(|scope| {
        scope.spawn(|| mover.run(1));
        // Whatever fails in here, the mover must end for the test to end.
        let _over = Over(&is_over);
        add(0..third);
        seen(MOVES);
        {
            // Between two moves: see the mover.
            let _gate = gate.lock().expect("nobody panics at the gate");
            eventually("the nodes agree", || cluster.agrees(&nodes));
            cluster.kill(VICTIM);
        }
        // Some of these wait for the failover; all of them wait for a replica, which the promoted node has not got.
        let heir = &nodes[VICTIM + PRIMARIES];
        thread::scope(|scope| {
            scope.spawn(|| {
                eventually("the replica is promoted", || {
                    heir.connect().info("replication", "role") == "master"
                });
                cluster.start_again(VICTIM);
            });
            add(third..2 * third);
        });
        seen(MOVES);
        add(2 * third..ITEMS);
        seen(MOVES);
    });
    cluster.wait_until_whole();

    assert_eq!(
        count_found(&mut filter, 0..ITEMS, BATCH, item, |_| ()),
        ITEMS
    );
    let found = count_found(&mut filter, 0..STRANGERS, BATCH, stranger, |_| ());
    let (rate, deviation) = (
        found as f64 / STRANGERS as f64,
        (ERROR_RATE / STRANGERS as f64).sqrt(),
    );
    assert!(rate < ERROR_RATE + 6.0 * deviation, "{rate}");
    assert!(
        rate > ERROR_RATE / 3.0,
        "partitions are at least half full: {rate}"
    );

    let info = filter.info().expect("all partitions");
    assert!(info.items <= ITEMS);
    assert!(
        info.items as f64 > ITEMS as f64 * (1.0 - 2.0 * ERROR_RATE),
        "{info:?}"
    );
    assert_eq!(info.sub_filters, PARTITIONS);
    assert_eq!(filter.delete().expect("all partitions"), PARTITIONS);
}

/// Tells the mover to stop, also when a test fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}
