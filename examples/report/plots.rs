//! The plots, and the table columns they show.

use crate::chart::{Plot, Series};
use plotters::prelude::SeriesLabelPosition;
use splitbloom_rig::{Outcome, Table};

/// The server tables, with the name of the other module in each.
const SERVERS: [(&str, &str); 2] =
    [("server-redisbloom", "RedisBloom"), ("server-valkey-bloom", "valkey-bloom")];

/// Draws every plot of the documents.
///
/// # Errors
/// A table or one of its columns is missing.
pub fn draw_all() -> Outcome<()> {
    throughput("BF.MEXISTS", "lookups")?;
    throughput("BF.MADD", "adds")?;
    stalls()?;
    copied()?;
    memory()
}

/// Bits per item while a filter grows from the default settings; nothing if they were not measured.
fn memory() -> Outcome<()> {
    let Ok(table) = Table::load("memory-redisbloom") else {
        return Ok(());
    };
    let of = |name: &str, column: &str| -> Outcome<Series> {
        let (name, points) = (name.to_string(), points(&table, "items", column)?);
        Ok(Series { name, points })
    };
    let series = vec![of("splitbloom", "bits per item")?, of("RedisBloom", "peer, bits per item")?];
    let plot = Plot {
        file: "memory",
        title: "Memory of a filter that grows from the default settings",
        x: "items",
        y: "bits per item",
        legend: SeriesLabelPosition::LowerLeft,
    };
    plot.draw(&series)
}

/// The maximum latency of other clients against filter size, in the phases that should not delay
/// them.
fn stalls() -> Outcome<()> {
    let table = |module: &str| Table::load("stalls")?.only("module", module);
    let phase = |module: &str, phase: &str, name: &str| -> Outcome<Series> {
        Ok(Series {
            name: name.to_string(),
            points: points(&table(module)?.only("phase", phase)?, "items", "max latency, ms")?,
        })
    };
    let plot = Plot {
        file: "stalls",
        title: "Maximum latency of other clients",
        x: "capacity of the filter, items",
        y: "milliseconds",
        legend: SeriesLabelPosition::UpperLeft,
    };
    plot.draw(&[
        phase("splitbloom", "idle", "idle")?,
        phase("splitbloom", "UNLINK of the copy", "UNLINK")?,
        phase("splitbloom", "expiry", "expiry")?,
        phase("splitbloom", "SCANDUMP and LOADCHUNK", "LOADCHUNK")?,
        phase("splitbloom", "filling, first touches", "first touches")?,
        phase("redisbloom", "UNLINK", "UNLINK, RedisBloom")?,
    ])
}

/// Memory that a snapshot copies for each item added meanwhile.
fn copied() -> Outcome<()> {
    let of = |module: &str, filter: &str, name: &str| -> Outcome<Series> {
        let table = Table::load("cow")?.only("module", module)?.only("filter", filter)?;
        Ok(Series { name: name.to_string(), points: points(&table, "items", "KB copied per add")? })
    };
    let plot = Plot {
        file: "copied",
        title: "Memory copied during a snapshot, per add (200 000 adds)",
        x: "capacity of the filter, items",
        y: "kilobytes",
        legend: SeriesLabelPosition::UpperLeft,
    };
    plot.draw(&[
        of("splitbloom", "reserved", "splitbloom")?,
        of("redisbloom", "reserved", "RedisBloom")?,
    ])
}

/// Items per second against filter size: splitbloom and the baseline from the first table, each
/// peer from its own.
fn throughput(command: &str, file: &str) -> Outcome<()> {
    let column = |table: &str, name: &str, column: &str| -> Outcome<Series> {
        let table = Table::load(table)?.only("command", command)?;
        Ok(Series { name: name.to_string(), points: points(&table, "items", column)? })
    };
    let (first, _) = SERVERS[0];
    let mut series = vec![
        column(first, "SMISMEMBER (baseline)", "baseline, million/s")?,
        column(first, "splitbloom", "million items/s")?,
    ];
    for (table, name) in SERVERS {
        series.push(column(table, name, "peer, million/s")?);
    }
    let plot = Plot {
        file: &format!("throughput-{file}"),
        title: &format!("{command}, 100 items per command"),
        x: "capacity of the filter, items",
        y: "million items per second",
        legend: SeriesLabelPosition::LowerLeft,
    };
    plot.draw(&series)
}

/// Two columns of numbers.
fn points(table: &Table, x: &str, y: &str) -> Outcome<Vec<(f64, f64)>> {
    let (x, y) = (table.column(x)?, table.column(y)?);
    let numbers = |row: &Vec<String>| Some((row[x].parse().ok()?, row[y].parse().ok()?));
    Ok(table.rows().iter().filter_map(numbers).collect())
}
