//! The tables: times and false-positive rates.

use crate::case::Case;
use crate::contenders::{NAMES, SPLITBLOOM, STANDARD};
use crate::rounds::Measurements;
use splitbloom_rig::statistics::{median, median_ratio};
use splitbloom_rig::table::Table;
use splitbloom_rig::Outcome;
use std::fmt;

pub struct Report {
    times: Table,
    rates: Table,
}

impl Report {
    pub fn new() -> Self {
        let table = |left: &[&'static str], right: &[&'static str]| {
            Table::new(&[left, &NAMES, right].concat())
        };
        Self {
            times: table(&["MB", "error rate", "operation", "mode"], &["standard / splitbloom"]),
            rates: table(&["MB", "error rate", "bits per item"], &[]),
        }
    }

    pub fn add(&mut self, case: &Case, measured: &Measurements) {
        let head = [case.megabytes.to_string(), case.error_rate.to_string()];
        for (task, times) in &measured.tasks {
            let mut cells = head.to_vec();
            cells.extend([task.operation.to_string(), task.mode.to_string()]);
            cells.extend(times.iter().map(|rounds| nanoseconds(rounds)));
            let ratio = median_ratio(&times[STANDARD], &times[SPLITBLOOM]);
            cells.push(format!("{ratio:.2}"));
            self.times.row(&cells);
        }
        let mut cells = head.to_vec();
        cells.push(format!("{:.2}", case.bits_per_item()));
        cells.extend(measured.rates.iter().map(|rate| format!("{rate:.2e}")));
        self.rates.row(&cells);
    }

    /// Saves the times and the rates for the documents.
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
        writeln!(f, "False-positive rates\n\n{}", self.rates.markdown())
    }
}
