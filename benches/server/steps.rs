//! The slowest steps of growth: the server's own times of single BF.ADD, from the first to the last
//! of a filter that grows.
//!
//! The machine takes a CPU away for milliseconds now and then, which the server counts as time of
//! the command. What tells it from growth:
//!
//! - a filter of the same items that does not grow, and PING between the adds;
//! - runs: each figure is the smallest of all runs, since growth takes its steps in each of them;
//! - a second fill in short slices, of which those count during which the kernel never took the CPU
//!   from the server ("undisturbed"), which has the highest priority if permitted. What a
//!   hypervisor takes is not seen.
//!
//! The server counts whole microseconds, of which most adds take none or one.

use super::filter::{Family, Filter, Start};
use super::load::Items;
use super::rig::info::percentiles;
use super::rig::process::{interruptions, prefer};
use super::rig::server::Setup;
use super::rig::statistics::median;
use super::rig::table::Table;
use super::rig::Outcome;
use super::settings::{peer_name, Settings};
use super::workload::Workload;

const RUNS: usize = 3;
const SIZES: [u64; 1] = [1_000_000];
/// Adds between two slices of as many PINGs: some 20 ms.
const SLICE: u64 = 20_000;
/// Adds of a slice in which the server should not be disturbed: one turn, half a millisecond. On
/// a busy machine 98 % of such slices were; of slices of 4000 at normal priority it was 2 %.
const SHORT: u64 = 400;
/// PINGs in a turn of all connections.
const PINGS: u64 = 400;
/// Percentiles that the server keeps, with two significant digits; 100 is the maximum.
const PERCENTILES: &str = "99.9 99.99 100";

/// The percentiles of each run.
type Runs = Vec<Vec<f64>>;

pub fn run(settings: &Settings) -> Outcome<()> {
    let mut table = Table::new(&[
        "items",
        "module",
        "filter",
        "command",
        "runs",
        "p99.9, µs",
        "p99.99, µs",
        "worst, µs",
        "worst undisturbed, µs",
        "undisturbed slices",
    ]);
    let mut modules = vec![("splitbloom".to_string(), Setup::ours()?)];
    if let Some(setup) = Setup::peer()? {
        modules.push((peer_name().unwrap_or_default(), setup));
    }
    for items in settings.sizes(&SIZES) {
        for (name, setup) in &modules {
            for start in [Start::Default, Start::Reserved] {
                let (mut adds, mut pings) = (Runs::new(), Runs::new());
                let mut undisturbed = Vec::new();
                for run in 0..settings.rounds(RUNS) {
                    eprintln!("{name}, {} to {items}: run {}", start.name(), run + 1);
                    let (add, ping) = steps(setup.clone(), start, items)?;
                    adds.push(add);
                    pings.push(ping);
                    undisturbed.push(worst_undisturbed(setup.clone(), start, items)?);
                }
                let items = items.to_string();
                let words =
                    |command: Workload| [&items, name.as_str(), start.name(), command.name()];
                let mut cells = row(&words(Workload::Add), &adds);
                cells.extend(undisturbed_cells(&undisturbed));
                table.row(&cells);
                let mut cells = row(&words(Workload::Ping), &pings);
                cells.extend([String::new(), String::new()]);
                table.row(&cells);
            }
        }
    }
    settings.show("steps", &table)
}

fn keep_percentiles(filter: &mut Filter) -> Outcome<()> {
    let mut keep = redis::cmd("CONFIG");
    keep.arg(&["SET", "latency-tracking-info-percentiles", PERCENTILES]);
    Ok(keep.query(&mut filter.connection)?)
}

/// The percentiles of BF.ADD and of PING while a new filter is filled.
fn steps(setup: Setup, start: Start, items: u64) -> Outcome<(Vec<f64>, Vec<f64>)> {
    let mut filter = Filter::start(setup)?;
    prefer(filter.process_id());
    keep_percentiles(&mut filter)?;
    filter.renew(Family::Bloom, start, items)?;
    filter.reset_statistics()?;
    let mut added = 0;
    while added < items {
        let slice = SLICE.min(items - added);
        added += filter.send(Workload::Add, Items::From(added), slice)?.items;
        filter.send(Workload::Ping, Items::From(0), SLICE / PINGS)?;
    }
    let mut of = |command: Workload| percentiles(&mut filter.connection, command.name());
    Ok((of(Workload::Add)?, of(Workload::Ping)?))
}

/// What the slices of one run show.
struct Undisturbed {
    worst: f64,
    /// Undisturbed slices.
    share: f64,
}

/// The slowest BF.ADD of the undisturbed slices while a new filter is filled.
fn worst_undisturbed(setup: Setup, start: Start, items: u64) -> Outcome<Undisturbed> {
    let mut filter = Filter::start(setup)?;
    prefer(filter.process_id());
    keep_percentiles(&mut filter)?;
    filter.renew(Family::Bloom, start, items)?;
    let (mut added, mut slices, mut counted, mut worst) = (0, 0, 0, 0.0);
    while added < items {
        filter.reset_statistics()?;
        let before = interruptions(filter.process_id())?;
        let slice = SHORT.min(items - added);
        added += filter.send(Workload::Add, Items::From(added), slice)?.items;
        slices += 1;
        if interruptions(filter.process_id())? == before {
            counted += 1;
            let percentiles = percentiles(&mut filter.connection, Workload::Add.name())?;
            worst = percentiles.into_iter().fold(worst, f64::max);
        }
    }
    Ok(Undisturbed {
        worst,
        share: f64::from(counted) / f64::from(slices),
    })
}

fn row(words: &[&str], runs: &Runs) -> Vec<String> {
    let columns = 0..PERCENTILES.split(' ').count();
    let smallest = |index: usize| {
        runs.iter()
            .map(|run| run[index])
            .fold(f64::INFINITY, f64::min)
    };
    let mut cells: Vec<String> = words.iter().map(ToString::to_string).collect();
    cells.push(runs.len().to_string());
    cells.extend(columns.map(|index| format!("{:.1}", smallest(index))));
    cells
}

/// The smallest worst of all runs that had undisturbed slices, and the median share of them.
fn undisturbed_cells(runs: &[Undisturbed]) -> [String; 2] {
    let seen = runs.iter().filter(|run| run.share > 0.0);
    let worst = seen.map(|run| run.worst).reduce(f64::min);
    let shares: Vec<f64> = runs.iter().map(|run| run.share).collect();
    let share = median(&shares) * 100.0;
    [
        worst.map_or(String::new(), |worst| format!("{worst:.1}")),
        format!("{share:.0} %"),
    ]
}
