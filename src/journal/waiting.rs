//! Clients that wait for what comes next in a journal.

use splitbloom_server::arguments::Argument;
use splitbloom_server::clock::time_now;
use splitbloom_server::context::Context;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;

/// Clients that wait, for any journal.
static WAITING: AtomicU64 = AtomicU64::new(0);

/// When a journal was last asked for. It has an owner more for each client that waits.
pub struct Pulse {
    /// In milliseconds since 1970.
    last: AtomicU64,
}

impl Pulse {
    pub fn at(now: u64) -> Arc<Self> {
        let last = AtomicU64::new(now);
        Arc::new(Self { last })
    }

    /// Someone asks at the time `now`.
    pub fn beat(&self, now: u64) {
        self.last.store(now, Relaxed);
    }

    /// Whether nobody waits, and the last that asked did so more than `time` before `now`, all in
    /// milliseconds.
    pub fn is_idle(self: &Arc<Self>, now: u64, time: u64) -> bool {
        Arc::strong_count(self) == 1 && now.saturating_sub(self.last.load(Relaxed)) > time
    }
}

/// A client that waits, until it is dropped.
pub struct Waiter {
    pulse: Arc<Pulse>,
}

impl Waiter {
    pub fn of(pulse: Arc<Pulse>) -> Self {
        WAITING.fetch_add(1, Relaxed);
        Self { pulse }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        WAITING.fetch_sub(1, Relaxed);
        self.pulse.beat(time_now()); // it has asked until now
    }
}

/// Runs the commands again that wait for `key`. Every change of a filter wakes them, also of one
/// without a journal: then theirs is gone, and they must know. Cost: one load if none waits.
pub fn wake(context: &Context, key: Argument<'_>) {
    if WAITING.load(Relaxed) > 0 {
        context.signal_ready(key);
    }
}
