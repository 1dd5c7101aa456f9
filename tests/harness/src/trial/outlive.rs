//! The trial: items are added and acknowledged while slots move constantly, and during the second
//! third of the items a primary is killed.

use super::{add_until_acknowledged, agree, Cluster, Mover, Sent};
use crate::eventually;
use splitbloom_client::PartitionedFilter;
use splitbloom_partition::slot_of;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::thread::{self, panicking};
use std::time::{Duration, Instant};

/// The primary that dies.
const VICTIM: usize = 1;
/// The minimum number of moves in each third, however fast the items are added.
const MOVES: u64 = 10;

/// The measurements of a trial.
#[derive(Clone, Copy, Debug)]
pub struct Outlived {
    pub moves: u64,
    /// How often a batch was resent because it was not acknowledged.
    pub again: u64,
    /// Time from the kill to the promotion of the replica.
    pub failover: Duration,
    /// The longest time that a batch waited for its acknowledgement.
    pub longest: Duration,
}

/// Runs the trial on a cluster of primaries with one replica each. In the end the killed node is a
/// replica of its successor.
pub fn outlive(
    cluster: &mut Cluster,
    primaries: usize,
    filter: &mut PartitionedFilter,
    numbers: Range<u64>,
    batch: u64,
    mut after: impl FnMut(u64),
) -> Outlived {
    let slots: Vec<u16> = filter.keys().iter().map(|key| slot_of(key)).collect();
    let nodes = cluster.nodes().to_vec();
    let heir = &nodes[VICTIM + primaries];
    let mover = Mover::new(&nodes, &slots, 1);
    let moves = || mover.moves.load(Ordering::Acquire);
    let see_moves = || {
        let before = moves();
        eventually("slots keep moving", || moves() >= before + MOVES);
    };
    let mut add = |numbers| add_until_acknowledged(filter, numbers, batch, 1, &mut after);
    let third = (numbers.end - numbers.start) / 3;
    let (first, second) = (numbers.start + third, numbers.start + 2 * third);

    let (sent, failover) = thread::scope(|scope| {
        scope.spawn(|| mover.run(1));
        // If anything fails here, the mover must stop so that the test can end.
        let _over = Over(&mover);
        let before = add(numbers.start..first);
        see_moves();
        let killed = {
            // Not during a move: see the mover.
            let _gate = mover.gate.lock().expect("no thread panics with the gate held");
            eventually("the nodes agree", || agree(&nodes));
            cluster.kill(VICTIM);
            Instant::now()
        };
        // Some of these wait for the failover, and then for a replica, which the successor lacks
        // until the killed node is back.
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
    cluster.wait_until_healthy();
    Outlived {
        moves: moves(),
        again: sent.iter().map(|sent: &Sent| sent.again).sum(),
        failover,
        longest: sent.iter().map(|sent| sent.longest).max().unwrap_or_default(),
    }
}

/// Stops the mover when dropped, even by a panic; then it also prints what each node believes.
struct Over<'a>(&'a Mover<'a>);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Release);
        if panicking() {
            for node in self.0.nodes {
                eprintln!("the cluster as port {} sees it:", node.port);
                match node.try_connect().and_then(|mut db| db.try_call(["CLUSTER", "NODES"])) {
                    Ok(nodes) => eprintln!("{}", nodes.text()),
                    Err(error) => eprintln!("{error}"),
                }
            }
        }
    }
}
