//! Signals that lookups have changed because a slice is over.
//!
//! Nobody has written to the filter, but what clients have read of it is no longer true: those that
//! cache replies (CLIENT TRACKING) must drop them, and a transaction that watches the key must
//! fail, as when a key expires. Primaries and replicas answer lookups by their own clocks, so each
//! signals by its own.

use super::queue::{Called, Ticket, CHANGES};
use super::{visit_all, PAUSE};
use crate::server::clock::time_now;
use crate::server::context::Context;
use crate::server::key::{Held, InUse};
use crate::types::bloom::{StoredFilter, Timetable};
use crate::types::Stored as _;
use splitbloom_filter::Filter;

/// How long after the end of a slice its signal is sent, in milliseconds: as late as a server that
/// looks for expired keys ten times a second. A client that is told and asks again then gets the
/// new reply, although the server tells commands a time that is some milliseconds old.
const MARGIN: u64 = 100;

/// When the next change of lookups in `filter` after `now` is signalled, in milliseconds since
/// 1970; `None` if the filter has no item left to forget.
pub fn next_signal(filter: &Filter, now: u64) -> Option<u64> {
    filter.next_change(now).map(|end| end + MARGIN)
}

/// Signals what has changed, for as long as the budget lasts: some 40 filters a millisecond.
pub(super) fn signal(context: &Context) -> Option<u64> {
    if context.is_loading() {
        return Some(time_now() + PAUSE);
    }
    visit_all(context, &CHANGES, visit)
}

/// Signals that the key of the entry has changed, and queues the filter again. The key is opened
/// for writing although only the ticket changes: Valkey takes a key that is signalled for one that
/// has been written, and may be about to save it on another thread.
fn visit(context: &Context, called: &Called, now: u64) -> Result<(), InUse> {
    let Some(name) = context.go_to(&called.place) else {
        return Ok(());
    };
    let mut key = context.open_quietly(name.argument())?;
    let Held::Value(stored) = key.held::<StoredFilter>() else {
        return Ok(());
    };
    let filter = stored.filter_mut();
    let next = next_signal(filter, now);
    let Some(Timetable { change, .. }) = filter.attachment() else {
        return Ok(());
    };
    if !change.as_ref().is_some_and(|ticket| ticket.is(called)) {
        return Ok(()); // another filter has come to this key, and waits by itself
    }
    *change = next.map(|due| Ticket::again(due, called));
    drop(key);
    context.signal_modified(name.argument());
    Ok(())
}
