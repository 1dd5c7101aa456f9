//! Asks a server how many bits an item takes (8 * MEMORY USAGE / items) and prints a table.
//!
//! `make bits` runs it: it needs SPLITBLOOM_SERVER and SPLITBLOOM_MODULE.

use redis::Connection;
use std::error::Error;

#[allow(dead_code)] // a part of it serves the benchmarks
#[path = "../benches/rig/server.rs"]
mod server;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Items sent in one command.
const BATCH: u64 = 1_000;
/// Commands sent in one go.
const PIPELINE: u64 = 50;

/// n * |ln e| / (ln 2)^2, the bits per item of an undivided filter of unlimited size.
fn undivided(error_rate: f64) -> f64 {
    -error_rate.ln() / std::f64::consts::LN_2.powi(2)
}

/// Adds the numbers below `items` and answers the bits each takes.
fn fill(connection: &mut Connection, key: &str, items: u64) -> Outcome<f64> {
    let mut next = 0;
    while next < items {
        let mut pipeline = redis::pipe();
        for _ in 0..PIPELINE {
            let end = (next + BATCH).min(items);
            if next < end {
                let command = pipeline.cmd("BF.MADD").arg(key);
                (next..end).for_each(|item| {
                    command.arg(item);
                });
                pipeline.ignore();
            }
            next = end;
        }
        pipeline.query::<()>(connection)?;
    }
    let bytes: u64 = redis::cmd("MEMORY")
        .arg(&["USAGE", key])
        .query(connection)?;
    redis::cmd("UNLINK").arg(key).query::<()>(connection)?;
    Ok(bytes as f64 * 8.0 / items as f64)
}

fn reserve(
    connection: &mut Connection,
    error_rate: f64,
    capacity: u64,
    rest: &[&str],
) -> Outcome<()> {
    let mut command = redis::cmd("BF.RESERVE");
    command
        .arg("filter")
        .arg(error_rate)
        .arg(capacity)
        .arg(rest);
    Ok(command.query::<()>(connection)?)
}

fn main() -> Outcome<()> {
    let mut server = server::Server::start(server::Setup::ours()?)?;
    let connection = &mut server.connect()?;
    println!("| filter | items | bits per item | n·abs(ln e)/(ln 2)^2 | over it |");
    println!("|---|---|---|---|---|");
    for error_rate in [0.1, 0.01, 0.001, 0.0001, 0.000_001] {
        reserve(connection, error_rate, 1_000_000, &["NONSCALING"])?;
        let (bits, least) = (
            fill(connection, "filter", 1_000_000)?,
            undivided(error_rate),
        );
        let over = (bits / least - 1.0) * 100.0;
        println!("| {error_rate}, NONSCALING | 1000000 | {bits:.2} | {least:.2} | {over:.1} % |");
    }
    let least = undivided(0.01);
    reserve(connection, 0.01, 1_000_000, &[])?;
    let bits = fill(connection, "filter", 1_000_000)?;
    println!("| 0.01, scaling, reserved at its size | 1000000 | {bits:.2} | {least:.2} | |");
    for items in [1_000_000, 10_000_000] {
        let bits = fill(connection, "filter", items)?;
        println!("| 0.01, grown from capacity 100 | {items} | {bits:.2} | {least:.2} | |");
    }
    reserve(connection, 0.01, 100, &[])?;
    let empty: u64 = redis::cmd("MEMORY")
        .arg(&["USAGE", "filter"])
        .query(connection)?;
    println!("\nAn empty filter of the default size takes {empty} bytes.");
    Ok(())
}
