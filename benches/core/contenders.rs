//! The contenders, one file each.

mod block;
mod dump;
mod fast;
mod ours;
mod prefetched;
mod undivided;

use crate::case::Case;
use crate::contender::Contender;
use crate::lane::{Lane, LaneOf};
use crate::rig::Outcome;
use block::Block;
use fast::Fast;
use ours::Ours;
use prefetched::Prefetched;
use undivided::Undivided;

/// Their names, in the order of all results.
pub const NAMES: [&str; 5] = [
    Ours::NAME,
    Undivided::NAME,
    Prefetched::NAME,
    Fast::NAME,
    Block::NAME,
];
/// Two of these places.
pub const SPLITBLOOM: usize = 0;
pub const UNDIVIDED: usize = 1;

/// All of them, each with a filter that holds `items` items.
///
/// # Errors
/// No memory.
pub fn lanes(case: &Case, items: u64) -> Outcome<[Box<dyn Lane>; NAMES.len()]> {
    Ok([
        Box::new(LaneOf::<Ours>::new(case, items)?),
        Box::new(LaneOf::<Undivided>::new(case, items)?),
        Box::new(LaneOf::<Prefetched>::new(case, items)?),
        Box::new(LaneOf::<Fast>::new(case, items)?),
        Box::new(LaneOf::<Block>::new(case, items)?),
    ])
}
