//! The tables: times, false-positive rates, and whether the targets are met.

use crate::case::Case;
use crate::contenders::{NAMES, SPLITBLOOM, UNDIVIDED};
use crate::mode::Mode;
use crate::rig::statistics::{median, median_ratio};
use crate::rig::table::Table;
use crate::rig::Outcome;
use crate::rounds::Measurements;
use crate::task::{Operation, Task};
use std::fmt;

/// What is to hold at 256 MB and 1 %: how many times as fast as the undivided filter, at least.
const TARGETS: [(Operation, Mode, f64); 6] = [
    (Operation::Lookup, Mode::Batch, 3.5),
    (Operation::Insert, Mode::Batch, 3.5),
    (Operation::Lookup, Mode::Independent, 1.3),
    (Operation::Insert, Mode::Independent, 1.3),
    (Operation::Lookup, Mode::Dependent, 1.3),
    (Operation::Insert, Mode::Dependent, 1.3),
];
const TARGET_MEGABYTES: u64 = 256;
const TARGET_ERROR_RATE: f64 = 0.01;

pub struct Report {
    times: Table,
    rates: Table,
    targets: Table,
}

impl Report {
    pub fn new() -> Self {
        let titles = |before: &[&'static str], after: &[&'static str]| {
            Table::new(&[before, &NAMES, after].concat())
        };
        Self {
            times: titles(
                &["MB", "error rate", "operation", "mode"],
                &["undivided / splitbloom"],
            ),
            rates: titles(&["MB", "error rate", "bits per item"], &[]),
            targets: Table::new(&["operation", "mode", "at least", "measured", "met"]),
        }
    }

    pub fn add(&mut self, case: &Case, measured: &Measurements) {
        let head = [case.megabytes.to_string(), case.error_rate.to_string()];
        for (task, times) in &measured.tasks {
            let mut cells = head.to_vec();
            cells.extend([task.operation.to_string(), task.mode.to_string()]);
            cells.extend(times.iter().map(|rounds| nanoseconds(rounds)));
            let ratio = median_ratio(&times[UNDIVIDED], &times[SPLITBLOOM]);
            cells.push(format!("{ratio:.2}"));
            self.times.row(&cells);
            if case.megabytes == TARGET_MEGABYTES && case.error_rate == TARGET_ERROR_RATE {
                self.compare(*task, ratio);
            }
        }
        let mut cells = head.to_vec();
        cells.push(format!("{:.2}", case.bits_per_item()));
        cells.extend(measured.rates.iter().map(|rate| format!("{rate:.2e}")));
        self.rates.row(&cells);
    }

    fn compare(&mut self, task: Task, ratio: f64) {
        let is_this =
            |(operation, mode, _): &&(_, _, _)| (*operation, *mode) == (task.operation, task.mode);
        if let Some((operation, mode, least)) = TARGETS.iter().find(is_this) {
            let met = if ratio >= *least { "yes" } else { "no" };
            self.targets.row(&[
                operation.to_string(),
                mode.to_string(),
                least.to_string(),
                format!("{ratio:.2}"),
                met.to_string(),
            ]);
        }
    }

    /// Keeps the times and the rates for the documents.
    pub fn save(&self) -> Outcome<()> {
        self.times.save("core")?;
        self.rates.save("core-false-positives")
    }
}

/// The median, or a dash where nothing was measured.
fn nanoseconds(rounds: &[f64]) -> String {
    match rounds {
        [] => "–".to_string(),
        rounds => format!("{:.1}", median(rounds)),
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Nanoseconds per item\n\n{}", self.times.markdown())?;
        writeln!(f, "False-positive rates\n\n{}", self.rates.markdown())?;
        if !self.targets.rows().is_empty() {
            let case = format!("{TARGET_MEGABYTES} MB and {TARGET_ERROR_RATE}");
            let targets = self.targets.markdown();
            writeln!(f, "undivided / splitbloom at {case}\n\n{targets}")?;
        }
        Ok(())
    }
}
