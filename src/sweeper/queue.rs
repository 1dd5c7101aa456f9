//! Which filters are to be swept, and when.
//!
//! ```text
//!   queue    (due, number) ──► place       in order of time: the earliest is swept first
//!              ▲
//!   ticket   one for each filter that waits; part of its value
//! ```
//!
//! A filter that is deleted, overwritten or evicted drops its ticket, whatever command did that and
//! on whatever thread, so there are never more entries than filters that forget. The place may be
//! out of date: check that the filter there has this ticket.

use crate::server::alarm::Alarm;
use crate::server::place::Place;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::panicking;

/// Held for at most a microsecond, by the server's thread or the one that frees values. A node of
/// the tree is the largest allocation, so a million entries cause no stall.
static QUEUE: Mutex<Queue> = Mutex::new(Queue::new());

/// Rings when the first entry is due.
pub static ALARM: Alarm = Alarm::new();

struct Queue {
    waiting: BTreeMap<Turn, Arc<Place>>,
    last_number: u64,
    databases: Databases,
}

/// When an entry is due, in milliseconds since 1970, and a number that no other has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    due: u64,
    number: u64,
}

/// A filter's entry in the queue, which ends with the ticket.
#[derive(Debug)]
pub struct Ticket {
    turn: Turn,
    /// With the number that the database had when the server started: see [`Databases`].
    place: Arc<Place>,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        queue().remove(self.turn);
    }
}

impl Ticket {
    /// Queues a filter.
    pub fn new(due: u64, place: Place) -> Self {
        let database = queue().databases.origin_of(place.database);
        let ticket = Self::at(due, Arc::new(Place { database, ..place }));
        ALARM.set(due);
        ticket
    }

    /// Queues a filter again while the alarm is being handled, which is then set by [`next_due`].
    pub fn again(due: u64, called: &Called) -> Self {
        Self::at(due, Arc::clone(&called.origin))
    }

    fn at(due: u64, place: Arc<Place>) -> Self {
        let mut queue = queue();
        let number = queue.last_number + 1;
        queue.last_number = number;
        let turn = Turn { due, number };
        queue.waiting.insert(turn, Arc::clone(&place));
        Self { turn, place }
    }

    /// Whether it leads to this key, at this time or earlier, and has not been called. Cost: some
    /// 20 ns; a search among all tickets if its time has passed.
    pub fn leads_to(&self, database: u32, name: &[u8], due: u64, now: u64) -> bool {
        if self.turn.due > due || *self.place.name != *name {
            return false;
        }
        let queue = queue();
        queue.databases.origin_of(database) == self.place.database
            && (self.turn.due > now || queue.waiting.contains_key(&self.turn))
    }

    /// Whether this is the entry that was called.
    pub fn is(&self, called: &Called) -> bool {
        self.turn == called.turn
    }
}

/// An entry that has been taken from the queue, because it is due. If handling it panics, it is put
/// back.
pub struct Called {
    turn: Turn,
    /// As in the ticket.
    origin: Arc<Place>,
    /// Where to go.
    pub place: Place,
}

impl Drop for Called {
    fn drop(&mut self) {
        if panicking() {
            queue().waiting.insert(self.turn, Arc::clone(&self.origin));
        }
    }
}

/// Takes the first entry that is due.
pub fn call(now: u64) -> Option<Called> {
    let mut queue = queue();
    let (turn, _) = queue.waiting.first_key_value()?;
    let turn = *turn;
    if turn.due > now {
        return None;
    }
    let origin = queue.remove(turn)?;
    let place = Place {
        database: queue.databases.now_at(origin.database),
        name: origin.name.clone(),
    };
    Some(Called {
        turn,
        origin,
        place,
    })
}

/// When the first entry is due.
pub fn next_due() -> Option<u64> {
    let queue = queue();
    queue.waiting.first_key_value().map(|(turn, _)| turn.due)
}

/// Whether no filter waits.
pub fn is_empty() -> bool {
    queue().waiting.is_empty()
}

/// Swaps two databases. Costs one search, however many filters they hold.
pub fn swap(first: u32, second: u32) {
    queue().databases.swap(first, second);
}

fn queue() -> MutexGuard<'static, Queue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Queue {
    const fn new() -> Self {
        Self {
            waiting: BTreeMap::new(),
            last_number: 0,
            databases: Databases::new(),
        }
    }

    fn remove(&mut self, turn: Turn) -> Option<Arc<Place>> {
        let place = self.waiting.remove(&turn);
        if self.waiting.is_empty() {
            self.waiting = BTreeMap::new(); // which frees its last node
        }
        place
    }
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

    #[test]
    fn filters_are_called_in_order_of_time_and_not_before() {
        let _alone = alone();
        let late = Ticket::new(30, place(0, "late"));
        let early = Ticket::new(10, place(0, "early"));
        assert_eq!(next_due(), Some(10));
        assert!(call(9).is_none());
        let called = call(40).unwrap();
        assert!(early.is(&called) && !late.is(&called));
        assert!(!early.leads_to(0, b"early", 10, 10) && late.leads_to(0, b"late", 30, 40));
        assert_eq!(called.place, place(0, "early"));
        assert!(late.is(&call(30).unwrap()));
        assert!(is_empty() && call(u64::MAX).is_none());
    }

    #[test]
    fn a_ticket_that_ends_leaves_nothing_behind() {
        let _alone = alone();
        for round in 0..100 {
            drop(Ticket::new(round, place(0, "same")));
        }
        assert!(is_empty());
        assert_eq!(next_due(), None);
    }

    #[test]
    fn a_ticket_follows_its_database_through_any_swaps() {
        let _alone = alone();
        let tickets: Vec<Ticket> = (0..4).map(|n| Ticket::new(1, place(n, "x"))).collect();
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
        let later = Ticket::new(0, place(2, "y"));
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
