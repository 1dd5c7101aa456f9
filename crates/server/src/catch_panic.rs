//! Catches panics: one that crossed into the server would kill it.

use super::failpoints;
use super::log::warn;
use super::values::Counter;
use std::panic::{catch_unwind, set_hook, AssertUnwindSafe};

/// Panics caught since the module was loaded.
pub static CAUGHT_PANICS: Counter = Counter::new();

/// Runs `body`, which the server called as `entry`. If it panics, counts and logs the panic, and
/// returns the value of `otherwise`.
pub fn catch_panic<T>(entry: &str, otherwise: impl FnOnce() -> T, body: impl FnOnce() -> T) -> T {
    // Unwind safety: what a panic leaves half done is a value, which stays valid (see `Value`), or
    // is not used again.
    let body = AssertUnwindSafe(|| {
        failpoints::enter(entry);
        body()
    });
    catch_unwind(body).unwrap_or_else(|_| {
        CAUGHT_PANICS.increment();
        warn(format_args!("a panic was caught in {entry}: please report it"));
        otherwise()
    })
}

/// Sends panics to the server's log, one line each.
///
/// The standard hook writes to standard error, which a daemon has closed. With `RUST_BACKTRACE` set
/// it also kills servers that give modules the C library's own `free` (Valkey 8.1 and later),
/// because the backtrace frees there what the library took from the server's allocator.
pub(crate) fn log_panics() {
    set_hook(Box::new(|panic| warn(panic)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_at_the_guard_and_is_counted() {
        let before = CAUGHT_PANICS.get();
        assert_eq!(catch_panic("test", || 7, || panic!("on purpose")), 7);
        assert_eq!(CAUGHT_PANICS.get(), before + 1);
    }

    #[test]
    fn what_does_not_panic_passes_through() {
        assert_eq!(catch_panic("test", || 7, || 8), 8);
    }
}
