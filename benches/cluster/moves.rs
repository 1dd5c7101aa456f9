//! One partition of each size, moved from one primary to the other and back, under someone who asks both of them little things.

use crate::harness::{eventually, Connection};
use crate::probe::{key_of, worst_wait};
use crate::rig::statistics::median;
use crate::rig::table::Table;
use crate::rig::Outcome;
use crate::trial::{agree, move_slot, Cluster, Node};
use splitbloom::filter::codec::encode_piece;
use splitbloom::filter::hash::Seed;
use splitbloom::filter::scalable::{Filter, Growth, Parameters, SizeLimit};
use splitbloom::partition::slot_of;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Mebibytes of the partitions. (A move of much more would come near the time after which a silent node is taken for dead.)
const SIZES: [u64; 4] = [1, 4, 16, 64];
/// The server's setting that makes it try to compress what it packs; bits cannot be.
const COMPRESSION: [&str; 2] = ["yes", "no"];
const ERROR_RATE: f64 = 0.01;
/// Bits of an item at that error rate (docs/design.md).
const BITS_PER_ITEM: f64 = 9.92;
/// Nobody is to be taken for dead here, however long a move takes on a machine that is busy.
const NODE_TIMEOUT: &str = "CONFIG SET cluster-node-timeout 60000";
/// There and back: what is slow once in so many moves is the machine.
const MOVES: usize = 6;
const KEY: &str = "users:{0}";
/// Before the first move and behind the last; the nodes agree meanwhile.
const MARGIN: Duration = Duration::from_millis(300);

pub fn all() -> Outcome<Table> {
    let mut table = Table::new(&[
        "partition, MiB",
        "items",
        "rdbcompression",
        "move, ms",
        "source waits, ms",
        "target waits, ms",
        "source waits at worst, ms",
        "target waits at worst, ms",
        "without a move, ms",
    ]);
    for mebibytes in SIZES {
        for compression in COMPRESSION {
            let items = ((mebibytes << 23) as f64 / BITS_PER_ITEM) as u64;
            let waits = moved(items, compression)?;
            let [time, source, target] = [&waits.moves, &waits.source, &waits.target];
            let worst = |waits: &[f64]| waits.iter().copied().fold(0.0, f64::max);
            let figures = [
                median(time),
                median(source),
                median(target),
                worst(source),
                worst(target),
                waits.quiet,
            ];
            let mut cells = vec![
                mebibytes.to_string(),
                items.to_string(),
                compression.to_owned(),
            ];
            cells.extend(figures.map(|figure| format!("{figure:.1}")));
            eprintln!("{}", cells.join("  "));
            table.row(&cells);
        }
    }
    Ok(table)
}

/// Milliseconds: of each move, the longest wait at each end during it, and the longest wait without one.
#[derive(Default)]
struct Waits {
    moves: Vec<f64>,
    source: Vec<f64>,
    target: Vec<f64>,
    quiet: f64,
}

fn moved(items: u64, compression: &str) -> Outcome<Waits> {
    let cluster = Cluster::form(2, 1);
    let [one, other, ..] = cluster.nodes() else {
        return Err("four nodes were to be formed".into());
    };
    for node in cluster.nodes() {
        node.connect().run(NODE_TIMEOUT);
        node.connect()
            .run(&format!("CONFIG SET rdbcompression {compression}"));
    }
    let slot = slot_of(KEY.as_bytes());
    let is_owner = |node: &&Node| !node.connect().line(&format!("EXISTS {KEY}")).is_error();
    let first = [one, other]
        .into_iter()
        .find(is_owner)
        .ok_or("nobody owns the slot")?;
    let second = if first == one { other } else { one };
    load(&mut first.connect(), items)?;
    let (mut from, mut to) = ((first, key_of(first)), (second, key_of(second)));

    let ((), quiet) = probed(&from, &to, || thread::sleep(MARGIN))?;
    let mut waits = Waits {
        quiet: quiet[0].max(quiet[1]),
        ..Waits::default()
    };
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
        waits.moves.push(time?);
        waits.source.push(at_source);
        waits.target.push(at_target);
        std::mem::swap(&mut from, &mut to);
    }
    Ok(waits)
}

/// Does the work while both nodes are asked for their keys; answers with the longest wait at each, in milliseconds.
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
            scope.spawn(move || worst_wait(&node, &key, is_over))
        };
        let probes = [probe(source), probe(target)];
        let result = work();
        is_over.store(true, Ordering::Release);
        let [at_source, at_target] = probes.map(|probe| probe.join().expect("a probe that ends"));
        Ok((result, [milliseconds(at_source?), milliseconds(at_target?)]))
    })
}

/// A full filter, made here and loaded in pieces: faster than any client could add its items.
fn load(db: &mut Connection, items: u64) -> Outcome<()> {
    let parameters = Parameters {
        error_rate: ERROR_RATE,
        capacity: items,
        growth: Growth::Fixed,
        seed: Seed(1),
    };
    let refused = |error| format!("no filter of {items} items: {error:?}");
    let mut filter = Filter::new(parameters, SizeLimit::Unlimited).map_err(refused)?;
    for item in 0..items {
        filter
            .add(&item.to_le_bytes(), SizeLimit::Unlimited)
            .map_err(refused)?;
    }
    let mut iterator = 0;
    while let Some(piece) = encode_piece(&filter, iterator) {
        iterator = piece.next;
        let word = iterator.to_string();
        let reply = db.call([
            b"BF.LOADCHUNK",
            KEY.as_bytes(),
            word.as_bytes(),
            &piece.bytes,
        ]);
        if reply.is_error() {
            return Err(reply.to_string().into());
        }
    }
    Ok(())
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
