//! What an item costs in the core: nanoseconds per lookup and per insert, no server in between.
//!
//! `cargo bench --bench core` takes about five minutes and 11 GB: with 2 GB of bits, five filters of that size are there at once.
//! `CORE_SIZES` (megabytes of bits, `1,16,256,2048`) and `CORE_ROUNDS` (9) make it shorter; only a run with both left alone
//! is saved to docs/performance.
//!
//! # Who is measured
//! All contenders have the same number of bits and hold the same items ([`case`]). Each makes one XXH3 hash of an item, so what
//! differs is where the bits lie:
//! - `splitbloom`: [`splitbloom::filter::scalable::Filter`], not growing;
//! - `undivided`: an ordinary Bloom filter, as fast as we can write it ([`contenders::undivided`]);
//! - `undivided, prefetched`: the same, all lines of a batch asked for before the first is read ([`contenders::prefetched`]);
//! - `fastbloom`, `sbbf-rs`: crates ([`contenders::fast`], [`contenders::block`]).
//!
//! # What is measured
//! - A lookup in a filter filled to its capacity, half of the items present, in random order. For batches also of present items
//!   alone (all k probes are made) and of absent ones alone (an undivided filter stops after two probes on average).
//! - An insert of a new item, while the filter fills from 40 % to 60 % of its capacity.
//!
//! Filling 2 GB item by item would take minutes for each contender; large filters are copies of a small one ([`lane`] says why
//! this changes nothing). No item is looked up twice, so none is in a cache because the benchmark put it there; but for 1 MB, which
//! has no more than some hundred thousand items and is in the cache anyway.
//!
//! # How
//! In every round each contender does the same operations on the same items, then the next contender; medians over the rounds.
//! Ratios are medians of the ratios of one round. [`mode`] says what "dependent", "independent" and "batch" mean.

mod case;
mod contender;
mod contenders;
mod items;
mod lane;
mod machine;
mod mode;
mod report;
mod rounds;
mod settings;
mod task;

#[path = "../rig/mod.rs"]
mod rig;

use case::Case;
use report::Report;
use rig::Outcome;
use settings::Settings;

/// One where a sub-bitmap is one cache line, one where it is two, one where it is four.
const ERROR_RATES: [f64; 3] = [0.01, 0.001, 0.0001];

fn main() -> Outcome<()> {
    let settings = Settings::from_environment()?;
    println!("{}", machine::description());
    let mut report = Report::new();
    for megabytes in &settings.megabytes {
        for error_rate in ERROR_RATES {
            let case = Case::of_size(*megabytes, error_rate);
            eprintln!("{case}");
            report.add(&case, &rounds::run(&case, settings.rounds)?);
        }
    }
    println!("{report}");
    if settings.are_default {
        report.save()?;
    }
    Ok(())
}
