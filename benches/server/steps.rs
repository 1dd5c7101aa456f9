//! The slowest steps of growth: what single adds take in the server, from the first to the last of
//! a filter that grows.
//!
//! With the same seed and the same items in the same order, the same adds write pages anew in every
//! run, while the machine disturbs others each time. So each run is filled by one connection, the
//! server logs slow commands with their items, and what counts of an add is the smallest of all
//! runs. A filter that does not grow shows what the machine alone makes slow each time: fresh
//! memory.

use super::filter::{Family, Filter, Start};
use super::load::{Items, Load};
use super::settings::{peer_name, Settings};
use super::workload::{Workload, FILTER};
use redis::Connection;
use splitbloom_rig::info::percentiles;
use splitbloom_rig::server::Setup;
use splitbloom_rig::slow::{slow_commands, slowest_in_every, Slow};
use splitbloom_rig::table::Table;
use splitbloom_rig::Outcome;
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
    slow: Slow,
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
        slow: slow_commands(&mut filter.connection, Workload::Add.name())?,
    })
}

/// Creates the filter that an add would create but for its seed, which is random. (RedisBloom's is
/// always the same.)
fn create_with_seed(connection: &mut Connection) -> Outcome<()> {
    let mut reserve = redis::cmd("BF.RESERVE");
    reserve.arg(&[FILTER, "0.01", "100", "SEED", "0123456789abcdef"]);
    Ok(reserve.query(connection)?)
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
    let slow: Vec<Slow> = runs.iter().map(|run| run.slow.clone()).collect();
    let worst = slowest_in_every(&slow).map_or(format!("below {SLOW}"), |worst| worst.to_string());
    cells.push(worst);
    cells
}
