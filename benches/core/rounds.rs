//! The rounds of one case: first inserts while the filters fill, then lookups in full ones.

use crate::case::Case;
use crate::contenders::{lanes, NAMES};
use crate::items::{Items, Kind};
use crate::lane::{warm_up_items, Lane, Timing};
use crate::task::{Operation, Slice, Slices, Task, INSERTS, LOOKUPS, PRESENT_IN_A_ROUND, SLICE};
use splitbloom_rig::Outcome;

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

/// The results of one case.
pub struct Measurements {
    pub tasks: Vec<(Task, Times)>,
    /// For each contender.
    pub rates: Rates,
}

/// Nanoseconds per item: for each contender one value per round, or none if it is not measured.
pub type Times = [Vec<f64>; NAMES.len()];
pub type Rates = [f64; NAMES.len()];

/// Measures a case.
///
/// # Errors
/// Out of memory, or a wrong result.
pub fn run(case: &Case, rounds: usize) -> Outcome<Measurements> {
    let mut tasks = inserts(case, rounds)?;
    let (lookups, rates) = lookups(case, rounds)?;
    tasks.extend(lookups);
    Ok(Measurements { tasks, rates })
}

fn inserts(case: &Case, rounds: usize) -> Outcome<Vec<(Task, Times)>> {
    let start = case.items_at(INSERTS_FROM);
    let room = case.items_at(INSERTS_TO) - start;
    let tasks = INSERTS.len() as u64;
    let len = SLICE.min(room / tasks);
    let mut lanes = lanes(case, start)?;
    let mut slices = Slices::new(0);
    let mut measured = INSERTS.map(|task| (task, Times::default()));
    let mut inserted = 0;
    for round in 0..rounds {
        if inserted + tasks * len > room {
            lanes.iter_mut().try_for_each(|lane| lane.refill())?;
            inserted = 0;
        }
        for (task, times) in &mut measured {
            let slice = slices.make(task.operation, len);
            time_all(&mut lanes, *task, &slice, round, times)?;
            inserted += len;
        }
    }
    Ok(measured.into())
}

fn lookups(case: &Case, rounds: usize) -> Outcome<(Vec<(Task, Times)>, Rates)> {
    let present = (rounds as u64 * PRESENT_IN_A_ROUND).min(case.capacity / 2);
    let mut lanes = lanes(case, case.capacity - present)?;
    let items = Items::of((0..present).map(|n| Kind::Present.number(n)));
    lanes.iter_mut().for_each(|lane| lane.insert_all(&items));

    let mut slices = Slices::new(present);
    let rates = false_positive_rates(case, &lanes, &mut slices)?;
    let mut measured = LOOKUPS.map(|task| (task, Times::default()));
    for round in 0..rounds {
        for (task, times) in &mut measured {
            let slice = slices.make(task.operation, SLICE);
            time_all(&mut lanes, *task, &slice, round, times)?;
        }
    }
    Ok((measured.into(), rates))
}

/// Times every contender once, starting with another one each round so that none always follows the
/// same one.
fn time_all(
    lanes: &mut [Box<dyn Lane>],
    task: Task,
    slice: &Slice,
    round: usize,
    times: &mut Times,
) -> Outcome<()> {
    let warm_up = warm_up_items();
    for turn in 0..lanes.len() {
        let number = (round + turn) % lanes.len();
        let lane = &mut lanes[number];
        if let Some(timing) = lane.time(task, &slice.items, &warm_up) {
            check(task, slice, timing).map_err(|error| format!("{}: {error}", lane.name()))?;
            times[number].push(timing.nanoseconds_per_item);
        }
    }
    Ok(())
}

/// Checks that the results are possible: present items are found, new ones are new.
fn check(task: Task, slice: &Slice, timing: Timing) -> Result<(), String> {
    let len = slice.items.len() as f64;
    let is_correct = match task.operation {
        Operation::LookupOfPresent => timing.yes == slice.present,
        // Some absent items are found; how many is checked separately.
        Operation::Lookup | Operation::LookupOfAbsent => timing.yes >= slice.present,
        Operation::Insert => timing.yes as f64 >= len * (1.0 - MAX_NOT_NEW),
    };
    if is_correct {
        Ok(())
    } else {
        let (operation, yes, present) = (task.operation, timing.yes, slice.present);
        Err(format!(
            "{operation} of {len} items, {present} of them present: {yes} positive results"
        ))
    }
}

fn false_positive_rates(
    case: &Case,
    lanes: &[Box<dyn Lane>; NAMES.len()],
    slices: &mut Slices,
) -> Outcome<Rates> {
    let probes = slices.make(Operation::LookupOfAbsent, PROBES).items;
    // Of the number of hits, relative to the expected number.
    let deviation = 1.0 / (case.error_rate * PROBES as f64).sqrt();
    let mut rates = Rates::default();
    for (lane, measured) in lanes.iter().zip(&mut rates) {
        let rate = lane.found(&probes) as f64 / PROBES as f64;
        let relative_rate = rate / case.error_rate;
        if !lane.is_plausible_rate(relative_rate, DEVIATIONS * deviation) {
            return Err(format!("{}: {rate} is not a plausible error rate", lane.name()).into());
        }
        *measured = rate;
    }
    Ok(rates)
}
