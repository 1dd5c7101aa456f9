//! What many followers of one filter cost the server and its other clients, while new items come
//! one by one, and what idle followers of many partitions cost.

use super::{follow, item, reserve, start, KEY};
use redis::{cmd, pipe, Connection};
use splitbloom_client::{Follower, Keys, Name, Partitions};
use splitbloom_rig::{
    cpu_seconds, in_words, percentile, ping, samples_during, Outcome, Server, Settings, Setup,
};
use std::thread::sleep;
use std::time::{Duration, Instant};

const FOLLOWERS: [usize; 4] = [1, 10, 100, 300];
/// New items a second.
const RATES: [u64; 3] = [10, 1_000, 10_000];
const DURATION: Duration = Duration::from_secs(4);
/// The pause between two PINGs, and between two checks of all copies.
const PAUSE: Duration = Duration::from_millis(3);
const PARTITIONS: u64 = 256;
const OF_PARTITIONS: usize = 4;

/// The results of one measurement: the server's time as a share of a core, and the sorted
/// milliseconds of PINGs and of the copies' staleness.
type Found = (f64, Vec<f64>, Vec<f64>);

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

/// Measures while `work` lasts.
fn measure<T>(
    server: &Server,
    followers: &[Follower],
    work: impl FnOnce() -> Outcome<T>,
) -> Outcome<(Found, T)> {
    let mut pinging = server.connect()?;
    let (start, before) = (Instant::now(), cpu_seconds(server.process_id())?);
    let staleness = || {
        let each = followers.iter().filter_map(Follower::staleness);
        Ok(each.map(|time| time.as_secs_f64() * 1e3).collect::<Vec<_>>())
    };
    let ((done, pings), staleness) =
        samples_during(PAUSE, staleness, || samples_during(PAUSE, || ping(&mut pinging), work))?;
    let cpu = (cpu_seconds(server.process_id())? - before) / start.elapsed().as_secs_f64();
    Ok(((cpu, pings, staleness), done))
}

fn row(settings: &mut Settings, module: &str, followers: usize, rate: &str, found: &Found) {
    let (cpu, pings, staleness) = found;
    let most = |sorted| in_words(percentile(sorted, 0.99), 1);
    settings.table("follow-crowd").row(&[
        ("module", &module),
        ("followers", &followers),
        ("items/s", &rate),
        ("server, % of a core", &in_words(cpu * 100.0, 1)),
        ("PING, ms", &most(pings)),
        ("staleness, ms", &most(staleness)),
    ]);
}

/// One filter.
fn crowd(settings: &mut Settings, module: &str, setup: &Setup) -> Outcome<()> {
    for rate in RATES {
        let server = Server::start(setup.clone());
        let mut db = server.connect()?;
        reserve(&mut db, rate * DURATION.as_secs() * FOLLOWERS.len() as u64)?;
        let (mut followers, mut first) = (Vec::new(), 0);
        for number in FOLLOWERS {
            while followers.len() < number {
                followers.push(follow(&server)?);
            }
            let (found, added) = measure(&server, &followers, || add(&mut db, first, rate))?;
            first += added;
            let reached = added as f64 / DURATION.as_secs_f64();
            row(settings, module, number, &in_words(reached, 0), &found);
        }
    }
    Ok(())
}

/// Partitions to which nothing is added.
fn idle(settings: &mut Settings, module: &str) -> Outcome<()> {
    let server = Server::start(Setup::ours());
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
    let (alone, ()) = measure(&server, &[], wait)?;
    let rate = format!("0, {PARTITIONS} partitions");
    row(settings, module, 0, &rate, &alone);
    let followers = (0..OF_PARTITIONS).map(|_| start(&server, keys));
    let followers: Vec<Follower> = followers.collect::<Outcome<_>>()?;
    sleep(Duration::from_secs(1));
    let (found, ()) = measure(&server, &followers, wait)?;
    row(settings, module, OF_PARTITIONS, &rate, &found);
    Ok(())
}

pub fn run(settings: &mut Settings) -> Outcome<()> {
    if let Some(setup) = Setup::peer()? {
        crowd(settings, "other build", &setup)?;
    }
    crowd(settings, "this", &Setup::ours())?;
    idle(settings, "this")
}
