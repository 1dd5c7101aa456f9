//! Keys that wait for a visit, each at its time.
//!
//! ```text
//!   queue    (due, number) ──► origin      in order of time: the earliest is visited first
//!              ▲
//!   ticket   one for each value that waits; part of the value
//! ```
//!
//! A value that is deleted, overwritten or evicted drops its ticket, whatever command did that and
//! on whatever thread, so there are never more entries than values that wait. The origin may be out
//! of date: check that the value there has this ticket.

use super::arguments::Argument;
use super::clock::time_now;
use super::context::Context;
use super::key::{InUse, WriteKey};
use super::location::Location;
use super::thread::ServerThread;
use super::timer::Timer;
use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::panicking;
use std::time::{Duration, Instant};

/// No visit begins later than this after the timer has fired. A visit takes from 2 µs, for a signal
/// or a small value, to 50 µs, so the server spends at most about a tenth of its time on visits.
const BUDGET: Duration = Duration::from_micros(75);
/// The interval between two callbacks while there is work: the shortest that servers support.
const INTERVAL_MS: u64 = 1;
/// The delay before another try if the server was loading, or all due keys were in use.
pub const RETRY_MS: u64 = 100;

/// A visit: the entry taken, the time, the key's name, and the key.
pub type Visit = fn(&Context, &Due, u64, Argument<'_>, WriteKey<'_>);

/// Values that wait for a visit, and a timer that fires when the first is due.
pub struct Queue {
    /// Held for at most a microsecond, by the server's thread or the one that frees values. A node
    /// of the tree is the largest allocation, so a million entries cause no stall.
    waiting: Mutex<Waiting>,
    /// Fires when the first is due.
    pub timer: Timer,
}

struct Waiting {
    entries: BTreeMap<Turn, Origin>,
    last_number: u64,
    skipped: Option<Skipped>,
}

/// The entries skipped in this round. The round ends with the last entry that was due when it
/// began, so neither skipped entries nor those that are soon due again starve.
#[derive(Clone, Copy)]
struct Skipped {
    /// When the first was skipped.
    since: u64,
    /// The last entry skipped. The next to be taken comes after it.
    turn: Turn,
}

/// When an entry is due, in milliseconds since 1970, and a number that is unique in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    due: u64,
    number: u64,
}

/// A location, with the number that its database had when the server started: see `Databases`.
#[derive(Clone)]
pub struct Origin(Arc<Location>);

impl Origin {
    /// The origin of what is at `location` now.
    pub fn of(location: Location) -> Self {
        let database = databases().origin_of(location.database);
        Self(Arc::new(Location { database, ..location }))
    }
}

/// A value's entry in a queue. Dropping the ticket removes it.
pub struct Ticket {
    queue: &'static Queue,
    turn: Turn,
    origin: Origin,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.queue.waiting().remove(self.turn);
    }
}

impl Ticket {
    /// Queues the value at `origin` for a visit at `due`.
    pub fn new(queue: &'static Queue, due: u64, origin: Origin, thread: ServerThread) -> Self {
        let ticket = Self::at(queue, due, origin);
        queue.timer.set(due, thread);
        ticket
    }

    /// Queues the value of `entry` again, from the timer's callback, which then returns
    /// [`Queue::next_due`].
    pub fn again(due: u64, entry: &Due) -> Self {
        Self::at(entry.queue, due, entry.origin.clone())
    }

    fn at(queue: &'static Queue, due: u64, origin: Origin) -> Self {
        let mut waiting = queue.waiting();
        waiting.last_number += 1;
        let turn = Turn { due, number: waiting.last_number };
        waiting.entries.insert(turn, origin.clone());
        Self { queue, turn, origin }
    }

    /// Whether the ticket leads to the key `name` in `database`, is due at `due` or earlier, and
    /// has not been taken. Cost: some 20 ns; a search among all tickets if its time has passed.
    fn leads_to(&self, database: u32, name: &[u8], due: u64, now: u64) -> bool {
        if self.turn.due > due || *self.origin.0.name != *name {
            return false;
        }
        databases().origin_of(database) == self.origin.0.database
            && (self.turn.due > now || self.queue.waiting().entries.contains_key(&self.turn))
    }

    /// Whether `entry` is that of this ticket.
    pub fn is(&self, entry: &Due) -> bool {
        self.turn == entry.turn
    }
}

/// An entry taken from a queue because it is due. If handling it panics, it is put back.
pub struct Due {
    queue: &'static Queue,
    turn: Turn,
    origin: Origin,
    /// The database that the value was last known to be in.
    database: u32,
}

impl Due {
    /// The name of the value's key when it was queued.
    fn name(&self) -> &[u8] {
        &self.origin.0.name
    }

    /// Returns it to the queue: its value could not be visited.
    fn put_back(&self) {
        self.queue.waiting().entries.insert(self.turn, self.origin.clone());
    }

    /// Puts it back. The queue then returns all other entries that are due `now` before this one.
    fn skip(&self, now: u64) {
        self.put_back();
        let mut waiting = self.queue.waiting();
        let since = waiting.skipped.map_or(now, |skipped| skipped.since);
        waiting.skipped = Some(Skipped { since, turn: self.turn });
    }
}

impl Drop for Due {
    fn drop(&mut self) {
        if panicking() {
            self.put_back();
        }
    }
}

impl Queue {
    /// An empty queue.
    #[allow(clippy::new_without_default, reason = "a constant, for statics")]
    pub const fn new() -> Self {
        Self {
            waiting: Mutex::new(Waiting {
                entries: BTreeMap::new(),
                last_number: 0,
                skipped: None,
            }),
            timer: Timer::new(),
        }
    }

    /// Queues the value of `key` for a visit at `due`, unless its `ticket` leads there already.
    /// Without memory for the key's name, `ticket` becomes `None`.
    pub fn put(
        &'static self,
        ticket: &mut Option<Ticket>,
        due: u64,
        now: u64,
        context: &Context,
        key: Argument<'_>,
    ) {
        let database = context.database();
        let leads_here = |ticket: &Ticket| ticket.leads_to(database, key.bytes(), due, now);
        if !ticket.as_ref().is_some_and(leads_here) {
            let origin = context.location_of(key).map(Origin::of);
            *ticket = origin.map(|origin| Ticket::new(self, due, origin, context.thread()));
        }
    }

    /// Calls `visit` with the key of each entry that is due, for as long as the budget lasts. A key
    /// in use is skipped, and tried again after all other due entries; if no other is due by then,
    /// after a delay. Returns when to continue.
    pub fn visit_due(&'static self, context: &Context, visit: Visit) -> Option<u64> {
        let begun = Instant::now();
        loop {
            let now = time_now();
            let Some(entry) = self.take_due(now) else {
                let next = self.next_due()?;
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

    /// Takes the first due entry after the last one skipped. If there is none, the next call starts
    /// from the first entry again.
    fn take_due(&'static self, now: u64) -> Option<Due> {
        let mut waiting = self.waiting();
        let Some(mut turn) = waiting.first_to_take().filter(|turn| turn.due <= now) else {
            waiting.skipped = None;
            return None;
        };
        if waiting.skipped.is_some_and(|skipped| turn.due > skipped.since) {
            waiting.skipped = None;
            turn = waiting.first_to_take()?;
        }
        let origin = waiting.remove(turn)?;
        drop(waiting);
        Some(Due { queue: self, turn, database: databases().now_at(origin.0.database), origin })
    }

    /// When the first entry is due; `None` if nothing waits.
    pub fn next_due(&self) -> Option<u64> {
        let waiting = self.waiting();
        waiting.entries.first_key_value().map(|(turn, _)| turn.due)
    }

    /// The number of values that wait.
    pub fn num_waiting(&self) -> u64 {
        self.waiting().entries.len() as u64
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn first_to_take(&self) -> Option<Turn> {
        let start = self.skipped.map_or(Unbounded, |skipped| Excluded(skipped.turn));
        let (turn, _) = self.entries.range((start, Unbounded)).next()?;
        Some(*turn)
    }

    fn remove(&mut self, turn: Turn) -> Option<Origin> {
        let origin = self.entries.remove(&turn);
        if self.entries.is_empty() {
            self.entries = BTreeMap::new(); // which frees its last node
        }
        origin
    }
}

static DATABASES: Mutex<Databases> =
    Mutex::new(Databases { now: BTreeMap::new(), origin: BTreeMap::new() });

/// Where databases are now, and where they were.
pub(crate) fn databases() -> MutexGuard<'static, Databases> {
    DATABASES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The effect of all SWAPDB commands. The database that started as number `x` is now `now[x]`, and
/// the one that is now `y` started as `origin[y]`. Numbers that are not listed have not changed.
pub(crate) struct Databases {
    now: BTreeMap<u32, u32>,
    origin: BTreeMap<u32, u32>,
}

impl Databases {
    fn now_at(&self, origin: u32) -> u32 {
        self.now.get(&origin).copied().unwrap_or(origin)
    }

    fn origin_of(&self, now: u32) -> u32 {
        self.origin.get(&now).copied().unwrap_or(now)
    }

    /// Notes that two databases have been swapped. Cost: one search, however many keys they hold.
    pub(crate) fn swap(&mut self, first: u32, second: u32) {
        let (was_first, was_second) = (self.origin_of(first), self.origin_of(second));
        self.now.extend([(was_first, second), (was_second, first)]);
        self.origin.extend([(second, was_first), (first, was_second)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static QUEUE: Queue = Queue::new();

    /// The tests of this file share the queue.
    static ALONE: Mutex<()> = Mutex::new(());

    fn alone() -> MutexGuard<'static, ()> {
        ALONE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn at(database: u32, name: &str) -> Location {
        let name = name.as_bytes().into();
        Location { database, name }
    }

    fn ticket(due: u64, location: Location) -> Ticket {
        Ticket::at(&QUEUE, due, Origin::of(location))
    }

    fn take(now: u64) -> Option<Due> {
        QUEUE.take_due(now)
    }

    #[test]
    fn entries_are_taken_in_order_of_time_and_not_before() {
        let _alone = alone();
        let late = ticket(30, at(0, "late"));
        let early = ticket(10, at(0, "early"));
        assert_eq!(QUEUE.next_due(), Some(10));
        assert!(take(9).is_none());
        let entry = take(40).unwrap();
        assert!(early.is(&entry) && !late.is(&entry));
        assert!(!early.leads_to(0, b"early", 10, 10) && late.leads_to(0, b"late", 30, 40));
        assert_eq!((entry.database, entry.name()), (0, b"early".as_slice()));
        assert!(late.is(&take(30).unwrap()));
        assert!(QUEUE.next_due().is_none() && take(u64::MAX).is_none());
    }

    #[test]
    fn what_is_put_back_is_taken_again() {
        let _alone = alone();
        let only = ticket(10, at(0, "only"));
        let entry = take(10).unwrap();
        assert!(QUEUE.next_due().is_none());
        entry.put_back();
        assert!(only.leads_to(0, b"only", 10, 20));
        assert!(only.is(&take(10).unwrap()));
        entry.put_back();
        drop(only);
        assert!(QUEUE.next_due().is_none());
    }

    #[test]
    fn what_is_skipped_is_taken_again_after_all_others() {
        let _alone = alone();
        let tickets = ["first", "second", "third"].map(|name| ticket(10, at(0, name)));
        let late = ticket(11, at(0, "late"));
        let skip = |ticket: &Ticket| {
            let entry = take(10).unwrap();
            assert!(ticket.is(&entry));
            entry.skip(10);
        };
        for _ in 0..2 {
            tickets.iter().for_each(skip);
            assert!(take(10).is_none());
        }
        // One that is dropped meanwhile changes nothing.
        let [first, second, third] = tickets;
        skip(&first);
        drop(first);
        assert!(second.is(&take(10).unwrap()) && third.is(&take(10).unwrap()));
        assert!(late.is(&take(11).unwrap()) && take(11).is_none());
    }

    #[test]
    fn what_is_skipped_is_taken_again_although_another_is_always_due() {
        let _alone = alone();
        let passed = ticket(10, at(0, "passed"));
        let mut busy = ticket(10, at(0, "busy"));
        for now in 10..20 {
            let entry = take(now).unwrap();
            assert!(passed.is(&entry));
            entry.skip(now);
            let entry = take(now).unwrap();
            assert!(busy.is(&entry));
            busy = Ticket::again(now + 1, &entry);
        }
        drop((passed, busy));
        assert!(take(20).is_none());
    }

    #[test]
    fn a_ticket_that_ends_leaves_nothing_behind() {
        let _alone = alone();
        for round in 0..100 {
            drop(ticket(round, at(0, "same")));
        }
        assert!(QUEUE.next_due().is_none());
        assert_eq!(QUEUE.next_due(), None);
    }

    #[test]
    fn a_ticket_follows_its_database_through_any_swaps() {
        let _alone = alone();
        let tickets: Vec<Ticket> = (0..4).map(|n| ticket(1, at(n, "x"))).collect();
        let mut model = [0, 1, 2, 3]; // the database that was here at first
        for (first, second) in [(0, 1), (1, 2), (3, 3), (0, 2), (2, 1), (0, 3)] {
            databases().swap(first, second);
            model.swap(first as usize, second as usize);
        }
        for (now, was) in model.into_iter().enumerate() {
            let ticket = &tickets[was as usize];
            assert!(ticket.leads_to(now as u32, b"x", 1, 0));
            assert!(!ticket.leads_to(now as u32, b"x", 0, 0), "an earlier time is wanted");
            assert!(!ticket.leads_to(now as u32, b"y", 1, 0));
            assert!(!ticket.leads_to(now as u32 + 1, b"x", 1, 0));
        }
        let later = ticket(0, at(2, "y"));
        assert!(later.leads_to(2, b"y", 0, 0));
        let entry = take(0).unwrap();
        assert_eq!((entry.database, entry.name()), (2, b"y".as_slice()));
        while let Some(entry) = take(1) {
            let ticket = tickets.iter().position(|ticket| ticket.is(&entry)).unwrap();
            assert_eq!(model[entry.database as usize], ticket as u32);
        }
    }
}
