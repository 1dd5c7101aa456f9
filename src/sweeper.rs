//! Work on filters that forget, between commands: sweeping frees the memory of forgotten items in
//! small steps, and changes of lookups are signalled.
//!
//! The primary decides and replicates each step of a sweep (BF.FORGET), as it does when a key
//! expires, so that primary, replicas and append-only file agree. Values queue themselves for their
//! next visit ([`timetable`](crate::types::timetable)).
//!
//! A signal says that lookups have changed because a slice is over. Nobody has written to the
//! filter, but what clients have read from it is out of date: those that cache replies (CLIENT
//! TRACKING) must drop them, and a transaction that watches the key must fail, as when a key
//! expires. Primaries and replicas serve lookups by their own clocks, so each signals by its own.

use crate::stats;
use crate::types::timetable::{next_signal, Timetable, CHANGES, SWEEPS};
use crate::types::BloomFilter;
use splitbloom_filter::filter::Swept;
use splitbloom_filter::{AddError, Filter};
use splitbloom_server::arguments::Argument;
use splitbloom_server::clock::time_now;
use splitbloom_server::context::Context;
use splitbloom_server::events::{self, Listener};
use splitbloom_server::key::{InUse, WriteKey};
use splitbloom_server::queue::{Due, Queue, Ticket};
use splitbloom_server::text::Line;
use splitbloom_server::thread::free_in_background;
use std::time::{Duration, Instant};

/// No visit begins later than this after the timer has fired. A sweep step takes some 2 µs in a
/// small filter and 50 µs in one of 10^8 items, so the server spends about a tenth of its time on
/// them at most.
const BUDGET: Duration = Duration::from_micros(75);
/// The interval between two callbacks while there is work: the shortest that servers support.
const INTERVAL_MS: u64 = 1;
/// The delay before another try if the server was loading, or all due keys were in use.
const RETRY_MS: u64 = 100;
/// The delay before another try of a step that lacked memory.
const NO_MEMORY_RETRY_MS: u64 = 1_000;

/// Registers the timers of both queues, and the callbacks for events.
pub fn register(context: &Context) {
    SWEEPS.timer.register(sweep);
    CHANGES.timer.register(signal);
    events::register(
        context,
        Listener { moved, role_changed: |context| SWEEPS.timer.set(0, context.thread()) },
    );
}

/// Takes a step of sweeping `filter`, and counts it. A large table that is forgotten as a whole is
/// freed on another thread.
///
/// # Errors
/// As [`Filter::sweep_step`].
pub fn step(filter: &mut Filter, now: u64) -> Result<Swept, AddError> {
    let swept = filter.sweep_step(now)?;
    stats::ITEMS_FORGOTTEN.add(swept.forgotten);
    free_gone(filter);
    Ok(swept)
}

/// The number of allocations up to which a filter is freed at once, as the server frees a value.
const FEW_ALLOCATIONS: u64 = 64;

/// Frees a filter that has left its key: a large one on another thread.
pub fn free_filter(filter: Filter) {
    if filter.allocations() > FEW_ALLOCATIONS {
        free_in_background("bf-free", filter);
    }
}

/// Frees the table that `filter` has forgotten as a whole, if any.
pub fn free_gone(filter: &mut Filter) {
    if let Some(table) = filter.take_gone() {
        free_in_background("bf-free", table);
    }
}

/// Schedules a value that has moved to `key` from another key.
fn moved(context: &Context, key: Argument<'_>) {
    if SWEEPS.next_due().is_none() && CHANGES.next_due().is_none() {
        return; // most servers have no filters that forget
    }
    // The key has just been written, so no server is saving it yet. If one were, the filter would
    // wait for the next command that changes it.
    let Ok(mut opened) = context.open_quietly(key) else {
        return;
    };
    if let Ok(Some(stored)) = opened.value::<BloomFilter>() {
        stored.schedule(context, key);
    }
}

/// Sweeps the filters that are due, for as long as the budget lasts.
fn sweep(context: &Context) -> Option<u64> {
    if !context.is_primary() {
        return None; // until `role_changed`
    }
    if context.must_wait() {
        return Some(time_now() + RETRY_MS);
    }
    visit_all(context, &SWEEPS, sweep_one)
}

/// Signals the changes that are due, for as long as the budget lasts: some 40 filters a
/// millisecond.
fn signal(context: &Context) -> Option<u64> {
    if context.is_loading() {
        return Some(time_now() + RETRY_MS);
    }
    visit_all(context, &CHANGES, signal_change)
}

/// Calls `visit` with the key of each entry of `queue` that is due, for as long as the budget
/// lasts. A key in use is skipped, and tried again after all other due entries; if no other is due
/// by then, after a delay. Returns when to continue.
fn visit_all(
    context: &Context,
    queue: &'static Queue,
    visit: fn(&Context, &Due, u64, Argument<'_>, WriteKey<'_>),
) -> Option<u64> {
    let begun = Instant::now();
    loop {
        let now = time_now();
        let Some(entry) = queue.take_due(now) else {
            let next = queue.next_due()?;
            return Some(if next <= now { now + RETRY_MS } else { next });
        };
        if let Some(name) = context.go_to(entry.database, entry.name()) {
            match context.open_quietly(name.argument()) {
                Ok(key) => visit(context, &entry, now, name.argument(), key),
                Err(InUse) => entry.skip(now),
            }
        }
        if begun.elapsed() >= BUDGET {
            return Some(now + INTERVAL_MS);
        }
    }
}

/// Takes a step in the filter of `entry`, and queues it again.
fn sweep_one(context: &Context, entry: &Due, now: u64, name: Argument<'_>, mut key: WriteKey<'_>) {
    let Ok(Some(stored)) = key.value::<BloomFilter>() else {
        return;
    };
    let filter = stored.filter_mut();
    let (Some(window), Some(timetable)) = (filter.window(), filter.attachment()) else {
        return;
    };
    let Timetable { sweep, last_client_time, .. } = timetable;
    if !sweep.as_ref().is_some_and(|ticket| ticket.is(entry)) {
        return; // another filter has come to this key, and waits by itself
    }
    let quiet = *last_client_time + window.slice();
    if quiet > now && *last_client_time <= now {
        *sweep = Some(Ticket::again(quiet, entry));
        return;
    }
    let begun = Instant::now();
    let is_due = filter.next_due().is_some_and(|due| due <= now);
    let has_changed = is_due && step(filter, now).is_ok_and(|swept| swept.has_changed);
    let next = filter.next_due().map(|due| match due <= now {
        true if !has_changed => now + NO_MEMORY_RETRY_MS,
        _ => due.max(now), // after the others that wait
    });
    if let Some(Timetable { sweep, .. }) = filter.attachment() {
        *sweep = next.map(|due| Ticket::again(due, entry));
    }
    drop(key);
    if has_changed {
        let time = Line::of(now);
        context.replicate(c"BF.FORGET", name, [time.bytes()]);
        stats::swept(begun.elapsed());
    }
}

/// Signals that the key of `entry` has changed, and queues the filter again. The key is opened for
/// writing although only the ticket changes: Valkey treats a signalled key as written, and may be
/// about to save it on another thread.
fn signal_change(
    context: &Context,
    entry: &Due,
    now: u64,
    name: Argument<'_>,
    mut key: WriteKey<'_>,
) {
    let Ok(Some(stored)) = key.value::<BloomFilter>() else {
        return;
    };
    let filter = stored.filter_mut();
    let next = next_signal(filter, now);
    let Some(Timetable { change, .. }) = filter.attachment() else {
        return;
    };
    if !change.as_ref().is_some_and(|ticket| ticket.is(entry)) {
        return; // another filter has come to this key, and waits by itself
    }
    *change = next.map(|due| Ticket::again(due, entry));
    drop(key);
    context.signal_modified(name);
}
