//! Filters that grow from the default settings, beside filters reserved for the same items: adds,
//! lookups and deletions, bits per item, false positives. Most users never reserve.
//!
//! ```text
//!   BF.MADD, BF.MEXISTS     100 items per command, 5 and 8 in flight on each of 4 connections
//!   CF.ADD, CF.DEL          1 item per command,    25 in flight on each of 16 connections
//!   CF.EXISTS, CF.COUNT     1 item per command,    32 in flight on each of 16 connections
//! ```
//!
//! A round creates a filter, fills it, looks items up, and deletes them all if there is a command
//! for that. The time of adds is that of all of growth.

use super::filter::{Family, Filter, Start};
use super::series::Series;
use super::settings::{peer_name, Settings};
use super::workload::{Measured, Workload};
use splitbloom_rig::server::Setup;
use splitbloom_rig::statistics::{median, median_ratio};
use splitbloom_rig::table::Table;
use splitbloom_rig::Outcome;

/// An odd number, so that the median is one of the rounds.
const ROUNDS: usize = 3;
/// Fits in L2, in the last-level cache, in neither.
const BLOOM_SIZES: [u64; 3] = [10_000, 1_000_000, 10_000_000];
/// One command an item, and four of them: 10^7 items would take six minutes.
const CUCKOO_SIZES: [u64; 2] = [10_000, 1_000_000];
/// This module's name in tables and messages.
const OURS: &str = "splitbloom";
/// Sizes are multiples of it, so that the last turn of adds is a whole one: 2000 items in batches,
/// 400 one at a time. The smallest one is more than a turn of lookups, 3200.
const MULTIPLE: u64 = 10_000;

/// One module, and the rounds of each workload on one kind of filter.
struct Side {
    name: String,
    filter: Filter,
    /// Why it takes no part, if it does not.
    refusal: Option<String>,
    series: Vec<(Workload, Series)>,
    bits_per_item: f64,
    false_positives: String,
}

/// What is created in a round.
#[derive(Clone, Copy)]
struct Kind {
    family: Family,
    start: Start,
    items: u64,
}

pub fn run(settings: &Settings) -> Outcome<()> {
    let mut speeds = Table::new(&[
        "items",
        "filter",
        "command",
        "million items/s",
        "ns in command per item",
        "peer, million/s",
        "peer, ns",
        "relative to peer",
        "server busy",
    ]);
    let mut sizes = Table::new(&[
        "items",
        "commands",
        "filter",
        "bits per item",
        "false positives, %",
        "peer, bits per item",
        "peer, false positives, %",
        "notes",
    ]);
    let families: [(Family, &[u64]); 2] =
        [(Family::Bloom, &BLOOM_SIZES), (Family::Cuckoo, &CUCKOO_SIZES)];
    for (family, default) in families {
        for items in settings.sizes(default) {
            if items == 0 || items % MULTIPLE != 0 {
                return Err(format!("growth: {items} is no multiple of {MULTIPLE}").into());
            }
            for start in [Start::Default, Start::Reserved] {
                let kind = Kind { family, start, items };
                let sides = measure(kind, settings.rounds(ROUNDS))?;
                show(kind, &sides, &mut speeds, &mut sizes);
            }
        }
    }
    settings.show("growth", &speeds)?;
    settings.show("growth-sizes", &sizes)
}

/// All rounds of one kind of filter: this module's side first, then the peer's, if there is one.
fn measure(kind: Kind, rounds: usize) -> Outcome<Vec<Side>> {
    let mut sides = vec![Side::start(OURS, Setup::ours()?, kind)?];
    if let Some(setup) = Setup::peer()? {
        sides.push(Side::start(&peer_name().unwrap_or_default(), setup, kind)?);
    }
    for round in 0..rounds {
        let mut order: Vec<&mut Side> = sides.iter_mut().collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for side in order {
            let (name, start) = (&side.name, kind.start.name());
            let label = format!("{name}, {} {start}, {} items", kind.family.name(), kind.items);
            if let Some(refusal) = &side.refusal {
                eprintln!("{label}: skipped: {refusal}");
                continue;
            }
            eprintln!("{label}: round {} of {rounds}", round + 1);
            if let Err(error) = side.round(kind) {
                // A peer may refuse what it cannot grow to; here that would be a defect.
                if side.name == OURS {
                    return Err(error);
                }
                side.refuse(error.to_string());
            }
        }
    }
    Ok(sides)
}

impl Side {
    fn start(name: &str, setup: Setup, kind: Kind) -> Outcome<Self> {
        let mut filter = Filter::start(setup)?;
        let refusal = match filter.has(kind.family)? {
            true => None,
            false => Some(format!("no {} commands", kind.family.name())),
        };
        Ok(Self {
            name: name.to_string(),
            filter,
            refusal,
            series: Vec::new(),
            bits_per_item: f64::NAN,
            false_positives: String::new(),
        })
    }

    fn round(&mut self, kind: Kind) -> Outcome<()> {
        let Kind { family, start, items } = kind;
        let measured = self.filter.fill(family, start, items)?;
        self.push(family.adding(), measured);
        for workload in family.looking_up() {
            let measured = self.filter.look_up(*workload, items)?;
            self.push(*workload, measured);
        }
        self.bits_per_item = self.filter.bits_per_item(items)?;
        self.false_positives = self.filter.false_positives(family, items)?;
        if let Some(workload) = family.deleting() {
            let measured = self.filter.delete(workload, family, items)?;
            self.push(workload, measured);
        }
        Ok(())
    }

    fn push(&mut self, workload: Workload, measured: Measured) {
        let index = self.series.iter().position(|(of, _)| *of == workload);
        let index = index.unwrap_or_else(|| {
            self.series.push((workload, Series::default()));
            self.series.len() - 1
        });
        self.series[index].1.push(measured);
    }

    /// Takes it out of the later rounds, with all that it measured.
    fn refuse(&mut self, why: String) {
        eprintln!("{}: {why}", self.name);
        self.series.clear();
        self.false_positives.clear();
        self.bits_per_item = f64::NAN;
        self.refusal = Some(why.trim().to_string());
    }

    fn series(&self, workload: Workload) -> Option<&Series> {
        let mut all = self.series.iter();
        all.find(|(of, _)| *of == workload).map(|(_, series)| series)
    }

    /// Bits per item, and false positives.
    fn sizes(&self) -> [String; 2] {
        match self.bits_per_item.is_nan() {
            true => Default::default(),
            false => [format!("{:.2}", self.bits_per_item), self.false_positives.clone()],
        }
    }
}

/// Adds the rows of one kind of filter, if a side has any.
fn show(kind: Kind, sides: &[Side], speeds: &mut Table, sizes: &mut Table) {
    let (ours, peer) = (&sides[0], sides.get(1));
    let (items, filter) = (kind.items.to_string(), kind.start.name().to_string());
    let looking_up = kind.family.looking_up().iter().copied();
    let workloads = std::iter::once(kind.family.adding()).chain(looking_up);
    for workload in workloads.chain(kind.family.deleting()) {
        let ours = ours.series(workload);
        let peer = peer.and_then(|peer| peer.series(workload));
        if ours.or(peer).is_none() {
            continue;
        }
        let cells = |side: Option<&Series>| side.map(Series::cells).unwrap_or_default();
        let relative = ours.zip(peer).map(|(ours, peer)| {
            let ratio = median_ratio(&ours.throughput, &peer.throughput);
            format!("{ratio:.2}")
        });
        let busy = ours.map(|ours| format!("{:.0} %", median(&ours.busy) * 100.0));
        let [throughput, in_command] = cells(ours);
        let [peer_throughput, peer_in_command] = cells(peer);
        speeds.row(&[
            items.clone(),
            filter.clone(),
            workload.name().to_string(),
            throughput,
            in_command,
            peer_throughput,
            peer_in_command,
            relative.unwrap_or_default(),
            busy.unwrap_or_default(),
        ]);
    }
    let refusals = sides.iter().filter_map(|side| {
        let why = side.refusal.as_ref()?;
        Some(format!("{}: {why}", side.name))
    });
    let [bits, false_positives] = ours.sizes();
    let [peer_bits, peer_false_positives] = peer.map(Side::sizes).unwrap_or_default();
    sizes.row(&[
        items,
        kind.family.name().to_string(),
        filter,
        bits,
        false_positives,
        peer_bits,
        peer_false_positives,
        refusals.collect::<Vec<_>>().join("; "),
    ]);
}
