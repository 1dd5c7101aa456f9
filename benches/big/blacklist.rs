//! A blacklist of two billion URLs in 500 MiB of server memory.
//!
//! That is 2.1 bits per URL. The best Bloom filter of that size uses one or two probes and has a
//! false-positive rate of 0.378: more than three in five requests for unlisted URLs need no further
//! check.

use crate::session::{bytes, command, send, ADDS, FILTER, LOOKUPS};
use redis::Connection;
use splitbloom_filter::bloom::sizing::shape_for;
use splitbloom_rig::{info, Cell, Outcome, Server, Settings, Setup};
use std::thread;
use std::time::{Duration, Instant};

const URLS: u64 = 2_000_000_000;
/// The memory budget of two billion URLs, in bytes per URL.
const BUDGET: f64 = 500.0 * 1024.0 * 1024.0 / 2e9;
/// The budget covers everything the server holds for the filter. Subtracting two overheads leaves
/// the bits: the pointers to segments (0.037 %, see crates/filter/src/storage/segments.rs), and a
/// constant for the partial last segment, its leaf, the key and transient server memory.
const POINTERS: f64 = 0.000_4;
const OVERHEAD: f64 = 256.0 * 1024.0;
/// Absent URLs looked up: the standard error is 0.04 % of the rate.
const PROBES: u64 = 10_000_000;
/// Listed URLs looked up: none may be missing.
const CHECKED: u64 = 1_000_000;
/// Granularity of the error rate, 0.03 % of the bits: a value a person would write.
const STEPS: u32 = 10_000;

pub fn run(settings: &mut Settings) -> Outcome<()> {
    let urls = settings.number("BIG_URLS", URLS)?;
    let server = Server::start(Setup::ours());
    let mut client = server.connect()?;
    let budget = BUDGET * urls as f64;
    // Slow commands would be logged, and the log counted as the filter's memory: 128 entries with
    // 32 items each.
    command("CONFIG", &["SET", "slowlog-log-slower-than", "-1"]).exec(&mut client)?;
    // Every operation once, so that lazily allocated server memory is not charged to the filter.
    reserve(&mut client, 0.5, 1_000)?;
    send(&server, ADDS, "warming up", 0..400)?;
    send(&server, LOOKUPS, "warming up", 0..400)?;
    bytes(&mut client)?;
    command("DEL", &[FILTER]).exec(&mut client)?;

    let [used, resident] = memory(&mut client)?;
    let room = budget * (1.0 - POINTERS) - OVERHEAD;
    let is_too_large = |rate: &f64| shape_for(urls, *rate).num_bits() as f64 / 8.0 > room;
    let rates: Vec<f64> = (1..STEPS).map(|step| f64::from(step) / f64::from(STEPS)).collect();
    let error_rate = rates[rates.partition_point(is_too_large).min(rates.len() - 1)];
    eprintln!("BF.RESERVE {FILTER} {error_rate} {urls} NONSCALING");
    reserve(&mut client, error_rate, urls)?;
    let started = Instant::now();
    let new = send(&server, ADDS, "adding URLs", 0..urls)?;
    let seconds = started.elapsed().as_secs_f64();
    let (usage, after) = (bytes(&mut client)?, memory(&mut client)?);

    let checked = CHECKED.min(urls);
    let missing = checked - send(&server, LOOKUPS, "listed URLs", 0..checked)?;
    let false_positives = send(&server, LOOKUPS, "unlisted URLs", urls..urls + PROBES)?;
    let rate = false_positives as f64 / PROBES as f64;
    let deviation = (rate * (1.0 - rate) / PROBES as f64).sqrt();
    let best = best_rate(budget * 8.0 / urls as f64);

    let (held, resident) = (after[0].saturating_sub(used), after[1].saturating_sub(resident));
    let limit = format!("{budget:.0}");
    let over = 100.0 * (rate / best - 1.0);
    for (name, value, bound) in [
        ("distinct URLs", urls.to_string(), ""),
        ("new to the filter", new.to_string(), ""),
        ("requested error rate", error_rate.to_string(), ""),
        ("seconds", format!("{seconds:.1}"), ""),
        ("million URLs/s", format!("{:.2}", urls as f64 / seconds / 1e6), ""),
        ("bytes, MEMORY USAGE", usage.to_string(), &limit),
        ("bytes, used_memory", held.to_string(), &limit),
        ("resident bytes", resident.to_string(), ""),
        ("false negatives", missing.to_string(), "0"),
        (
            "false-positive rate",
            format!("{rate:.5} ± {deviation:.5}"),
            &format!("{:.5}", 1.02 * best),
        ),
        ("lowest possible rate", format!("{best:.5}"), ""),
        ("above the lowest possible", format!("{over:.2} %"), "2 %"),
    ] {
        let cells: [Cell; 3] = [("blacklist", &name), ("", &value), ("limit", &bound)];
        settings.table("blacklist").row(&cells);
    }
    Ok(())
}

/// Memory that the server has allocated, and its resident set, once closed connections have been
/// freed.
fn memory(client: &mut Connection) -> Outcome<[u64; 2]> {
    thread::sleep(Duration::from_millis(500));
    let number = |name| info::number(client, "memory", name);
    let [used, resident] = ["used_memory", "used_memory_rss"].map(number);
    Ok([used?, resident?])
}

fn reserve(client: &mut Connection, error_rate: f64, urls: u64) -> Outcome<()> {
    let mut reserve = command("BF.RESERVE", &[FILTER]);
    Ok(reserve.arg(error_rate).arg(urls).arg("NONSCALING").exec(client)?)
}

/// The lowest false-positive rate of a standard Bloom filter: the minimum over k of
/// (1-e^(-k/bits))^k (Bloom 1970).
fn best_rate(bits_per_item: f64) -> f64 {
    let rate = |k: i32| (1.0 - (-f64::from(k) / bits_per_item).exp()).powi(k);
    (1..=64).map(rate).fold(1.0, f64::min)
}
