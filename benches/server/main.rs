//! The server: throughput and time in the command of BF.ADD, BF.EXISTS, BF.MADD and BF.MEXISTS, beside the server's own
//! commands that do the least work of the same form, and beside another module where one is named.
//!
//! ```text
//!   BF.EXISTS, BF.ADD     one item a command, 32 under way on each of 16 connections     floor: GETBIT, SETBIT on 8 KiB
//!   BF.MEXISTS, BF.MADD   100 items a command, 8 under way on each of 4 connections      floor: SMISMEMBER on a set of one
//! ```
//!
//! Every round measures each of them once, one after the other, so that what slows the machine for a while slows them all; every second
//! round in the opposite order, as who comes after the floor pays for it (with the same code on both sides, BF.MADD took 55 ns as the second
//! and 49 as the third). The table has medians over the rounds, and ratios within a round. Filters are reserved NONSCALING, which two
//! modules understand alike, at 1 %. Items looked up are half there and half not; items added are new, into the second half of a large
//! filter, or into one that is made anew long before it is full.
//!
//! `make bench` runs it; `BENCH_SIZES` and `BENCH_ROUNDS` choose others, `PEER` and `PEER_SERVER` the other module.

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
/// Capacities: in a cache of the processor, in the last one, in none.
const SIZES: [u64; 3] = [10_000, 1_000_000, 100_000_000];

/// Whose turn it is.
#[derive(Clone, Copy)]
enum Turn {
    Floor,
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
        self.throughput.push(measured.items_a_second / 1e6);
        self.in_command.push(measured.nanoseconds_in_command);
        self.busy.push(measured.server_busy);
    }

    /// Million items a second, nanoseconds in the command for each.
    fn cells(&self) -> [String; 2] {
        [
            format!("{:.2}", median(&self.throughput)),
            format!("{:.0}", median(&self.in_command)),
        ]
    }
}

/// The numbers of a variable, if it is set.
fn numbers(name: &str) -> Outcome<Option<Vec<u64>>> {
    let Ok(text) = env::var(name) else {
        return Ok(None);
    };
    let numbers: Result<Vec<u64>, _> = text.split(',').map(str::parse).collect();
    Ok(Some(numbers.map_err(|error| format!("{name}: {error}"))?))
}

fn main() -> Outcome<()> {
    let (sizes, rounds) = (numbers("BENCH_SIZES")?, numbers("BENCH_ROUNDS")?);
    // Only what the documents show is kept for them.
    let is_kept = sizes.is_none() && rounds.is_none();
    let sizes = sizes.unwrap_or(SIZES.to_vec());
    let rounds = rounds.map_or(ROUNDS, |rounds| rounds[0] as usize);
    let mut table = Table::new(&[
        "items",
        "command",
        "items a command",
        "million items/s",
        "ns in the command, an item",
        "floor",
        "floor, million/s",
        "floor, ns",
        "over the floor",
        "peer, million/s",
        "peer, ns",
        "over the peer",
        "server busy",
    ]);
    for size in sizes {
        measure(size, rounds, &mut table)?;
    }
    println!("{}", table.markdown());
    if is_kept {
        table.save(&name_of_table())?;
    }
    Ok(())
}

/// One table for each module compared with: `server-NAME`.
fn name_of_table() -> String {
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
        for (workload, [of_ours, of_floor, of_peer]) in workloads.iter().zip(&mut series) {
            let mut turns = [Turn::Floor, Turn::Ours, Turn::Peer];
            if round % 2 == 1 {
                turns.reverse();
            }
            for turn in turns {
                match (turn, &mut peer) {
                    (Turn::Floor, _) => of_floor.push(ours.run(workload.floor())?),
                    (Turn::Ours, _) => of_ours.push(ours.run(*workload)?),
                    (Turn::Peer, Some(peer)) => of_peer.push(peer.run(*workload)?),
                    (Turn::Peer, None) => {}
                }
            }
        }
    }
    for (workload, [ours, floor, peer]) in workloads.iter().zip(&series) {
        let ratio = |other: &Series| median_ratio(&ours.throughput, &other.throughput);
        let [throughput, in_command] = ours.cells();
        let [floor_throughput, floor_in_command] = floor.cells();
        let [peer_throughput, peer_in_command, over_peer] = if peer.throughput.is_empty() {
            Default::default()
        } else {
            let [throughput, in_command] = peer.cells();
            [throughput, in_command, format!("{:.2}", ratio(peer))]
        };
        table.row(&[
            size.to_string(),
            workload.name().to_string(),
            workload.items_a_command().to_string(),
            throughput,
            in_command,
            workload.floor().name().to_string(),
            floor_throughput,
            floor_in_command,
            format!("{:.2}", ratio(floor)),
            peer_throughput,
            peer_in_command,
            over_peer,
            format!("{:.0} %", median(&ours.busy) * 100.0),
        ]);
    }
    Ok(())
}
