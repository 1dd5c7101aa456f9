//! Measures the false-positive rate of filters and compares them with the requested rate.
//!
//! The rate of one filter varies with its seed, the more the smaller it is, so small filters are
//! measured many times. The error bar is one standard error: of the mean over the filters if there
//! are enough of them, otherwise of the number of hits.
//!
//! `cargo run --release --example false_positive_rate [PROBES]`: PROBES limits the probes per row
//! (default 1e10, about three quarters of an hour on two cores). Growing filters, whose rate is
//! only bounded from above, get a fifth of that.

use splitbloom_filter::filter::{
    Adding, CountingParameters, Filter, Growth, Parameters, SizeLimit,
};
use splitbloom_filter::hash::Seed;
use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;

/// Target number of hits per row: their count has a standard deviation of 0.2 %.
const HITS: f64 = 250_000.0;
/// From this many filters on, their own spread is a fair error bar.
const ENOUGH_FILTERS: usize = 16;

/// One row of the table.
struct Case {
    error_rate: f64,
    capacity: u64,
    items: u64,
    kind: Kind,
}

/// What kind of filter it is, and how it comes to its items.
#[derive(Clone, Copy)]
enum Kind {
    /// Items are added.
    Bloom(Growth),
    /// Items are added to one that is far larger, which then shrinks to its items.
    Shrunk,
    /// Twice as many items are added, three quarters of these are deleted, and one is added again.
    Counting,
}

/// The measurements of one filter.
#[derive(Clone, Copy)]
struct Sample {
    hits: u64,
    probes: u64,
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for error_rate in [0.1, 0.01, 0.001, 0.0001, 0.000_001] {
        for capacity in [1_000, 100_000, 10_000_000] {
            let case =
                |items, growth| Case { error_rate, capacity, items, kind: Kind::Bloom(growth) };
            cases.push(case(capacity, Growth::Fixed));
            if capacity > 1_000 {
                // Just below a quarter, to which it folds: the shrunk filter is full.
                let items = capacity / 4 * 99 / 100;
                cases.push(Case { error_rate, capacity, items, kind: Kind::Shrunk });
            }
            if capacity <= 100_000 {
                cases.push(case(capacity, Growth::Times(2)));
                cases.push(case(10 * capacity, Growth::Times(2)));
                cases.push(case(100 * capacity, Growth::Times(2)));
            }
        }
        for items in [1_000, 10_000, 100_000, 1_000_000, 10_000_000] {
            for kind in [Kind::Bloom(Growth::Times(2)), Kind::Counting] {
                cases.push(Case { error_rate, capacity: 100, items, kind });
            }
        }
    }
    cases
}

type Failure = Box<dyn Error + Send + Sync>;

/// Fills a filter with the numbers below `items` and looks up numbers above.
fn measure(case: &Case, seed: u64, probes: u64) -> Result<Sample, Failure> {
    let seed = Seed(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mut hits = 0;
    let count = |found| hits += u64::from(found);
    let filter = match case.kind {
        Kind::Bloom(growth) => filled(case, growth, seed)?,
        Kind::Shrunk => {
            let mut filter = filled(case, Growth::Fixed, seed)?;
            filter.shrink(0, u64::MAX)?;
            filter
        }
        Kind::Counting => filled_and_emptied(case, seed)?,
    };
    probe(case, probes, count, |items, count| {
        filter.contains_many(items.iter().map(<[u8; 8]>::as_slice), count);
    });
    Ok(Sample { hits, probes })
}

fn filled(case: &Case, growth: Growth, seed: Seed) -> Result<Filter, Failure> {
    let parameters =
        Parameters { error_rate: case.error_rate, capacity: case.capacity, growth, seed };
    let mut filter = Filter::new(parameters, SizeLimit::Unlimited)?;
    for item in 0..case.items {
        filter.add(&item.to_le_bytes())?;
    }
    Ok(filter)
}

fn filled_and_emptied(case: &Case, seed: Seed) -> Result<Filter, Failure> {
    let parameters = CountingParameters {
        error_rate: case.error_rate,
        capacity: case.capacity,
        expansion: 1,
        bucket_size: 2,
        max_iterations: 20,
        seed,
    };
    let mut filter = Filter::counting(parameters, SizeLimit::Unlimited)?;
    let half = case.items / 2;
    for item in 0..2 * case.items {
        filter.add_copy(&item.to_le_bytes(), Adding::Copies, SizeLimit::Unlimited)?;
    }
    for item in (0..half).chain(case.items..2 * case.items) {
        filter.remove(&item.to_le_bytes())?;
    }
    for item in 0..half {
        filter.add_copy(&item.to_le_bytes(), Adding::Copies, SizeLimit::Unlimited)?;
    }
    Ok(filter)
}

/// Looks up numbers that were never added.
fn probe(
    case: &Case,
    probes: u64,
    mut count: impl FnMut(bool),
    look_up: impl Fn(&[[u8; 8]], &mut dyn FnMut(bool)),
) {
    for group in 0..probes / 1_000 {
        let first = 2 * case.items + group * 1_000;
        let items: [[u8; 8]; 1_000] = std::array::from_fn(|i| (first + i as u64).to_le_bytes());
        look_up(&items, &mut count);
    }
}

/// The mean rate of all samples and its standard error.
fn summary(samples: &[Sample]) -> (f64, f64) {
    let hits: u64 = samples.iter().map(|s| s.hits).sum();
    let probes: u64 = samples.iter().map(|s| s.probes).sum();
    let rate = hits as f64 / probes as f64;
    if samples.len() < ENOUGH_FILTERS {
        return (rate, (hits.max(1) as f64).sqrt() / probes as f64);
    }
    let squares = samples.iter().map(|s| (s.hits as f64 / s.probes as f64 - rate).powi(2));
    let n = samples.len() as f64;
    (rate, (squares.sum::<f64>() / (n - 1.0) / n).sqrt())
}

/// Measures as many filters as the case needs, on all cores.
fn run(case: &Case, max_probes: u64) -> Result<Vec<Sample>, Failure> {
    let filters = (20_000_000 / case.items).clamp(2, 1_000);
    let probes = ((HITS / case.error_rate) as u64).min(max_probes);
    let probes = (probes / filters).next_multiple_of(1_000).max(20_000);
    let (next, samples) = (AtomicU64::new(1), Mutex::new(Ok(Vec::new())));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed > filters {
                    break;
                }
                let sample = measure(case, seed, probes);
                if let Ok(mut samples) = samples.lock() {
                    match (sample, samples.as_mut()) {
                        (Ok(sample), Ok(samples)) => samples.push(sample),
                        (Err(error), _) => *samples = Err(error),
                        _ => {}
                    }
                }
            });
        }
    });
    samples.into_inner().map_err(|_| "a thread panicked")?
}

fn main() -> Result<(), Failure> {
    let max_probes = match std::env::args().nth(1) {
        Some(argument) => argument.parse::<f64>()? as u64,
        None => 10_000_000_000,
    };
    println!(
        "| requested | capacity | items | growth | filters | measured | ± | measured / requested |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for case in cases() {
        let (growth, share) = match case.kind {
            Kind::Bloom(Growth::Fixed) => ("NONSCALING", 1),
            Kind::Bloom(Growth::Times(_)) => ("grows", 5),
            Kind::Shrunk => ("shrunk", 1),
            Kind::Counting => ("CF", 5),
        };
        let samples = run(&case, max_probes / share)?;
        let (rate, error) = summary(&samples);
        println!(
            "| {} | {} | {} | {growth} | {} | {rate:.3e} | {error:.1e} | {:.3} ± {:.3} |",
            case.error_rate,
            case.capacity,
            case.items,
            samples.len(),
            rate / case.error_rate,
            error / case.error_rate,
        );
    }
    Ok(())
}
