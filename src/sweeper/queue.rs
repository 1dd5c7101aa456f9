//! Which filters are to be visited, and when.
//!
//! ```text
//!   queue    (due, number) ──► origin      in order of time: the earliest is visited first
//!              ▲
//!   ticket   one for each filter that waits; part of its value
//! ```
//!
//! A filter that is deleted, overwritten or evicted drops its ticket, whatever command did that and
//! on whatever thread, so there are never more entries than filters that forget. The origin may be
//! out of date: check that the filter there has this ticket.

use crate::server::alarm::Alarm;
use crate::server::place::Place;
use crate::server::thread::ServerThread;
use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::panicking;

/// Filters from which forgotten items are to be swept.
pub static SWEEPS: Queue = Queue::new();
/// Filters of which lookups will change, because a slice will be over.
pub static CHANGES: Queue = Queue::new();

/// Filters that wait for a visit, and an alarm that rings when the first is due.
pub struct Queue {
    /// Held for at most a microsecond, by the server's thread or the one that frees values. A node
    /// of the tree is the largest allocation, so a million entries cause no stall.
    waiting: Mutex<Waiting>,
    pub alarm: Alarm,
}

struct Waiting {
    entries: BTreeMap<Turn, Origin>,
    last_number: u64,
    passed: Option<Passed>,
}

/// Entries of this round have been passed over. The round ends with the last entry that was due
/// when it began, so neither those that are passed over nor those that are soon due again starve.
#[derive(Clone, Copy)]
struct Passed {
    /// When the first was passed over.
    begun: u64,
    /// The last of them. The next to be called comes after it.
    turn: Turn,
}

/// When an entry is due, in milliseconds since 1970, and a number that no other of the queue has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    due: u64,
    number: u64,
}

/// A place, with the number that its database had when the server started: see [`Databases`].
#[derive(Clone)]
pub struct Origin(Arc<Place>);

impl Origin {
    pub fn of(place: Place) -> Self {
        let database = databases().origin_of(place.database);
        Self(Arc::new(Place { database, ..place }))
    }

    /// Where the value is now.
    fn place(&self) -> Place {
        Place {
            database: databases().now_at(self.0.database),
            name: self.0.name.clone(),
        }
    }
}

/// A filter's entry in a queue, which ends with the ticket.
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
    /// Queues a filter.
    pub fn new(queue: &'static Queue, due: u64, origin: Origin, thread: ServerThread) -> Self {
        let ticket = Self::at(queue, due, origin);
        queue.alarm.set(due, thread);
        ticket
    }

    /// Queues a filter again while the alarm is being handled, which is then set by
    /// [`Queue::next_due`].
    pub fn again(due: u64, called: &Called) -> Self {
        Self::at(called.queue, due, called.origin.clone())
    }

    fn at(queue: &'static Queue, due: u64, origin: Origin) -> Self {
        let mut waiting = queue.waiting();
        let number = waiting.last_number + 1;
        waiting.last_number = number;
        let turn = Turn { due, number };
        waiting.entries.insert(turn, origin.clone());
        Self {
            queue,
            turn,
            origin,
        }
    }

    /// Whether it leads to this key, at this time or earlier, and has not been called. Cost: some
    /// 20 ns; a search among all tickets if its time has passed.
    pub fn leads_to(&self, database: u32, name: &[u8], due: u64, now: u64) -> bool {
        if self.turn.due > due || *self.origin.0.name != *name {
            return false;
        }
        databases().origin_of(database) == self.origin.0.database
            && (self.turn.due > now || self.queue.waiting().entries.contains_key(&self.turn))
    }

    /// Whether this is the entry that was called.
    pub fn is(&self, called: &Called) -> bool {
        self.turn == called.turn
    }
}

/// An entry that has been taken from a queue, because it is due. If handling it panics, it is put
/// back.
pub struct Called {
    queue: &'static Queue,
    turn: Turn,
    origin: Origin,
    /// Where to go.
    pub place: Place,
}

impl Called {
    /// Returns it to the queue: its filter could not be visited.
    fn put_back(&self) {
        let mut waiting = self.queue.waiting();
        waiting.entries.insert(self.turn, self.origin.clone());
    }

    /// Returns it to the queue, which calls all others that are due `now` before it calls this one
    /// again.
    pub fn pass_over(&self, now: u64) {
        self.put_back();
        let mut waiting = self.queue.waiting();
        waiting.passed = Some(Passed {
            begun: waiting.passed.map_or(now, |passed| passed.begun),
            turn: self.turn,
        });
    }
}

impl Drop for Called {
    fn drop(&mut self) {
        if panicking() {
            self.put_back();
        }
    }
}

impl Queue {
    const fn new() -> Self {
        Self {
            waiting: Mutex::new(Waiting {
                entries: BTreeMap::new(),
                last_number: 0,
                passed: None,
            }),
            alarm: Alarm::new(),
        }
    }

    /// Takes the first entry that is due, of those after the last that was passed over. If there is
    /// none, the next call is for the first of all again.
    pub fn call(&'static self, now: u64) -> Option<Called> {
        let mut waiting = self.waiting();
        let Some(mut turn) = waiting.first_to_call().filter(|turn| turn.due <= now) else {
            waiting.passed = None;
            return None;
        };
        if waiting.passed.is_some_and(|passed| turn.due > passed.begun) {
            waiting.passed = None;
            turn = waiting.first_to_call()?;
        }
        let origin = waiting.remove(turn)?;
        drop(waiting);
        Some(Called {
            queue: self,
            turn,
            place: origin.place(),
            origin,
        })
    }

    /// When the first entry is due.
    pub fn next_due(&self) -> Option<u64> {
        let waiting = self.waiting();
        waiting.entries.first_key_value().map(|(turn, _)| turn.due)
    }

    /// Whether no filter waits.
    pub fn is_empty(&self) -> bool {
        self.waiting().entries.is_empty()
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn first_to_call(&self) -> Option<Turn> {
        let start = self
            .passed
            .map_or(Unbounded, |passed| Excluded(passed.turn));
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

/// Swaps two databases. Costs one search, however many filters they hold.
pub fn swap(first: u32, second: u32) {
    databases().swap(first, second);
}

static DATABASES: Mutex<Databases> = Mutex::new(Databases::new());

fn databases() -> MutexGuard<'static, Databases> {
    DATABASES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The effect of all SWAPDB commands: the database that had number `x` at first has `now[x]`, and
/// `origin[y]` is the first number of the one that has `y` now. Those that are not listed kept
/// theirs.
struct Databases {
    now: BTreeMap<u32, u32>,
    origin: BTreeMap<u32, u32>,
}

impl Databases {
    const fn new() -> Self {
        Self {
            now: BTreeMap::new(),
            origin: BTreeMap::new(),
        }
    }

    fn now_at(&self, origin: u32) -> u32 {
        self.now.get(&origin).copied().unwrap_or(origin)
    }

    fn origin_of(&self, now: u32) -> u32 {
        self.origin.get(&now).copied().unwrap_or(now)
    }

    fn swap(&mut self, first: u32, second: u32) {
        let (was_first, was_second) = (self.origin_of(first), self.origin_of(second));
        self.put(was_first, second);
        self.put(was_second, first);
    }

    fn put(&mut self, origin: u32, now: u32) {
        self.now.insert(origin, now);
        self.origin.insert(now, origin);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tests of this file share the queue.
    static ALONE: Mutex<()> = Mutex::new(());

    fn alone() -> MutexGuard<'static, ()> {
        ALONE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn place(database: u32, name: &str) -> Place {
        let name = name.as_bytes().into();
        Place { database, name }
    }

    fn ticket(due: u64, place: Place) -> Ticket {
        Ticket::at(&SWEEPS, due, Origin::of(place))
    }

    fn call(now: u64) -> Option<Called> {
        SWEEPS.call(now)
    }

    #[test]
    fn filters_are_called_in_order_of_time_and_not_before() {
        let _alone = alone();
        let late = ticket(30, place(0, "late"));
        let early = ticket(10, place(0, "early"));
        assert_eq!(SWEEPS.next_due(), Some(10));
        assert!(call(9).is_none());
        let called = call(40).unwrap();
        assert!(early.is(&called) && !late.is(&called));
        assert!(!early.leads_to(0, b"early", 10, 10) && late.leads_to(0, b"late", 30, 40));
        assert_eq!(called.place, place(0, "early"));
        assert!(late.is(&call(30).unwrap()));
        assert!(SWEEPS.is_empty() && call(u64::MAX).is_none());
    }

    #[test]
    fn what_is_put_back_is_called_again() {
        let _alone = alone();
        let only = ticket(10, place(0, "only"));
        let called = call(10).unwrap();
        assert!(SWEEPS.is_empty());
        called.put_back();
        assert!(only.leads_to(0, b"only", 10, 20));
        assert!(only.is(&call(10).unwrap()));
        called.put_back();
        drop(only);
        assert!(SWEEPS.is_empty());
    }

    #[test]
    fn what_is_passed_over_is_called_again_after_all_others() {
        let _alone = alone();
        let tickets = ["first", "second", "third"].map(|name| ticket(10, place(0, name)));
        let late = ticket(11, place(0, "late"));
        let pass_over = |ticket: &Ticket| {
            let called = call(10).unwrap();
            assert!(ticket.is(&called));
            called.pass_over(10);
        };
        for _ in 0..2 {
            tickets.iter().for_each(pass_over);
            assert!(call(10).is_none());
        }
        // One that is dropped meanwhile changes nothing.
        let [first, second, third] = tickets;
        pass_over(&first);
        drop(first);
        assert!(second.is(&call(10).unwrap()) && third.is(&call(10).unwrap()));
        assert!(late.is(&call(11).unwrap()) && call(11).is_none());
    }

    #[test]
    fn what_is_passed_over_is_called_again_although_another_is_always_due() {
        let _alone = alone();
        let passed = ticket(10, place(0, "passed"));
        let mut busy = ticket(10, place(0, "busy"));
        for now in 10..20 {
            let called = call(now).unwrap();
            assert!(passed.is(&called));
            called.pass_over(now);
            let called = call(now).unwrap();
            assert!(busy.is(&called));
            busy = Ticket::again(now + 1, &called);
        }
        drop((passed, busy));
        assert!(call(20).is_none());
    }

    #[test]
    fn a_ticket_that_ends_leaves_nothing_behind() {
        let _alone = alone();
        for round in 0..100 {
            drop(ticket(round, place(0, "same")));
        }
        assert!(SWEEPS.is_empty());
        assert_eq!(SWEEPS.next_due(), None);
    }

    #[test]
    fn a_ticket_follows_its_database_through_any_swaps() {
        let _alone = alone();
        let tickets: Vec<Ticket> = (0..4).map(|n| ticket(1, place(n, "x"))).collect();
        let mut model = [0, 1, 2, 3]; // the database that was here at first
        for (first, second) in [(0, 1), (1, 2), (3, 3), (0, 2), (2, 1), (0, 3)] {
            swap(first, second);
            model.swap(first as usize, second as usize);
        }
        for (now, was) in model.into_iter().enumerate() {
            let ticket = &tickets[was as usize];
            assert!(ticket.leads_to(now as u32, b"x", 1, 0));
            assert!(
                !ticket.leads_to(now as u32, b"x", 0, 0),
                "an earlier time is wanted"
            );
            assert!(!ticket.leads_to(now as u32, b"y", 1, 0));
            assert!(!ticket.leads_to(now as u32 + 1, b"x", 1, 0));
        }
        let later = ticket(0, place(2, "y"));
        assert!(later.leads_to(2, b"y", 0, 0));
        assert_eq!(call(0).unwrap().place, place(2, "y"));
        while let Some(called) = call(1) {
            let ticket = tickets
                .iter()
                .position(|ticket| ticket.is(&called))
                .unwrap();
            assert_eq!(model[called.place.database as usize], ticket as u32);
        }
    }
}
