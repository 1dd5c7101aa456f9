//! `splitbloom size`: how large a filter is, or how good.

use crate::error::{Error, Outcome};
use crate::parse;
use crate::report::{rounded, with_spaces};
use crate::sizing::{self, Forgetting, Row};
use clap::Args;
use splitbloom_filter::bloom::sizing::MAX_CAPACITY;
use std::io::{stdout, Write};

/// Computes memory, error rate or items of a filter from the other two
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  splitbloom size --items 1e6 --error 0.01
  splitbloom size --items 1e6 --error 0.01 --window 86400
  splitbloom size --memory 64mb --items 1e7     the error rate that fits
  splitbloom size --memory 64mb --error 0.001   the items that fit")]
pub struct Arguments {
    /// Items, such as 1000000 or 1e6
    #[arg(long, value_parser = items)]
    items: Option<u64>,
    /// The error rate: the share of absent items that are found by mistake
    #[arg(long, value_parser = parse::error_rate)]
    error: Option<f64>,
    /// The memory, such as 500kb, 64mb or 1gb (of 1024), or bytes
    #[arg(long, value_parser = bytes)]
    memory: Option<u64>,
    /// The items are those of so many seconds, after which a filter forgets them
    #[arg(long, value_name = "SECONDS")]
    window: Option<u32>,
    /// Slices of the window
    #[arg(long, requires = "window", value_name = "N", default_value_t = 8)]
    slices: u8,
}

impl Arguments {
    pub fn run(self) -> Result<Outcome, Error> {
        let text = match (self.items, self.error, self.memory) {
            (Some(items), Some(error), None) => self.of(items, error)?,
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
                head + &self.of(items, error)?
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
                head + &self.of(items, error)?
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

    fn forgetting(&self) -> Result<Option<Forgetting>, Error> {
        let Some(seconds) = self.window else {
            return Ok(None);
        };
        let window = Forgetting::new(seconds, self.slices);
        window.map(Some).ok_or_else(|| {
            Error::Usage("a window has 1 to 315360000 seconds and 2 to 14 slices".into())
        })
    }

    /// The kinds of filters, and the neighbours of the rate.
    fn of(&self, items: u64, error: f64) -> Result<String, Error> {
        let window = self.forgetting()?;
        let mut rows = sizing::rows(items, error);
        rows.extend(window.map(|window| sizing::forgetting(items, error, window)));
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
            let mut rows = sizing::rows(items, error);
            rows.extend(window.map(|window| sizing::forgetting(items, error, window)));
            let memory = |row: &Row| memory_in_words(row.bytes.unwrap_or(row.bits.div_ceil(8)));
            let cells = std::iter::once(rounded(error)).chain(rows.iter().map(memory));
            cells.collect::<Vec<_>>()
        });
        let neighbours = table(std::iter::once(heading.collect()).chain(neighbours));
        let items = with_spaces(&items.to_string());
        let error = rounded(error);
        Ok(format!(
            "{items} items at an error rate of {error}\n\n{kinds}\nmemory at other rates\n\n{neighbours}"
        ))
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

fn items(word: &str) -> Result<u64, String> {
    number(word, 1.0)
        .filter(|items| (1..=MAX_CAPACITY).contains(items))
        .ok_or_else(|| format!("not a number of items from 1 to {MAX_CAPACITY}"))
}

fn bytes(word: &str) -> Result<u64, String> {
    let word = word.to_ascii_lowercase();
    let units = [
        ("kb", 1u64 << 10),
        ("mb", 1 << 20),
        ("gb", 1 << 30),
        ("b", 1),
    ];
    let number = units.into_iter().find_map(|(name, unit)| {
        let digits = word.strip_suffix(name)?;
        number(digits, unit as f64)
    });
    let number = number.or_else(|| self::number(&word, 1.0));
    number
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| "not a number of bytes, such as 64mb".into())
}

/// A whole number, possibly written as 1e6 or with a fraction of the unit.
fn number(word: &str, unit: f64) -> Option<u64> {
    if unit == 1.0 {
        if let Ok(exact) = word.parse::<u64>() {
            return Some(exact);
        }
    }
    let number = word.parse::<f64>().ok()? * unit;
    (number.is_finite() && (0.0..=9e15).contains(&number)).then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_may_be_written_as_people_write_them() {
        assert_eq!(items("1e6"), Ok(1_000_000));
        assert_eq!(items("6000"), Ok(6_000));
        assert_eq!(bytes("64mb"), Ok(64 << 20));
        assert_eq!(bytes("1.5KB"), Ok(1_536));
        assert_eq!(bytes("100"), Ok(100));
        assert_eq!(bytes("100b"), Ok(100));
        for word in ["", "0", "-1", "x", "1e99", "nan", "inf"] {
            assert!(items(word).is_err() && bytes(word).is_err(), "{word}");
        }
    }

    #[test]
    fn memory_is_told_in_the_largest_unit_that_fits() {
        for (bytes, words) in [(80, "80 B"), (1_536, "1.5 KiB"), (64 << 20, "64 MiB")] {
            assert_eq!(memory_in_words(bytes), words);
        }
    }
}
