//! Values whose replies change as time passes: each change is signalled.
//!
//! No command has written to the key, but what clients have read from it is out of date: clients
//! that cache replies (CLIENT TRACKING) must drop them, and a transaction that watches the key must
//! fail, as when a key expires. Primaries and replicas answer by their own clocks, so each signals
//! by its own.

use super::arguments::Argument;
use super::clock::time_now;
use super::context::Context;
use super::data_type::Value;
use super::events;
use super::key::WriteKey;
use super::location::Location;
use super::queue::{Due, Origin, Queue, Ticket, RETRY_MS};
use super::thread::ServerThread;

/// The delay after a change until its signal is sent, in milliseconds: that of a server that looks
/// for expired keys ten times a second. A client that repeats its lookup then gets the new reply,
/// although commands see a time that is some milliseconds old.
const SIGNAL_DELAY_MS: u64 = 100;

/// A value whose replies change as time passes.
pub trait Lapsing: Value {
    /// Where such values wait for their next change.
    fn queue() -> &'static Queue;
    /// When replies about it change next if no command changes it, in milliseconds since 1970:
    /// later than `now`. `None` if they stay as they are.
    fn next_change(&self, now: u64) -> Option<u64>;
    /// Its ticket in that queue; `None` if there is no memory for one.
    fn ticket(&mut self) -> Option<&mut Option<Ticket>>;

    /// Whether any such value waits: most servers have none.
    fn any_waits() -> bool {
        Self::queue().next_due().is_some()
    }

    /// When the next change after `now` is signalled.
    fn next_signal(&self, now: u64) -> Option<u64> {
        self.next_change(now).map(signal_of)
    }

    /// The visits for which the value is to wait, as of `now`: its next signal, and perhaps others.
    fn appointments(&mut self, now: u64) -> impl Iterator<Item = Appointment<'_>> {
        let due = self.next_signal(now);
        let ticket = due.and_then(|_| self.ticket());
        due.zip(ticket)
            .map(|(due, ticket)| Appointment { queue: Self::queue(), ticket, due })
            .into_iter()
    }
}

/// A visit for which a value is to wait.
pub struct Appointment<'a> {
    /// Where it waits.
    pub queue: &'static Queue,
    /// Its ticket there.
    pub ticket: &'a mut Option<Ticket>,
    /// When the visit is due, in milliseconds since 1970.
    pub due: u64,
}

/// When a change at `time` is signalled, in milliseconds since 1970.
pub fn signal_of(time: u64) -> u64 {
    time + SIGNAL_DELAY_MS
}

/// Registers the timer that signals changes of values of type `V`; moved values stay queued.
pub fn register<V: Lapsing>() {
    V::queue().timer.register(signal::<V>);
    events::on_move(moved::<V>);
}

/// Queues `value`, which a command has changed, unless it waits under `key` already. Without
/// memory, the next command that changes it queues it. Cost: some 70 ns if it waits.
pub fn schedule<V: Lapsing>(value: &mut V, context: &Context, key: Argument<'_>) {
    let now = time_now();
    for Appointment { queue, ticket, due } in value.appointments(now) {
        queue.put(ticket, due, now, context, key);
    }
}

/// Queues `value`, which the server loads, or copies to `location`.
pub fn schedule_at<V: Lapsing>(
    value: &mut V,
    location: impl FnOnce() -> Option<Location>,
    thread: ServerThread,
) {
    let mut appointments = value.appointments(time_now()).peekable();
    if appointments.peek().is_none() {
        return;
    }
    let Some(origin) = location().map(Origin::of) else {
        return;
    };
    for Appointment { queue, ticket, due } in appointments {
        *ticket = Some(Ticket::new(queue, due, origin.clone(), thread));
    }
}

/// Queues the value, if it is of type `V`, that has moved to `key` from another key. The key has
/// just been written, so the server is not saving it yet; if it were, the next command that changes
/// the value would queue it.
fn moved<V: Lapsing>(context: &Context, key: Argument<'_>) {
    if !V::any_waits() {
        return;
    }
    let Ok(mut opened) = context.open_quietly(key) else {
        return;
    };
    if let Ok(Some(value)) = opened.value::<V>() {
        value.has_changed(context, key);
    }
}

/// Signals the changes that are due, for as long as the budget lasts: some 40 values a millisecond.
fn signal<V: Lapsing>(context: &Context) -> Option<u64> {
    if context.is_loading() {
        return Some(time_now() + RETRY_MS);
    }
    V::queue().visit_due(context, signal_one::<V>)
}

/// Signals that the key of `entry` has changed, and queues its value again. The key is opened for
/// writing although only the ticket changes: Valkey treats a signalled key as written, and may be
/// about to save it on another thread.
fn signal_one<V: Lapsing>(
    context: &Context,
    entry: &Due,
    now: u64,
    name: Argument<'_>,
    mut key: WriteKey<'_>,
) {
    let Ok(Some(value)) = key.value::<V>() else {
        return;
    };
    let next = value.next_signal(now);
    let Some(ticket) = value.ticket() else {
        return;
    };
    if !ticket.as_ref().is_some_and(|ticket| ticket.is(entry)) {
        return; // another value has taken this key, and has its own ticket
    }
    *ticket = next.map(|due| Ticket::again(due, entry));
    drop(key);
    context.signal_modified(name);
}
