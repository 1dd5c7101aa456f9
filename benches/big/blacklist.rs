//! A blacklist: two thousand million URLs in 500 MiB of a server's memory.
//!
//! That is 2.1 bits for a URL. The best that any Bloom filter can do with them is to let one probe or two of an absent item meet a set bit with a
//! probability of 0.378: more than three in five requests for URLs that are not listed need no further look.

use crate::progress::Progress;
use crate::rig::info;
use crate::rig::server::{Server, Setup};
use crate::rig::table::Table;
use crate::rig::Outcome;
use crate::session::{command, socket_of, SOCKET};
use crate::traffic::Traffic;
use redis::Connection;
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// What two thousand million URLs may take; with fewer URLs it is as much less.
const BUDGET: f64 = 500.0 * 1024.0 * 1024.0 / 2e9;
/// The budget is for all that the server holds for the filter. The bits get what is left when the pointers to them are paid (0.037 %, see
/// src/filter/segments.rs) and a last segment that is not full, its leaf, the key, and what else comes and goes in the server.
const POINTERS: f64 = 0.000_4;
const CHANGE: f64 = 256.0 * 1024.0;
/// Absent URLs asked for: the standard error is 0.04 % of the rate.
const PROBES: u64 = 10_000_000;
/// URLs of the list asked for again: none may be missing.
const CHECKED: u64 = 1_000_000;
const KEY: &str = "urls";
/// Error rates are tried in steps of this, which is 0.03 % of the bits: they are to be written by people.
const STEPS: u64 = 10_000;

pub fn run(urls: u64) -> Outcome<Table> {
    let mut server = Server::start(Setup::ours()?.with("unixsocket", SOCKET))?;
    let mut client = server.connect()?;
    let socket = socket_of(&server);
    let budget = BUDGET * urls as f64;
    // A log of what a noisy machine held up would be counted as the filter's: 128 entries with 32 items each.
    command("CONFIG", &["SET", "slowlog-log-slower-than", "-1"]).query::<()>(&mut client)?;
    warm_up(&socket, &mut client)?;
    let before = Memory::of(&mut client)?;
    let error_rate = reserve(&mut client, urls, budget * (1.0 - POINTERS) - CHANGE)?;
    eprintln!("BF.RESERVE {KEY} {error_rate} {urls} NONSCALING");

    let mut progress = Progress::start("adding URLs", urls);
    let new = Traffic::of_many("BF.MADD", KEY).send(&socket, 0..urls, &mut progress)?;
    let seconds = progress.finish().as_secs_f64();
    let (usage, after) = (usage(&mut client)?, Memory::of(&mut client)?);

    let denied = CHECKED.min(urls) - ask(&socket, "asking for them", 0..CHECKED.min(urls))?;
    let mistaken = ask(&socket, "asking for others", urls..urls + PROBES)?;
    let rate = mistaken as f64 / PROBES as f64;
    let deviation = (rate * (1.0 - rate) / PROBES as f64).sqrt();
    let best = best_rate(budget * 8.0 / urls as f64);

    let speed = urls as f64 / seconds / 1e6;
    let (held, resident) = (
        after.used.saturating_sub(before.used),
        after.resident.saturating_sub(before.resident),
    );
    let over = 100.0 * (rate / best - 1.0);
    let mut table = Table::new(&["blacklist", "", "at most"]);
    for (name, value, bound) in [
        ("distinct URLs", urls.to_string(), String::new()),
        ("of them new to the filter", new.to_string(), String::new()),
        (
            "error rate asked for",
            error_rate.to_string(),
            String::new(),
        ),
        ("seconds", format!("{seconds:.1}"), String::new()),
        (
            "million URLs a second",
            format!("{speed:.2}"),
            String::new(),
        ),
        (
            "bytes by MEMORY USAGE",
            usage.to_string(),
            format!("{budget:.0}"),
        ),
        (
            "bytes by used_memory",
            held.to_string(),
            format!("{budget:.0}"),
        ),
        ("resident bytes", resident.to_string(), String::new()),
        (
            "URLs denied when asked for again",
            denied.to_string(),
            0.to_string(),
        ),
        (
            "false-positive rate",
            format!("{rate:.5} ± {deviation:.5}"),
            format!("{:.5}", 1.02 * best),
        ),
        (
            "the best for these bytes",
            format!("{best:.5}"),
            String::new(),
        ),
        ("over it", format!("{over:.2} %"), "2 %".to_string()),
    ] {
        table.row(&[name.to_string(), value, bound]);
    }
    Ok(table)
}

/// What the server holds, and what of it the machine has given it.
struct Memory {
    used: u64,
    resident: u64,
}

impl Memory {
    /// As soon as the connections that have ended are forgotten.
    fn of(client: &mut Connection) -> Outcome<Self> {
        thread::sleep(Duration::from_millis(500));
        Ok(Self {
            used: info::number(client, "memory", "used_memory")?,
            resident: info::number(client, "memory", "used_memory_rss")?,
        })
    }
}

/// Has the server do once all that will be done, with another key: what it then keeps for itself is not the filter's.
fn warm_up(socket: &Path, client: &mut Connection) -> Outcome<()> {
    bytes_at(client, 1000, STEPS / 2)?;
    let mut progress = Progress::start("warming up", 400);
    Traffic::of_many("BF.MADD", KEY).send(socket, 0..400, &mut progress)?;
    progress.finish();
    ask(socket, "warming up", 0..400)?;
    usage(client)?;
    Ok(command("DEL", &[KEY]).query(client)?)
}

/// Makes the filter of the smallest error rate whose bits fit; answers that.
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

/// Makes the filter of so many steps of error rate; answers the bytes that its bits will take.
fn bytes_at(client: &mut Connection, urls: u64, steps: u64) -> Outcome<u64> {
    command("DEL", &[KEY]).query::<()>(client)?;
    let mut reserve = command("BF.RESERVE", &[KEY]);
    reserve.arg(steps as f64 / STEPS as f64).arg(urls);
    reserve.arg("NONSCALING").query::<()>(client)?;
    let full: HashMap<String, redis::Value> = command("BF.INFO", &[KEY, "FULL"]).query(client)?;
    let number = |name: &str| -> Outcome<f64> {
        let value = full
            .get(name)
            .ok_or_else(|| format!("BF.INFO has no {name}"))?;
        Ok(redis::from_redis_value_ref(value)?)
    };
    Ok((number("Bits per item")? * number("Capacity")? / 8.0).round() as u64)
}

fn ask(socket: &Path, label: &str, numbers: Range<u64>) -> Outcome<u64> {
    let mut progress = Progress::start(label, numbers.end - numbers.start);
    let found = Traffic::of_many("BF.MEXISTS", KEY).send(socket, numbers, &mut progress)?;
    progress.finish();
    Ok(found)
}

/// The smallest false-positive rate of an undivided Bloom filter with so many bits an item: the least (1 - e^(-k/bits))^k (Bloom 1970).
fn best_rate(bits: f64) -> f64 {
    let rate = |k: i32| (1.0 - (-f64::from(k) / bits).exp()).powi(k);
    (1..=64).map(rate).fold(1.0, f64::min)
}

fn usage(client: &mut Connection) -> Outcome<u64> {
    let usage = command("MEMORY", &["USAGE", KEY, "SAMPLES", "0"]);
    Ok(usage.query(client)?)
}
