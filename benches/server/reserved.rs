//! BF.ADD, BF.EXISTS, BF.MADD and BF.MEXISTS on filters that are reserved NONSCALING at 1 %, which
//! both modules understand alike, beside the cheapest built-in commands of the same shape.
//!
//! ```text
//!   BF.EXISTS, BF.ADD     1 item per command,    32 in flight on each of 16 connections
//!                         baseline: GETBIT, SETBIT on 8 KiB
//!   BF.MEXISTS, BF.MADD   100 items per command, 8 in flight on each of 4 connections
//!                         baseline: SMISMEMBER on a set with one member
//! ```
//!
//! Half of the items looked up are present. Added items are new: they go into the second half of a
//! large filter, or into a small one that is recreated long before it is full.

use super::contender::Contender;
use super::series::Series;
use super::settings::Settings;
use super::workload::Workload;
use splitbloom_rig::server::Setup;
use splitbloom_rig::statistics::{median, median_ratio};
use splitbloom_rig::table::Table;
use splitbloom_rig::Outcome;

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

pub fn run(settings: &Settings) -> Outcome<()> {
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
    for size in settings.sizes(&SIZES) {
        measure(size, settings.rounds(ROUNDS), &mut table)?;
    }
    settings.show("server", &table)
}

/// All workloads at one size, interleaved.
fn measure(size: u64, rounds: usize, table: &mut Table) -> Outcome<()> {
    let mut ours = Contender::start("splitbloom", Setup::ours()?, size, rounds)?;
    let mut peer =
        Setup::peer()?.map(|setup| Contender::start("peer", setup, size, rounds)).transpose()?;
    let workloads = Workload::RESERVED;
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
