//! A contender with its filter, ready to be timed.
//!
//! # Large filters are copies of a small one
//! Up to 16 MB a filter is filled item by item. A larger one is made of copies of one of 16 MB that has been filled to the same
//! share of its capacity. For what is measured there is no difference: whether a probe finds a set bit is as likely, the bits of an
//! item stand in as many words and lines, and those lines and pages are all there and all different. (An item of the small filter is
//! not present in the copy. Those that are looked up as present have been inserted into the copy itself.) The false-positive rates
//! measured beside the times would show it if it were otherwise.

use crate::case::Case;
use crate::contender::Contender;
use crate::items::{Items, Kind};
use crate::mode::{wait_for_the_answer, Mode};
use crate::rig::Outcome;
use crate::task::{Operation, Task};
use std::hint::black_box;
use std::time::Instant;

/// The largest filter that is filled item by item: small enough for the third-level cache, where that is quick, and large enough
/// that what is off in it by chance is not worth mentioning.
const TILE_MEGABYTES: u64 = 16;
/// Items handed over together for filling: a buffer that stays in the first-level cache.
const FILLING_BATCH: u64 = 1_024;
/// Absent items looked up before the clock is started, because the contender before has left the caches full of its own: enough to
/// touch each line of 1 MB, which is the size that caches hold.
const WARM_UP: usize = 50_000;

/// What one task took.
#[derive(Clone, Copy)]
pub struct Timing {
    pub nanoseconds_per_item: f64,
    /// Answers that were yes: "present" or "was new".
    pub yes: u64,
}

/// A contender, whichever it is.
pub trait Lane {
    fn name(&self) -> &'static str;

    /// Makes the filter hold what it held at first.
    fn refill(&mut self) -> Outcome<()>;

    /// Does a task on some items; nothing if the contender is measured in batches alone and this is another mode.
    fn time(&mut self, task: Task, items: &Items, warm_up: &Items) -> Option<Timing>;

    /// Inserts items, untimed.
    fn insert_all(&mut self, items: &Items);

    /// How many of these items are taken for present.
    fn found(&self, items: &Items) -> u64;

    /// Whether a false-positive rate, in units of the one asked for, can be this contender's if chance may add or take `slack`.
    fn is_plausible_rate(&self, of_asked: f64, slack: f64) -> bool;
}

/// The lane of contender `C`.
pub struct LaneOf<C> {
    case: Case,
    /// Items that the filter holds after [`Lane::refill`].
    items: u64,
    tile: C,
    filter: C,
}

impl<C: Contender> LaneOf<C> {
    /// With a filter that holds `items` items, none of them to be looked up.
    pub fn new(case: &Case, items: u64) -> Outcome<Self> {
        let tile_case = Case::of_size(case.megabytes.min(TILE_MEGABYTES), case.error_rate);
        let mut tile = C::empty(&tile_case)?;
        let tile_items = tile_case.items_at(items as f64 / case.capacity as f64);
        for start in (0..tile_items).step_by(FILLING_BATCH as usize) {
            let end = (start + FILLING_BATCH).min(tile_items);
            let batch = Items::of((start..end).map(|n| Kind::Filling.number(n)));
            tile.insert_batch(batch.iter(), |_| ());
        }
        Ok(Self {
            filter: C::of_copies(&tile, case, items)?,
            case: *case,
            items,
            tile,
        })
    }

    fn lookups(&self, mode: Mode, items: &Items) -> u64 {
        let mut found = 0;
        match mode {
            Mode::Dependent => {
                for item in items.iter() {
                    found += u64::from(self.filter.contains(item));
                    wait_for_the_answer();
                }
            }
            Mode::Independent => {
                for item in items.iter() {
                    found += u64::from(self.filter.contains(item));
                }
            }
            Mode::Batch => {
                for batch in items.batches() {
                    self.filter
                        .contains_batch(batch, |present| found += u64::from(present));
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
                    wait_for_the_answer();
                }
            }
            Mode::Independent => {
                for item in items.iter() {
                    new += u64::from(self.filter.insert(item));
                }
            }
            Mode::Batch => {
                for batch in items.batches() {
                    self.filter
                        .insert_batch(batch, |is_new| new += u64::from(is_new));
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

    fn is_plausible_rate(&self, of_asked: f64, slack: f64) -> bool {
        let (least, most) = (C::PLAUSIBLE_RATE.start(), C::PLAUSIBLE_RATE.end());
        (least - slack..=most + slack).contains(&of_asked)
    }
}

/// The items for warming up, never in any filter.
pub fn warm_up_items() -> Items {
    // From far behind those that are looked up as absent.
    let numbers = (1 << 50)..(1 << 50) + WARM_UP as u64;
    Items::of(numbers.map(|n| Kind::Absent.number(n)))
}
