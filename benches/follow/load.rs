//! Ten followers, of a primary and of two replicas, while 10 000 new items a second come: how long
//! an item takes from the writer's reply to each copy.

use super::{args, follow, item, reserve, KEY};
use redis::{cmd, Connection};
use splitbloom_client::Follower;
use splitbloom_rig::info::number;
use splitbloom_rig::{in_words, named, percentile, Outcome, Server, Settings, Setup};
use std::sync::mpsc::{channel, Receiver};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

const SECONDS: u64 = 60;
const BATCH: u64 = 100;
const INTERVAL: Duration = Duration::from_millis(10);
const FOLLOWERS: usize = 10;
const REPLICAS: usize = 2;
/// How often a copy is looked at until it has the item.
const PAUSE: Duration = Duration::from_micros(200);

/// What one follower did.
#[derive(Default)]
struct Seen {
    /// Milliseconds from the reply to the writer, of the last item of each batch.
    delays: Vec<f64>,
    /// How often the copy denied an item that was acknowledged before the copy was current.
    denied: u64,
    /// The largest staleness, in milliseconds.
    staleness: f64,
}

fn watch(follower: &Follower, added: Receiver<(u64, Instant)>) -> Seen {
    let mut seen = Seen::default();
    for (number, acknowledged) in added {
        let item = item(number);
        loop {
            let staleness = follower.staleness().unwrap_or(Duration::MAX);
            let is_due = acknowledged.elapsed() > staleness;
            seen.staleness = seen.staleness.max(staleness.as_secs_f64() * 1e3);
            if follower.contains(&item) == Some(true) {
                break;
            }
            seen.denied += u64::from(is_due);
            sleep(PAUSE);
        }
        seen.delays.push(acknowledged.elapsed().as_secs_f64() * 1e3);
    }
    seen
}

/// Bytes that a server has sent to clients.
fn sent(db: &mut Connection) -> Outcome<u64> {
    let all = number(db, "stats", "total_net_output_bytes")?;
    Ok(all - number(db, "stats", "total_net_repl_output_bytes")?)
}

pub fn run(settings: &mut Settings) -> Outcome<()> {
    // Any duration will do for the documents.
    let seconds = named("BENCH_SECONDS").map_or(Ok(SECONDS), |text| text.parse())?;
    let duration = Duration::from_secs(seconds);
    let primary = Server::start(Setup::ours());
    let mut db = primary.connect()?;
    reserve(&mut db, duration.as_secs() * 10_000 + 1)?;
    let mut replicas = Vec::new();
    for _ in 0..REPLICAS {
        let address = format!("127.0.0.1 {}", primary.port());
        let replica = Server::start(Setup::ours().with("replicaof", &address));
        replica.connect()?;
        replicas.push(replica);
    }
    cmd("WAIT").arg(REPLICAS).arg(60_000).exec(&mut db)?;
    let servers: Vec<&Server> = std::iter::once(&primary).chain(&replicas).collect();
    let followers: Outcome<Vec<Follower>> =
        (0..FOLLOWERS).map(|n| follow(servers[n % servers.len()])).collect();
    let followers = followers?;
    let mut of_replica =
        redis::Client::open(("127.0.0.1", replicas[0].port()))?.get_connection()?;
    let before = sent(&mut of_replica)?;

    let (count, seen) = thread::scope(|scope| -> Outcome<(u64, Vec<Seen>)> {
        let (senders, watchers): (Vec<_>, Vec<_>) = followers
            .iter()
            .map(|follower| {
                let (sender, added) = channel();
                (sender, scope.spawn(move || watch(follower, added)))
            })
            .unzip();
        let (start, mut count) = (Instant::now(), 0);
        while start.elapsed() < duration {
            let items: Vec<_> = (count..count + BATCH).map(item).collect();
            cmd("BF.MADD").arg(KEY).arg(args(&items)).exec(&mut db)?;
            count += BATCH;
            for sender in &senders {
                sender.send((count - 1, Instant::now()))?;
            }
            let next = INTERVAL * (count / BATCH) as u32;
            sleep(next.saturating_sub(start.elapsed()));
        }
        drop(senders);
        let seen = watchers.into_iter().map(|watcher| watcher.join().expect("no panic"));
        Ok((count, seen.collect()))
    })?;

    let on_replica = (0..FOLLOWERS).filter(|n| n % servers.len() == 1).count() as u64;
    let bytes = sent(&mut of_replica)?.saturating_sub(before);
    for (server, name) in ["the primary", "a replica", "another replica"].iter().enumerate() {
        let of_it: Vec<&Seen> = seen.iter().skip(server).step_by(servers.len()).collect();
        let mut delays: Vec<f64> = of_it.iter().flat_map(|seen| seen.delays.clone()).collect();
        delays.sort_by(f64::total_cmp);
        let at = |share| in_words(percentile(&delays, share), 2);
        let denied: u64 = of_it.iter().map(|seen| seen.denied).sum();
        if server == 0 && denied > 0 {
            return Err(format!("{denied} lookups denied what the copy claimed to have").into());
        }
        let staleness = of_it.iter().map(|seen| seen.staleness).fold(0.0, f64::max);
        let of_item = if server == 1 { bytes as f64 } else { f64::NAN };
        settings.table("follow-load").row(&[
            ("followers of", name),
            ("items", &count),
            ("median, ms", &at(0.5)),
            ("99 %, ms", &at(0.99)),
            ("99.9 %, ms", &at(0.999)),
            ("largest, ms", &at(1.0)),
            ("denied", &denied),
            ("largest staleness, ms", &in_words(staleness, 0)),
            ("bytes an item", &in_words(of_item / (count * on_replica) as f64, 1)),
        ]);
    }
    Ok(())
}
