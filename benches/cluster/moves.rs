//! One partition of each size, moved from one primary to the other and back, under someone who asks both of them little things.

use crate::harness::Connection;
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

/// Mebibytes of the partitions.
const SIZES: [u64; 5] = [1, 4, 16, 64, 256];
const ERROR_RATE: f64 = 0.01;
/// Bits of an item at that error rate (docs/design.md).
const BITS_PER_ITEM: f64 = 9.92;
/// There and back: what is slow once in so many moves is the machine.
const MOVES: usize = 6;
const KEY: &str = "users:{0}";
/// Before the first move and behind the last; the nodes agree meanwhile.
const MARGIN: Duration = Duration::from_millis(300);

pub fn all() -> Outcome<Table> {
    let mut table = Table::new(&[
        "partition, MiB",
        "items",
        "move, ms",
        "source waits, ms",
        "target waits, ms",
        "source waits at worst, ms",
        "target waits at worst, ms",
        "without a move, ms",
    ]);
    for mebibytes in SIZES {
        let items = ((mebibytes << 23) as f64 / BITS_PER_ITEM) as u64;
        let cluster = Cluster::form(2, 1);
        let [one, other, ..] = cluster.nodes() else {
            return Err("four nodes were to be formed".into());
        };
        let slot = slot_of(KEY.as_bytes());
        let is_owner = |node: &&Node| !node.connect().line(&format!("EXISTS {KEY}")).is_error();
        let first = [one, other]
            .into_iter()
            .find(is_owner)
            .ok_or("nobody owns the slot")?;
        let second = if first == one { other } else { one };
        load(&mut first.connect(), items)?;
        let keys = [key_of(first), key_of(second)];
        let quiet = probed(&[(first, &keys[0])], || thread::sleep(MARGIN))?;

        let (mut times, mut at_source, mut at_target) = (Vec::new(), Vec::new(), Vec::new());
        for number in 0..MOVES {
            let (source, target) = if number % 2 == 0 {
                (first, second)
            } else {
                (second, first)
            };
            while !agree(cluster.nodes()) {
                thread::sleep(Duration::from_millis(10));
            }
            let mut time = Duration::ZERO;
            let (mut from, mut to) = (source.connect(), target.connect());
            let waits = probed(&[(first, &keys[0]), (second, &keys[1])], || {
                thread::sleep(MARGIN);
                let start = Instant::now();
                let moved = move_slot(slot, (source, &mut from), (target, &mut to));
                time = start.elapsed();
                thread::sleep(MARGIN);
                moved
            })?;
            waits.0?;
            let (here, there) = if number % 2 == 0 { (0, 1) } else { (1, 0) };
            times.push(milliseconds(time));
            at_source.push(milliseconds(waits.1[here]));
            at_target.push(milliseconds(waits.1[there]));
        }
        let worst = |waits: &[f64]| waits.iter().copied().fold(0.0, f64::max);
        let cells = [
            mebibytes.to_string(),
            items.to_string(),
            format!("{:.1}", median(&times)),
            format!("{:.1}", median(&at_source)),
            format!("{:.1}", median(&at_target)),
            format!("{:.1}", worst(&at_source)),
            format!("{:.1}", worst(&at_target)),
            format!("{:.1}", milliseconds(quiet.1[0])),
        ];
        eprintln!("{}", cells.join("  "));
        table.row(&cells);
    }
    Ok(table)
}

/// Does the work while both nodes are asked; answers with the worst wait at each.
fn probed<T>(ends: &[(&Node, &String)], work: impl FnOnce() -> T) -> Outcome<(T, Vec<Duration>)> {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let probes: Vec<_> = ends
            .iter()
            .map(|(node, key)| scope.spawn(|| worst_wait(node, key, &is_over)))
            .collect();
        let result = work();
        is_over.store(true, Ordering::Release);
        let waits = probes
            .into_iter()
            .map(|probe| probe.join().expect("a probe that ends"));
        Ok((result, waits.collect::<Result<_, _>>()?))
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
