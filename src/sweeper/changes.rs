//! Signals that lookups have changed because a slice is over.
//!
//! Nobody has written to the filter, but what clients have read from it is out of date: those that
//! cache replies (CLIENT TRACKING) must drop them, and a transaction that watches the key must
//! fail, as when a key expires. Primaries and replicas serve lookups by their own clocks, so each
//! signals by its own.

use super::{visit_all, RETRY_MS};
use crate::types::timetable::{next_signal, Timetable, CHANGES};
use crate::types::BloomFilter;
use splitbloom_server::clock::time_now;
use splitbloom_server::context::Context;
use splitbloom_server::key::InUse;
use splitbloom_server::queue::{Due, Ticket};

/// Signals the changes that are due, for as long as the budget lasts: some 40 filters a
/// millisecond.
pub(super) fn signal(context: &Context) -> Option<u64> {
    if context.is_loading() {
        return Some(time_now() + RETRY_MS);
    }
    visit_all(context, &CHANGES, visit)
}

/// Signals that the key of `entry` has changed, and queues the filter again. The key is opened for
/// writing although only the ticket changes: Valkey treats a signalled key as written, and may be
/// about to save it on another thread.
fn visit(context: &Context, entry: &Due, now: u64) -> Result<(), InUse> {
    let Some(name) = context.go_to(entry.database, entry.name()) else {
        return Ok(());
    };
    let mut key = context.open_quietly(name.argument())?;
    let Ok(Some(stored)) = key.value::<BloomFilter>() else {
        return Ok(());
    };
    let filter = stored.filter_mut();
    let next = next_signal(filter, now);
    let Some(Timetable { change, .. }) = filter.attachment() else {
        return Ok(());
    };
    if !change.as_ref().is_some_and(|ticket| ticket.is(entry)) {
        return Ok(()); // another filter has come to this key, and waits by itself
    }
    *change = next.map(|due| Ticket::again(due, entry));
    drop(key);
    context.signal_modified(name.argument());
    Ok(())
}
