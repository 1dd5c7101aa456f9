//! Adds the same items to one node, to three, and to three while slots move and one of them dies.

use splitbloom_client::{Growth, PartitionedFilter};
use splitbloom_harness::trial::{
    absent_item, add_until_acknowledged, count_found, item, outlive, Cluster,
};
use splitbloom_partition::Partitions;
use splitbloom_rig::progress::Progress;
use splitbloom_rig::table::Table;
use splitbloom_rig::Outcome;
use std::time::{Duration, Instant};

const PARTITIONS: u64 = 64;
const PRIMARIES: usize = 3;
const ERROR_RATE: f64 = 0.01;
/// Items per batch: some 300 for each of 64 partitions.
const BATCH: u64 = 20_000;
/// Absent items looked up: the standard error of the rate is a hundredth of the requested rate.
const ABSENT: u64 = 1_000_000;

const COLUMNS: [&str; 10] = [
    "cluster",
    "items",
    "adds/s",
    "lookups/s",
    "slots moved",
    "batches resent",
    "failover, s",
    "longest batch, s",
    "acknowledged items lost",
    "false positives",
];

/// What a row shows beyond speed.
#[derive(Default)]
struct Events {
    moves: u64,
    resent: u64,
    failover: Option<Duration>,
    longest: Duration,
}

pub fn all(items: u64) -> Outcome<Table> {
    let mut table = Table::new(&COLUMNS);
    let undisturbed = |replicas: u32| {
        move |_: &mut Cluster, filter: &mut PartitionedFilter, progress: &mut Progress| {
            let sent =
                add_until_acknowledged(filter, 0..items, BATCH, replicas, |n| progress.advance(n));
            Events { resent: sent.again, longest: sent.longest, ..Events::default() }
        }
    };
    row(&mut table, "one node", items, (1, 0), undisturbed(0))?;
    row(&mut table, "one node and its replica", items, (1, 1), undisturbed(1))?;
    row(&mut table, "three, a replica each", items, (PRIMARIES, 1), undisturbed(1))?;
    let name = "as above, slots move and a primary is killed";
    row(&mut table, name, items, (PRIMARIES, 1), |cluster, filter, progress| {
        let outlived =
            outlive(cluster, PRIMARIES, filter, 0..items, BATCH, |n| progress.advance(n));
        Events {
            moves: outlived.moves,
            resent: outlived.again,
            failover: Some(outlived.failover),
            longest: outlived.longest,
        }
    })?;
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
    let partitions = Partitions::new(PARTITIONS).ok_or("PARTITIONS is not a power of two")?;
    let mut filter = PartitionedFilter::connect(&cluster.urls(), "users", partitions)?;
    filter.reserve(ERROR_RATE, items, Growth::Fixed)?;

    let mut progress = Progress::start(&format!("{name}: add"), items);
    let start = Instant::now();
    let events = add(&mut cluster, &mut filter, &mut progress);
    let adds = start.elapsed();
    progress.finish();

    let mut progress = Progress::start(&format!("{name}: look up"), items);
    let start = Instant::now();
    let found = count_found(&mut filter, 0..items, BATCH, item, |n| progress.advance(n));
    let lookups = start.elapsed();
    progress.finish();
    let false_positives = count_found(&mut filter, 0..ABSENT, BATCH, absent_item, |_| ());

    let per_second = |time: Duration| format!("{:.0}", items as f64 / time.as_secs_f64());
    let rate = false_positives as f64 / ABSENT as f64;
    let deviation = (rate * (1.0 - rate) / ABSENT as f64).sqrt();
    let cells = [
        name.to_owned(),
        items.to_string(),
        per_second(adds),
        per_second(lookups),
        events.moves.to_string(),
        events.resent.to_string(),
        events.failover.map_or(String::new(), |time| format!("{:.1}", time.as_secs_f64())),
        format!("{:.3}", events.longest.as_secs_f64()),
        (items - found).to_string(),
        format!("{:.3} % ± {:.3} %", rate * 100.0, deviation * 100.0),
    ];
    eprintln!("{}", cells.join("  "));
    table.row(&cells);
    Ok(())
}
