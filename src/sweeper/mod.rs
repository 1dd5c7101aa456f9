//! What happens to filters that forget between commands: sweeping frees the memory of forgotten
//! items in small steps, and changes of lookups are signalled.
//!
//! The primary decides and replicates each step of a sweep (BF.FORGET), as it does when a key
//! expires, so that primary, replicas and append-only file agree. Signals ([`changes`]) go to each
//! server's own clients, by its own clock. The [`queue`]s have the filters that wait for their next
//! visit; values enqueue themselves ([`StoredFilter::attend`]).

pub mod changes;
pub mod queue;

use crate::server::arguments::Argument;
use crate::server::clock::time_now;
use crate::server::context::Context;
use crate::server::elsewhere::free_elsewhere;
use crate::server::events::{self, Listener};
use crate::server::key::{Held, InUse};
use crate::stats;
use crate::types::bloom::{StoredFilter, Timetable};
use crate::types::Stored as _;
use queue::{Called, Queue, Ticket, CHANGES, SWEEPS};
use splitbloom_filter::filter::Swept;
use splitbloom_filter::{AddError, Filter};
use std::time::{Duration, Instant};

/// No visit begins later than this after an alarm has rung. A step of a sweep takes some 2 µs in a
/// small filter and 50 µs in one of 10^8 items, so the server spends at most a tenth of its time on
/// them.
const BUDGET: Duration = Duration::from_micros(75);
/// The interval between rings while there is work, in milliseconds: the shortest that servers
/// support.
const BREAK: u64 = 1;
/// The delay until the server is asked again whether its dataset may change, in milliseconds.
const PAUSE: u64 = 100;
/// The delay until a step for which there was no memory is tried again, in milliseconds.
const RETRY: u64 = 1_000;

/// Asks the server for a call when a filter is due, and for events about keys.
pub fn register(context: &Context) {
    SWEEPS.alarm.register(context, sweep);
    CHANGES.alarm.register(context, changes::signal);
    events::register(
        context,
        Listener {
            moved,
            swapped: queue::swap,
            role_changed: |context| SWEEPS.alarm.set(0, context.thread()),
        },
    );
}

/// Takes a step of a sweep, and counts it. A large table that is forgotten as a whole is freed on
/// another thread.
///
/// # Errors
/// As [`Filter::sweep_step`].
pub fn step(filter: &mut Filter, now: u64) -> Result<Swept, AddError> {
    let swept = filter.sweep_step(now)?;
    stats::forgotten(swept.forgotten);
    free_gone(filter);
    Ok(swept)
}

/// Frees the table that the filter has forgotten as a whole, if there is one.
pub fn free_gone(filter: &mut Filter) {
    if let Some(table) = filter.take_gone() {
        free_elsewhere(table);
    }
}

/// Handles a value that has moved to this key from another.
fn moved(context: &Context, key: Argument<'_>) {
    if SWEEPS.is_empty() && CHANGES.is_empty() {
        return; // most servers have no filters that forget
    }
    // A key in use has just been written, so no server saves it yet. If one did, the filter would
    // wait for the next command that changes it.
    let Ok(mut opened) = context.open_quietly(key) else {
        return;
    };
    if let Held::Value(stored) = opened.held::<StoredFilter>() {
        stored.attend(context, key);
    }
}

/// Sweeps what is due, for as long as the budget lasts.
fn sweep(context: &Context) -> Option<u64> {
    if !context.is_primary() {
        return None; // until `role_changed`
    }
    if context.must_wait() {
        return Some(time_now() + PAUSE);
    }
    visit_all(context, &SWEEPS, visit)
}

/// Visits what is due, for as long as the budget lasts. A key in use is passed over, and tried
/// again once all the others that are due have been visited; after a pause, if no other is due by
/// then.
fn visit_all(
    context: &Context,
    queue: &'static Queue,
    visit: fn(&Context, &Called, u64) -> Result<(), InUse>,
) -> Option<u64> {
    let begun = Instant::now();
    loop {
        let now = time_now();
        let Some(called) = queue.call(now) else {
            let next = queue.next_due()?;
            return Some(if next <= now { now + PAUSE } else { next });
        };
        if let Err(InUse) = visit(context, &called, now) {
            called.pass_over(now);
        }
        if begun.elapsed() >= BUDGET {
            return Some(now + BREAK);
        }
    }
}

/// Opens the key of the entry, takes a step there, and queues the filter again.
fn visit(context: &Context, called: &Called, now: u64) -> Result<(), InUse> {
    let Some(name) = context.go_to(&called.place) else {
        return Ok(());
    };
    let mut key = context.open_quietly(name.argument())?;
    let Held::Value(stored) = key.held::<StoredFilter>() else {
        return Ok(());
    };
    let filter = stored.filter_mut();
    let (Some(window), Some(timetable)) = (filter.window(), filter.attachment()) else {
        return Ok(());
    };
    let Timetable { sweep, told, .. } = timetable;
    if !sweep.as_ref().is_some_and(|ticket| ticket.is(called)) {
        return Ok(()); // another filter has come to this key, and waits by itself
    }
    let quiet = *told + window.slice();
    if quiet > now && *told <= now {
        *sweep = Some(Ticket::again(quiet, called));
        return Ok(());
    }
    let begun = Instant::now();
    let is_due = filter.next_due().is_some_and(|due| due <= now);
    let has_changed = is_due && step(filter, now).is_ok_and(|swept| swept.has_changed);
    let next = filter.next_due().map(|due| match due <= now {
        true if !has_changed => now + RETRY,
        _ => due.max(now), // behind the others that wait
    });
    if let Some(Timetable { sweep, .. }) = filter.attachment() {
        *sweep = next.map(|due| Ticket::again(due, called));
    }
    drop(key);
    if has_changed {
        let time = now.to_string();
        context.replicate(c"BF.FORGET", name.argument(), &[time.as_bytes()]);
        stats::swept(begun.elapsed());
    }
    Ok(())
}
