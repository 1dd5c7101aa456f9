//! A timer: the server calls a function of the module at a time that the module sets.

use super::call::call;
use super::catch_panic::catch_panic;
use super::clock::time_now;
use super::context::Context;
use super::thread::ServerThread;
use redis_module::raw;
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The delay after a panic until the timer fires again.
const AFTER_PANIC_MS: u64 = 1_000;
/// The longest delay passed to the server, since its clock may be set meanwhile. Tests set the
/// clock, so their builds have a short one.
const MAX_DELAY_MS: u64 = if cfg!(feature = "injected-faults") { 10 } else { 10_000 };

/// The function that a timer runs, between two commands. Returns when to run again, in milliseconds
/// since 1970; `None` if another caller will set the timer.
pub type Callback = fn(&Context) -> Option<u64>;

/// A timer. Set twice, it fires at the earlier of the two times. It may also fire too early.
pub struct Timer {
    registered: OnceLock<Registered>,
    pending: Mutex<Option<Pending>>,
}

struct Registered {
    callback: Callback,
    /// For setting the timer where the server provides no context, as when it loads a value. It
    /// lives as long as the process.
    context: *mut raw::RedisModuleCtx,
}

// SAFETY: an address, which no thread but the server's own follows: `Timer::set` takes proof.
unsafe impl Send for Registered {}
// SAFETY: the address does not change, and only the server's own thread follows it (see `Send`).
unsafe impl Sync for Registered {}

#[derive(Clone, Copy)]
struct Pending {
    id: raw::RedisModuleTimerID,
    at: u64,
}

impl Timer {
    /// A timer that is not registered yet.
    #[allow(clippy::new_without_default, reason = "a constant, for statics")]
    pub const fn new() -> Self {
        Self { registered: OnceLock::new(), pending: Mutex::new(None) }
    }

    /// Registers `callback`, which the timer runs. Before this, setting the timer does nothing.
    pub fn register(&'static self, context: &Context, callback: Callback) {
        // SAFETY: the context is that of `OnLoad`.
        let context = unsafe { call!(RedisModule_GetDetachedThreadSafeContext(context.raw)) };
        let _ = self.registered.set(Registered { callback, context });
    }

    /// Sets it to `at`, in milliseconds since 1970, unless it fires earlier anyway. Cost: some
    /// 200 ns if the time changes, else a few.
    pub fn set(&'static self, at: u64, _: ServerThread) {
        let Some(Registered { context, .. }) = self.registered.get() else {
            return;
        };
        let mut pending = self.pending();
        if let Some(Pending { id, at: before }) = *pending {
            if before <= at {
                return;
            }
            // SAFETY: the timer was created with this context and has not fired.
            unsafe { call!(RedisModule_StopTimer(*context, id, std::ptr::null_mut())) };
        }
        let delay = at.saturating_sub(time_now()).clamp(1, MAX_DELAY_MS) as i64;
        let data = std::ptr::from_ref(self).cast_mut().cast();
        // SAFETY: the context lives as long as the process, and so does `self`.
        let id = unsafe { call!(RedisModule_CreateTimer(*context, delay, Some(fire), data)) };
        *pending = Some(Pending { id, at });
    }

    fn pending(&self) -> MutexGuard<'_, Option<Pending>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// # Safety
/// The context lives through the call, and `data` is a `&'static Timer`.
unsafe extern "C" fn fire(context: *mut raw::RedisModuleCtx, data: *mut c_void) {
    // SAFETY: the caller's duty.
    let timer: &'static Timer = unsafe { &*data.cast::<Timer>() };
    // SAFETY: the caller's duty.
    let context = unsafe { Context::new(context) };
    *timer.pending() = None; // first, so that no panic keeps it from being set again
    let body = || {
        let registered = timer.registered.get();
        if let Some(at) = registered.and_then(|registered| (registered.callback)(&context)) {
            timer.set(at, context.thread());
        }
        true
    };
    if !catch_panic("a timer", || false, body) {
        let again = || timer.set(time_now() + AFTER_PANIC_MS, context.thread());
        catch_panic("a timer after a panic", || (), again);
    }
}
