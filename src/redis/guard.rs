//! The one guard between the server and the module: a panic that crossed into the server would kill it.

use super::injection;
use super::log::warn;
use std::panic::{catch_unwind, set_hook, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};

static CAUGHT: AtomicU64 = AtomicU64::new(0);

/// Runs what the server called for. If it panics, the panic ends here: it is counted and logged, and `otherwise` answers.
pub fn guarded<T>(entry: &str, otherwise: impl FnOnce() -> T, body: impl FnOnce() -> T) -> T {
    // What a panic leaves half done is a filter, which is valid after every word written, or is never looked at again.
    let body = AssertUnwindSafe(|| {
        injection::enter(entry);
        body()
    });
    catch_unwind(body).unwrap_or_else(|_| {
        CAUGHT.fetch_add(1, Ordering::Relaxed);
        warn(&format!("a panic was caught in {entry}: please report it"));
        otherwise()
    })
}

/// From now on a panic is told to the server's log, in a line.
///
/// The standard hook writes to the standard error, which a server has closed; and with `RUST_BACKTRACE` set it ends servers that give modules the
/// C library's own `free` (Valkey 8.1 and later): it frees what the library took from the server's allocator.
pub fn log_panics() {
    set_hook(Box::new(|panic| {
        warn(&panic.to_string().replace('\n', " "))
    }));
}

/// Panics caught since the module was loaded.
pub fn caught_panics() -> u64 {
    CAUGHT.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_at_the_guard_and_is_counted() {
        let before = caught_panics();
        assert_eq!(guarded("test", || 7, || panic!("on purpose")), 7);
        assert_eq!(caught_panics(), before + 1);
    }

    #[test]
    fn what_does_not_panic_passes_through() {
        assert_eq!(guarded("test", || 7, || 8), 8);
    }
}
