//! The cost per item in the core: nanoseconds per lookup and insert, without a server.
//!
//! `make bench PARTS=core` takes about five minutes and 11 GB: five filters of 2 GB exist at
//! once. `CORE_SIZES` (megabytes of bits, `1,16,256,2048`) and `CORE_ROUNDS` (9) shorten it; only a
//! run with both defaults is saved to docs/performance.
//!
//! # Contenders
//! All have the same number of bits and hold the same items ([`case`]). Each computes one XXH3 hash
//! of an item, so they differ in where the bits lie:
//! - `splitbloom`: [`splitbloom_filter::Filter`], of fixed size;
//! - `standard`: a standard Bloom filter, as fast as we can make it ([`contenders::standard`]);
//! - `standard, prefetched`: the same, prefetching all lines of a batch first
//!   ([`contenders::prefetched`]);
//! - `fastbloom`, `sbbf-rs`: crates ([`contenders::fast`], [`contenders::block`]).
//!
//! # Measurements
//! - Lookups in a filter at capacity, with half of the items present, in random order. For batches
//!   also of present items only (all k probes are needed) and of absent ones only (a standard
//!   filter stops after two probes on average).
//! - Inserts of new items while the filter fills from 40 % to 60 % of its capacity.
//!
//! Filling 2 GB item by item would take minutes per contender, so large filters are copies of a
//! small one ([`lane`] explains why this does not affect the results). No item is looked up twice,
//! so none is in a cache because of an earlier lookup; except at 1 MB, which has only some hundred
//! thousand items and fits in the cache anyway.
//!
//! # Method
//! Each round runs the same operations on the same items for each contender in turn. Times are
//! medians over the rounds, ratios are medians of per-round ratios. [`mode`] defines "dependent",
//! "independent" and "batch".

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

use case::Case;
use report::Report;
use settings::Settings;
use splitbloom_rig::Outcome;

/// Sub-bitmaps of one, two and four cache lines.
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
