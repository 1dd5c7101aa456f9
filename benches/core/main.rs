//! The cost per item in the core: nanoseconds per lookup and insert, without a server.
//!
//! `make bench PARTS=core` takes about five minutes and 11 GB: five filters of 2 GB exist at
//! once. `CORE_SIZES` (megabytes of bits, `1,16,256,2048`) and `CORE_ROUNDS` (9) shorten it; only a
//! run with both defaults is saved to docs/performance, or one with `BENCH_SAVE=yes`.
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
//! small one ([`rounds`] explains why this does not affect the results). No item is looked up
//! twice, so none is in a cache because of an earlier lookup; except at 1 MB, which has only some
//! hundred thousand items and fits in the cache anyway.
//!
//! # Method
//! Each round runs the same operations on the same items for each contender in turn. Times are
//! medians over the rounds, ratios are medians of per-round ratios. [`task`] defines "dependent",
//! "independent" and "batch".

mod case;
mod contender;
mod contenders;
mod items;
mod rounds;
mod task;

use case::Case;
use contenders::{SPLITBLOOM, STANDARD};
use rounds::Measurements;
use splitbloom_rig::{run_parts, Outcome, Settings};
use std::fs;

/// In the L2 cache; in the last-level cache; far beyond both; and so large that page tables miss
/// the caches too. Below 1 MB a slice of new items is too short to time; sbbf-rs addresses 2^32
/// blocks, or 128 GB.
const MEGABYTES: [u64; 4] = [1, 16, 256, 2048];
/// Odd, so that the median is a measured value; enough that four rounds may be disturbed.
const ROUNDS: usize = 9;
/// Sub-bitmaps of one, two and four cache lines.
const ERROR_RATES: [f64; 3] = [0.01, 0.001, 0.0001];

fn main() -> Outcome<()> {
    run_parts(&[("all", all)], 1)
}

fn all(settings: &mut Settings) -> Outcome<()> {
    let rounds = settings.number("CORE_ROUNDS", ROUNDS)?.max(1);
    println!("{}", machine());
    for megabytes in settings.numbers("CORE_SIZES", &MEGABYTES)? {
        for error_rate in ERROR_RATES {
            let case = Case::of_size(megabytes, error_rate);
            let Case { capacity, num_hashes, .. } = case;
            eprintln!("{megabytes} MB, {error_rate}: {capacity} items, {num_hashes} probes");
            add(settings, &case, &rounds::run(&case, rounds)?);
        }
    }
    Ok(())
}

/// Adds the rows of a case to the tables.
fn add(settings: &mut Settings, case: &Case, measured: &Measurements) {
    let times = settings.table("core");
    for (task, rounds) in &measured.tasks {
        let [operation, mode] = task.names();
        times.row(&[("MB", &case.megabytes), ("error rate", &case.error_rate)]);
        times.add(&[("operation", &operation), ("mode", &mode)]);
        for (name, rounds) in measured.names.iter().zip(rounds) {
            let median = rounds.median(1);
            times.add(&[(name, if median.is_empty() { &"–" } else { &median })]);
        }
        let ratio = rounds[STANDARD].relative_to(&rounds[SPLITBLOOM]);
        times.add(&[("standard / splitbloom", &ratio)]);
    }
    let rates = settings.table("core-false-positives");
    rates.row(&[("MB", &case.megabytes), ("error rate", &case.error_rate)]);
    rates.add(&[("bits per item", &format!("{:.2}", case.bits_per_item()))]);
    for (name, rate) in measured.names.iter().zip(&measured.rates) {
        rates.add(&[(name, &format!("{rate:.2e}"))]);
    }
}

/// The CPU and its huge-page setting. With transparent huge pages always on, filters in one
/// allocation get 2 MB pages unasked and miss the TLB less often; splitbloom's 64 KiB segments get
/// them only where they are adjacent.
fn machine() -> String {
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        processors.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("unknown CPU", |(_, model)| model);
    let huge = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    let huge = huge.unwrap_or("unknown".to_string());
    format!("{model}; transparent huge pages: {}\n", huge.trim())
}
