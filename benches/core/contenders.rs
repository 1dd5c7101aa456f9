//! The contenders, one file each.

mod block;
mod dump;
mod fast;
mod ours;
mod prefetched;
mod standard;

use crate::case::Case;
use crate::contender::Contender;
use crate::lane::{Lane, LaneOf};
use block::Block;
use fast::Fast;
use ours::Ours;
use prefetched::Prefetched;
use splitbloom_rig::Outcome;
use standard::Standard;

/// Their names, in the order of all results.
pub const NAMES: [&str; 5] =
    [Ours::NAME, Standard::NAME, Prefetched::NAME, Fast::NAME, Block::NAME];
/// Indices into `NAMES`.
pub const SPLITBLOOM: usize = 0;
pub const STANDARD: usize = 1;

/// All contenders, each with a filter that holds `items` items.
///
/// # Errors
/// Out of memory.
pub fn lanes(case: &Case, items: u64) -> Outcome<[Box<dyn Lane>; NAMES.len()]> {
    Ok([
        Box::new(LaneOf::<Ours>::new(case, items)?),
        Box::new(LaneOf::<Standard>::new(case, items)?),
        Box::new(LaneOf::<Prefetched>::new(case, items)?),
        Box::new(LaneOf::<Fast>::new(case, items)?),
        Box::new(LaneOf::<Block>::new(case, items)?),
    ])
}
