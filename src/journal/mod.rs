//! What is new in filters that clients follow: for BF.CHANGES.
//!
//! A journal belongs to one filter on one node. It begins when a client asks for it, and ends with
//! the filter, with a change other than an add, or when it is idle. It is not saved, copied or
//! replicated. A follower whose journal is gone fetches the filter again.
//!
//! ```text
//!   recording   adds write in it             ring     the newest hashes
//!   waiting     clients wait for it          idle     the end of one that is idle
//!   fold        BF.SHRINK follows, too
//! ```
//!
//! Journals are found by the address of their filter, so a filter that is not followed takes no
//! byte more, and a command on it costs one load more ([`is_any`]).

mod fold;
mod idle;
mod recording;
mod ring;
mod waiting;

pub use fold::Fold;
pub use recording::Recording;
pub use ring::bytes_of_all as bytes;
pub use waiting::{takes_turn, wake_few, Waiter};

use crate::config;
use fold::Folded;
use idle::VISITS_OF_A_COMMAND;
use ring::{has_room, Limits, Ring};
use splitbloom_filter::hash::ItemHash;
use splitbloom_filter::Filter;
use splitbloom_grammar::changes::Position;
use splitbloom_server::allocator::try_vec;
use splitbloom_server::arguments::Argument;
use splitbloom_server::blocking::Sleeper;
use splitbloom_server::clock::time_now;
use splitbloom_server::context::Context;
use splitbloom_server::info::Counter;
use std::collections::{HashMap, VecDeque};
use std::ptr::from_ref;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};
use waiting::{wake_all, Awaited, Pulse};

/// Bytes of a hash in a reply: two little-endian numbers of 64 bits.
const BYTES_OF_HASH: usize = 16;

/// The number of journals.
pub static COUNT: Counter = Counter::new();

/// All journals. Locked for a microsecond, by the server's thread or the one that frees values.
static JOURNALS: LazyLock<Mutex<Journals>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct Journals {
    by_address: HashMap<usize, Journal>,
    /// Their pulses by id, until their last turn.
    pulses: HashMap<u64, Weak<Pulse>>,
    /// Queue of journals to visit: address and id. Entries of ended journals are skipped.
    turns: VecDeque<(usize, u64)>,
}

/// What is new in one filter.
struct Journal {
    /// Random, so that no two nodes, and no two runs of a node, have the same.
    id: u64,
    ring: Ring,
    pulse: Arc<Pulse>,
    /// The fold to which new items are added, if the filter is being folded.
    fold: Weak<Folded>,
}

impl Journal {
    fn try_new(id: u64, now: u64) -> Option<Self> {
        let ring = Ring::try_new()?;
        let journal = Self { id, ring, pulse: Pulse::at(now), fold: Weak::new() };
        COUNT.increment();
        Some(journal)
    }

    /// The hashes from `number` on as a reply has them, at most `count`; `None` if they are gone.
    ///
    /// # Errors
    /// `OutOfMemory`.
    fn since(&self, number: u64, count: u64) -> Result<Option<Vec<u8>>, NotFollowed> {
        let Some(hashes) = self.ring.since(number) else {
            return Ok(None);
        };
        let number = (self.ring.next() - number).min(count) as usize;
        let bytes = try_vec(number * BYTES_OF_HASH);
        let mut bytes = bytes.ok_or(NotFollowed::OutOfMemory)?;
        for ItemHash { place, probes } in hashes.take(number) {
            bytes.extend_from_slice(&place.to_le_bytes());
            bytes.extend_from_slice(&probes.to_le_bytes());
        }
        Ok(Some(bytes))
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.pulse.end();
        COUNT.decrement();
    }
}

fn journals() -> MutexGuard<'static, Journals> {
    // A panic leaves at most a journal missing, and its followers fetch the filter again.
    JOURNALS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers the timers.
pub fn register() {
    idle::register();
    waiting::register();
}

/// Whether any filter is followed. Cost: one load. (A filter is freed on another thread only after
/// the server's own thread has passed it on, and with it the count of journals.)
#[inline]
fn is_any() -> bool {
    COUNT.get() > 0
}

fn address(filter: &Filter) -> usize {
    from_ref(filter).addr()
}

/// Bytes of the journal of `filter`.
pub fn bytes_of(filter: &Filter) -> u64 {
    if !is_any() {
        return 0;
    }
    let journals = journals();
    let journal = journals.by_address.get(&address(filter));
    journal.map_or(0, |journal| journal.ring.bytes())
}

/// Ends the journal of `filter`, if it has one: the filter is freed, or changes in a way that no
/// list of hashes can express.
pub fn end(filter: &Filter) {
    if is_any() {
        let ended = journals().by_address.remove(&address(filter));
        drop(ended); // without the lock
    }
}

/// Ends the journal of `filter`, the value of `key`, which has changed, and wakes its followers.
pub fn end_and_wake(context: &Context, filter: &Filter, key: Argument<'_>) {
    end(filter);
    wake_all(context, key);
}

/// Notes that the filter has moved from address `from` to where it is now.
pub fn moved(filter: &Filter, from: usize) {
    if !is_any() {
        return;
    }
    let mut journals = journals();
    if let Some(journal) = journals.by_address.remove(&from) {
        journals.put(address(filter), journal);
    }
}

/// The answer to a follower.
pub struct Changes {
    /// Where the follower is once it has applied `hashes`, or fetched the filter.
    pub position: Position,
    /// The hashes that it lacks; `None` if it must fetch the filter.
    pub hashes: Option<Vec<u8>>,
    /// The journal, and how many of its hashes the follower knows.
    known: Awaited,
}

/// Why a follower gets no answer.
#[derive(Debug)]
pub enum NotFollowed {
    /// The journals would take more than they may.
    OverLimit,
    OutOfMemory,
}

impl Journals {
    /// The journal of `filter`, which is in use from now on; begins one if the filter has none.
    ///
    /// # Errors
    /// Why there is none.
    fn of(&mut self, context: &Context, filter: &Filter) -> Result<&mut Journal, NotFollowed> {
        let (now, address) = (time_now(), address(filter));
        if let Some(journal) = self.by_address.get(&address) {
            journal.pulse.beat(now); // first, so that this one does not end
        }
        self.visit(VISITS_OF_A_COMMAND, now);
        if !self.by_address.contains_key(&address) {
            if !has_room(limits()) {
                return Err(NotFollowed::OverLimit);
            }
            let journal = Journal::try_new(context.random(), now);
            self.put(address, journal.ok_or(NotFollowed::OutOfMemory)?);
            idle::visit_later(context, now);
        }
        self.by_address.get_mut(&address).ok_or(NotFollowed::OutOfMemory)
    }
}

/// What is new in `filter` since `position`, at most `count` hashes. Begins a journal if there is
/// none. Cost: a copy of what it returns.
///
/// # Errors
/// Why there is no journal, or no answer.
pub fn changes(
    context: &Context,
    filter: &Filter,
    position: Option<Position>,
    count: u64,
) -> Result<Changes, NotFollowed> {
    let mut journals = journals();
    let journal = journals.of(context, filter)?;
    let known = position.filter(|position| position.journal == journal.id);
    let hashes = known.map_or(Ok(None), |known| journal.since(known.hashes, count))?;
    let number = match (known, &hashes) {
        (Some(Position { hashes, .. }), Some(new)) => hashes + (new.len() / BYTES_OF_HASH) as u64,
        _ => journal.ring.next(),
    };
    Ok(Changes {
        position: Position {
            journal: journal.id,
            hashes: number,
            in_table: journal.ring.in_table(number),
        },
        hashes,
        known: Awaited {
            pulse: journal.pulse.clone(),
            hashes: known.map_or(number, |known| known.hashes),
        },
    })
}

/// Whether `position` is one in the journal of `filter`, and no hash since then is gone: then the
/// filter has changed by adds only. Counts as a use of the journal.
pub fn goes_on_from(filter: &Filter, position: Position) -> bool {
    let journals = journals();
    let journal = journals.by_address.get(&address(filter));
    journal.filter(|journal| journal.id == position.journal).is_some_and(|journal| {
        journal.pulse.beat(time_now());
        journal.ring.since(position.hashes).is_some()
    })
}

impl Changes {
    /// Whether there is nothing to tell the follower.
    pub fn is_empty(&self) -> bool {
        self.hashes.as_ref().is_some_and(Vec::is_empty)
    }

    /// A client that waits for what comes next, in the filter under `key`; `None` if there is no
    /// memory for it.
    pub fn try_waiter(
        self,
        context: &Context,
        key: Argument<'_>,
        sleeper: Sleeper,
    ) -> Option<Waiter> {
        let mut own = try_vec(1)?;
        own.push(self.known);
        Waiter::try_new(context.location_of(key)?, own, sleeper)
    }
}

/// Journals of several filters, which a client knows up to some positions.
pub struct Several {
    /// The indexes of the journals that have news, or have ended.
    pub news: Vec<u64>,
    /// Whether none has ended.
    pub are_known: bool,
    /// The journals that have not ended.
    awaited: Vec<Awaited>,
}

/// Which of the journals at these positions have news.
///
/// # Errors
/// `OutOfMemory`.
pub fn news_of(
    positions: impl ExactSizeIterator<Item = Option<Position>>,
) -> Result<Several, NotFollowed> {
    let number = positions.len();
    let mut news = try_vec(number).ok_or(NotFollowed::OutOfMemory)?;
    let mut awaited = try_vec(number).ok_or(NotFollowed::OutOfMemory)?;
    let (journals, now) = (journals(), time_now());
    for (place, position) in (0..).zip(positions) {
        let known = position.and_then(|position| journals.at(position));
        if known.as_ref().is_none_or(Awaited::has_news) {
            news.push(place);
        }
        if let Some(known) = known {
            known.pulse.beat(now);
            awaited.push(known);
        }
    }
    let are_known = awaited.len() == number;
    Ok(Several { news, are_known, awaited })
}

impl Several {
    /// A client that waits for news of any of them, the first of which is of the filter under
    /// `key`; `None` if there is no memory for it.
    pub fn try_waiter(
        self,
        context: &Context,
        key: Argument<'_>,
        sleeper: Sleeper,
    ) -> Option<Waiter> {
        Waiter::try_new(context.location_of(key)?, self.awaited, sleeper)
    }
}

impl Journals {
    /// The journal of a position; `None` if it has ended.
    fn at(&self, Position { journal, hashes, .. }: Position) -> Option<Awaited> {
        let pulse = self.pulses.get(&journal)?.upgrade()?;
        if pulse.has_ended() {
            return None;
        }
        Some(Awaited { pulse, hashes })
    }

    /// Puts a journal under `address`; without memory for the entry, ends it.
    fn put(&mut self, address: usize, journal: Journal) {
        if self.turns.try_reserve(1).is_ok() && self.pulses.try_reserve(1).is_ok() {
            self.pulses.insert(journal.id, Arc::downgrade(&journal.pulse));
            self.turns.push_back((address, journal.id));
            self.put_back(address, journal);
        }
    }

    /// Puts back a journal that was taken from `address`, and has kept its turn.
    fn put_back(&mut self, address: usize, journal: Journal) {
        journal.pulse.has(journal.ring.next());
        if self.by_address.try_reserve(1).is_ok() {
            self.by_address.insert(address, journal);
        }
    }
}

fn limits() -> Limits {
    Limits {
        hashes: config::MAX_FOLLOWED_ITEMS.get().unsigned_abs(),
        bytes: config::MAX_JOURNAL_BYTES.get().unsigned_abs(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use splitbloom_filter::filter::{Growth, Parameters, SizeLimit};
    use splitbloom_filter::hash::Seed;
    use splitbloom_server::location::Location;

    /// An empty filter, which has an address of its own.
    fn filter() -> Box<Filter> {
        let parameters =
            Parameters { error_rate: 0.01, capacity: 100, growth: Growth::Fixed, seed: Seed(1) };
        Box::new(Filter::new(parameters, SizeLimit::Unlimited).unwrap())
    }

    /// Begins a journal as a command at the time `now` does.
    fn begin(filter: &Filter, id: u64, now: u64) {
        journals().put(address(filter), Journal::try_new(id, now).unwrap());
    }

    fn id(filter: &Filter) -> Option<u64> {
        let journals = journals();
        let journal = journals.by_address.get(&address(filter));
        journal.map(|journal| journal.id)
    }

    fn capacities() -> [usize; 3] {
        let Journals { by_address, pulses, turns } = &*journals();
        [by_address.capacity(), pulses.capacity(), turns.capacity()]
    }

    /// One test, since journals are known to the whole process.
    #[test]
    fn a_journal_stays_with_its_filter_until_it_ends_or_nobody_asks_for_it() {
        const TIME: u64 = 60_000;
        let filters: Vec<_> = (0..100).map(|_| filter()).collect();
        for (n, filter) in filters.iter().enumerate() {
            begin(filter, n as u64, n as u64);
            assert!(bytes_of(filter) > 0);
        }
        assert_eq!((COUNT.get(), id(&filters[7])), (100, Some(7)));

        let elsewhere = filter();
        moved(&elsewhere, address(&filters[7]));
        assert_eq!((id(&filters[7]), id(&elsewhere)), (None, Some(7)));
        moved(&filters[7], address(&filters[7]) + 1);
        assert_eq!(id(&filters[7]), None, "another value has moved");
        end(&filters[8]);
        assert_eq!((COUNT.get(), id(&filters[8])), (99, None));

        // The turns of those that were moved or ended are passed over.
        let pulse = journals().by_address[&address(&filters[20])].pulse.clone();
        let key = Location { database: 0, name: (*b"key").into() };
        let waiter = Waiter::try_new(key, vec![Awaited { pulse, hashes: 0 }], Sleeper::default());
        for round in 0..=1 {
            journals().visit(51, TIME + 50);
            if round == 0 {
                assert!(COUNT.get() > 50, "a few at a time");
            }
        }
        for (n, filter) in filters.iter().enumerate() {
            let stays = n >= 50 || n == 20;
            assert_eq!(id(filter), stays.then_some(n as u64), "{n}");
        }
        assert_eq!(id(&elsewhere), None);
        std::mem::forget(waiter); // it asks the server for the time
        journals().visit(1000, TIME + 100);
        assert_eq!((COUNT.get(), id(&filters[20])), (1, Some(20)));

        let many: Vec<_> = (0..16_000).map(|_| filter()).collect();
        many.iter().zip(1000..).for_each(|(filter, id)| begin(filter, id, TIME));
        assert!(capacities().iter().all(|capacity| *capacity >= 16_000));
        many.iter().for_each(|filter| end(filter));
        (0..16_000 / 512 + 1).for_each(|_| journals().visit(512, TIME + 100));
        assert!(capacities().iter().all(|capacity| *capacity <= 128), "{:?}", capacities());
        assert_eq!(id(&filters[20]), Some(20));
    }
}
