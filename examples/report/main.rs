//! Draws the plots and fills in the tables of the documents, from the measurements that `make bench` and `make bench-big` keep in
//! `docs/performance/*.tsv`. `make report` runs it: no number is typed by hand.

mod chart;
mod documents;
mod plots;
#[allow(dead_code)] // the benchmarks write tables as well
#[path = "../../benches/rig/table.rs"]
mod table;

pub type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    plots::draw_all()?;
    for document in ["README.md", "docs/performance.md", "docs/cluster.md"] {
        documents::fill_in(document)?;
    }
    Ok(())
}
