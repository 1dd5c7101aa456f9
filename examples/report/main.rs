//! Draws the plots and fills in the tables and figures of the documents from the measurements in
//! `docs/performance/*.tsv`, which the benchmarks save. `make report` runs it, so that no figure is
//! typed by hand.

mod chart;
mod plots;

use splitbloom_rig::{documents, Outcome};

fn main() -> Outcome<()> {
    plots::draw_all()?;
    for document in documents::DOCUMENTS {
        documents::fill_in(document)?;
    }
    Ok(())
}
