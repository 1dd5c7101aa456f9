//! Faults on demand, so that tests can show what becomes of them. Only a build with the feature `injected-faults` can do it, which
//! nobody ships; in all others the functions are empty.
//!
//! - The setting `bf.inject-panic` names an entry of the module and a call: with `bf.add 3` the next run of BF.ADD panics at its third
//!   call into the server, with `bf.add 0` before anything. It happens once.
//! - The setting `bf.inject-refusal` is a number of large blocks: so many the allocator still gives.

#[cfg(not(feature = "injected-faults"))]
pub(super) use never::{enter, refuses, step};

#[cfg(feature = "injected-faults")]
pub use on_demand::register;
#[cfg(feature = "injected-faults")]
pub(super) use on_demand::{enter, refuses, step};

#[cfg(not(feature = "injected-faults"))]
mod never {
    #[inline]
    pub fn enter(_entry: &str) {}

    #[inline]
    pub fn step() {}

    #[inline]
    pub fn refuses(_: std::alloc::Layout) -> bool {
        false
    }
}

#[cfg(feature = "injected-faults")]
mod on_demand {
    use crate::redis::command::Refused;
    use crate::redis::context::Context;
    use crate::redis::settings::{register_integer, register_text, Integer, Name, Text};
    use std::alloc::Layout;
    use std::cell::Cell;
    use std::sync::atomic::{AtomicI64, Ordering};
    use std::sync::{Mutex, PoisonError};

    /// The entry and the call that shall panic.
    static WANTED: Mutex<Option<(String, u64)>> = Mutex::new(None);

    thread_local! {
        /// Calls that the running entry still gets through, if it is the wanted one.
        static CALLS_LEFT: Cell<Option<u64>> = const { Cell::new(None) };
    }

    /// A full segment of a filter's bits. What the module cannot do without is smaller, but for the pieces that it writes.
    const LARGE: usize = 64 << 10;

    static LARGE_BLOCKS_LEFT: AtomicI64 = AtomicI64::new(i64::MAX);

    static REFUSAL: Integer = Integer {
        default: i64::MAX,
        least: 0,
        most: i64::MAX,
        is_memory: false,
        get: || LARGE_BLOCKS_LEFT.load(Ordering::Relaxed),
        set: |blocks| LARGE_BLOCKS_LEFT.store(blocks, Ordering::Relaxed),
    };

    /// Registers the settings. As all others, before they are loaded.
    ///
    /// # Errors
    /// The server refused the name.
    pub fn register(context: &Context) -> Result<(), Refused> {
        let setting = Text::new(String::new(), String::new, want);
        let panic = Box::leak(Box::new(setting));
        register_text(context, Name::Prefixed("inject-panic"), panic)?;
        register_integer(context, Name::Prefixed("inject-refusal"), &REFUSAL)
    }

    /// Whether the allocator shall refuse a block.
    pub fn refuses(layout: Layout) -> bool {
        layout.size() >= LARGE && LARGE_BLOCKS_LEFT.fetch_sub(1, Ordering::Relaxed) <= 0
    }

    fn want(text: &str) -> Result<(), &'static str> {
        let wanted = match text.rsplit_once(' ') {
            Some((entry, call)) => {
                let call = call.parse().map_err(|_| "an entry and a number")?;
                Some((entry.to_owned(), call))
            }
            None => None,
        };
        *WANTED.lock().unwrap_or_else(PoisonError::into_inner) = wanted;
        Ok(())
    }

    /// The server has called `entry`.
    pub fn enter(entry: &str) {
        let mut wanted = WANTED.lock().unwrap_or_else(PoisonError::into_inner);
        let is_wanted = wanted.as_ref().is_some_and(|(name, _)| name == entry);
        let call = if is_wanted { wanted.take() } else { None };
        drop(wanted);
        CALLS_LEFT.set(call.map(|(_, call)| call));
        if CALLS_LEFT.get() == Some(0) {
            CALLS_LEFT.set(None);
            panic!("on purpose, at the entry");
        }
    }

    /// The entry is about to call into the server.
    pub fn step() {
        let Some(left) = CALLS_LEFT.get() else {
            return;
        };
        CALLS_LEFT.set(left.checked_sub(1).filter(|left| *left > 0));
        assert!(left > 1, "on purpose, at a call");
    }
}
