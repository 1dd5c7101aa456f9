//! Moves one partition of each size between two primaries and back while probing both.

use redis::Client;
use splitbloom_harness::eventually;
use splitbloom_harness::trial::{agree, move_slot, Cluster, Node};
use splitbloom_partition::slot_of;
use splitbloom_rig::load::{Format, Load, Pattern};
use splitbloom_rig::{in_words, median, percentile, ping, samples_during, Outcome, Settings};
use std::thread;
use std::time::{Duration, Instant};

/// Sizes of the partition in MiB. (A move of much more would approach the time after which a silent
/// node is considered dead.)
const SIZES: [u64; 4] = [1, 4, 16, 64];
/// Whether the server tries to compress what it serializes; bits do not compress.
const COMPRESSION: [&str; 2] = ["yes", "no"];
const ERROR_RATE: f64 = 0.01;
/// Bits per item at that error rate (docs/performance.md).
const BITS_PER_ITEM: f64 = 9.92;
/// No node may be considered dead, however long a move takes on a busy machine.
const NODE_TIMEOUT: &str = "CONFIG SET cluster-node-timeout 60000";
/// There and back, three times: a stall in one of them is the machine's.
const MOVES: usize = 6;
const KEY: &str = "users:{0}";
/// Between two PINGs.
const PAUSE: Duration = Duration::from_millis(1);
/// The probe runs this long before and after each move.
const MARGIN: Duration = Duration::from_millis(300);

pub fn run(settings: &mut Settings) -> Outcome<()> {
    for mebibytes in SIZES {
        for compression in COMPRESSION {
            let items = ((mebibytes << 23) as f64 / BITS_PER_ITEM) as u64;
            eprintln!("a partition of {mebibytes} MiB, rdbcompression {compression}");
            let Stalls { moves, source, target, idle } = measure(items, compression)?;
            let median = |stalls: &[f64]| in_words(median(stalls), 1);
            let max = |stalls: &[f64]| in_words(stalls.iter().copied().fold(0.0, f64::max), 1);
            settings.table("slots").row(&[
                ("partition, MiB", &mebibytes),
                ("items", &items),
                ("rdbcompression", &compression),
                ("move, ms", &median(&moves)),
                ("source stall, ms", &median(&source)),
                ("target stall, ms", &median(&target)),
                ("max source stall, ms", &max(&source)),
                ("max target stall, ms", &max(&target)),
                ("stall without a move, ms", &in_words(idle, 1)),
            ]);
        }
    }
    Ok(())
}

/// In milliseconds: the time of each move, the longest stall at each end during it, and the longest
/// stall without a move.
#[derive(Default)]
struct Stalls {
    moves: Vec<f64>,
    source: Vec<f64>,
    target: Vec<f64>,
    idle: f64,
}

fn measure(items: u64, compression: &str) -> Outcome<Stalls> {
    let cluster = Cluster::form(2, 1);
    let [one, other, ..] = cluster.nodes() else {
        return Err("expected four nodes".into());
    };
    for node in cluster.nodes() {
        node.connect().run(NODE_TIMEOUT);
        node.connect().run(&format!("CONFIG SET rdbcompression {compression}"));
    }
    let slot = slot_of(KEY.as_bytes());
    let is_owner = |node: &&Node| !node.connect().line(&format!("EXISTS {KEY}")).is_error();
    let first = [one, other].into_iter().find(is_owner).ok_or("no node owns the slot")?;
    let second = if first == one { other } else { one };
    first.connect().run(&format!("BF.RESERVE {KEY} {ERROR_RATE} {items} NONSCALING"));
    let adds = Pattern::new(&["BF.MADD", KEY], 100, Format::Bytes(12));
    Load::new(first.port, 4, 8, &adds)?.send(0, items)?;
    let (mut from, mut to) = (first, second);
    let ((), idle) = probed(from, to, || {
        thread::sleep(MARGIN);
        Ok(())
    })?;
    let mut stalls = Stalls { idle: idle[0].max(idle[1]), ..Stalls::default() };
    for _ in 0..MOVES {
        eventually("the nodes agree", || agree(cluster.nodes()));
        let (mut source, mut target) = (from.connect(), to.connect());
        let (time, [at_source, at_target]) = probed(from, to, || {
            thread::sleep(MARGIN);
            let start = Instant::now();
            move_slot(slot, (from, &mut source), (to, &mut target))?;
            let time = start.elapsed();
            thread::sleep(MARGIN);
            Ok(time.as_secs_f64() * 1e3)
        })?;
        stalls.moves.push(time);
        stalls.source.push(at_source);
        stalls.target.push(at_target);
        std::mem::swap(&mut from, &mut to);
    }
    Ok(stalls)
}

/// Runs `work` while probing both nodes; returns the longest stall at each, in milliseconds.
fn probed<T>(
    source: &Node,
    target: &Node,
    work: impl FnOnce() -> Outcome<T>,
) -> Outcome<(T, [f64; 2])> {
    let client = |node: &Node| Client::open(("127.0.0.1", node.port))?.get_connection();
    let (mut source, mut target) = (client(source)?, client(target)?);
    let ((result, at_target), at_source) = samples_during(
        PAUSE,
        || ping(&mut source),
        || samples_during(PAUSE, || ping(&mut target), work),
    )?;
    Ok((result, [at_source, at_target].map(|waits| percentile(&waits, 1.0))))
}
