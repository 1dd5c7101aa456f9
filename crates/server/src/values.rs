//! Numbers and switches that any thread may read: the values of settings, and counters.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};

/// An integer setting.
pub struct Integer {
    pub(crate) value: AtomicI64,
    pub(crate) min: i64,
    pub(crate) max: i64,
    pub(crate) is_memory: bool,
}

/// A setting that is on or off.
pub struct Switch(AtomicBool);

impl Integer {
    /// A setting that is `value` now, and at least `min` and at most `max`.
    pub const fn new(value: i64, min: i64, max: i64) -> Self {
        Self { value: AtomicI64::new(value), min, max, is_memory: false }
    }

    /// A setting of at least `min` that counts bytes, so that it can be written as `1gb`.
    pub const fn bytes(value: i64, min: i64) -> Self {
        Self { is_memory: true, ..Self::new(value, min, i64::MAX) }
    }

    /// Its value.
    pub fn get(&self) -> i64 {
        self.value.load(Relaxed)
    }

    /// Sets its value to `value`, which is in its range.
    pub fn set(&self, value: i64) {
        self.value.store(value, Relaxed);
    }
}

impl Switch {
    /// A setting that is `value` now.
    pub const fn new(value: bool) -> Self {
        Self(AtomicBool::new(value))
    }

    /// Whether it is on.
    pub fn get(&self) -> bool {
        self.0.load(Relaxed)
    }

    pub(crate) fn set(&self, value: bool) {
        self.0.store(value, Relaxed);
    }
}

/// A number that INFO shows.
pub struct Counter(AtomicU64);

impl Counter {
    /// A counter at zero.
    #[allow(clippy::new_without_default, reason = "a constant, for statics")]
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Its value.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// Adds `number`, from a command. Commands run one at a time, so a load and a store avoid the
    /// locked instruction (5 ns, a tenth of a lookup).
    #[inline]
    pub fn add(&self, number: u64) {
        self.0.store(self.get() + number, Relaxed);
    }

    /// Raises it to `number`, from a command.
    pub fn raise_to(&self, number: u64) {
        self.0.store(self.get().max(number), Relaxed);
    }

    /// Adds one, from any thread.
    pub fn increment(&self) {
        self.0.fetch_add(1, Relaxed);
    }

    /// Subtracts one, from any thread.
    pub fn decrement(&self) {
        self.0.fetch_sub(1, Relaxed);
    }
}
