//! Adds the same items to one node, to three, and to three while slots move and one of them dies.

use splitbloom_client::{Growth, PartitionedFilter};
use splitbloom_harness::trial::{
    absent_item, add_until_acknowledged, count_found, item, outlive, Cluster,
};
use splitbloom_partition::Partitions;
use splitbloom_rig::{Outcome, Progress, Settings};
use std::time::{Duration, Instant};

const ITEMS: u64 = 10_000_000;
const PARTITIONS: u64 = 64;
const PRIMARIES: usize = 3;
const ERROR_RATE: f64 = 0.01;
/// Items per batch: some 300 for each of 64 partitions.
const BATCH: u64 = 20_000;
/// Absent items looked up: the standard error of the rate is a hundredth of the requested rate.
const ABSENT: u64 = 1_000_000;

/// What a row shows beyond speed: slots moved, batches resent, the time of a failover and of the
/// longest batch.
type Events = (u64, u64, Option<Duration>, Duration);

pub fn run(settings: &mut Settings) -> Outcome<()> {
    let items = settings.number("ITEMS", ITEMS)?;
    let undisturbed = |replicas: u32| {
        move |_: &mut Cluster, filter: &mut PartitionedFilter, progress: &mut Progress| {
            let sent =
                add_until_acknowledged(filter, 0..items, BATCH, replicas, |n| progress.advance(n));
            (0, sent.again, None, sent.longest)
        }
    };
    row(settings, "one node", items, (1, 0), undisturbed(0))?;
    row(settings, "one node and its replica", items, (1, 1), undisturbed(1))?;
    row(settings, "three, a replica each", items, (PRIMARIES, 1), undisturbed(1))?;
    let name = "as above, slots move and a primary is killed";
    row(settings, name, items, (PRIMARIES, 1), |cluster, filter, progress| {
        let outlived =
            outlive(cluster, PRIMARIES, filter, 0..items, BATCH, |n| progress.advance(n));
        (outlived.moves, outlived.again, Some(outlived.failover), outlived.longest)
    })
}

fn row(
    settings: &mut Settings,
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
    let (moves, resent, failover, longest) = add(&mut cluster, &mut filter, &mut progress);
    let adds = start.elapsed();

    let mut progress = Progress::start(&format!("{name}: look up"), items);
    let start = Instant::now();
    let found = count_found(&mut filter, 0..items, BATCH, item, |n| progress.advance(n));
    let lookups = start.elapsed();
    let false_positives = count_found(&mut filter, 0..ABSENT, BATCH, absent_item, |_| ());

    let per_second = |time: Duration| format!("{:.0}", items as f64 / time.as_secs_f64());
    let rate = false_positives as f64 / ABSENT as f64;
    let deviation = (rate * (1.0 - rate) / ABSENT as f64).sqrt();
    settings.table("cluster").row(&[
        ("cluster", &name),
        ("items", &items),
        ("adds/s", &per_second(adds)),
        ("lookups/s", &per_second(lookups)),
        ("slots moved", &moves),
        ("batches resent", &resent),
        (
            "failover, s",
            &failover.map_or(String::new(), |time| format!("{:.1}", time.as_secs_f64())),
        ),
        ("longest batch, s", &format!("{:.3}", longest.as_secs_f64())),
        ("acknowledged items lost", &(items - found)),
        ("false positives", &format!("{:.3} % ± {:.3} %", rate * 100.0, deviation * 100.0)),
    ]);
    Ok(())
}
