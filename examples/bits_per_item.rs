//! Prints bits per item as the server counts them (8 * MEMORY USAGE / items), and bytes per key
//! with a small filter. The second table also has another module where PEER is set, on PEER_SERVER
//! or the same server.
//!
//! Run with `make bench PARTS=bits`, which sets SPLITBLOOM_SERVER and SPLITBLOOM_MODULE.

use redis::Connection;
use splitbloom_rig::{Outcome, Server, Setup};

/// Items per command.
const BATCH: u64 = 1_000;
/// Commands per round trip.
const PIPELINE: u64 = 50;

const ADD: &str = "BF.MADD filter";
/// Tables to measure, each with its reservation and the command that adds items: counting filters,
/// and a window of which no slice ends meanwhile.
const TABLES: [(&str, &str, &str); 4] = [
    ("CF.RESERVE", "", "CF.INSERT filter ITEMS"),
    ("CF.RESERVE", "EXPANSION 0", "CF.INSERT filter ITEMS"),
    ("BF.RESERVE", "WINDOW 86400 SLICES 6", ADD),
    ("BF.RESERVE", "WINDOW 86400 SLICES 6 NONSCALING", ADD),
];

/// n * |ln e| / (ln 2)^2, the bits per item of a standard Bloom filter of unlimited size.
fn standard(error_rate: f64) -> f64 {
    -error_rate.ln() / std::f64::consts::LN_2.powi(2)
}

/// Adds the numbers below `items` to `filter` with the command `add` and returns the bits per item.
fn fill(connection: &mut Connection, add: &str, items: u64) -> Outcome<f64> {
    let mut next = 0;
    while next < items {
        let mut pipeline = redis::pipe();
        for _ in 0..PIPELINE {
            let end = (next + BATCH).min(items);
            if next < end {
                let mut words = add.split_whitespace();
                let command = pipeline.cmd(words.next().unwrap_or_default());
                words.for_each(|word| {
                    command.arg(word);
                });
                (next..end).for_each(|item| {
                    command.arg(item);
                });
                pipeline.ignore();
            }
            next = end;
        }
        pipeline.query::<()>(connection)?;
    }
    let bytes: u64 = redis::cmd("MEMORY").arg(&["USAGE", "filter"]).query(connection)?;
    redis::cmd("UNLINK").arg("filter").query::<()>(connection)?;
    Ok(bytes as f64 * 8.0 / items as f64)
}

fn reserve(
    connection: &mut Connection,
    error_rate: f64,
    capacity: u64,
    rest: &[&str],
) -> Outcome<()> {
    let mut command = redis::cmd("BF.RESERVE");
    command.arg("filter").arg(error_rate).arg(capacity).arg(rest);
    Ok(command.query::<()>(connection)?)
}

/// Keys over which the bytes of one are averaged.
const KEYS: u64 = 1_000;
/// Small filters: options of BF.INSERT, and items.
const SMALL: [(&str, u64); 6] =
    [("", 1), ("", 10), ("", 100), ("", 1_000), ("CAPACITY 10", 1), ("CAPACITY 10", 10)];

fn used_memory(connection: &mut Connection) -> Outcome<f64> {
    let info: redis::InfoDict = redis::cmd("INFO").arg("memory").query(connection)?;
    info.get("used_memory").ok_or_else(|| "no used_memory".into())
}

/// The bytes by which `used_memory` grows with each key.
fn bytes_a_key(connection: &mut Connection, options: &str, items: u64) -> Outcome<f64> {
    redis::cmd("FLUSHALL").query::<()>(connection)?;
    let before = used_memory(connection)?;
    for key in 0..KEYS {
        let mut command = redis::cmd("BF.INSERT");
        command.arg(format!("filter:{key:06}"));
        options.split_whitespace().for_each(|word| {
            command.arg(word);
        });
        command.arg("ITEMS");
        (0..items).for_each(|item| {
            command.arg(format!("item:{item}"));
        });
        command.query::<()>(connection)?;
    }
    Ok((used_memory(connection)? - before) / KEYS as f64)
}

/// Prints what small filters cost, on this module and on the one to compare with.
fn small_filters() -> Outcome<()> {
    // The server would keep a histogram of each command's times, and the words of slow ones.
    let quiet = |setup: Setup| {
        let setup = setup.with("latency-tracking", "no");
        setup.with("slowlog-log-slower-than", "-1")
    };
    let server = Server::start(quiet(Setup::ours()));
    let peer = Setup::peer()?.map(|setup| Server::start(quiet(setup)));
    println!("\n| filter | items | bytes a key | peer | over the peer |");
    println!("|---|---|---|---|---|");
    for (options, items) in SMALL {
        let ours = bytes_a_key(&mut server.connect()?, options, items)?;
        let peers = match &peer {
            Some(peer) => {
                let bytes = bytes_a_key(&mut peer.connect()?, options, items)?;
                format!("{bytes:.0} | {:.2}", ours / bytes)
            }
            None => String::from("| "),
        };
        let options = if options.is_empty() { "default" } else { options };
        println!("| {options} | {items} | {ours:.0} | {peers} |");
    }
    Ok(())
}

/// Prints what tables of their reserved size cost.
fn tables(connection: &mut Connection) -> Outcome<()> {
    println!("\n| reserved with | items | bits per item |");
    println!("|---|---|---|");
    for (reserve, options, add) in TABLES {
        for items in [10_000, 100_000, 1_000_000, 10_000_000] {
            let mut command = redis::cmd(reserve);
            command.arg("filter");
            if reserve.starts_with("BF") {
                command.arg(0.01);
            }
            command.arg(items).arg(options.split_whitespace().collect::<Vec<_>>());
            command.query::<()>(connection)?;
            let bits = fill(connection, add, items)?;
            println!("| {reserve} {options} | {items} | {bits:.2} |");
        }
    }
    Ok(())
}

fn main() -> Outcome<()> {
    let server = Server::start(Setup::ours());
    let connection = &mut server.connect()?;
    println!("| filter | items | bits per item | n·abs(ln e)/(ln 2)^2 | overhead |");
    println!("|---|---|---|---|---|");
    for error_rate in [0.1, 0.01, 0.001, 0.0001, 0.000_001] {
        reserve(connection, error_rate, 1_000_000, &["NONSCALING"])?;
        let (bits, optimum) = (fill(connection, ADD, 1_000_000)?, standard(error_rate));
        let overhead = (bits / optimum - 1.0) * 100.0;
        println!(
            "| {error_rate}, NONSCALING | 1000000 | {bits:.2} | {optimum:.2} | {overhead:.1} % |"
        );
    }
    let optimum = standard(0.01);
    reserve(connection, 0.01, 1_000_000, &[])?;
    let bits = fill(connection, ADD, 1_000_000)?;
    println!("| 0.01, scaling, reserved for all items | 1000000 | {bits:.2} | {optimum:.2} | |");
    for items in [1_000_000, 10_000_000] {
        let bits = fill(connection, ADD, items)?;
        println!("| 0.01, grown from a capacity of 100 | {items} | {bits:.2} | {optimum:.2} | |");
    }
    tables(connection)?;
    reserve(connection, 0.01, 100, &[])?;
    let empty: u64 = redis::cmd("MEMORY").arg(&["USAGE", "filter"]).query(connection)?;
    println!("\nAn empty filter of the default size takes {empty} bytes.");
    small_filters()
}
