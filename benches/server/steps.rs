//! The slowest steps of growth: what single adds take in the server, from the first to the last of
//! a filter that grows.
//!
//! With the same seed and the same items in the same order, the same adds write pages anew in every
//! run, while the machine delays different adds in each run. So one connection fills each run, the
//! server logs slow commands with their items, and the time of an add is the minimum over all runs.
//! A filter that does not grow shows what the machine alone makes slow each time: fresh memory.

use super::command::{ADD, FILTER};
use super::filter::{Adds, Filter, Kind};
use redis::cmd;
use splitbloom_rig::info::percentiles;
use splitbloom_rig::load::Load;
use splitbloom_rig::{rounds, slow_commands, slowest_in_every, Outcome, Settings, Setup, Slow};

const RUNS: usize = 5;
const SIZES: [u64; 1] = [1_000_000];
/// Commands in flight.
const PIPELINE: usize = 400;
/// Percentiles that the server keeps, with two significant digits.
const PERCENTILES: &str = "99.9 99.99 100";
/// What makes a command slow, in microseconds: about one of a thousand adds.
const SLOW: u64 = 20;

pub fn run(settings: &mut Settings) -> Outcome<()> {
    let count = settings.rounds(RUNS)?;
    for size in settings.sizes(&SIZES)? {
        for setup in Setup::all()? {
            // As an add would create it, but for the seed. (RedisBloom's is always the same.)
            let seeded = ["BF.RESERVE", FILTER, "0.01", "100", "SEED", "0123456789abcdef"];
            let seeded = seeded.map(str::to_string).to_vec();
            let is_ours = setup.name == Setup::ours().name;
            let grown = Kind { size, creation: is_ours.then_some(seeded) };
            for (state, kind) in [("grown", grown), ("reserved", Kind::reserved("BF", size))] {
                let label = format!("{}, {state} to {size}", setup.name);
                let fill = |_| fill(setup.clone(), kind.clone());
                let runs: Vec<_> = rounds(&label, count).map(fill).collect::<Outcome<_>>()?;
                let smallest = |percentile: usize| {
                    let values = runs.iter().map(|(percentiles, _)| percentiles[percentile]);
                    format!("{:.0}", values.fold(f64::INFINITY, f64::min))
                };
                let slow: Vec<Slow> = runs.iter().map(|(_, slow)| slow.clone()).collect();
                let worst = slowest_in_every(&slow);
                settings.table_beside_peer("steps")?.row(&[
                    ("items", &size),
                    ("module", &setup.name),
                    ("filter", &state),
                    ("runs", &count),
                    ("p99.9, µs", &smallest(0)),
                    ("p99.99, µs", &smallest(1)),
                    ("worst of a run, µs", &smallest(2)),
                    (
                        "worst step in every run, µs",
                        &worst.map_or(format!("below {SLOW}"), |worst| worst.to_string()),
                    ),
                ]);
            }
        }
    }
    Ok(())
}

/// Fills a new filter with BF.ADD; returns the percentiles, and the slow ones.
fn fill(setup: Setup, kind: Kind) -> Outcome<(Vec<f64>, Slow)> {
    let setup = setup
        .with("slowlog-log-slower-than", &SLOW.to_string())
        .with("slowlog-max-len", &kind.size.to_string())
        .with("latency-tracking-info-percentiles", PERCENTILES);
    let mut filter = Filter::start(setup, kind.clone(), Adds::Fill)?;
    filter.renew()?;
    cmd("CONFIG").arg("RESETSTAT").exec(&mut filter.connection)?;
    Load::new(filter.server.port(), 1, PIPELINE, &ADD.pattern())?.send(0, kind.size)?;
    let db = &mut filter.connection;
    Ok((percentiles(db, ADD.name)?, slow_commands(db, ADD.name)?))
}
