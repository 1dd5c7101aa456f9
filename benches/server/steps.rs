//! The slowest steps of growth: what single adds take in the server, from the first to the last of a
//! filter that grows.
//!
//! The machine takes a CPU away for milliseconds now and then, which the server counts as time of
//! the command. Growth does not: with the same seed and the same items in the same order, the same
//! adds write pages anew in every run, and a disturbance hardly ever meets the same add in all of
//! them. So each run is filled by one connection, the server logs slow commands with their items,
//! and what counts of an add is the smallest of all runs. A filter that does not grow shows what the
//! machine alone makes slow each time: fresh memory.

use super::filter::{Family, Filter, Start};
use super::load::{Items, Load};
use super::rig::info::percentiles;
use super::rig::server::Setup;
use super::rig::table::Table;
use super::rig::Outcome;
use super::settings::{peer_name, Settings};
use super::workload::{Workload, FILTER};
use redis::Connection;
use std::collections::HashMap;
use std::time::Duration;

const RUNS: usize = 5;
const SIZES: [u64; 1] = [1_000_000];
/// Commands in a turn, which divides the sizes.
const PIPELINE: usize = 400;
/// Percentiles that the server keeps, with two significant digits.
const PERCENTILES: &str = "99.9 99.99 100";
/// What makes a command slow, in microseconds: about one of a thousand adds.
const SLOW: u64 = 20;

/// What one fill shows.
struct Run {
    percentiles: Vec<f64>,
    /// Microseconds of each slow add, by its item.
    slow: HashMap<Vec<u8>, u64>,
}

pub fn run(settings: &Settings) -> Outcome<()> {
    let mut table = Table::new(&[
        "items",
        "module",
        "filter",
        "runs",
        "p99.9, µs",
        "p99.99, µs",
        "worst of a run, µs",
        "worst step in every run, µs",
    ]);
    let mut modules = vec![("splitbloom".to_string(), Setup::ours()?)];
    if let Some(setup) = Setup::peer()? {
        modules.push((peer_name().unwrap_or_default(), setup));
    }
    for items in settings.sizes(&SIZES) {
        for (name, setup) in &modules {
            for start in [Start::Default, Start::Reserved] {
                let mut runs = Vec::new();
                for run in 0..settings.rounds(RUNS) {
                    eprintln!("{name}, {} to {items}: run {}", start.name(), run + 1);
                    runs.push(fill(setup.clone(), start, items)?);
                }
                let words = [items.to_string(), name.clone(), start.name().to_string()];
                table.row(&row(words, &runs));
            }
        }
    }
    settings.show("steps", &table)
}

/// Fills a new filter with BF.ADD.
fn fill(mut setup: Setup, start: Start, items: u64) -> Outcome<Run> {
    let (slow, most) = (SLOW.to_string(), items.to_string());
    let settings = [
        ["--slowlog-log-slower-than", &slow],
        ["--slowlog-max-len", &most],
        ["--latency-tracking-info-percentiles", PERCENTILES],
    ];
    let words = settings.iter().flatten();
    setup.settings.extend(words.map(ToString::to_string));
    let is_ours = setup.module == Setup::ours()?.module;
    let mut filter = Filter::start(setup)?;
    filter.renew(Family::Bloom, start, items)?;
    if is_ours && start == Start::Default {
        create_with_seed(&mut filter.connection)?;
    }
    filter.reset_statistics()?;
    let mut load = Load::new(filter.port(), 1, PIPELINE, Workload::Add.pattern())?;
    load.run(Items::From(0), Duration::MAX, items)?;
    Ok(Run {
        percentiles: percentiles(&mut filter.connection, Workload::Add.name())?,
        slow: slow_adds(&mut filter.connection)?,
    })
}

/// Creates the filter that an add would create but for its seed, which is random. (RedisBloom's is
/// always the same.)
fn create_with_seed(connection: &mut Connection) -> Outcome<()> {
    let mut reserve = redis::cmd("BF.RESERVE");
    reserve.arg(&[FILTER, "0.01", "100", "SEED", "0123456789abcdef"]);
    Ok(reserve.query(connection)?)
}

/// The items of the adds in the server's log of slow commands.
fn slow_adds(connection: &mut Connection) -> Outcome<HashMap<Vec<u8>, u64>> {
    type Entry = (u64, u64, u64, Vec<Vec<u8>>, String, String);
    let log: Vec<Entry> = redis::cmd("SLOWLOG")
        .arg(&["GET", "-1"])
        .query(connection)?;
    let adds = log.into_iter().filter_map(|(_, _, time, words, ..)| {
        let [command, _, item] = <[Vec<u8>; 3]>::try_from(words).ok()?;
        let is_add = command.eq_ignore_ascii_case(Workload::Add.name().as_bytes());
        is_add.then_some((item, time))
    });
    Ok(adds.collect())
}

fn row(words: [String; 3], runs: &[Run]) -> Vec<String> {
    let columns = 0..PERCENTILES.split(' ').count();
    let smallest = |column: usize| {
        let values = runs.iter().map(|run| run.percentiles[column]);
        values.fold(f64::INFINITY, f64::min)
    };
    let mut cells = Vec::from(words);
    cells.push(runs.len().to_string());
    cells.extend(columns.map(|column| format!("{:.0}", smallest(column))));
    let worst = worst_in_every(runs).map_or(format!("below {SLOW}"), |worst| worst.to_string());
    cells.push(worst);
    cells
}

/// The slowest add, where each took as long as in its fastest run.
fn worst_in_every(runs: &[Run]) -> Option<u64> {
    let (first, others) = runs.split_first()?;
    let fastest = first.slow.iter().filter_map(|(item, time)| {
        others.iter().try_fold(*time, |fastest, run| {
            run.slow.get(item).map(|time| fastest.min(*time))
        })
    });
    fastest.max()
}
