//! What many followers of one filter cost the server and its other clients, while new items come
//! one by one, and what idle followers of many partitions cost.

use super::{at, follow, item, ready, reserve, KEY};
use redis::{cmd, pipe, Connection};
use splitbloom_client::{Follower, Keys, Name, Partitions, Topology};
use splitbloom_rig::process::cpu_seconds;
use splitbloom_rig::server::{Server, Setup};
use splitbloom_rig::table::Table;
use splitbloom_rig::Outcome;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

const FOLLOWERS: [usize; 4] = [1, 10, 100, 300];
/// New items a second.
const RATES: [u64; 3] = [10, 1_000, 10_000];
const DURATION: Duration = Duration::from_secs(4);
/// Between two PINGs, and two looks at all copies.
const PAUSE: Duration = Duration::from_millis(3);
const PARTITIONS: u64 = 256;
const OF_PARTITIONS: usize = 4;

/// What one measurement found.
struct Found {
    /// The server's time, as a share of a core.
    cpu: f64,
    /// Milliseconds of PINGs, and of the copies' staleness, in order.
    pings: Vec<f64>,
    staleness: Vec<f64>,
}

/// Adds items from number `first` on, one by one, at this rate, as long as the measurement takes.
/// Returns how many.
fn add(db: &mut Connection, first: u64, rate: u64) -> Outcome<u64> {
    let at_once = (rate / 1_000).max(1);
    let (start, mut count) = (Instant::now(), 0);
    while start.elapsed() < DURATION {
        let mut adds = pipe();
        for number in count..count + at_once {
            adds.cmd("BF.ADD").arg(KEY).arg(&item(first + number)).ignore();
        }
        adds.exec(db)?;
        count += at_once;
        let next = Duration::from_secs_f64(count as f64 / rate as f64);
        sleep(next.saturating_sub(start.elapsed()));
    }
    Ok(count)
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Measures while `work` lasts.
fn measure<T>(
    server: &mut Server,
    followers: &[Follower],
    work: impl FnOnce() -> Outcome<T>,
) -> Outcome<(Found, T)> {
    let (mut pinging, is_over) = (server.connect()?, AtomicBool::new(false));
    let (start, before) = (Instant::now(), cpu_seconds(server.process_id())?);
    let (done, mut pings, mut staleness) = thread::scope(|scope| {
        let pings = scope.spawn(|| {
            let mut times = Vec::new();
            while !is_over.load(Relaxed) {
                let start = Instant::now();
                cmd("PING").exec(&mut pinging).expect("the server lives");
                times.push(milliseconds(start.elapsed()));
                sleep(PAUSE);
            }
            times
        });
        let looks = scope.spawn(|| {
            let mut times = Vec::new();
            while !is_over.load(Relaxed) {
                times.extend(followers.iter().filter_map(Follower::staleness).map(milliseconds));
                sleep(PAUSE);
            }
            times
        });
        let done = work();
        is_over.store(true, Relaxed);
        (done, pings.join().expect("no panic"), looks.join().expect("no panic"))
    });
    let cpu = (cpu_seconds(server.process_id())? - before) / start.elapsed().as_secs_f64();
    pings.sort_by(f64::total_cmp);
    staleness.sort_by(f64::total_cmp);
    Ok((Found { cpu, pings, staleness }, done?))
}

/// The value that 99 of 100 do not exceed.
fn most(sorted: &[f64]) -> String {
    let place = sorted.len().saturating_sub(1) * 99 / 100;
    sorted.get(place).map_or_else(String::new, |value| format!("{value:.1}"))
}

fn row(table: &mut Table, module: &str, followers: usize, rate: String, found: &Found) {
    table.row(&[
        module.to_owned(),
        followers.to_string(),
        rate,
        format!("{:.1}", found.cpu * 100.0),
        most(&found.pings),
        most(&found.staleness),
    ]);
}

/// One filter.
fn crowd(table: &mut Table, module: &str, setup: &Setup) -> Outcome<()> {
    for rate in RATES {
        let mut server = Server::start(setup.clone())?;
        let mut db = server.connect()?;
        reserve(&mut db, rate * DURATION.as_secs() * FOLLOWERS.len() as u64)?;
        let (mut followers, mut first) = (Vec::new(), 0);
        for number in FOLLOWERS {
            while followers.len() < number {
                followers.push(follow(&server)?);
            }
            let (found, added) = measure(&mut server, &followers, || add(&mut db, first, rate))?;
            first += added;
            let reached = added as f64 / DURATION.as_secs_f64();
            row(table, module, number, format!("{reached:.0}"), &found);
        }
    }
    Ok(())
}

/// Partitions to which nothing is added.
fn idle(table: &mut Table, module: &str) -> Outcome<()> {
    let mut server = Server::start(Setup::ours()?)?;
    let mut db = server.connect()?;
    let partitions = Partitions::new(PARTITIONS).ok_or("a power of two")?;
    let keys = Keys::Partitioned(Name::new(KEY.as_bytes()).ok_or("no brace")?, partitions);
    for partition in partitions.each() {
        let key = Name::new(KEY.as_bytes()).ok_or("no brace")?.key(partition);
        cmd("BF.RESERVE").arg(key).arg(0.01).arg(1_000).exec(&mut db)?;
    }
    let wait = || {
        sleep(DURATION);
        Ok(())
    };
    let (alone, ()) = measure(&mut server, &[], wait)?;
    let rate = format!("0, {PARTITIONS} partitions");
    row(table, module, 0, rate.clone(), &alone);
    let start = || ready(Follower::start(at(&server)?, Topology::OneServer, keys)?);
    let followers: Outcome<Vec<Follower>> = (0..OF_PARTITIONS).map(|_| start()).collect();
    let followers = followers?;
    sleep(Duration::from_secs(1));
    let (found, ()) = measure(&mut server, &followers, wait)?;
    row(table, module, OF_PARTITIONS, rate, &found);
    Ok(())
}

pub fn run() -> Outcome<Table> {
    let columns =
        ["module", "followers", "items/s", "server, % of a core", "PING, ms", "staleness, ms"];
    let mut table = Table::new(&columns);
    for (module, setup) in [("other build", Setup::peer()?), ("this", Some(Setup::ours()?))] {
        if let Some(setup) = setup {
            crowd(&mut table, module, &setup)?;
        }
    }
    idle(&mut table, "this")?;
    Ok(table)
}
