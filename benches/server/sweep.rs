//! The wait of a bystander while a filter forgets: a filter of a minute gets its items evenly over
//! a minute, and forgets them over the next one, as another client sends PING after PING. The
//! server has the highest priority, if permitted.
//!
//! Then the same with two replicas instead of the bystander. They repeat each step of the primary's
//! sweep, as a command, so what the machine disturbs on one of them it does not on the other.

use redis::{cmd, Connection};
use splitbloom_rig::info::number;
use splitbloom_rig::{
    percentile, ping, pipelined, prefer, samples_during, slow_commands, slowest_in_every, Outcome,
    Server, Settings, Setup,
};
use std::thread;
use std::time::{Duration, Instant};

const SIZES: [u64; 2] = [1_000_000, 10_000_000];
/// In seconds.
const WINDOW: u64 = 60;
const SLICES: u64 = 8;
/// Items per command, of eight bytes each, and commands per pipeline.
const PACK: usize = 4096;
const PIPELINE: usize = 16;
/// The most bytes that the module holds once everything is swept.
const SWEPT: u64 = 10_000;
/// What makes a step slow on a replica, in microseconds: one of some hundred steps.
const SLOW: u64 = 60;
/// Between two PINGs.
const PAUSE: Duration = Duration::from_micros(200);

pub fn run(settings: &mut Settings) -> Outcome<()> {
    for items in settings.sizes(&SIZES)? {
        let server = Server::start(Setup::ours());
        prefer(server.process_id());
        let (mut db, mut bystander) = (server.connect()?, server.connect()?);
        eprintln!("{items} items: nothing to do for a window ...");
        // The worst of many waits is compared with the worst of as many.
        let ((), idle) = samples_during(
            PAUSE,
            || ping(&mut bystander),
            || {
                thread::sleep(Duration::from_secs(WINDOW));
                Ok(())
            },
        )?;
        eprintln!("{items} items: filling a filter of {WINDOW} s ...");
        fill(&mut db, items)?;
        eprintln!("{items} items: forgetting ...");
        let begun = Instant::now();
        let (forgotten, waits) = samples_during(
            PAUSE,
            || ping(&mut bystander),
            || {
                wait_until_swept(&mut db)?;
                Ok(begun.elapsed())
            },
        )?;
        let bytes: u64 = cmd("MEMORY").arg("USAGE").arg("w").query(&mut db)?;
        let slowest = slowest_step(items)?;
        let at = |waits: &[f64], share| format!("{:.0}", percentile(waits, share) * 1e3);
        settings.table_beside_peer("windows-sweep")?.row(&[
            ("items", &items),
            ("forgotten after, s", &format!("{:.0}", forgotten.as_secs_f64())),
            ("steps of the sweeper", &number(&mut db, "bf", "bf_sweep_steps")?),
            ("slowest step, µs", &number(&mut db, "bf", "bf_sweep_slowest_usec")?),
            (
                "slowest on both replicas, µs",
                &slowest.map_or(format!("below {SLOW}"), |slowest| slowest.to_string()),
            ),
            ("PING, idle: p99.9, µs", &at(&idle, 0.999)),
            ("worst, µs", &at(&idle, 1.0)),
            ("PING while items are forgotten: p99.9, µs", &at(&waits, 0.999)),
            ("worst, µs", &at(&waits, 1.0)),
            ("bytes afterwards", &bytes),
        ]);
    }
    Ok(())
}

/// Waits until all items are forgotten; polls INFO, which is cheaper than MEMORY USAGE.
fn wait_until_swept(db: &mut Connection) -> Outcome<()> {
    while number(db, "bf", "bf_bytes_held")? >= SWEPT {
        thread::sleep(Duration::from_secs(1));
    }
    Ok(())
}

/// The slowest step of a sweep among those that are slow on all replicas, which repeat it.
fn slowest_step(items: u64) -> Outcome<Option<u64>> {
    let slow = SLOW.to_string();
    let setup = Setup::ours()
        .with("slowlog-log-slower-than", &slow)
        .with("slowlog-max-len", "1000000")
        .with("client-output-buffer-limit", "replica 0 0 0");
    let primary = Server::start(setup.clone());
    let mut db = primary.connect()?;
    let mut replicas = Vec::new();
    for _ in 0..2 {
        let replica = Server::start(setup.clone());
        let mut connection = replica.connect()?;
        let port = primary.port().to_string();
        cmd("REPLICAOF").arg(&["127.0.0.1", &port]).exec(&mut connection)?;
        replicas.push((replica, connection));
    }
    while number(&mut db, "replication", "connected_slaves")? < 2 {
        thread::sleep(PAUSE);
    }
    eprintln!("{items} items: filling and forgetting with replicas ...");
    fill(&mut db, items)?;
    let mut runs = Vec::new();
    for (_, replica) in &mut replicas {
        wait_until_swept(replica)?;
        runs.push(slow_commands(replica, "BF.FORGET")?);
    }
    Ok(slowest_in_every(&runs))
}

/// Adds `items` packed items over a window, or longer if the server is not that fast.
fn fill(db: &mut Connection, items: u64) -> Outcome<()> {
    let reserve = format!("w 0.01 100 WINDOW {WINDOW} SLICES {SLICES}");
    cmd("BF.RESERVE").arg(reserve.split(' ').collect::<Vec<_>>()).exec(db)?;
    let begun = Instant::now();
    for first in (0..items).step_by(PACK * PIPELINE) {
        let last = items.min(first + (PACK * PIPELINE) as u64);
        let adds = (first..last).step_by(PACK).map(|first| {
            let pack = (first..last.min(first + PACK as u64)).flat_map(u64::to_le_bytes);
            cmd("BF.PACKADD").arg("w").arg("FIXED").arg(8).arg(pack.collect::<Vec<u8>>()).take()
        });
        pipelined(db, PIPELINE, adds)?;
        let due = begun + Duration::from_secs(WINDOW).mul_f64(last as f64 / items as f64);
        thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    Ok(())
}
