//! The plots, and which columns of which tables they show.

use crate::chart::{Plot, Series};
use crate::table::Table;
use crate::Outcome;
use plotters::prelude::SeriesLabelPosition;

/// The tables of the servers measured, with the name of the other module in each.
const SERVERS: [(&str, &str); 2] = [
    ("server-redisbloom", "RedisBloom"),
    ("server-valkey-bloom", "valkey-bloom"),
];

/// Draws every plot of the documents.
///
/// # Errors
/// A table is missing, or has other columns than it should.
pub fn draw_all() -> Outcome<()> {
    throughput("BF.MEXISTS", "lookups")?;
    throughput("BF.MADD", "adds")?;
    stalls()?;
    copied()
}

/// The worst that a bystander saw, against the size of the filter, in the phases that should not be felt.
fn stalls() -> Outcome<()> {
    let table = |module: &str| Table::load("stalls")?.only("module", module);
    let phase = |module: &str, phase: &str, name: &str| -> Outcome<Series> {
        Ok(Series {
            name: name.to_string(),
            points: points(
                &table(module)?.only("phase", phase)?,
                "items",
                "worst stall, ms",
            )?,
        })
    };
    let plot = Plot {
        file: "stalls",
        title: "The worst wait of a bystander",
        x: "items the filter is made for",
        y: "milliseconds",
        legend: SeriesLabelPosition::UpperLeft,
    };
    plot.draw(&[
        phase("splitbloom", "idle", "nothing but the machine")?,
        phase("splitbloom", "UNLINK of the copy", "UNLINK")?,
        phase("splitbloom", "expiry", "expiry")?,
        phase("splitbloom", "SCANDUMP and LOADCHUNK", "LOADCHUNK")?,
        phase("splitbloom", "filling, first touches", "first touches")?,
        phase("redisbloom", "UNLINK", "UNLINK, RedisBloom")?,
    ])
}

/// What a snapshot copies for each item added meanwhile.
fn copied() -> Outcome<()> {
    let of = |module: &str, name: &str| -> Outcome<Series> {
        let table = Table::load("cow")?.only("module", module)?;
        Ok(Series {
            name: name.to_string(),
            points: points(&table, "items", "KB copied per add")?,
        })
    };
    let plot = Plot {
        file: "copied",
        title: "Copied during a snapshot, for each of 200 000 adds",
        x: "items the filter is made for",
        y: "kilobytes",
        legend: SeriesLabelPosition::UpperLeft,
    };
    plot.draw(&[
        of("splitbloom", "splitbloom")?,
        of("redisbloom", "RedisBloom")?,
    ])
}

/// Items a second against the size of the filter: ours and the floor from the first table, the others each from its own.
fn throughput(command: &str, file: &str) -> Outcome<()> {
    let column = |table: &str, name: &str, column: &str| -> Outcome<Series> {
        let table = Table::load(table)?.only("command", command)?;
        Ok(Series {
            name: name.to_string(),
            points: points(&table, "items", column)?,
        })
    };
    let (first, _) = SERVERS[0];
    let mut series = vec![
        column(first, "SMISMEMBER, the floor", "floor, million/s")?,
        column(first, "splitbloom", "million items/s")?,
    ];
    for (table, name) in SERVERS {
        series.push(column(table, name, "peer, million/s")?);
    }
    let plot = Plot {
        file: &format!("throughput-{file}"),
        title: &format!("{command}, 100 items a command"),
        x: "items the filter is made for",
        y: "million items a second",
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
