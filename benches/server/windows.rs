//! Filters with a window, beside the same filters without one, and beside the usual substitute:
//! eight keys, one for each eighth of the window, all of which a lookup queries, in pipelines. Each
//! key is reserved for its items, at an eighth of the error rate.
//!
//! ```text
//!   speed   items evenly spread over the window; batches of 100, half of the items present
//!   memory  a steady stream over four windows, measured after each sixteenth of the last one
//! ```

use redis::{cmd, Connection};
use splitbloom_rig::info::microseconds_in;
use splitbloom_rig::load::{Format, Items, Load, Pattern};
use splitbloom_rig::{rounds, Outcome, Rounds, Server, Settings, Setup};
use std::ops::Range;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const SIZES: [u64; 2] = [1_000_000, 10_000_000];
const ROUNDS: usize = 5;
/// Items per command, and commands per pipeline.
const BATCH: usize = 100;
const PIPELINE: usize = 100;
/// Lookups of a round.
const LOOKUPS: u64 = 500_000;
/// Seven days, in eight slices.
const WINDOW: u64 = 604_800;
const SLICES: u64 = 8;
/// Steps of the stream: four windows. The first one is of growth, which leaves longer fingerprints
/// than a steady stream; they are gone after the second.
const STEPS: u64 = 4 * LAST;
/// Steps of the last window.
const LAST: u64 = 2 * SLICES;

/// The filters to measure: name in the table, number of keys.
const KINDS: [(&str, u64); 3] = [("without a window", 1), (WINDOWED, 1), ("eight keys", SLICES)];
const WINDOWED: &str = "with a window";

pub fn run(settings: &mut Settings) -> Outcome<()> {
    let count = settings.rounds(ROUNDS)?;
    for items in settings.sizes(&SIZES)? {
        let server = Server::start(Setup::ours());
        let (port, mut db) = (server.port(), server.connect()?);
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let (mut most_bits, mut lookups) = (Vec::new(), Vec::new());
        for (name, keys) in KINDS {
            let keys: Vec<String> = (0..keys).map(|key| format!("{name} {key}")).collect();
            eprintln!("{items} items: filling {name} ...");
            most_bits.push(fill(&mut db, port, &keys, items, now)?);
            let load = |key: &String| load(port, &["BF.MEXISTS", key]);
            lookups.push(keys.iter().map(load).collect::<Outcome<Vec<_>>>()?);
        }
        let mut figures: [[Rounds; 2]; 3] = Default::default();
        for _ in rounds(&format!("{items} items"), count) {
            for (loads, [in_command, throughput]) in lookups.iter_mut().zip(&mut figures) {
                let before = microseconds_in(&mut db, "BF.MEXISTS")?;
                let mut seconds = 0.0;
                for load in loads {
                    // Half of these are present.
                    let present = numbers(STEPS - LAST..STEPS, items);
                    let among = Items::Among { first: present.start, count: 2 * items };
                    seconds += load.run(among, Duration::MAX, LOOKUPS)?.seconds;
                }
                let spent = microseconds_in(&mut db, "BF.MEXISTS")? - before;
                throughput.push(LOOKUPS as f64 / seconds / 1e6);
                in_command.push(spent as f64 * 1000.0 / LOOKUPS as f64);
            }
        }
        for ((name, _), ([in_command, throughput], bits)) in
            KINDS.iter().zip(figures.iter().zip(most_bits))
        {
            settings.table_beside_peer("windows")?.row(&[
                ("items", &items),
                ("filter", name),
                ("ns in command per lookup", &in_command.median(0)),
                ("relative to that without a window", &in_command.relative_to(&figures[0][0])),
                ("million lookups/s, one client", &throughput.median(2)),
                ("bits per item, steady stream, most", &format!("{bits:.1}")),
            ]);
        }
    }
    Ok(())
}

/// The items of some sixteenths of a window.
fn numbers(steps: Range<u64>, items: u64) -> Range<u64> {
    steps.start * items / LAST..steps.end * items / LAST
}

/// A load of batches on one connection; each command begins with `words`.
fn load(port: u16, words: &[&str]) -> Outcome<Load> {
    Load::new(port, 1, PIPELINE, &Pattern::new(words, BATCH, Format::Bytes(12)))
}

/// Sends the stream; returns the maximum of the filter's bits per item during the last window. A
/// filter without a window gets the items of the last window only.
fn fill(db: &mut Connection, port: u16, keys: &[String], items: u64, now: u64) -> Outcome<f64> {
    let reserve = |db: &mut Connection, key: &str, options: String| {
        cmd("DEL").arg(key).exec(db)?;
        cmd("BF.RESERVE").arg(key).arg(options.split(' ').collect::<Vec<_>>()).exec(db)
    };
    let (mut most, is_windowed) = (0.0, keys[0].starts_with(WINDOWED));
    let window =
        if is_windowed { format!(" WINDOW {WINDOW} SLICES {SLICES}") } else { String::new() };
    reserve(db, &keys[0], format!("0.01 100{window}"))?;
    for step in if is_windowed { 0 } else { STEPS - LAST }..STEPS {
        let key = &keys[step as usize / 2 % keys.len()];
        if keys.len() > 1 && step % 2 == 0 {
            let (rate, capacity) = (0.01 / SLICES as f64, items / SLICES);
            reserve(db, key, format!("{rate} {capacity} NONSCALING"))?;
        }
        let at = ((now - (STEPS - 1 - step) * WINDOW / LAST) * 1000).to_string();
        let head: &[&str] = match is_windowed {
            true => &["BF.INSERT", key, "AT", &at, "ITEMS"],
            false => &["BF.INSERT", key, "ITEMS"],
        };
        let Range { start, end } = numbers(step..step + 1, items);
        load(port, head)?.send(start, end - start)?;
        if step + 1 == STEPS || (is_windowed && step >= STEPS - LAST) {
            let mut bytes = 0;
            for key in keys {
                bytes += cmd("MEMORY").arg("USAGE").arg(key).query::<u64>(db)?;
            }
            most = f64::max(most, bytes as f64 * 8.0 / items as f64);
        }
    }
    Ok(most)
}
