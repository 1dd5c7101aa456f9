//! A contender and its filter, ready to be timed.
//!
//! # Large filters are copies of a small one
//! Up to 16 MB a filter is filled item by item. A larger one repeats the bits of one of 16 MB
//! filled to the same fraction of its capacity. The measurements are not affected: a probe is as
//! likely to find a set bit, and the bits of an item span as many words and lines, all of them
//! allocated and distinct. (Items of the small filter are not present in the copy; those looked up
//! as present are inserted into the copy itself.) The false-positive rates measured beside the
//! times would reveal a mistake.

use crate::case::Case;
use crate::contender::Contender;
use crate::items::{Items, Kind};
use crate::mode::{wait_for_result, Mode};
use crate::task::{Operation, Task};
use splitbloom_rig::Outcome;
use std::hint::black_box;
use std::time::Instant;

/// The largest filter filled item by item: small enough for the last-level cache, where filling is
/// quick, and large enough that random deviations are negligible.
const TILE_MEGABYTES: u64 = 16;
/// Items per batch when filling: a buffer that stays in the L1 cache.
const FILLING_BATCH: u64 = 1_024;
/// Absent items looked up before timing, because the previous contender has left its own data in
/// the caches: enough to touch each line of 1 MB, the size that fits in a cache.
const WARM_UP: usize = 50_000;

/// The timing of one task.
#[derive(Clone, Copy)]
pub struct Timing {
    pub nanoseconds_per_item: f64,
    /// Positive results: "present" or "was new".
    pub yes: u64,
}

/// Any contender.
pub trait Lane {
    fn name(&self) -> &'static str;

    /// Resets the filter to its initial contents.
    fn refill(&mut self) -> Outcome<()>;

    /// Times a task on some items; `None` if the contender is only measured in batches and this is
    /// another mode.
    fn time(&mut self, task: Task, items: &Items, warm_up: &Items) -> Option<Timing>;

    /// Inserts items, untimed.
    fn insert_all(&mut self, items: &Items);

    /// How many of these items the filter reports as present.
    fn found(&self, items: &Items) -> u64;

    /// Whether this contender can have the given false-positive rate, relative to the requested
    /// one, allowing for `slack` by chance.
    fn is_plausible_rate(&self, relative_rate: f64, slack: f64) -> bool;
}

/// Contender `C`.
pub struct LaneOf<C> {
    case: Case,
    /// Items that the filter holds after [`Lane::refill`].
    items: u64,
    tile: C,
    filter: C,
}

impl<C: Contender> LaneOf<C> {
    /// Creates a filter that holds `items` items, none of which are looked up.
    pub fn new(case: &Case, items: u64) -> Outcome<Self> {
        let tile_case = Case::of_size(case.megabytes.min(TILE_MEGABYTES), case.error_rate);
        let mut tile = C::empty(&tile_case)?;
        let tile_items = tile_case.items_at(items as f64 / case.capacity as f64);
        for start in (0..tile_items).step_by(FILLING_BATCH as usize) {
            let end = (start + FILLING_BATCH).min(tile_items);
            let batch = Items::of((start..end).map(|n| Kind::Filling.number(n)));
            tile.insert_batch(batch.iter(), |_| ());
        }
        Ok(Self { filter: C::of_copies(&tile, case, items)?, case: *case, items, tile })
    }

    fn lookups(&self, mode: Mode, items: &Items) -> u64 {
        let mut found = 0;
        match mode {
            Mode::Dependent => {
                for item in items.iter() {
                    found += u64::from(self.filter.contains(item));
                    wait_for_result();
                }
            }
            Mode::Independent => {
                for item in items.iter() {
                    found += u64::from(self.filter.contains(item));
                }
            }
            Mode::Batch => {
                for batch in items.batches() {
                    self.filter.contains_batch(batch, |present| found += u64::from(present));
                }
            }
        }
        found
    }

    fn inserts(&mut self, mode: Mode, items: &Items) -> u64 {
        let mut new = 0;
        match mode {
            Mode::Dependent => {
                for item in items.iter() {
                    new += u64::from(self.filter.insert(item));
                    wait_for_result();
                }
            }
            Mode::Independent => {
                for item in items.iter() {
                    new += u64::from(self.filter.insert(item));
                }
            }
            Mode::Batch => {
                for batch in items.batches() {
                    self.filter.insert_batch(batch, |is_new| new += u64::from(is_new));
                }
            }
        }
        new
    }
}

impl<C: Contender> Lane for LaneOf<C> {
    fn name(&self) -> &'static str {
        C::NAME
    }

    fn refill(&mut self) -> Outcome<()> {
        self.filter = C::of_copies(&self.tile, &self.case, self.items)?;
        Ok(())
    }

    fn time(&mut self, task: Task, items: &Items, warm_up: &Items) -> Option<Timing> {
        if C::ONLY_IN_BATCHES && task.mode != Mode::Batch {
            return None;
        }
        black_box(self.lookups(Mode::Independent, warm_up));
        let start = Instant::now();
        let yes = black_box(match task.operation {
            Operation::Insert => self.inserts(task.mode, items),
            _ => self.lookups(task.mode, items),
        });
        Some(Timing {
            nanoseconds_per_item: start.elapsed().as_nanos() as f64 / items.len() as f64,
            yes,
        })
    }

    fn insert_all(&mut self, items: &Items) {
        self.inserts(Mode::Batch, items);
    }

    fn found(&self, items: &Items) -> u64 {
        self.lookups(Mode::Batch, items)
    }

    fn is_plausible_rate(&self, relative_rate: f64, slack: f64) -> bool {
        let (min, max) = (C::PLAUSIBLE_RATE.start(), C::PLAUSIBLE_RATE.end());
        (min - slack..=max + slack).contains(&relative_rate)
    }
}

/// Items for warming up, never in any filter.
pub fn warm_up_items() -> Items {
    // Far above the numbers of items looked up as absent.
    let numbers = (1 << 50)..(1 << 50) + WARM_UP as u64;
    Items::of(numbers.map(|n| Kind::Absent.number(n)))
}
