//! The table, as Markdown.

use crate::trial::{Run, PHASES};

/// A row for each guard and phase.
pub fn table(runs: &[Run]) -> String {
    let mut table = String::from(
        "| in front of the database | phase | queries/s | of them in vain | cache, MiB \
         | p99, ms |\n\
         | --- | --- | --- | --- | --- | --- |\n",
    );
    for run in runs {
        for (phase, name) in PHASES.into_iter().enumerate() {
            let figures = run.figures(phase);
            table += &format!(
                "| {} | {name} | {:.0} | {:.1} | {:.1} | {:.1} |\n",
                run.guard.name(),
                figures.queries,
                figures.queries_in_vain,
                figures.memory as f64 / f64::from(1 << 20),
                figures.p99,
            );
        }
    }
    table
}

/// By how much the second run sends fewer queries for absent ids than the first, in a phase, as a
/// share of the first's.
pub fn saved(without: &Run, with: &Run, phase: usize) -> f64 {
    1.0 - with.figures(phase).queries_in_vain / without.figures(phase).queries_in_vain
}
