//! A blacklist of two billion URLs in 500 MiB of server memory.
//!
//! That is 2.1 bits per URL. The best Bloom filter of that size uses one or two probes and has a
//! false-positive rate of 0.378: more than three in five requests for unlisted URLs need no further
//! check.

use crate::session::{command, socket_of, SOCKET};
use crate::traffic::Traffic;
use redis::Connection;
use splitbloom_rig::info;
use splitbloom_rig::progress::Progress;
use splitbloom_rig::server::{Server, Setup};
use splitbloom_rig::table::Table;
use splitbloom_rig::Outcome;
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::thread;
use std::time::Duration;

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
const KEY: &str = "urls";
/// Granularity of the error rate, 0.03 % of the bits: a value a person would write.
const STEPS: u64 = 10_000;

pub fn run(urls: u64) -> Outcome<Table> {
    let mut server = Server::start(Setup::ours()?.with("unixsocket", SOCKET))?;
    let mut client = server.connect()?;
    let socket = socket_of(&server);
    let budget = BUDGET * urls as f64;
    // Slow commands would be logged, and the log counted as the filter's memory: 128 entries with
    // 32 items each.
    command("CONFIG", &["SET", "slowlog-log-slower-than", "-1"]).query::<()>(&mut client)?;
    warm_up(&socket, &mut client)?;
    let before = Memory::of(&mut client)?;
    let error_rate = reserve(&mut client, urls, budget * (1.0 - POINTERS) - OVERHEAD)?;
    eprintln!("BF.RESERVE {KEY} {error_rate} {urls} NONSCALING");

    let mut progress = Progress::start("adding URLs", urls);
    let new = Traffic::batches("BF.MADD", KEY).send(&socket, 0..urls, &mut progress)?;
    let seconds = progress.finish().as_secs_f64();
    let (usage, after) = (usage(&mut client)?, Memory::of(&mut client)?);

    let checked = CHECKED.min(urls);
    let missing = checked - count_found(&socket, "listed URLs", 0..checked)?;
    let false_positives = count_found(&socket, "unlisted URLs", urls..urls + PROBES)?;
    let rate = false_positives as f64 / PROBES as f64;
    let deviation = (rate * (1.0 - rate) / PROBES as f64).sqrt();
    let best = best_rate(budget * 8.0 / urls as f64);

    let speed = urls as f64 / seconds / 1e6;
    let (held, resident) =
        (after.used.saturating_sub(before.used), after.resident.saturating_sub(before.resident));
    let over = 100.0 * (rate / best - 1.0);
    let mut table = Table::new(&["blacklist", "", "limit"]);
    for (name, value, bound) in [
        ("distinct URLs", urls.to_string(), String::new()),
        ("new to the filter", new.to_string(), String::new()),
        ("requested error rate", error_rate.to_string(), String::new()),
        ("seconds", format!("{seconds:.1}"), String::new()),
        ("million URLs/s", format!("{speed:.2}"), String::new()),
        ("bytes, MEMORY USAGE", usage.to_string(), format!("{budget:.0}")),
        ("bytes, used_memory", held.to_string(), format!("{budget:.0}")),
        ("resident bytes", resident.to_string(), String::new()),
        ("false negatives", missing.to_string(), 0.to_string()),
        (
            "false-positive rate",
            format!("{rate:.5} ± {deviation:.5}"),
            format!("{:.5}", 1.02 * best),
        ),
        ("lowest possible rate", format!("{best:.5}"), String::new()),
        ("above the lowest possible", format!("{over:.2} %"), "2 %".to_string()),
    ] {
        table.row(&[name.to_string(), value, bound]);
    }
    Ok(table)
}

/// Memory that the server has allocated, and its resident set.
struct Memory {
    used: u64,
    resident: u64,
}

impl Memory {
    /// Measured once closed connections have been freed.
    fn of(client: &mut Connection) -> Outcome<Self> {
        thread::sleep(Duration::from_millis(500));
        Ok(Self {
            used: info::number(client, "memory", "used_memory")?,
            resident: info::number(client, "memory", "used_memory_rss")?,
        })
    }
}

/// Performs every operation once on a throwaway filter, so that lazily allocated server memory is
/// not charged to the filter.
fn warm_up(socket: &Path, client: &mut Connection) -> Outcome<()> {
    bytes_at(client, 1000, STEPS / 2)?;
    let mut progress = Progress::start("warming up", 400);
    Traffic::batches("BF.MADD", KEY).send(socket, 0..400, &mut progress)?;
    progress.finish();
    count_found(socket, "warming up", 0..400)?;
    usage(client)?;
    Ok(command("DEL", &[KEY]).query(client)?)
}

/// Creates the filter with the lowest error rate that fits; returns the rate.
fn reserve(client: &mut Connection, urls: u64, bytes: f64) -> Outcome<f64> {
    let (mut too_small, mut enough) = (0, STEPS - 1);
    while too_small + 1 < enough {
        let middle = too_small.midpoint(enough);
        if bytes_at(client, urls, middle)? as f64 <= bytes {
            enough = middle;
        } else {
            too_small = middle;
        }
    }
    bytes_at(client, urls, enough)?;
    Ok(enough as f64 / STEPS as f64)
}

/// Creates the filter with an error rate of `steps` / STEPS; returns the size of its bits in bytes.
fn bytes_at(client: &mut Connection, urls: u64, steps: u64) -> Outcome<u64> {
    command("DEL", &[KEY]).query::<()>(client)?;
    let mut reserve = command("BF.RESERVE", &[KEY]);
    reserve.arg(steps as f64 / STEPS as f64).arg(urls);
    reserve.arg("NONSCALING").query::<()>(client)?;
    let full: HashMap<String, redis::Value> = command("BF.INFO", &[KEY, "FULL"]).query(client)?;
    let number = |name: &str| -> Outcome<f64> {
        let value = full.get(name).ok_or_else(|| format!("BF.INFO has no {name}"))?;
        Ok(redis::from_redis_value_ref(value)?)
    };
    Ok((number("Bits per item")? * number("Capacity")? / 8.0).round() as u64)
}

fn count_found(socket: &Path, label: &str, numbers: Range<u64>) -> Outcome<u64> {
    let mut progress = Progress::start(label, numbers.end - numbers.start);
    let found = Traffic::batches("BF.MEXISTS", KEY).send(socket, numbers, &mut progress)?;
    progress.finish();
    Ok(found)
}

/// The lowest false-positive rate of a standard Bloom filter: the minimum over k of
/// (1-e^(-k/bits))^k (Bloom 1970).
fn best_rate(bits_per_item: f64) -> f64 {
    let rate = |k: i32| (1.0 - (-f64::from(k) / bits_per_item).exp()).powi(k);
    (1..=64).map(rate).fold(1.0, f64::min)
}

fn usage(client: &mut Connection) -> Outcome<u64> {
    let usage = command("MEMORY", &["USAGE", KEY, "SAMPLES", "0"]);
    Ok(usage.query(client)?)
}
