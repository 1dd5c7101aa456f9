//! Packed commands beside the same batches as arguments: 16-byte items, 4096 a command, one command
//! in flight on each of 4 connections, on filters reserved NONSCALING at 1 %.
//!
//! The peer has no packed commands; it is compared with what it has.
//!
//! Half of the items looked up are present. Added items are new: a small filter is filled again and
//! again, a large one half and then further, so that all of its memory has been touched before.

use super::filter::{Family, Filter, Start};
use super::load::Items;
use super::series::Series;
use super::settings::{peer_name, Settings};
use super::workload::{Measured, Workload};
use splitbloom_rig::server::Setup;
use splitbloom_rig::statistics::{median, median_ratio};
use splitbloom_rig::table::Table;
use splitbloom_rig::Outcome;

/// An odd number, so that the median is one of the rounds.
const ROUNDS: usize = 5;
/// Capacities: fits in L2, in the last-level cache, in neither.
const SIZES: [u64; 3] = [10_000, 1_000_000, 100_000_000];
/// From this size on a filter is not filled anew in each round.
const LARGE: u64 = 50_000_000;
/// The workloads of a round that add.
const ADDING: u64 = 2;

/// A packed command, and the same with an argument an item.
const PAIRS: [[Workload; 2]; 2] =
    [[Workload::PackAdd, Workload::BulkAdd], [Workload::PackExists, Workload::BulkExists]];

/// One module with its filter.
struct Side {
    filter: Filter,
    has_packed: bool,
    /// A whole number of turns, at least as many as asked for.
    capacity: u64,
    added: u64,
    /// Items that one workload adds to a large filter in a round.
    share: u64,
}

pub fn run(settings: &Settings) -> Outcome<()> {
    let mut table = Table::new(&[
        "items",
        "command",
        "million items/s",
        "ns in command per item",
        "relative to unpacked",
        "peer, million/s",
        "peer, ns",
        "relative to peer",
        "server busy",
    ]);
    for size in settings.sizes(&SIZES) {
        measure(size, settings.rounds(ROUNDS), &mut table)?;
    }
    settings.show("bulk", &table)
}

/// All rounds of one size: both modules in turn, the peer first in every other round.
fn measure(size: u64, rounds: usize, table: &mut Table) -> Outcome<()> {
    let mut ours = Side::start("splitbloom", Setup::ours()?, size, rounds, true)?;
    let mut peer = Setup::peer()?
        .map(|setup| {
            let name = peer_name().unwrap_or_default();
            Side::start(&name, setup, size, rounds, false)
        })
        .transpose()?;
    // Of each pair: packed, the same unpacked, the peer's unpacked.
    let mut series: [[Series; 3]; 2] = Default::default();
    for round in 0..rounds {
        eprintln!("{size} items: round {} of {rounds}", round + 1);
        for (pair, series) in PAIRS.iter().zip(&mut series) {
            let mut turns = [0, 1, 2];
            if round % 2 == 1 {
                turns.reverse();
            }
            for turn in turns {
                match (turn, &mut peer) {
                    (2, Some(peer)) => series[2].push(peer.round(pair[1])?),
                    (2, None) => {}
                    (ours_of_pair, _) => series[turn].push(ours.round(pair[ours_of_pair])?),
                }
            }
        }
    }
    for (pair, [packed, unpacked, peer]) in PAIRS.iter().zip(&series) {
        for (workload, side) in pair.iter().zip([packed, unpacked]) {
            let [throughput, in_command] = side.cells();
            let [peer_throughput, peer_in_command] = match peer.throughput.is_empty() {
                true => Default::default(),
                false => peer.cells(),
            };
            let ratio = |other: &Series| match other.throughput.is_empty() {
                true => String::new(),
                false => format!("{:.2}", median_ratio(&side.throughput, &other.throughput)),
            };
            table.row(&[
                size.to_string(),
                workload.name().to_string(),
                throughput,
                in_command,
                ratio(unpacked),
                peer_throughput,
                peer_in_command,
                ratio(peer),
                format!("{:.0} %", median(&side.busy) * 100.0),
            ]);
        }
    }
    Ok(())
}

impl Side {
    fn start(
        name: &str,
        setup: Setup,
        size: u64,
        rounds: usize,
        has_packed: bool,
    ) -> Outcome<Self> {
        let turn = Workload::PackAdd.items_per_turn();
        let mut side = Self {
            filter: Filter::start(setup)?,
            has_packed,
            capacity: size.next_multiple_of(turn),
            added: 0,
            share: (size / 2 / (ADDING * rounds.max(1) as u64)).next_multiple_of(turn),
        };
        eprintln!("{name}: filling a filter of {size} items ...");
        let start = Start::Reserved;
        let reserved = match size {
            LARGE.. => side.capacity + ADDING * turn * rounds as u64,
            _ => side.capacity,
        };
        side.filter.renew(Family::Bloom, start, reserved)?;
        let fill = match size {
            LARGE.. => (size / 2).next_multiple_of(turn),
            _ => side.capacity,
        };
        side.add(fill)?;
        Ok(side)
    }

    /// Adds so many new items, with the best command that the module has.
    fn add(&mut self, len: u64) -> Outcome<()> {
        let workload = match self.has_packed {
            true => Workload::PackAdd,
            false => Workload::BulkAdd,
        };
        let items = Items::From(self.added);
        self.added += self.filter.send(workload, items, len)?.items;
        Ok(())
    }

    /// One round of a workload.
    fn round(&mut self, workload: Workload) -> Outcome<Measured> {
        match (workload.adds(), self.capacity) {
            (false, _) => self.filter.look_up(workload, self.added),
            (true, LARGE..) => {
                let items = Items::From(self.added);
                self.added += self.share;
                self.filter.measure(workload, items, self.share)
            }
            (true, capacity) => {
                self.filter.fill_with(workload, Family::Bloom, Start::Reserved, capacity)
            }
        }
    }
}
