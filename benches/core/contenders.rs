//! The contenders, one file each.

mod block;
mod dump;
mod fast;
mod ours;
mod prefetched;
mod standard;

use crate::case::Case;
use crate::contender::Contender;
use splitbloom_rig::Outcome;

/// Indices of two of them.
pub const SPLITBLOOM: usize = 0;
pub const STANDARD: usize = 1;

/// One of them with an empty filter.
pub struct Entry {
    /// Its column heading.
    pub name: &'static str,
    /// Its false-positive rate at capacity, relative to the requested one. A rate outside this
    /// range means a bug in the filter or in the benchmark.
    pub plausible: [f64; 2],
    pub filter: Box<dyn Contender>,
}

/// The standard filter with splitbloom's batching differs from it only in batches.
pub const ONLY_IN_BATCHES: &str = "standard, prefetched";

/// All contenders, in the order of all results.
///
/// # Errors
/// Out of memory.
pub fn all(case: &Case) -> Outcome<[Entry; 5]> {
    let entry = |name, plausible, filter| Entry { name, plausible, filter };
    let standard = || standard::Standard::empty(case);
    Ok([
        // `make bench PARTS=fpr` measures within 1 % of the requested rate, with more probes.
        entry("splitbloom", [0.85, 1.15], Box::new(ours::Ours::empty(case)?)),
        // 0.71 to 0.88 of the requested rate by the standard formula,
        // (1 - exp(-k/bits per item))^k.
        entry("standard", [0.5, 1.1], Box::new(standard())),
        entry(ONLY_IN_BATCHES, [0.5, 1.1], Box::new(prefetched::Prefetched(standard()))),
        // 0.70 to 0.85 by the same formula, with the number of probes it chooses.
        entry("fastbloom", [0.5, 1.2], Box::new(fast::Fast::empty(case))),
        // Measured: 1.3 at 1 %, 1.8 at 0.1 %, 4.3 at 0.01 %.
        entry("sbbf-rs", [0.5, 10.0], Box::new(block::Block::empty(case))),
    ])
}
