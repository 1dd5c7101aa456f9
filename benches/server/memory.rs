//! Bits per item while a filter grows from the default settings, as `MEMORY USAGE` counts them; and
//! how much more of the server's memory is resident, since an allocator has gaps.

use super::command::MADD;
use super::filter::{Adds, Filter, Kind};
use redis::cmd;
use splitbloom_harness::resident;
use splitbloom_rig::{in_words, Outcome, Settings, Setup};

/// Points of one decade: a doubling has five, enough to see it.
const POINTS: i32 = 16;
/// One batch; the items of every point are a multiple of it.
const FIRST: u64 = 100;
const LAST: u64 = 10_000_000;
/// From this number of items on, the server's own memory is less than a tenth of the filter's.
const FIRST_RESIDENT: u64 = 1_000_000;

pub fn run(settings: &mut Settings) -> Outcome<()> {
    let last = settings.sizes(&[LAST])?.into_iter().max().unwrap_or(LAST);
    let points = points(last);
    eprintln!("bits per item up to {last} items ...");
    let ours = grow(Setup::ours(), &points)?;
    let peer = Setup::peer()?.map(|setup| grow(setup, &points)).transpose()?;
    let table = settings.table_beside_peer("memory")?;
    for (index, items) in points.into_iter().enumerate() {
        let (bits, resident) = ours[index];
        let peer_bits = peer.as_ref().map_or(f64::NAN, |peer| peer[index].0);
        let relative = resident * 8.0 / items as f64 / bits;
        table.row(&[
            ("items", &items),
            ("bits per item", &in_words(bits, 2)),
            ("peer, bits per item", &in_words(peer_bits, 2)),
            ("resident, relative to bits per item", &in_words(relative, 3)),
        ]);
    }
    Ok(())
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

/// Bits per item at each number of items, and by how many bytes the server's resident memory has
/// grown.
fn grow(setup: Setup, points: &[u64]) -> Outcome<Vec<(f64, f64)>> {
    let mut filter = Filter::start(setup, Kind::grown(0), Adds::Fill)?;
    // The connections' buffers are allocated now: they are not the filter's.
    filter.add(MADD, MADD.items_per_turn())?;
    filter.renew()?;
    let process = filter.server.process_id();
    let before = resident(process) as f64;
    let mut grown = Vec::new();
    for (items, added) in points.iter().zip([0].iter().chain(points)) {
        filter.add(MADD, items - added)?;
        let bits = filter.bits_per_item()?;
        // What is free, but not given back to the system yet, goes within ten seconds by itself.
        cmd("MEMORY").arg("PURGE").exec(&mut filter.connection)?;
        let bytes = resident(process) as f64 - before;
        grown.push((bits, if *items < FIRST_RESIDENT { f64::NAN } else { bytes }));
    }
    Ok(grown)
}
