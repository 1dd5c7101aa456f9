//! Clients that wait for new hashes in journals.
//!
//! A client costs the server some 25 µs each time it gets news: the reply, and the next question.
//! So a few get news at once; more of them are served by a timer, the one that has waited longest
//! first. The longer they wait, the more news each gets at a time.

use splitbloom_server::arguments::Argument;
use splitbloom_server::blocking::Sleeper;
use splitbloom_server::clock::time_now;
use splitbloom_server::context::Context;
use splitbloom_server::location::Location;
use splitbloom_server::timer::Timer;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Clients that get news in a millisecond. They take a tenth of the server's time, however many
/// clients and new items there are, and delay another client by 100 µs.
const TURNS_PER_MS: usize = 4;

static TIMER: Timer = Timer::new();

/// Clients that wait, for any journal.
static WAITING: AtomicU64 = AtomicU64::new(0);

static WAITERS: Mutex<Waiters> =
    Mutex::new(Waiters { in_order: VecDeque::new(), is_crowded: false, millisecond: 0, served: 0 });

struct Waiters {
    /// In the order of their numbers: the first has waited longest.
    in_order: VecDeque<Wanted>,
    /// Whether some clients with news were left waiting when the timer last fired.
    is_crowded: bool,
    /// The last millisecond in which clients got news, and how many did.
    millisecond: u64,
    served: usize,
}

/// What a client waits for.
struct Wanted {
    number: u64,
    key: Location,
    /// The journal of that key; and others, if the client knows several.
    journals: Vec<Awaited>,
    sleeper: Sleeper,
}

/// A journal, and the number of its hashes that a client knows.
pub struct Awaited {
    pub pulse: Arc<Pulse>,
    pub hashes: u64,
}

/// The state of a journal that it shares with the clients that wait for it.
pub struct Pulse {
    /// When a client last used it, in milliseconds since 1970.
    last: AtomicU64,
    /// The number of hashes so far.
    hashes: AtomicU64,
    has_ended: AtomicBool,
}

impl Pulse {
    pub fn at(now: u64) -> Arc<Self> {
        let (last, hashes) = (AtomicU64::new(now), AtomicU64::new(0));
        Arc::new(Self { last, hashes, has_ended: AtomicBool::new(false) })
    }

    /// Notes that a client uses the journal at the time `now`.
    pub fn beat(&self, now: u64) {
        self.last.store(now, Relaxed);
    }

    /// Notes that the journal has this many hashes.
    pub fn has(&self, hashes: u64) {
        self.hashes.store(hashes, Relaxed);
    }

    /// Notes that the journal has ended.
    pub fn end(&self) {
        self.has_ended.store(true, Relaxed);
    }

    pub fn has_ended(&self) -> bool {
        self.has_ended.load(Relaxed)
    }

    /// Whether no client waits, and the last use was more than `time` before `now`, both in
    /// milliseconds.
    pub fn is_idle(self: &Arc<Self>, now: u64, time: u64) -> bool {
        Arc::strong_count(self) == 1 && now.saturating_sub(self.last.load(Relaxed)) > time
    }
}

impl Awaited {
    /// Whether the journal has more hashes, or has ended.
    pub fn has_news(&self) -> bool {
        self.pulse.has_ended() || self.pulse.hashes.load(Relaxed) != self.hashes
    }
}

impl Wanted {
    /// Whether the journal of its key has ended. The server wakes the client then, or redirects it.
    fn is_over(&self) -> bool {
        self.journals.first().is_some_and(|own| own.pulse.has_ended())
    }

    /// Whether there is other news for the client.
    fn is_due(&self) -> bool {
        self.journals.iter().skip(usize::from(self.is_over())).any(Awaited::has_news)
    }
}

impl Waiters {
    fn due(&self) -> impl Iterator<Item = &Wanted> {
        self.in_order.iter().filter(|wanted| wanted.is_due())
    }

    /// How many more may get news at the time `now`.
    fn left(&mut self, now: u64) -> usize {
        if self.millisecond != now {
            (self.millisecond, self.served) = (now, 0);
        }
        TURNS_PER_MS - self.served
    }

    /// The clients whose turn it is at the time `now`.
    fn next(&mut self, now: u64) -> [Option<Sleeper>; TURNS_PER_MS] {
        let left = self.left(now);
        let mut due = self.due().map(|wanted| wanted.sleeper.clone());
        let next = std::array::from_fn(|place| (place < left).then(|| due.next()).flatten());
        let is_crowded = due.next().is_some();
        drop(due);
        self.is_crowded = is_crowded;
        self.served += next.iter().flatten().count();
        next
    }
}

fn waiters() -> MutexGuard<'static, Waiters> {
    // A panic leaves at most a client that waits until its time is over.
    WAITERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A client that waits, until it is dropped.
pub struct Waiter {
    number: u64,
}

impl Waiter {
    /// A client that waits for news of `key`, whose journal is the first, and of others; `None` if
    /// there is no memory for it.
    pub(super) fn try_new(key: Location, journals: Vec<Awaited>, sleeper: Sleeper) -> Option<Self> {
        static LAST_NUMBER: AtomicU64 = AtomicU64::new(0);
        let mut waiters = waiters();
        waiters.in_order.try_reserve(1).ok()?;
        let number = LAST_NUMBER.fetch_add(1, Relaxed);
        sleeper.runs_at_end(); // its turn may not have come
        waiters.in_order.push_back(Wanted { number, key, journals, sleeper });
        WAITING.fetch_add(1, Relaxed);
        Some(Self { number })
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let mut waiters = waiters();
        let place = waiters.in_order.binary_search_by_key(&self.number, |wanted| wanted.number);
        let wanted = place.ok().and_then(|place| waiters.in_order.remove(place));
        if waiters.in_order.is_empty() && waiters.in_order.capacity() > 128 {
            waiters.in_order = VecDeque::new();
        }
        drop(waiters);
        if let Some(Wanted { journals, .. }) = wanted {
            WAITING.fetch_sub(1, Relaxed);
            let now = time_now();
            // The journals have been in use until now.
            journals.iter().for_each(|awaited| awaited.pulse.beat(now));
        }
    }
}

/// Registers the timer.
pub fn register() {
    TIMER.register(tick);
}

/// Whether any client waits. Cost: one load.
pub fn does_any_wait() -> bool {
    WAITING.load(Relaxed) > 0
}

/// Whether a client for which there is news may have it at once. Otherwise it must wait.
pub fn takes_turn(context: &Context) -> bool {
    let (mut waiters, now) = (waiters(), time_now());
    if !waiters.is_crowded && waiters.left(now) > 0 {
        waiters.served += 1;
        return true;
    }
    drop(waiters);
    TIMER.set(now + 1, context.thread());
    false
}

/// Items were added to the filter under `key`: wakes clients that wait for it, or sets the timer.
/// Cost: one load if none waits; some 50 ns if many do.
pub fn wake_few(context: &Context, key: Argument<'_>) {
    if !does_any_wait() {
        return;
    }
    let (mut waiters, now) = (waiters(), time_now());
    if waiters.in_order.len() <= TURNS_PER_MS {
        let due = waiters.due().count();
        if due == 0 {
            return;
        }
        if due <= waiters.left(now) && waiters.due().all(|wanted| wanted.journals.len() == 1) {
            waiters.served += due;
            drop(waiters);
            return context.signal_ready(key);
        }
    }
    drop(waiters);
    TIMER.set(now + 1, context.thread());
}

/// Runs the commands that wait for `key` again: its filter has changed in another way than by adds,
/// so its journal, if it had one, has ended. Cost: one load if none waits.
pub fn wake_all(context: &Context, key: Argument<'_>) {
    if does_any_wait() {
        context.signal_ready(key);
        TIMER.set(time_now() + 1, context.thread());
    }
}

fn tick(context: &Context) -> Option<u64> {
    let now = time_now();
    let next = waiters().next(now);
    next.iter().flatten().for_each(|sleeper| context.wake(sleeper));
    waiters().is_crowded.then(|| now + 1)
}

/// Runs the commands that wait for an ended journal again. Most servers wake them when the key is
/// replaced or deleted; Redis 7.0 does not when it loads a file, its own or a primary's. Called by
/// a timer. Cost: some 20 ns for each client that waits, whose number only the server limits.
pub fn wake_those_whose_journal_has_ended(context: &Context) {
    for Wanted { key, .. } in waiters().in_order.iter().filter(|wanted| wanted.is_over()) {
        if let Some(name) = context.go_to(key.database, &key.name) {
            context.signal_ready(name.argument()); // they run after the timer
        }
    }
    TIMER.set(time_now() + 1, context.thread());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client that waits, and the life of the journal that it waits for.
    fn wanted(number: u64) -> (Wanted, Arc<Pulse>) {
        let pulse = Pulse::at(0);
        let journals = vec![Awaited { pulse: Arc::clone(&pulse), hashes: 0 }];
        let key = Location { database: 0, name: Box::from(&b"key"[..]) };
        (Wanted { number, key, journals, sleeper: Sleeper::default() }, pulse)
    }

    #[test]
    fn a_few_clients_get_news_in_a_millisecond_and_who_has_waited_longest_is_first() {
        let (in_order, pulses): (_, Vec<_>) = (0..20).map(wanted).unzip();
        let mut waiters = Waiters { in_order, is_crowded: false, millisecond: 0, served: 0 };
        assert_eq!(waiters.next(1).iter().flatten().count(), 0);
        // Every second client has news.
        pulses.iter().step_by(2).for_each(|pulse| pulse.has(1));
        for (now, served) in [(1, 4), (1, 0), (2, 4), (3, 2), (3, 0)] {
            let due: Vec<u64> = waiters.due().map(|wanted| wanted.number).collect();
            assert!(due.is_sorted());
            assert_eq!(waiters.next(now).iter().flatten().count(), served);
            assert_eq!(waiters.is_crowded, due.len() > served);
            // They ask again, and know the news.
            waiters.in_order.retain(|wanted| !due[..served].contains(&wanted.number));
        }
    }
}
