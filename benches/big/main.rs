//! The effect of a very large filter on other clients: their latency while a filter of 10^9 items
//! is created, filled, grown, copied, saved, transferred, loaded and deleted; the memory a snapshot
//! copies while items are added; and two billion URLs in 500 MiB.
//!
//! `make bench PARTS=big` runs it, that is `PARTS="big/stalls big/growth big/blacklist"`; there are
//! also `big/transfer` and `big/shrink`. Environment variables:
//!
//! | variable | default | meaning |
//! |---|---|---|
//! | `ITEMS` | 1000000000 | items of the largest filter; also a tenth and a hundredth of it |
//! | `BENCH_SIZES` | | sizes to run instead, separated by commas |
//! | `BIG_FILL` | full | `sparse`: just enough items to touch all pages |
//! | `BIG_URLS` | 2000000000 | URLs of the blacklist; its memory budget scales with them |
//! | `BENCH_SAVE` | | `yes`: save the tables of such a run too |
//! | `PEER`, `PEER_SERVER` | | another module, run through the phases that it supports |
//!
//! Tables are saved to docs/performance with the default parts and sizes, or with `BENCH_SAVE`.

mod blacklist;
mod machine;
mod phases;
mod probe;
mod session;
mod shrink;
mod snapshot;
mod traffic;
mod transfer;

use phases::Fill;
use session::{stalls_table, Session};
use splitbloom_rig::parts::Parts;
use splitbloom_rig::server::Setup;
use splitbloom_rig::table::Table;
use splitbloom_rig::Outcome;
use std::env;

const ITEMS: u64 = 1_000_000_000;
const URLS: u64 = 2_000_000_000;
/// Fractions of the largest filter's items that filters grow to from the default settings; a peer
/// only to the smaller one, which takes it half a minute.
const GROWN: [u64; 2] = [100, 10];

const DEFAULT_PARTS: [&str; 3] = ["stalls", "growth", "blacklist"];
const PARTS: [&str; 5] = ["stalls", "growth", "blacklist", "transfer", "shrink"];

fn main() -> Outcome<()> {
    let items = number("ITEMS", ITEMS)?;
    let urls = number("BIG_URLS", URLS)?;
    let sizes = match named("BENCH_SIZES") {
        Some(text) => text.split(',').map(str::parse).collect::<Result<_, _>>()?,
        None => vec![items / 100, items / 10, items],
    };
    let fill = match env::var("BIG_FILL").as_deref() {
        Ok("sparse") => Fill::Sparse,
        Ok("full") | Err(_) => Fill::Full,
        Ok(other) => return Err(format!("BIG_FILL must be full or sparse, not {other}").into()),
    };
    let parts = Parts::named(&PARTS, &DEFAULT_PARTS)?;
    let is_default = (items, urls, fill) == (ITEMS, URLS, Fill::Full)
        && ["BENCH_SIZES", "BENCH_PARTS"].iter().all(|name| named(name).is_none());
    let is_saved = is_default || env::var("BENCH_SAVE").is_ok_and(|answer| answer == "yes");

    let mut stalls = stalls_table();
    let mut transfers = stalls_table();
    let mut copied = snapshot::table();
    if parts.contain("stalls") {
        for items in &sizes {
            let mut session = Session::start("splitbloom", Setup::ours()?, *items, &mut stalls)?;
            phases::all(&mut session, fill, &mut copied)?;
        }
    }
    if parts.contain("transfer") {
        for items in &sizes {
            let ours = Setup::ours()?;
            let mut session = Session::start("splitbloom", ours, *items, &mut transfers)?;
            phases::transfer_alone(&mut session)?;
        }
    }
    if parts.contain("growth") {
        for fraction in GROWN {
            let (ours, items) = (Setup::ours()?, items / fraction);
            let mut session = Session::start("splitbloom", ours, items, &mut stalls)?;
            phases::growth(&mut session, &mut copied)?;
        }
    }
    if let Some(setup) = Setup::peer()? {
        let name = setup.module.file_stem().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        if parts.contain("stalls") {
            for items in &sizes {
                let mut session = Session::start(&name, setup.clone(), *items, &mut stalls)?;
                phases::of_peer(&mut session, &mut copied)?;
            }
        }
        if parts.contain("transfer") {
            for items in &sizes {
                let setup = setup.clone();
                let mut session = Session::start(&name, setup, *items, &mut transfers)?;
                phases::transfer_alone(&mut session)?;
            }
        }
        if parts.contain("growth") {
            let items = items / GROWN[0];
            let mut session = Session::start(&name, setup, items, &mut stalls)?;
            phases::growth(&mut session, &mut copied)?;
        }
    }
    let mut shrunk = shrink::table();
    if parts.contain("shrink") {
        shrink::one(items, &mut stalls, &mut shrunk)?;
        shrink::tenants(&mut shrunk)?;
        shrink::unions(&mut shrunk)?;
    }
    show("shrink", &shrunk, is_saved)?;
    show("stalls", &stalls, is_saved)?;
    show("transfer", &transfers, is_saved)?;
    show("cow", &copied, is_saved)?;
    if parts.contain("blacklist") {
        show("blacklist", &blacklist::run(urls)?, is_saved)?;
    }
    Ok(())
}

/// A variable of the environment that is not empty.
fn named(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn number(name: &str, default: u64) -> Outcome<u64> {
    match named(name) {
        Some(text) => Ok(text.parse().map_err(|error| format!("{name}: {error}"))?),
        None => Ok(default),
    }
}

fn show(name: &str, table: &Table, is_saved: bool) -> Outcome<()> {
    if table.rows().is_empty() {
        return Ok(());
    }
    println!("\n{}", table.markdown());
    if is_saved {
        table.save(name)?;
    }
    Ok(())
}
