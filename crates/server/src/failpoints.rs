//! Faults on demand, for tests. Only builds with the feature `injected-faults`, which are never
//! shipped, have them; in all others these functions do nothing, and the compiler leaves the calls
//! out.
//!
//! - The setting `inject-panic` is an entry and the number of a call. With `x.get 3` the next run
//!   of X.GET panics at its third call into the server, with `x.get 0` before anything else. It
//!   fires once.
//! - The setting `inject-refusal` is the number of blocks of at least `inject-refusal-from` bytes
//!   (64 KiB by default) that the allocator still grants.
//! - The setting `inject-keys-in-use` is how many keys opened for writing are reported as in use.
//! - The setting `inject-clock-offset` moves the module's clock by that many milliseconds.
//! - The setting `inject-server-setting` is the name of a setting of the server that the module
//!   reads in place of the one that it means.

use super::values::Integer;
use std::alloc::Layout;
use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

/// Whether this build has them.
pub(crate) const EXIST: bool = cfg!(feature = "injected-faults");

/// The entry that panics, and at which call.
static WANTED: Mutex<Option<(String, u64)>> = Mutex::new(None);

thread_local! {
    /// Calls until the running entry panics, if it is the wanted one.
    static CALLS_LEFT: Cell<Option<u64>> = const { Cell::new(None) };
}

/// The size of the smallest block that may be refused.
pub(crate) static MIN_BYTES: Integer = Integer::new(64 << 10, 1, i64::MAX);
/// Blocks of at least that size that the allocator still grants.
pub(crate) static BLOCKS_LEFT: Integer = Integer::new(i64::MAX, 0, i64::MAX);
/// How many more keys opened for writing are reported as in use.
pub(crate) static KEYS_IN_USE: Integer = Integer::new(0, 0, i64::MAX);
/// How far the module's clock is moved.
pub(crate) static CLOCK_OFFSET_MS: Integer = Integer::new(0, i64::MIN, i64::MAX);

/// See [`CLOCK_OFFSET_MS`].
pub(crate) fn clock_offset() -> i64 {
    if EXIST {
        CLOCK_OFFSET_MS.get()
    } else {
        0
    }
}

/// The setting of the server to read in place of the intended one, unless it is empty.
pub(crate) static SERVER_SETTING: Mutex<String> = Mutex::new(String::new());

/// See [`SERVER_SETTING`].
pub(crate) fn server_setting(meant: &str) -> String {
    let other = SERVER_SETTING.lock().unwrap_or_else(PoisonError::into_inner);
    if other.is_empty() { meant } else { &other }.to_owned()
}

/// Whether to report a key opened for writing as in use.
pub(crate) fn key_is_in_use() -> bool {
    let less = |left| (left > 0).then(|| left - 1);
    let relaxed = Ordering::Relaxed;
    EXIST && KEYS_IN_USE.value.fetch_update(relaxed, relaxed, less).is_ok()
}

/// Whether the allocator is to refuse a block.
pub(crate) fn refuses(layout: Layout) -> bool {
    EXIST
        && layout.size() as i64 >= MIN_BYTES.get()
        && BLOCKS_LEFT.value.fetch_sub(1, Ordering::Relaxed) <= 0
}

/// Sets which entry panics at which call, as in `x.get 3`; none if `text` contains no space.
///
/// # Errors
/// What the text must be.
pub(crate) fn want(text: &str) -> Result<(), &'static str> {
    let wanted = match text.rsplit_once(' ') {
        Some((entry, call)) => {
            Some((entry.to_owned(), call.parse().map_err(|_| "an entry and a number")?))
        }
        None => None,
    };
    *WANTED.lock().unwrap_or_else(PoisonError::into_inner) = wanted;
    Ok(())
}

/// Called when the server calls `entry`.
#[inline]
pub(crate) fn enter(entry: &str) {
    if EXIST {
        let mut wanted = WANTED.lock().unwrap_or_else(PoisonError::into_inner);
        let call = wanted.take_if(|(name, _)| name == entry).map(|(_, call)| call);
        drop(wanted);
        CALLS_LEFT.set(call.filter(|call| *call > 0));
        assert!(call != Some(0), "on purpose, at the entry");
    }
}

/// Called before each call into the server.
#[inline]
pub(crate) fn step() {
    if EXIST {
        let left = CALLS_LEFT.take();
        assert!(left != Some(1), "on purpose, at a call");
        CALLS_LEFT.set(left.map(|left| left - 1));
    }
}
