//! What the environment requests of a benchmark: which parts, sizes and rounds; and where its
//! tables go.
//!
//! | variable | meaning |
//! |---|---|
//! | `BENCH_PARTS` | set by `make bench PARTS=BENCHMARK/PART`, separated by spaces |
//! | `BENCH_SIZES` | items, separated by commas |
//! | `BENCH_ROUNDS` | rounds |
//! | `BENCH_SAVE` | `yes`: saves the tables of other sizes and rounds than the default ones, too |

use crate::server::Setup;
use crate::table::Table;
use crate::Outcome;
use std::collections::BTreeMap;
use std::env;
use std::str::FromStr;

#[derive(Default)]
pub struct Settings {
    /// Whether `BENCH_PARTS` names parts; otherwise the default parts run.
    pub are_parts_named: bool,
    /// Whether a number so far is another one than by default, so that tables are not saved.
    pub is_changed: bool,
    /// The tables by name, each with the number of its rows that have been shown.
    tables: BTreeMap<String, (Table, usize)>,
}

/// A part of a benchmark: its name, and what runs it.
pub type Part = (&'static str, fn(&mut Settings) -> Outcome<()>);

/// Runs the parts that `BENCH_PARTS` names; without any, the first `by_default` ones. The tables
/// are printed after each, and saved if all numbers are the default ones or `BENCH_SAVE` is `yes`.
///
/// # Errors
/// There is no such part: the message lists all.
pub fn run_parts(parts: &[Part], by_default: usize) -> Outcome<()> {
    let all: Vec<&str> = parts.iter().map(|(name, _)| *name).collect();
    let text = env::var("BENCH_PARTS").unwrap_or_default();
    let named: Vec<&str> = text.split_whitespace().collect();
    if let Some(part) = named.iter().find(|part| !all.contains(part)) {
        return Err(format!("no part {part}; there are {}", all.join(" ")).into());
    }
    let mut settings = Settings { are_parts_named: !named.is_empty(), ..Settings::default() };
    let named = if named.is_empty() { &all[..by_default] } else { &named };
    for (_, run) in parts.iter().filter(|(name, _)| named.contains(name)) {
        run(&mut settings)?;
        settings.show()?;
    }
    Ok(())
}

impl Settings {
    /// The sizes in `BENCH_SIZES`.
    pub fn sizes(&mut self, default: &[u64]) -> Outcome<Vec<u64>> {
        self.numbers("BENCH_SIZES", default)
    }

    /// The number in `BENCH_ROUNDS`, at least 1.
    pub fn rounds(&mut self, default: usize) -> Outcome<usize> {
        Ok(self.number("BENCH_ROUNDS", default)?.max(1))
    }

    /// The number in an environment variable.
    pub fn number<N: FromStr + Copy + PartialEq>(&mut self, name: &str, default: N) -> Outcome<N> {
        Ok(self.numbers(name, &[default])?[0])
    }

    /// The numbers in an environment variable, separated by commas.
    pub fn numbers<N>(&mut self, name: &str, default: &[N]) -> Outcome<Vec<N>>
    where
        N: FromStr + Copy + PartialEq,
    {
        let Some(text) = named(name) else {
            return Ok(default.to_vec());
        };
        let numbers: Result<Vec<N>, _> = text.split(',').map(|word| word.trim().parse()).collect();
        let numbers = numbers.map_err(|_| format!("{name}: {text} is no list of numbers"))?;
        self.is_changed |= numbers != default;
        Ok(numbers)
    }

    /// The table that is saved as `docs/performance/NAME.tsv`; an empty one at first.
    pub fn table(&mut self, name: &str) -> &mut Table {
        &mut self.tables.entry(name.to_string()).or_default().0
    }

    /// The table `NAME-PEER` if there is a peer, otherwise the table `NAME`.
    pub fn table_beside_peer(&mut self, name: &str) -> Outcome<&mut Table> {
        let peer = Setup::peer()?.map_or(String::new(), |peer| format!("-{}", peer.name));
        Ok(self.table(&format!("{name}{peer}")))
    }

    /// Prints the tables that have new rows, and saves them.
    fn show(&mut self) -> Outcome<()> {
        let is_saved = !self.is_changed || named("BENCH_SAVE").as_deref() == Some("yes");
        for (name, (table, shown)) in &mut self.tables {
            if table.rows().len() > *shown {
                *shown = table.rows().len();
                println!("\n{}", table.markdown());
                if is_saved {
                    table.save(name)?;
                }
            }
        }
        Ok(())
    }
}

/// An environment variable that is not empty.
pub fn named(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}
