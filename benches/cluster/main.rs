//! One filter over many nodes: its speed beside one node, the failures it survives, and the latency
//! of other clients while a slot moves.
//!
//! `make bench PARTS=cluster` runs it, on clusters of processes on loopback; `PARTS=cluster/trial`
//! and `cluster/moves` its halves.
//!
//! | variable | default | meaning |
//! |---|---|---|
//! | `ITEMS` | 10000000 | items added in each row of the first table |
//!
//! Tables are saved to docs/performance only with the default number of items.

mod moves;
mod probe;
mod trials;

use splitbloom_rig::parts::Parts;
use splitbloom_rig::table::Table;
use splitbloom_rig::Outcome;
use std::env;

const ITEMS: u64 = 10_000_000;
const PARTS: [&str; 2] = ["trial", "moves"];

fn main() -> Outcome<()> {
    let named = |name| env::var(name).ok().filter(|value| !value.is_empty());
    let items: u64 = named("ITEMS").map_or(Ok(ITEMS), |text| text.parse())?;
    let parts = Parts::named(&PARTS, &PARTS)?;
    let is_default = items == ITEMS;
    if parts.contain("trial") {
        show("cluster", &trials::all(items)?, is_default)?;
    }
    if parts.contain("moves") {
        show("slots", &moves::all()?, is_default)?;
    }
    Ok(())
}

fn show(name: &str, table: &Table, is_saved: bool) -> Outcome<()> {
    println!("\n{}", table.markdown());
    if is_saved {
        table.save(name)?;
    }
    Ok(())
}
