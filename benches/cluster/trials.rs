//! The same items into one node, into three, into three whose slots move, and into three of which one dies.

use crate::progress::Progress;
use crate::rig::table::Table;
use crate::rig::Outcome;
use crate::trial::{add_until_acknowledged, count_found, item, outlive, stranger, Cluster};
use splitbloom::client::{Growth, PartitionedFilter};
use splitbloom::partition::Partitions;
use std::time::{Duration, Instant};

const PARTITIONS: u64 = 64;
const PRIMARIES: usize = 3;
const ERROR_RATE: f64 = 0.01;
/// Items of a batch: some 300 for each of 64 partitions.
const BATCH: u64 = 20_000;
/// Asked for in vain: the standard error of the rate is a hundredth of what was asked for.
const STRANGERS: u64 = 1_000_000;

const COLUMNS: [&str; 10] = [
    "cluster",
    "items",
    "added, items/s",
    "asked, items/s",
    "slots moved",
    "batches sent again",
    "failover, s",
    "longest batch, s",
    "acknowledged and missing",
    "false positives",
];

/// What a row has beyond its speed.
#[derive(Default)]
struct Events {
    moves: u64,
    again: u64,
    failover: Option<Duration>,
    longest: Duration,
}

pub fn all(items: u64) -> Outcome<Table> {
    let mut table = Table::new(&COLUMNS);
    let quiet = |replicas: u32| {
        move |_: &mut Cluster, filter: &mut PartitionedFilter, progress: &mut Progress| {
            let sent =
                add_until_acknowledged(filter, 0..items, BATCH, replicas, |n| progress.advance(n));
            Events {
                again: sent.again,
                longest: sent.longest,
                ..Events::default()
            }
        }
    };
    row(&mut table, "one node", items, (1, 0), quiet(0))?;
    row(
        &mut table,
        "one node and its replica",
        items,
        (1, 1),
        quiet(1),
    )?;
    row(
        &mut table,
        "three, a replica each",
        items,
        (PRIMARIES, 1),
        quiet(1),
    )?;
    let name = "the same; slots move, one is killed";
    row(
        &mut table,
        name,
        items,
        (PRIMARIES, 1),
        |cluster, filter, progress| {
            let outlived = outlive(cluster, PRIMARIES, filter, 0..items, BATCH, |n| {
                progress.advance(n)
            });
            Events {
                moves: outlived.moves,
                again: outlived.again,
                failover: Some(outlived.failover),
                longest: outlived.longest,
            }
        },
    )?;
    Ok(table)
}

fn row(
    table: &mut Table,
    name: &str,
    items: u64,
    (primaries, replicas): (usize, usize),
    add: impl FnOnce(&mut Cluster, &mut PartitionedFilter, &mut Progress) -> Events,
) -> Outcome<()> {
    let mut cluster = Cluster::form(primaries, replicas);
    let partitions = Partitions::new(PARTITIONS).ok_or("a power of two")?;
    let mut filter = PartitionedFilter::connect(&cluster.urls(), "users", partitions)?;
    filter.reserve(ERROR_RATE, items, Growth::Fixed)?;

    let mut progress = Progress::start(&format!("{name}: add"), items);
    let start = Instant::now();
    let events = add(&mut cluster, &mut filter, &mut progress);
    let adding = start.elapsed();
    progress.finish();

    let mut progress = Progress::start(&format!("{name}: ask"), items);
    let start = Instant::now();
    let there = count_found(&mut filter, 0..items, BATCH, item, |n| progress.advance(n));
    let asking = start.elapsed();
    progress.finish();
    let wrong = count_found(&mut filter, 0..STRANGERS, BATCH, stranger, |_| ());

    let per_second = |time: Duration| format!("{:.0}", items as f64 / time.as_secs_f64());
    let rate = wrong as f64 / STRANGERS as f64;
    let deviation = (rate * (1.0 - rate) / STRANGERS as f64).sqrt();
    let cells = [
        name.to_owned(),
        items.to_string(),
        per_second(adding),
        per_second(asking),
        events.moves.to_string(),
        events.again.to_string(),
        events
            .failover
            .map_or(String::new(), |time| format!("{:.1}", time.as_secs_f64())),
        format!("{:.3}", events.longest.as_secs_f64()),
        (items - there).to_string(),
        format!("{:.3} % ± {:.3} %", rate * 100.0, deviation * 100.0),
    ];
    eprintln!("{}", cells.join("  "));
    table.row(&cells);
    Ok(())
}
