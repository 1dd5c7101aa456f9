//! The server: throughput and execution time of BF.ADD, BF.EXISTS, BF.MADD and BF.MEXISTS, beside a
//! baseline (the cheapest built-in commands of the same shape) and, optionally, another module.
//!
//! ```text
//!   BF.EXISTS, BF.ADD     1 item per command,    32 in flight on each of 16 connections
//!                         baseline: GETBIT, SETBIT on 8 KiB
//!   BF.MEXISTS, BF.MADD   100 items per command, 8 in flight on each of 4 connections
//!                         baseline: SMISMEMBER on a set with one member
//! ```
//!
//! Each round measures all of them in turn, so that a disturbance of the machine affects them all;
//! every other round in reverse order, as the one after the baseline is at a disadvantage (with the
//! same code on both sides, BF.MADD took 55 ns as the second and 49 as the third). The table has
//! medians over the rounds, and medians of per-round ratios. Filters are reserved NONSCALING at
//! 1 %, which both modules understand alike. Half of the items looked up are present. Added items
//! are new: they go into the second half of a large filter, or into a small one that is recreated
//! long before it is full.
//!
//! `make bench` runs it; `BENCH_SIZES` and `BENCH_ROUNDS` override the defaults, `PEER` and
//! `PEER_SERVER` name the other module.

mod accounts;
mod contender;
mod load;
#[path = "../rig/mod.rs"]
mod rig;
mod workload;

use contender::Contender;
use rig::server::Setup;
use rig::statistics::{median, median_ratio};
use rig::table::Table;
use rig::Outcome;
use std::env;
use std::path::Path;
use workload::{Measured, Workload};

/// An odd number, so that the median is one of the rounds.
const ROUNDS: usize = 9;
/// Capacities: fits in L2, in the last-level cache, in neither.
const SIZES: [u64; 3] = [10_000, 1_000_000, 100_000_000];

/// Whose turn it is.
#[derive(Clone, Copy)]
enum Turn {
    Baseline,
    Ours,
    Peer,
}

/// The rounds of one workload on one contender.
#[derive(Default)]
struct Series {
    throughput: Vec<f64>,
    in_command: Vec<f64>,
    busy: Vec<f64>,
}

impl Series {
    fn push(&mut self, measured: Measured) {
        self.throughput.push(measured.items_per_second / 1e6);
        self.in_command.push(measured.nanoseconds_in_command);
        self.busy.push(measured.server_busy);
    }

    /// Million items per second, nanoseconds in the command per item.
    fn cells(&self) -> [String; 2] {
        [
            format!("{:.2}", median(&self.throughput)),
            format!("{:.0}", median(&self.in_command)),
        ]
    }
}

/// The numbers in an environment variable, if it is set.
fn numbers(name: &str) -> Outcome<Option<Vec<u64>>> {
    let Ok(text) = env::var(name) else {
        return Ok(None);
    };
    let numbers: Result<Vec<u64>, _> = text.split(',').map(str::parse).collect();
    Ok(Some(numbers.map_err(|error| format!("{name}: {error}"))?))
}

fn main() -> Outcome<()> {
    let (sizes, rounds) = (numbers("BENCH_SIZES")?, numbers("BENCH_ROUNDS")?);
    // Only runs with the defaults are saved for the documents.
    let is_saved = sizes.is_none() && rounds.is_none();
    let sizes = sizes.unwrap_or(SIZES.to_vec());
    let rounds = rounds.map_or(ROUNDS, |rounds| rounds[0] as usize);
    let mut table = Table::new(&[
        "items",
        "command",
        "items per command",
        "million items/s",
        "ns in command per item",
        "baseline command",
        "baseline, million/s",
        "baseline, ns",
        "relative to baseline",
        "peer, million/s",
        "peer, ns",
        "relative to peer",
        "server busy",
    ]);
    for size in sizes {
        measure(size, rounds, &mut table)?;
    }
    println!("{}", table.markdown());
    if is_saved {
        table.save(&table_name())?;
    }
    Ok(())
}

/// One table per peer: `server-NAME`.
fn table_name() -> String {
    let peer = env::var("PEER").unwrap_or_default();
    match Path::new(&peer).file_stem() {
        Some(name) => format!("server-{}", name.to_string_lossy()),
        None => "server".to_string(),
    }
}

/// All workloads at one size, interleaved.
fn measure(size: u64, rounds: usize, table: &mut Table) -> Outcome<()> {
    let mut ours = Contender::start("splitbloom", Setup::ours()?, size)?;
    let mut peer = Setup::peer()?
        .map(|setup| Contender::start("peer", setup, size))
        .transpose()?;
    let workloads = Workload::ALL;
    let mut series: Vec<[Series; 3]> = workloads.iter().map(|_| Default::default()).collect();
    for round in 0..rounds {
        eprintln!("{size} items: round {} of {rounds}", round + 1);
        for (workload, [our_series, baseline_series, peer_series]) in
            workloads.iter().zip(&mut series)
        {
            let mut turns = [Turn::Baseline, Turn::Ours, Turn::Peer];
            if round % 2 == 1 {
                turns.reverse();
            }
            for turn in turns {
                match (turn, &mut peer) {
                    (Turn::Baseline, _) => baseline_series.push(ours.run(workload.baseline())?),
                    (Turn::Ours, _) => our_series.push(ours.run(*workload)?),
                    (Turn::Peer, Some(peer)) => peer_series.push(peer.run(*workload)?),
                    (Turn::Peer, None) => {}
                }
            }
        }
    }
    for (workload, [ours, baseline, peer]) in workloads.iter().zip(&series) {
        let ratio = |other: &Series| median_ratio(&ours.throughput, &other.throughput);
        let [throughput, in_command] = ours.cells();
        let [baseline_throughput, baseline_in_command] = baseline.cells();
        let [peer_throughput, peer_in_command, relative_to_peer] = if peer.throughput.is_empty() {
            Default::default()
        } else {
            let [throughput, in_command] = peer.cells();
            [throughput, in_command, format!("{:.2}", ratio(peer))]
        };
        table.row(&[
            size.to_string(),
            workload.name().to_string(),
            workload.items_per_command().to_string(),
            throughput,
            in_command,
            workload.baseline().name().to_string(),
            baseline_throughput,
            baseline_in_command,
            format!("{:.2}", ratio(baseline)),
            peer_throughput,
            peer_in_command,
            relative_to_peer,
            format!("{:.0} %", median(&ours.busy) * 100.0),
        ]);
    }
    Ok(())
}
