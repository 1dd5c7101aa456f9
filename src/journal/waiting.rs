//! Clients that wait for what comes next in a journal.

use splitbloom_server::arguments::Argument;
use splitbloom_server::clock::time_now;
use splitbloom_server::context::Context;
use splitbloom_server::location::Location;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

/// Clients that wait, for any journal.
static WAITING: AtomicU64 = AtomicU64::new(0);

/// Their keys, by the number of the waiter.
static KEYS: LazyLock<Mutex<HashMap<u64, Wanted>>> = LazyLock::new(Mutex::default);

/// What a client waits for.
struct Wanted {
    key: Location,
    pulse: Arc<Pulse>,
}

/// The life of a journal, which those who wait for it share with it.
pub struct Pulse {
    /// When it was last asked for, in milliseconds since 1970.
    last: AtomicU64,
    has_ended: AtomicBool,
}

impl Pulse {
    pub fn at(now: u64) -> Arc<Self> {
        Arc::new(Self { last: AtomicU64::new(now), has_ended: AtomicBool::new(false) })
    }

    /// Someone asks at the time `now`.
    pub fn beat(&self, now: u64) {
        self.last.store(now, Relaxed);
    }

    /// The journal has ended.
    pub fn end(&self) {
        self.has_ended.store(true, Relaxed);
    }

    /// Whether nobody waits, and the last that asked did so more than `time` before `now`, all in
    /// milliseconds.
    pub fn is_idle(self: &Arc<Self>, now: u64, time: u64) -> bool {
        Arc::strong_count(self) == 1 && now.saturating_sub(self.last.load(Relaxed)) > time
    }
}

fn keys() -> MutexGuard<'static, HashMap<u64, Wanted>> {
    // A panic leaves at most a client that waits until its time is over.
    KEYS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A client that waits, until it is dropped.
pub struct Waiter {
    number: u64,
}

impl Waiter {
    /// A client that waits for `key`; `None` if there is no memory for it.
    pub(super) fn try_new(key: Location, pulse: Arc<Pulse>) -> Option<Self> {
        static LAST_NUMBER: AtomicU64 = AtomicU64::new(0);
        let mut keys = keys();
        keys.try_reserve(1).ok()?;
        let number = LAST_NUMBER.fetch_add(1, Relaxed);
        keys.insert(number, Wanted { key, pulse });
        WAITING.fetch_add(1, Relaxed);
        Some(Self { number })
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        if let Some(Wanted { pulse, .. }) = keys().remove(&self.number) {
            WAITING.fetch_sub(1, Relaxed);
            pulse.beat(time_now()); // it has asked until now
        }
    }
}

/// Whether any client waits. Cost: one load.
pub fn does_any_wait() -> bool {
    WAITING.load(Relaxed) > 0
}

/// Runs the commands again that wait for `key`. Every change of a filter wakes them, also of one
/// without a journal: then theirs is gone, and they must know. Cost: one load if none waits.
pub fn wake(context: &Context, key: Argument<'_>) {
    if does_any_wait() {
        context.signal_ready(key);
    }
}

/// Runs the commands again whose journal has ended. Most servers wake them when the key is replaced
/// or deleted; Redis 7.0 does not when it loads a file, its own or a primary's. Called by a timer.
/// Cost: some 20 ns for each client that waits, of which there are as many as the server lets in.
pub fn wake_those_whose_journal_has_ended(context: &Context) {
    let keys = keys();
    let ended = keys.values().filter(|wanted| wanted.pulse.has_ended.load(Relaxed));
    for Wanted { key, .. } in ended {
        if let Some(name) = context.go_to(key.database, &key.name) {
            context.signal_ready(name.argument()); // they run after the timer
        }
    }
}
