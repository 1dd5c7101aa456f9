//! The wait of a bystander while a filter forgets: a filter of a minute gets its items evenly over
//! a minute, and forgets them over the next one, as another client sends PING after PING. The
//! server has the highest priority, if permitted.
//!
//! Then the same with two replicas instead of the bystander. They repeat each step of the primary's
//! sweep, as a command, so what the machine disturbs on one of them it does not on the other.

use super::settings::Settings;
use redis::{Connection, Pipeline};
use splitbloom_rig::info::number;
use splitbloom_rig::process::prefer;
use splitbloom_rig::server::{Server, Setup};
use splitbloom_rig::slow::{slow_commands, slowest_in_every};
use splitbloom_rig::table::Table;
use splitbloom_rig::Outcome;
use std::thread;
use std::time::{Duration, Instant};

const SIZES: [u64; 2] = [1_000_000, 10_000_000];
/// In seconds.
const WINDOW: u64 = 60;
const SLICES: u64 = 8;
/// Items per command, of eight bytes each, and commands per pipeline.
const PACK: u64 = 4096;
const PIPELINE: u64 = 16;
/// What the module holds when all is swept, at most, in bytes.
const SWEPT: u64 = 10_000;
/// What makes a step slow on a replica, in microseconds: one of some hundred steps.
const SLOW: u64 = 60;
/// Between two PINGs.
const PAUSE: Duration = Duration::from_micros(200);

pub fn run(settings: &Settings) -> Outcome<()> {
    let mut table = Table::new(&[
        "items",
        "forgotten after, s",
        "steps of the sweeper",
        "slowest step, µs",
        "slowest on both replicas, µs",
        "PING, idle: p99.9, µs",
        "worst, µs",
        "PING while items are forgotten: p99.9, µs",
        "worst, µs",
        "bytes afterwards",
    ]);
    for items in settings.sizes(&SIZES) {
        measure(items, &mut table)?;
    }
    settings.show("windows-sweep", &table)
}

fn measure(items: u64, table: &mut Table) -> Outcome<()> {
    let mut server = Server::start(Setup::ours()?)?;
    prefer(server.process_id());
    let (mut db, mut bystander) = (server.connect()?, server.connect()?);
    eprintln!("{items} items: nothing to do for a window ...");
    // The worst of many waits is compared with the worst of as many.
    let window = Duration::from_secs(WINDOW);
    let idle = pings(&mut bystander, &mut db, |_| Ok(false), window)?;
    eprintln!("{items} items: filling a filter of {WINDOW} s ...");
    fill(&mut db, items)?;
    eprintln!("{items} items: forgetting ...");
    let begun = Instant::now();
    let waits = pings(&mut bystander, &mut db, is_swept, 3 * window)?;
    let forgotten = begun.elapsed();
    let bytes: u64 = redis::cmd("MEMORY").arg("USAGE").arg("w").query(&mut db)?;
    let slowest = slowest_step(items)?;
    let at = |waits: &[f64], share: f64| {
        let wait = waits[((waits.len() - 1) as f64 * share) as usize];
        format!("{wait:.0}")
    };
    table.row(&[
        items.to_string(),
        format!("{:.0}", forgotten.as_secs_f64()),
        number(&mut db, "bf", "bf_sweep_steps")?.to_string(),
        number(&mut db, "bf", "bf_sweep_slowest_usec")?.to_string(),
        slowest.map_or(format!("below {SLOW}"), |slowest| slowest.to_string()),
        at(&idle, 0.999),
        at(&idle, 1.0),
        at(&waits, 0.999),
        at(&waits, 1.0),
        bytes.to_string(),
    ]);
    Ok(())
}

/// Whether all is forgotten. Cheap to ask, unlike MEMORY USAGE.
fn is_swept(db: &mut Connection) -> Outcome<bool> {
    Ok(number(db, "bf", "bf_bytes_held")? < SWEPT)
}

/// The slowest step of a sweep that replicas repeat, of those that are slow on all of them.
fn slowest_step(items: u64) -> Outcome<Option<u64>> {
    let slow = SLOW.to_string();
    let setup = Setup::ours()?
        .with("slowlog-log-slower-than", &slow)
        .with("slowlog-max-len", "1000000")
        .with("client-output-buffer-limit", "replica 0 0 0");
    let mut primary = Server::start(setup.clone())?;
    let mut db = primary.connect()?;
    let mut replicas = Vec::new();
    for _ in 0..2 {
        let mut replica = Server::start(setup.clone())?;
        let mut connection = replica.connect()?;
        let port = primary.port().to_string();
        redis::cmd("REPLICAOF").arg(&["127.0.0.1", &port]).exec(&mut connection)?;
        replicas.push((replica, connection));
    }
    while number(&mut db, "replication", "connected_slaves")? < 2 {
        thread::sleep(PAUSE);
    }
    eprintln!("{items} items: filling and forgetting with replicas ...");
    fill(&mut db, items)?;
    let mut runs = Vec::new();
    for (_, replica) in &mut replicas {
        while !is_swept(replica)? {
            thread::sleep(Duration::from_secs(1));
        }
        runs.push(slow_commands(replica, "BF.FORGET")?);
    }
    Ok(slowest_in_every(&runs))
}

/// Adds so many items, packed, over a window, or longer if the server is not that fast.
fn fill(db: &mut Connection, items: u64) -> Outcome<()> {
    let mut reserve = redis::cmd("BF.RESERVE");
    reserve.arg("w").arg(0.01).arg(100);
    reserve.arg("WINDOW").arg(WINDOW).arg("SLICES").arg(SLICES);
    reserve.exec(db)?;
    let (mut numbers, begun) = (0..items, Instant::now());
    while !numbers.is_empty() {
        let mut commands = Pipeline::new();
        for _ in 0..PIPELINE {
            let pack = numbers.by_ref().take(PACK as usize);
            let pack: Vec<u8> = pack.flat_map(u64::to_le_bytes).collect();
            if !pack.is_empty() {
                let mut add = redis::cmd("BF.PACKADD");
                add.arg("w").arg("FIXED").arg(8).arg(pack);
                commands.add_command(add).ignore();
            }
        }
        commands.exec(db)?;
        let part = numbers.start as f64 / items as f64;
        let due = begun + Duration::from_secs(WINDOW).mul_f64(part);
        thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    Ok(())
}

/// The waits for PING, in microseconds and in order of length, until `is_over` says so. It is asked
/// once a second, on another connection.
fn pings(
    bystander: &mut Connection,
    db: &mut Connection,
    is_over: impl Fn(&mut Connection) -> Outcome<bool>,
    limit: Duration,
) -> Outcome<Vec<f64>> {
    let (begun, mut asked) = (Instant::now(), Instant::now());
    let mut waits = Vec::new();
    while begun.elapsed() < limit {
        let sent = Instant::now();
        redis::cmd("PING").exec(bystander)?;
        waits.push(sent.elapsed().as_secs_f64() * 1e6);
        if asked.elapsed() >= Duration::from_secs(1) {
            if is_over(db)? {
                break;
            }
            asked = Instant::now();
        }
        thread::sleep(PAUSE);
    }
    waits.sort_by(f64::total_cmp);
    Ok(waits)
}
