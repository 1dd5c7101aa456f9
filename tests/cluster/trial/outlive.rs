//! The trial: items are added and acknowledged, slots are moved all the time, and in the second third of the items a primary is killed.

use super::{add_until_acknowledged, agree, Cluster, Mover, Sent};
use crate::harness::eventually;
use splitbloom::client::PartitionedFilter;
use splitbloom::partition::slot_of;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

/// The primary that dies.
const VICTIM: usize = 1;
/// Moves that must happen in each third of the time, however fast the items are added.
const MOVES: u64 = 10;

/// What the trial took.
#[derive(Clone, Copy, Debug)]
pub struct Outlived {
    pub moves: u64,
    /// Times that a batch was sent again because it had not been acknowledged.
    pub again: u64,
    /// From the kill to the promotion of the replica.
    pub failover: Duration,
    /// The longest that a batch waited for its acknowledgement.
    pub longest: Duration,
}

/// Runs it in a cluster of so many primaries with a replica each. At the end the killed node is its heir's replica.
pub fn outlive(
    cluster: &mut Cluster,
    primaries: usize,
    filter: &mut PartitionedFilter,
    numbers: Range<u64>,
    batch: u64,
    mut after: impl FnMut(u64),
) -> Outlived {
    let slots: Vec<u16> = filter.keys().iter().map(|key| slot_of(key)).collect();
    let (gate, moves, is_over) = (Mutex::new(()), AtomicU64::new(0), AtomicBool::new(false));
    let nodes = cluster.nodes().to_vec();
    let heir = &nodes[VICTIM + primaries];
    let mover = Mover {
        nodes: &nodes,
        slots: &slots,
        gate: &gate,
        moves: &moves,
        is_over: &is_over,
    };
    let see_moves = || {
        let before = moves.load(Ordering::Acquire);
        eventually("slots go on moving", || {
            moves.load(Ordering::Acquire) >= before + MOVES
        });
    };
    let mut add = |numbers| add_until_acknowledged(filter, numbers, batch, 1, &mut after);
    let third = (numbers.end - numbers.start) / 3;
    let (first, second) = (numbers.start + third, numbers.start + 2 * third);

    let (sent, failover) = thread::scope(|scope| {
        scope.spawn(|| mover.run(1));
        // Whatever fails in here, the mover must end for the test to end.
        let _over = Over(&is_over);
        let before = add(numbers.start..first);
        see_moves();
        let killed = {
            // Between two moves: see the mover.
            let _gate = gate.lock().expect("nobody panics at the gate");
            eventually("the nodes agree", || agree(&nodes));
            cluster.kill(VICTIM);
            Instant::now()
        };
        // Some of these wait for the failover; and then for a replica, which the heir has not got until the killed node is back.
        let (during, failover) = thread::scope(|scope| {
            let revival = scope.spawn(|| {
                eventually("the replica is promoted", || {
                    heir.connect().info("replication", "role") == "master"
                });
                let failover = killed.elapsed();
                cluster.start_again(VICTIM);
                failover
            });
            (add(first..second), revival.join().expect("a promotion"))
        });
        see_moves();
        let behind = add(second..numbers.end);
        see_moves();
        ([before, during, behind], failover)
    });
    cluster.wait_until_whole();
    Outlived {
        moves: moves.into_inner(),
        again: sent.iter().map(|sent: &Sent| sent.again).sum(),
        failover,
        longest: sent
            .iter()
            .map(|sent| sent.longest)
            .max()
            .unwrap_or_default(),
    }
}

/// Tells the mover to stop, also when something fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}
