//! `splitbloom size`: how large a filter is, or how good.

use crate::error::{Error, Outcome};
use crate::parse;
use crate::report::{rounded, with_spaces};
use crate::sizing::{self, Row};
use clap::Args;
use splitbloom_filter::Window;
use std::io::{stdout, Write};

/// Computes memory, error rate or items of a filter from the other two
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  splitbloom size --items 1e6 --error 0.01
  splitbloom size --items 1M --error 1% --window 7d
  splitbloom size --memory 64mb --items 1e7     the error rate that fits
  splitbloom size --memory 64mb --error 0.001   the items that fit")]
pub struct Arguments {
    /// Items, such as 5000, 1e6 or 1M
    #[arg(long, value_name = "N", value_parser = parse::items)]
    items: Option<u64>,
    /// The error rate: the share of absent items that are found by mistake
    #[arg(long, value_name = "RATE", value_parser = parse::error_rate)]
    error: Option<f64>,
    /// The memory: bytes, 64MiB = 64MB (of 1024) or 64M (of 1000), and so with K, G and T
    #[arg(long, value_name = "BYTES", value_parser = parse::bytes)]
    memory: Option<u64>,
    /// The items are those of a time such as 3600, 12h or 7d, after which a filter forgets them
    #[arg(long, value_name = "TIME", value_parser = parse::seconds)]
    window: Option<u32>,
    /// Slices of the window
    #[arg(long, requires = "window", value_name = "N", default_value_t = 8)]
    #[arg(value_parser = parse::slices)]
    slices: u8,
}

impl Arguments {
    pub fn run(self) -> Result<Outcome, Error> {
        let text = match (self.items, self.error, self.memory) {
            (Some(items), Some(error), None) => self.of(items, error),
            (Some(items), None, Some(memory)) if self.window.is_none() => {
                let error = sizing::error_within(memory, items).ok_or_else(|| {
                    Error::Usage("so many items do not fit, whatever the error rate".into())
                })?;
                let head = format!(
                    "{} items in {} have an error rate of {} at best\n\n",
                    with_spaces(&items.to_string()),
                    memory_in_words(memory),
                    rounded(error)
                );
                head + &self.of(items, error)
            }
            (None, Some(error), Some(memory)) if self.window.is_none() => {
                let items = sizing::items_within(memory, error)
                    .ok_or_else(|| Error::Usage("not even one item fits".into()))?;
                let head = format!(
                    "{} take {} items at an error rate of {} at most\n\n",
                    memory_in_words(memory),
                    with_spaces(&items.to_string()),
                    rounded(error)
                );
                head + &self.of(items, error)
            }
            _ => {
                return Err(Error::Usage(
                    "give two of --items, --error and --memory; --window with the first two".into(),
                ))
            }
        };
        stdout().write_all(text.as_bytes())?;
        Ok(Outcome::Done)
    }

    fn rows(&self, items: u64, error: f64) -> Vec<Row> {
        // Whatever the arguments may be is in range.
        let window = self.window.and_then(|seconds| Window::new(seconds, self.slices, false));
        let mut rows = sizing::rows(items, error);
        rows.extend(window.map(|window| sizing::forgetting(items, error, window)));
        rows
    }

    /// The kinds of filters, and the neighbours of the rate.
    fn of(&self, items: u64, error: f64) -> String {
        let rows = self.rows(items, error);
        let heading = ["", "bits", "per item", "probes", "memory"].map(String::from);
        let kinds = rows.iter().map(|row| {
            [
                row.name.to_string(),
                with_spaces(&row.bits.to_string()),
                rounded(row.bits as f64 / items as f64),
                row.probes.map_or("-".into(), |probes| probes.to_string()),
                row.bytes.map_or("-".into(), memory_in_words),
            ]
        });
        let kinds = table(std::iter::once(heading).chain(kinds));

        let heading = std::iter::once("error rate".to_string());
        let heading = heading.chain(rows.iter().map(|row| row.name.to_string()));
        let neighbours = sizing::neighbours(error).map(|error| {
            let rows = self.rows(items, error);
            let memory = |row: &Row| memory_in_words(row.bytes.unwrap_or(row.bits.div_ceil(8)));
            let cells = std::iter::once(rounded(error)).chain(rows.iter().map(memory));
            cells.collect::<Vec<_>>()
        });
        let neighbours = table(std::iter::once(heading.collect()).chain(neighbours));
        let items = with_spaces(&items.to_string());
        let error = rounded(error);
        format!(
            "{items} items at an error rate of {error}\n\n{kinds}\nmemory at other \
             rates\n\n{neighbours}"
        )
    }
}

/// Columns as wide as they must be: the first to the left, the others to the right.
fn table<R: AsRef<[String]>>(rows: impl Iterator<Item = R>) -> String {
    let rows: Vec<R> = rows.collect();
    let columns = rows.first().map_or(0, |row| row.as_ref().len());
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row.as_ref()[column].chars().count());
        cells.max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.as_ref().iter().zip(&widths).enumerate() {
            line += &match column {
                0 => format!("{cell:width$}"),
                _ => format!("  {cell:>width$}"),
            };
        }
        text += line.trim_end();
        text += "\n";
    }
    text
}

/// Bytes as people read them.
fn memory_in_words(bytes: u64) -> String {
    let units = [("GiB", 1u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match units.into_iter().find(|(_, unit)| bytes >= *unit) {
        Some((name, unit)) => format!("{} {name}", rounded(bytes as f64 / unit as f64)),
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_told_in_the_largest_unit_that_fits() {
        for (bytes, words) in [(80, "80 B"), (1_536, "1.5 KiB"), (64 << 20, "64 MiB")] {
            assert_eq!(memory_in_words(bytes), words);
        }
    }
}
