//! Bits per item while a filter grows from the default settings, as `MEMORY USAGE` counts them; and
//! how much more of the server's memory is resident, since an allocator has gaps.

use super::filter::{Family, Filter, Start};
use super::load::{Items, Load};
use super::settings::Settings;
use super::workload::Workload;
use splitbloom_rig::server::Setup;
use splitbloom_rig::table::Table;
use splitbloom_rig::Outcome;
use std::time::Duration;

/// Points of one decade: a doubling has five, enough to see it.
const POINTS: i32 = 16;
/// One batch; the items of every point are a multiple of it.
const FIRST: u64 = 100;
const LAST: u64 = 10_000_000;
/// Items in flight while the way to the next point is long.
const TURN: u64 = 2_000;
/// From so many items on, what the server itself takes meanwhile is less than a tenth of the
/// filter.
const FIRST_RESIDENT: u64 = 1_000_000;

pub fn run(settings: &Settings) -> Outcome<()> {
    let mut table = Table::new(&[
        "items",
        "bits per item",
        "peer, bits per item",
        "resident, relative to bits per item",
    ]);
    let last = settings.sizes(&[LAST]).into_iter().max().unwrap_or(LAST);
    let points = points(last);
    eprintln!("bits per item up to {last} items ...");
    let ours = grow(Setup::ours()?, &points)?;
    let peer = Setup::peer()?.map(|setup| grow(setup, &points)).transpose()?;
    for (index, items) in points.iter().enumerate() {
        let cell = |grown: &Grown| format!("{:.2}", grown.bits[index]);
        let peer = peer.as_ref().map(cell).unwrap_or_default();
        let resident = ours.resident[index] * 8.0 / *items as f64;
        let resident = if *items < FIRST_RESIDENT {
            String::new()
        } else {
            format!("{:.3}", resident / ours.bits[index])
        };
        table.row(&[items.to_string(), cell(&ours), peer, resident]);
    }
    settings.show("memory", &table)
}

/// Numbers of items at equal ratios.
fn points(last: u64) -> Vec<u64> {
    let ratio = |index| FIRST as f64 * 10_f64.powf(f64::from(index) / f64::from(POINTS));
    let rounded = |items: f64| (items / FIRST as f64).round() as u64 * FIRST;
    let mut points: Vec<u64> =
        (0..).map(ratio).map(rounded).take_while(|items| *items <= last).collect();
    points.dedup();
    points
}

/// A filter at each number of items.
struct Grown {
    bits: Vec<f64>,
    /// By how many bytes the server's resident memory has grown.
    resident: Vec<f64>,
}

fn grow(setup: Setup, points: &[u64]) -> Outcome<Grown> {
    let mut filter = Filter::start(setup)?;
    // One batch at a time, for what a turn of many connections would overshoot.
    let adding = Workload::MultiAdd;
    let mut single = Load::new(filter.port(), 1, 1, adding.pattern())?;
    // Buffers of the connections are not the filter's.
    filter.send(adding, Items::From(0), TURN)?;
    filter.renew(Family::Bloom, Start::Default, 0)?;
    let before = splitbloom_harness::resident(filter.process_id()) as f64;
    let (mut bits, mut resident) = (Vec::new(), Vec::new());
    let mut added = 0;
    for items in points {
        let turns = (items - added) / TURN * TURN;
        if turns > 0 {
            added += filter.send(adding, Items::From(added), turns)?.items;
        }
        if *items > added {
            added += single.run(Items::From(added), Duration::MAX, items - added)?.items;
        }
        bits.push(filter.bits_per_item(added)?);
        // What is free, but not given back to the system yet, goes within ten seconds by itself.
        let mut purge = redis::cmd("MEMORY");
        purge.arg("PURGE").query::<()>(&mut filter.connection)?;
        resident.push(splitbloom_harness::resident(filter.process_id()) as f64 - before);
    }
    Ok(Grown { bits, resident })
}
