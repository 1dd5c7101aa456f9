//! `splitbloom size`: how large a filter is, or how good.

use crate::error::{Error, Outcome};
use crate::parse;
use crate::report::{rounded, with_spaces};
use crate::sizing::{self, Row};
use clap::Args;
use splitbloom_filter::Window;
use std::io::{stdout, Write};
use std::iter::once;

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
        let usage = |text: &str| Error::Usage(text.into());
        let (items, error) = match (self.items, self.error, self.memory) {
            (Some(items), Some(error), None) => (items, error),
            (Some(items), None, Some(memory)) if self.window.is_none() => {
                let error = sizing::error_within(memory, items)
                    .ok_or_else(|| usage("so many items do not fit, whatever the error rate"))?;
                (items, error)
            }
            (None, Some(error), Some(memory)) if self.window.is_none() => {
                let items = sizing::items_within(memory, error);
                (items.ok_or_else(|| usage("not even one item fits"))?, error)
            }
            _ => {
                let text = "give two of --items, --error and --memory; --window with the first two";
                return Err(usage(text));
            }
        };
        let text = self.answer(&with_spaces(items), &rounded(error)) + &self.of(items, error);
        stdout().write_all(text.as_bytes())?;
        Ok(Outcome::Done)
    }

    /// What fits in the memory, if that is the question.
    fn answer(&self, items: &str, error: &str) -> String {
        match self.memory.map(memory_in_words) {
            None => String::new(),
            Some(memory) if self.error.is_none() => {
                format!("{items} items in {memory} have an error rate of {error} at best\n\n")
            }
            Some(memory) => {
                format!("{memory} take {items} items at an error rate of {error} at most\n\n")
            }
        }
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
        let mut kinds = vec![["", "bits", "per item", "probes", "memory"].map(String::from).into()];
        kinds.extend(rows.iter().map(|row| {
            vec![
                row.name.to_string(),
                with_spaces(row.bits),
                rounded(row.bits as f64 / items as f64),
                row.probes.map_or("-".into(), |probes| probes.to_string()),
                row.bytes.map_or("-".into(), memory_in_words),
            ]
        }));
        let names = rows.iter().map(|row| row.name.to_string());
        let mut neighbours = vec![once("error rate".to_string()).chain(names).collect()];
        neighbours.extend(sizing::neighbours(error).map(|error| {
            let rows = self.rows(items, error);
            let memory = |row: &Row| memory_in_words(row.bytes.unwrap_or(row.bits.div_ceil(8)));
            once(rounded(error)).chain(rows.iter().map(memory)).collect()
        }));
        let (items, error) = (with_spaces(items), rounded(error));
        let (kinds, neighbours) = (table(&kinds), table(&neighbours));
        format!(
            "{items} items at an error rate of {error}\n\n{kinds}\nmemory at other \
             rates\n\n{neighbours}"
        )
    }
}

/// Columns as wide as they must be: the first to the left, the others to the right.
fn table(rows: &[Vec<String>]) -> String {
    let mut lines = vec![String::new(); rows.len()];
    for column in 0..rows[0].len() {
        let width = rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
        for (line, row) in lines.iter_mut().zip(rows) {
            let cell = &row[column];
            *line += &match column {
                0 => format!("{cell:width$}"),
                _ => format!("  {cell:>width$}"),
            };
        }
    }
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
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
