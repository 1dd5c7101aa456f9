//! The rounds of one case: first inserts while the filters fill, then lookups in full ones.
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
use crate::contenders::{self, Entry, ONLY_IN_BATCHES};
use crate::items::{Items, Kind};
use crate::task::{
    warm_up_items, Mode, Operation, Slices, Task, INSERTS, LOOKUPS, LOOKUPS_IN_BATCHES,
    PRESENT_IN_A_ROUND, SLICE, WARM_UP,
};
use splitbloom_rig::{Outcome, Rounds};
use std::hint::black_box;
use std::time::Instant;

/// Inserts are timed while a filter fills from here …
const INSERTS_FROM: f64 = 0.4;
/// … to here: around half full, where an item finds about a third of its bits set.
const INSERTS_TO: f64 = 0.6;
/// The fraction of new items that may be reported as present: at 60 % of the capacity, below one in
/// 500 at 1 %.
const MAX_NOT_NEW: f64 = 0.01;
/// Absent items per false-positive measurement: 200 hits at 0.01 %, whose count has a standard
/// deviation of 7 %.
const PROBES: u64 = 2_000_000;
/// Standard deviations by which a rate may leave the plausible range.
const DEVIATIONS: f64 = 5.0;

/// The results of one case: of each task for each contender, and their false-positive rates.
pub struct Measurements {
    pub names: Vec<&'static str>,
    /// Nanoseconds per item: for each contender one value per round, or none if it is not measured.
    pub tasks: Vec<(Task, Vec<Rounds>)>,
    pub rates: Vec<f64>,
}

/// Measures a case.
///
/// # Errors
/// Out of memory, or a wrong result.
pub fn run(case: &Case, rounds: usize) -> Outcome<Measurements> {
    let inserts = inserts(case, rounds)?;
    let mut measured = lookups(case, rounds)?;
    measured.tasks.splice(0..0, inserts);
    Ok(measured)
}

fn unmeasured(tasks: &[Task], lanes: &[Lane]) -> Vec<(Task, Vec<Rounds>)> {
    tasks.iter().map(|task| (*task, vec![Rounds::default(); lanes.len()])).collect()
}

fn inserts(case: &Case, rounds: usize) -> Outcome<Vec<(Task, Vec<Rounds>)>> {
    let start = case.items_at(INSERTS_FROM);
    let room = case.items_at(INSERTS_TO) - start;
    let tasks = INSERTS.len() as u64;
    let len = SLICE.min(room / tasks);
    let mut lanes = Lane::all(case, start)?;
    let mut slices = Slices::new(0);
    let mut measured = unmeasured(&INSERTS, &lanes);
    let mut inserted = 0;
    for round in 0..rounds {
        if inserted + tasks * len > room {
            lanes.iter_mut().try_for_each(Lane::refill)?;
            inserted = 0;
        }
        for (task, times) in &mut measured {
            let slice = slices.make(task.operation, len);
            time_all(&mut lanes, *task, &slice, round, times)?;
            inserted += len;
        }
    }
    Ok(measured)
}

fn lookups(case: &Case, rounds: usize) -> Outcome<Measurements> {
    let present = (rounds as u64 * PRESENT_IN_A_ROUND).min(case.capacity / 2);
    let mut lanes = Lane::all(case, case.capacity - present)?;
    let items = Items::of((0..present).map(|n| Kind::Present.number(n)));
    for lane in &mut lanes {
        for batch in items.batches() {
            lane.filter.insert_all(batch);
        }
    }
    let mut slices = Slices::new(present);
    let rates = false_positive_rates(case, &lanes, &mut slices)?;
    let mut tasks = unmeasured(&[&LOOKUPS[..], &LOOKUPS_IN_BATCHES].concat(), &lanes);
    for round in 0..rounds {
        for (task, times) in &mut tasks {
            let slice = slices.make(task.operation, SLICE);
            time_all(&mut lanes, *task, &slice, round, times)?;
        }
    }
    let names = lanes.iter().map(Lane::name).collect();
    Ok(Measurements { names, tasks, rates })
}

/// Times every contender once, starting with another one each round so that none always follows the
/// same one.
fn time_all(
    lanes: &mut [Lane],
    task: Task,
    (items, present): &(Items, u64),
    round: usize,
    times: &mut [Rounds],
) -> Outcome<()> {
    let warm_up = warm_up_items();
    for turn in 0..lanes.len() {
        let number = (round + turn) % lanes.len();
        let lane = &mut lanes[number];
        if let Some((nanoseconds, yes)) = lane.time(task, items, &warm_up) {
            let failed = |error| format!("{}: {error}", lane.name());
            check(task, items.len(), *present, yes).map_err(failed)?;
            times[number].push(nanoseconds);
        }
    }
    Ok(())
}

/// Checks that the results are possible: present items are found, new ones are new.
fn check(task: Task, len: usize, present: u64, yes: u64) -> Result<(), String> {
    let is_correct = match task.operation {
        Operation::LookupOfPresent => yes == present,
        // Some absent items are found; how many is checked separately.
        Operation::Lookup | Operation::LookupOfAbsent => yes >= present,
        Operation::Insert => yes as f64 >= len as f64 * (1.0 - MAX_NOT_NEW),
    };
    let [operation, _] = task.names();
    let wrong = || format!("{operation} of {len} items, {present} present: {yes} positive results");
    is_correct.then_some(()).ok_or_else(wrong)
}

fn false_positive_rates(case: &Case, lanes: &[Lane], slices: &mut Slices) -> Outcome<Vec<f64>> {
    let (probes, _) = slices.make(Operation::LookupOfAbsent, PROBES);
    // Of the number of hits, relative to the expected number.
    let slack = DEVIATIONS / (case.error_rate * PROBES as f64).sqrt();
    let rate = |lane: &Lane| {
        let found: u64 = probes.batches().map(|batch| lane.filter.count_present(batch)).sum();
        let (rate, [min, max]) = (found as f64 / PROBES as f64, lane.tile.plausible);
        match (min - slack..=max + slack).contains(&(rate / case.error_rate)) {
            true => Ok(rate),
            false => Err(format!("{}: {rate} is not a plausible error rate", lane.name()).into()),
        }
    };
    lanes.iter().map(rate).collect()
}

/// The largest filter filled item by item: small enough for the last-level cache, where filling is
/// quick, and large enough that random deviations are negligible.
const TILE_MEGABYTES: u64 = 16;
/// Items per batch when filling: a buffer that stays in the L1 cache.
const FILLING_BATCH: u64 = 1_024;

/// A contender and its filter, ready to be timed.
struct Lane {
    case: Case,
    /// Items that the filter holds after [`Lane::refill`].
    items: u64,
    tile: Entry,
    filter: Box<dyn Contender>,
}

impl Lane {
    /// All contenders, each with a filter that holds `items` items, none of which are looked up.
    ///
    /// # Errors
    /// Out of memory.
    fn all(case: &Case, items: u64) -> Outcome<Vec<Self>> {
        let tile_case = Case::of_size(case.megabytes.min(TILE_MEGABYTES), case.error_rate);
        let tile_items = tile_case.items_at(items as f64 / case.capacity as f64);
        let fill = |mut tile: Entry| {
            for start in (0..tile_items).step_by(FILLING_BATCH as usize) {
                let end = (start + FILLING_BATCH).min(tile_items);
                let batch = Items::of((start..end).map(|n| Kind::Filling.number(n)));
                for batch in batch.batches() {
                    tile.filter.insert_all(batch);
                }
            }
            Ok(Self { filter: tile.filter.copies(case, items)?, case: *case, items, tile })
        };
        contenders::all(&tile_case)?.into_iter().map(fill).collect()
    }

    fn name(&self) -> &'static str {
        self.tile.name
    }

    /// Resets the filter to its initial contents.
    fn refill(&mut self) -> Outcome<()> {
        self.filter = self.tile.filter.copies(&self.case, self.items)?;
        Ok(())
    }

    /// Times a task on some items: nanoseconds per item, and the positive results, "present" or
    /// "was new". `None` if the contender is only measured in batches and this is another mode.
    fn time(&mut self, task: Task, items: &Items, warm_up: &Items) -> Option<(f64, u64)> {
        if self.name() == ONLY_IN_BATCHES && task.mode != Mode::Batch {
            return None;
        }
        black_box(self.filter.run(WARM_UP, warm_up));
        let start = Instant::now();
        let yes = black_box(self.filter.run(task, items));
        Some((start.elapsed().as_nanos() as f64 / items.len() as f64, yes))
    }
}
