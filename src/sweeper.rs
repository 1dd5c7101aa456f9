//! Work on filters that forget, between commands: sweeping frees the memory of forgotten items in
//! small steps. (Changes of lookups are signalled by [`lapse`].)
//!
//! The primary decides and replicates each step of a sweep (BF.FORGET), as it does when a key
//! expires, so that primary, replicas and append-only file agree. Values queue themselves for their
//! next visit ([`timetable`](crate::types::timetable)).

use crate::stats;
use crate::types::timetable::{Timetable, SWEEPS};
use crate::types::BloomFilter;
use splitbloom_filter::filter::Swept;
use splitbloom_filter::{AddError, Filter};
use splitbloom_server::arguments::Argument;
use splitbloom_server::change::Target;
use splitbloom_server::clock::time_now;
use splitbloom_server::context::Context;
use splitbloom_server::events;
use splitbloom_server::key::WriteKey;
use splitbloom_server::lapse;
use splitbloom_server::queue::{Due, Ticket, RETRY_MS};
use splitbloom_server::text::ShortText;
use splitbloom_server::thread::free_in_background;
use std::time::Instant;

/// The delay before another try of a step that lacked memory.
const NO_MEMORY_RETRY_MS: u64 = 1_000;

/// Registers the timers, and the callbacks for events.
pub fn register(context: &Context) {
    SWEEPS.timer.register(sweep);
    lapse::register::<BloomFilter>();
    events::register(context, |context| SWEEPS.timer.set(0, context.thread()));
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

/// The number of filters to be swept, now or later; 0 on a replica, which sweeps none.
pub fn num_waiting() -> u64 {
    if Context::server_is_primary() {
        SWEEPS.num_waiting()
    } else {
        0
    }
}

/// How long the first filter to be swept has been due, in milliseconds.
pub fn lag() -> u64 {
    let due = SWEEPS.next_due().filter(|_| Context::server_is_primary());
    due.map_or(0, |due| time_now().saturating_sub(due))
}

/// Sweeps the filters that are due, for as long as the budget lasts.
fn sweep(context: &Context) -> Option<u64> {
    if !context.is_primary() {
        return None; // until `role_changed`
    }
    if context.must_wait() {
        return Some(time_now() + RETRY_MS);
    }
    SWEEPS.visit_due(context, sweep_one)
}

/// Takes a step in the filter of `entry`, and queues it again.
fn sweep_one(context: &Context, entry: &Due, now: u64, name: Argument<'_>, key: WriteKey<'_>) {
    let Some(mut target) = Target::<BloomFilter>::of_timer(context, name, key) else {
        return;
    };
    let filter = target.value_mut().filter_mut();
    let (Some(window), Some(timetable)) = (filter.window(), filter.attachment()) else {
        return;
    };
    let Timetable { sweep, last_client_time, .. } = timetable;
    if !sweep.as_ref().is_some_and(|ticket| ticket.is(entry)) {
        return; // another filter has taken this key, and has its own ticket
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
    if has_changed {
        let time = ShortText::of(now);
        // Lookups have changed before, when the items were forgotten.
        target.settle().replicate(c"BF.FORGET", [time.bytes()]).end();
        stats::swept(begun.elapsed());
    }
}
