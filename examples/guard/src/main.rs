//! Shows what a filter in front of a database does under attack; `make demo-guard` runs it.
//!
//! Starts its own PostgreSQL and Redis (`SPLITBLOOM_SERVER`, `SPLITBLOOM_MODULE`), prints a table
//! and draws a plot into the file that is its argument.

use splitbloom_guard::load::Rates;
use splitbloom_guard::trial::{run, Guard, Size};
use splitbloom_guard::{plot, report, Outcome};
use std::path::PathBuf;
use std::time::Duration;

const SIZE: Size = Size {
    products: 1_000_000,
    rates: Rates { customers: 1_500, old_links: 150, attackers: 3_000 },
    phase: Duration::from_secs(10),
    step: Duration::from_millis(500),
};
/// What a filter of 1 % must save.
const SAVED: f64 = 0.95;

#[tokio::main]
async fn main() -> Outcome<()> {
    let file = std::env::args_os().nth(1).map(PathBuf::from);
    let file = file.ok_or("usage: guard PLOT.svg")?;
    let Rates { customers, old_links, attackers } = SIZE.rates;
    println!(
        "{} products; {customers} requests a second for products, {old_links} for old links, and \
         {attackers} for made-up ids in the attack",
        SIZE.products
    );
    let mut runs = Vec::new();
    for guard in Guard::ALL {
        runs.push(run(guard, SIZE).await?);
    }
    println!("\n{}", report::table(&runs));
    plot::draw(&runs, &file)?;
    let saved = report::saved(&runs[0], &runs[2], 1);
    println!("queries for absent ids in the attack, with the filter: {:.2} % fewer", saved * 100.0);
    println!("plot: {}", file.display());
    let wrong: u64 = runs.iter().map(|run| run.wrong).sum();
    match (wrong, saved >= SAVED) {
        (0, true) => Ok(()),
        (0, false) => Err("the filter saves too little".into()),
        _ => Err(format!("{wrong} requests got a wrong answer").into()),
    }
}
