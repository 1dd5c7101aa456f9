//! A timer: the server calls a function of the module at a time that the module sets.

use super::call::call;
use super::catch_panic::catch_panic;
use super::clock::time_now;
use super::context::{detached, Context};
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
    callback: OnceLock<Callback>,
    /// The server's number of the timer, and when it fires; `None` if it is not set.
    pending: Mutex<Option<(raw::RedisModuleTimerID, u64)>>,
}

impl Timer {
    /// A timer that is not registered yet.
    #[allow(clippy::new_without_default, reason = "a constant, for statics")]
    pub const fn new() -> Self {
        Self { callback: OnceLock::new(), pending: Mutex::new(None) }
    }

    /// Registers `callback`, which the timer runs. Before this, setting the timer does nothing.
    pub fn register(&'static self, callback: Callback) {
        let _ = self.callback.set(callback);
    }

    /// Sets it to `at`, in milliseconds since 1970, unless it fires earlier anyway. Cost: some
    /// 200 ns if the time changes, else a few.
    pub fn set(&'static self, at: u64, _: ServerThread) {
        if self.callback.get().is_none() {
            return;
        }
        let (mut pending, context) = (self.pending(), detached());
        if let Some((id, before)) = *pending {
            if before <= at {
                return;
            }
            // SAFETY: the timer was created with this context and has not fired.
            unsafe { call!(RedisModule_StopTimer(context, id, std::ptr::null_mut())) };
        }
        let delay = at.saturating_sub(time_now()).clamp(1, MAX_DELAY_MS) as i64;
        let data = std::ptr::from_ref(self).cast_mut().cast();
        // SAFETY: the context lives as long as the process, and so does `self`.
        let id = unsafe { call!(RedisModule_CreateTimer(context, delay, Some(fire), data)) };
        *pending = Some((id, at));
    }

    fn pending(&self) -> MutexGuard<'_, Option<(raw::RedisModuleTimerID, u64)>> {
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
        if let Some(at) = timer.callback.get().and_then(|callback| callback(&context)) {
            timer.set(at, context.thread());
        }
        true
    };
    if !catch_panic("a timer", || false, body) {
        let again = || timer.set(time_now() + AFTER_PANIC_MS, context.thread());
        catch_panic("a timer after a panic", || (), again);
    }
}
