//! The values of settings that are numbers or switches: any thread may read them.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

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
        self.value.load(Ordering::Relaxed)
    }

    /// Sets its value to `value`, which is in its range.
    pub fn set(&self, value: i64) {
        self.value.store(value, Ordering::Relaxed);
    }
}

impl Switch {
    /// A setting that is `value` now.
    pub const fn new(value: bool) -> Self {
        Self(AtomicBool::new(value))
    }

    /// Whether it is on.
    pub fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, value: bool) {
        self.0.store(value, Ordering::Relaxed);
    }
}
