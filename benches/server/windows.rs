//! Filters that forget, beside the same without a window, and beside what people do without them:
//! eight keys, one for each eighth of the window, all of which a lookup asks in one pipeline. Each
//! of these is reserved for its items, at an eighth of the error rate.
//!
//! ```text
//!   speed   items evenly spread over the window; batches of 100, half of the items present
//!   memory  a steady stream over four windows, measured after each sixteenth of the last one
//! ```

use super::settings::Settings;
use redis::{Cmd, Connection, Pipeline};
use splitbloom_rig::info::microseconds_in;
use splitbloom_rig::server::{Server, Setup};
use splitbloom_rig::statistics::{median, median_ratio};
use splitbloom_rig::table::Table;
use splitbloom_rig::Outcome;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

const SIZES: [u64; 2] = [1_000_000, 10_000_000];
const ROUNDS: usize = 5;
/// Items per command, and commands per pipeline.
const BATCH: u64 = 100;
const PIPELINE: u64 = 100;
/// Lookups of a round.
const LOOKUPS: u64 = 500_000;
/// Seven days, in eight slices.
const WINDOW: u64 = 604_800;
const SLICES: u64 = 8;

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Window,
    EightKeys,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Plain, Self::Window, Self::EightKeys];

    fn name(self) -> &'static str {
        match self {
            Self::Plain => "without a window",
            Self::Window => "with a window",
            Self::EightKeys => "eight keys",
        }
    }

    fn keys(self) -> u64 {
        if self == Self::EightKeys {
            SLICES
        } else {
            1
        }
    }

    /// The key that items of this slice are added to.
    fn key(self, slice: u64) -> String {
        format!("{} {}", self.name(), slice % self.keys())
    }
}

pub fn run(settings: &Settings) -> Outcome<()> {
    let mut table = Table::new(&[
        "items",
        "filter",
        "ns in command per lookup",
        "relative to that without a window",
        "million lookups/s, one client",
        "bits per item, steady stream, most",
    ]);
    for items in settings.sizes(&SIZES) {
        measure(items, settings.rounds(ROUNDS), &mut table)?;
    }
    settings.show("windows", &table)
}

fn measure(items: u64, rounds: usize, table: &mut Table) -> Outcome<()> {
    let mut server = Server::start(Setup::ours()?)?;
    let mut db = server.connect()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let mut most_bits = Vec::new();
    for kind in Kind::ALL {
        eprintln!("{items} items: filling {} ...", kind.name());
        most_bits.push(fill(&mut db, kind, items, now)?);
    }
    let mut figures: Vec<[Vec<f64>; 2]> = Kind::ALL.map(|_| Default::default()).into();
    for round in 0..rounds {
        eprintln!("{items} items: round {} of {rounds}", round + 1);
        for (kind, [in_command, throughput]) in Kind::ALL.into_iter().zip(&mut figures) {
            let before = microseconds_in(&mut db, "BF.MEXISTS")?;
            let begun = Instant::now();
            look_up(&mut db, kind, items, round as u64)?;
            throughput.push(LOOKUPS as f64 / begun.elapsed().as_secs_f64() / 1e6);
            let spent = microseconds_in(&mut db, "BF.MEXISTS")? - before;
            in_command.push(spent as f64 * 1000.0 / LOOKUPS as f64);
        }
    }
    for (place, kind) in Kind::ALL.into_iter().enumerate() {
        let [in_command, throughput] = &figures[place];
        table.row(&[
            items.to_string(),
            kind.name().to_string(),
            format!("{:.0}", median(in_command)),
            format!("{:.2}", median_ratio(in_command, &figures[0][0])),
            format!("{:.2}", median(throughput)),
            format!("{:.1}", most_bits[place]),
        ]);
    }
    Ok(())
}

/// Number of the first item of a sixteenth of a window; those of the last window are looked up.
fn first_of(step: u64, items: u64) -> u64 {
    step * items / (2 * SLICES)
}

/// Steps of the stream: four windows. The first one is of growth, which leaves longer fingerprints
/// than a steady stream; they are gone after the second.
const STEPS: u64 = 4 * 2 * SLICES;

/// Sends the stream; returns the most bits per item that the filter has taken in the last window.
/// One without a window gets the last window only.
fn fill(db: &mut Connection, kind: Kind, items: u64, now: u64) -> Outcome<f64> {
    let mut most = 0.0;
    let first_step = match kind {
        Kind::Window => 0,
        _ => STEPS - 2 * SLICES,
    };
    if kind != Kind::EightKeys {
        let window = (kind == Kind::Window).then(|| format!("WINDOW {WINDOW} SLICES {SLICES}"));
        let reserve = format!("0.01 100 {}", window.unwrap_or_default());
        command("BF.RESERVE", &kind.key(0), &reserve).exec(db)?;
    }
    for step in first_step..STEPS {
        let slice = step / 2;
        if kind == Kind::EightKeys && step % 2 == 0 {
            let options = format!("{} {} NONSCALING", 0.01 / SLICES as f64, items / SLICES);
            command("DEL", &kind.key(slice), "").exec(db)?;
            command("BF.RESERVE", &kind.key(slice), &options).exec(db)?;
        }
        let at = (now - (STEPS - 1 - step) * WINDOW / (2 * SLICES)) * 1000;
        let head = match kind {
            Kind::Window => command("BF.INSERT", &kind.key(0), &format!("AT {at} ITEMS")),
            _ => command("BF.INSERT", &kind.key(slice), "ITEMS"),
        };
        let numbers = first_of(step, items)..first_of(step + 1, items);
        send(db, &[head], numbers.collect())?;
        if step >= STEPS - 2 * SLICES {
            let mut bytes = 0;
            for key in 0..kind.keys() {
                let usage = Cmd::new().arg("MEMORY").arg("USAGE").arg(kind.key(key)).clone();
                bytes += usage.query::<Option<u64>>(db)?.unwrap_or(0);
            }
            let last = step + 1 == STEPS;
            if kind == Kind::Window || last {
                most = f64::max(most, bytes as f64 * 8.0 / items as f64);
            }
        }
    }
    Ok(most)
}

fn look_up(db: &mut Connection, kind: Kind, items: u64, round: u64) -> Outcome<()> {
    let heads: Vec<Cmd> =
        (0..kind.keys()).map(|key| command("BF.MEXISTS", &kind.key(key), "")).collect();
    let (first, last) = (first_of(STEPS - 2 * SLICES, items), first_of(STEPS, items));
    // A stride without pattern; every other item is absent.
    let number = |n: u64| {
        let present = first + (n * 7_919 + round * 104_729) % (last - first);
        present + if n.is_multiple_of(2) { 0 } else { 1 << 40 }
    };
    send(db, &heads, (0..LOOKUPS).map(number).collect())
}

/// Sends a batch of items to each of the commands, in pipelines.
fn send(db: &mut Connection, heads: &[Cmd], numbers: Vec<u64>) -> Outcome<()> {
    for pipeline in numbers.chunks((BATCH * PIPELINE) as usize) {
        let mut commands = Pipeline::new();
        for batch in pipeline.chunks(BATCH as usize) {
            for head in heads {
                let mut command = head.clone();
                for number in batch {
                    command.arg(format!("item:{number}"));
                }
                commands.add_command(command).ignore();
            }
        }
        commands.exec(db)?;
    }
    Ok(())
}

fn command(name: &str, key: &str, rest: &str) -> Cmd {
    let mut command = redis::cmd(name);
    command.arg(key);
    for word in rest.split_whitespace() {
        command.arg(word);
    }
    command
}
