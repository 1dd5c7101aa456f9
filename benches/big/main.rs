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
//! | `BIG_URLS` | 2000000000 | URLs of the blacklist; its memory budget scales with them |
//! | `BENCH_SAVE` | | `yes`: save the tables of such a run too |
//! | `PEER`, `PEER_SERVER` | | another module, run through the phases that it supports |
//!
//! Tables are saved to docs/performance with the default parts and sizes, or with `BENCH_SAVE`.

mod blacklist;
mod phases;
mod probe;
mod session;
mod shrink;
mod snapshot;
mod transfer;

use session::Session;
use splitbloom_rig::{run_parts, Outcome, Part, Settings, Setup};

const ITEMS: u64 = 1_000_000_000;
/// Fractions of the largest filter's items that filters grow to from the default settings; a peer
/// only to the smaller one, which takes it half a minute.
const GROWN: [u64; 2] = [100, 10];

fn main() -> Outcome<()> {
    let parts: [Part; 5] = [
        ("stalls", |settings| each_size(settings, "stalls", phases::all)),
        ("growth", growth),
        ("blacklist", blacklist::run),
        ("transfer", |settings| each_size(settings, "transfer", phases::transfer_alone)),
        ("shrink", shrink::run),
    ];
    run_parts(&parts, 3)
}

/// Items of the largest filter. The parts share tables, which are saved as a whole.
fn items(settings: &mut Settings) -> Outcome<u64> {
    settings.is_changed |= settings.are_parts_named;
    settings.number("ITEMS", ITEMS)
}

/// Calls `run` for each size, on servers with this module and with the peer.
fn each_size(
    settings: &mut Settings,
    table: &'static str,
    run: impl Fn(&mut Session) -> Outcome<()>,
) -> Outcome<()> {
    let items = items(settings)?;
    let sizes = settings.sizes(&[items / 100, items / 10, items])?;
    for setup in Setup::all()? {
        for items in &sizes {
            run(&mut Session::start(settings, table, setup.clone(), *items)?)?;
        }
    }
    Ok(())
}

fn growth(settings: &mut Settings) -> Outcome<()> {
    let items = items(settings)?;
    for (number, setup) in Setup::all()?.into_iter().enumerate() {
        for fraction in &GROWN[..GROWN.len() - number] {
            let setup = setup.clone();
            phases::growth(&mut Session::start(settings, "stalls", setup, items / fraction)?)?;
        }
    }
    Ok(())
}
