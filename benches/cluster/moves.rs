//! Moves one partition of each size between two primaries and back while probing both.

use crate::probe::{key_of, max_latency};
use splitbloom_filter::codec::chunks;
use splitbloom_filter::filter::{Filter, Growth, Parameters, SizeLimit};
use splitbloom_filter::hash::Seed;
use splitbloom_harness::trial::{agree, move_slot, Cluster, Node};
use splitbloom_harness::{eventually, Connection};
use splitbloom_partition::slot_of;
use splitbloom_rig::statistics::median;
use splitbloom_rig::table::Table;
use splitbloom_rig::Outcome;
use std::sync::atomic::{AtomicBool, Ordering};
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
/// The probe runs this long before and after each move.
const MARGIN: Duration = Duration::from_millis(300);

pub fn all() -> Outcome<Table> {
    let mut table = Table::new(&[
        "partition, MiB",
        "items",
        "rdbcompression",
        "move, ms",
        "source stall, ms",
        "target stall, ms",
        "max source stall, ms",
        "max target stall, ms",
        "stall without a move, ms",
    ]);
    for mebibytes in SIZES {
        for compression in COMPRESSION {
            let items = ((mebibytes << 23) as f64 / BITS_PER_ITEM) as u64;
            let stalls = measure(items, compression)?;
            let [time, source, target] = [&stalls.moves, &stalls.source, &stalls.target];
            let max = |stalls: &[f64]| stalls.iter().copied().fold(0.0, f64::max);
            let figures = [
                median(time),
                median(source),
                median(target),
                max(source),
                max(target),
                stalls.idle,
            ];
            let mut cells = vec![mebibytes.to_string(), items.to_string(), compression.to_owned()];
            cells.extend(figures.map(|figure| format!("{figure:.1}")));
            eprintln!("{}", cells.join("  "));
            table.row(&cells);
        }
    }
    Ok(table)
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
    load(&mut first.connect(), items)?;
    let (mut from, mut to) = ((first, key_of(first)), (second, key_of(second)));

    let ((), idle) = probed(&from, &to, || thread::sleep(MARGIN))?;
    let mut stalls = Stalls { idle: idle[0].max(idle[1]), ..Stalls::default() };
    for _ in 0..MOVES {
        eventually("the nodes agree", || agree(cluster.nodes()));
        let (mut source, mut target) = (from.0.connect(), to.0.connect());
        let (time, [at_source, at_target]) = probed(&from, &to, || {
            thread::sleep(MARGIN);
            let start = Instant::now();
            let moved = move_slot(slot, (from.0, &mut source), (to.0, &mut target));
            let time = start.elapsed();
            thread::sleep(MARGIN);
            moved.map(|()| milliseconds(time))
        })?;
        stalls.moves.push(time?);
        stalls.source.push(at_source);
        stalls.target.push(at_target);
        std::mem::swap(&mut from, &mut to);
    }
    Ok(stalls)
}

/// Runs `work` while probing both nodes; returns the longest stall at each, in milliseconds.
fn probed<T>(
    source: &(&Node, String),
    target: &(&Node, String),
    work: impl FnOnce() -> T,
) -> Outcome<(T, [f64; 2])> {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let is_over = &is_over;
        let probe = |end: &(&Node, String)| {
            let (node, key) = (end.0.clone(), end.1.clone());
            scope.spawn(move || max_latency(&node, &key, is_over))
        };
        let probes = [probe(source), probe(target)];
        let result = work();
        is_over.store(true, Ordering::Release);
        let [at_source, at_target] =
            probes.map(|probe| probe.join().expect("the probe does not panic"));
        Ok((result, [milliseconds(at_source?), milliseconds(at_target?)]))
    })
}

/// Builds a full filter in this process and loads it in chunks: faster than any client could add
/// its items.
fn load(db: &mut Connection, items: u64) -> Outcome<()> {
    let parameters = Parameters {
        error_rate: ERROR_RATE,
        capacity: items,
        growth: Growth::Fixed,
        seed: Seed(1),
    };
    let refused = |error| format!("cannot build a filter of {items} items: {error:?}");
    let mut filter = Filter::new(parameters, SizeLimit::Unlimited).map_err(refused)?;
    for item in 0..items {
        filter.add(&item.to_le_bytes(), SizeLimit::Unlimited).map_err(refused)?;
    }
    for chunk in chunks(&filter) {
        let chunk = chunk.encode()?;
        let word = chunk.next.to_string();
        let reply = db.call([b"BF.LOADCHUNK", KEY.as_bytes(), word.as_bytes(), &chunk.bytes]);
        if reply.is_error() {
            return Err(reply.to_string().into());
        }
    }
    Ok(())
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
