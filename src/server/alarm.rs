//! An alarm clock: the server calls a function of the module at a time that the module sets.

use super::call::call;
use super::catch_panic::catch_panic;
use super::clock::time_now;
use super::context::Context;
use super::thread::ServerThread;
use redis_module::raw;
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// How long after a panic the alarm rings again, in milliseconds.
const AFTER_PANIC: u64 = 1_000;
/// The longest time until the alarm rings, in milliseconds: the clock may be set meanwhile. In
/// builds for tests it is.
const LONGEST: u64 = if cfg!(feature = "injected-faults") {
    10
} else {
    10_000
};

/// What happens when the alarm rings, between two commands. Returns when to ring again, in
/// milliseconds since 1970; nothing if that is for somebody else to set.
pub type Ring = fn(&Context) -> Option<u64>;

/// An alarm. It rings once each time it is set, or earlier; set twice, at the earlier time.
pub struct Alarm {
    connected: OnceLock<Connected>,
    pending: Mutex<Option<Pending>>,
}

struct Connected {
    ring: Ring,
    /// For setting it where the server provides no context, as when it loads a value. It lives as
    /// long as the process.
    context: *mut raw::RedisModuleCtx,
}

// SAFETY: an address, which no thread but the server's own follows: `Alarm::set` takes proof.
unsafe impl Send for Connected {}
// SAFETY: as above.
unsafe impl Sync for Connected {}

#[derive(Clone, Copy)]
struct Pending {
    timer: raw::RedisModuleTimerID,
    at: u64,
}

impl Alarm {
    pub const fn new() -> Self {
        Self {
            connected: OnceLock::new(),
            pending: Mutex::new(None),
        }
    }

    /// Connects it with the server. Before this, setting it does nothing.
    pub fn register(&'static self, context: &Context, ring: Ring) {
        // SAFETY: the context is that of `OnLoad`.
        let context = unsafe { call!(RedisModule_GetDetachedThreadSafeContext(context.raw)) };
        let _ = self.connected.set(Connected { ring, context });
    }

    /// Lets it ring at this time, in milliseconds since 1970, unless it rings earlier anyway. Cost:
    /// some 200 ns if the time changes, else a few.
    pub fn set(&'static self, at: u64, _: ServerThread) {
        let Some(Connected { context, .. }) = self.connected.get() else {
            return;
        };
        let mut pending = self.pending();
        if let Some(Pending { timer, at: before }) = *pending {
            if before <= at {
                return;
            }
            // SAFETY: the timer was created with this context and has not rung.
            unsafe { call!(RedisModule_StopTimer(*context, timer, std::ptr::null_mut())) };
        }
        let wait = at.saturating_sub(time_now()).clamp(1, LONGEST);
        let data = std::ptr::from_ref(self).cast_mut().cast();
        // SAFETY: the context lives as long as the process, and so does `self`.
        let timer = unsafe {
            call!(RedisModule_CreateTimer(
                *context,
                wait as i64,
                Some(ring),
                data
            ))
        };
        *pending = Some(Pending { timer, at });
    }

    fn pending(&self) -> MutexGuard<'_, Option<Pending>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// # Safety
/// The context lives through the call, and `data` is a `&'static Alarm`.
unsafe extern "C" fn ring(context: *mut raw::RedisModuleCtx, data: *mut c_void) {
    // SAFETY: the caller's duty.
    let alarm: &'static Alarm = unsafe { &*data.cast::<Alarm>() };
    // SAFETY: the caller's duty.
    let context = unsafe { Context::new(context) };
    *alarm.pending() = None; // first, so that no panic keeps it from being set again
    let body = || {
        let Some(Connected { ring, .. }) = alarm.connected.get() else {
            return true;
        };
        if let Some(at) = ring(&context) {
            alarm.set(at, context.thread());
        }
        true
    };
    if !catch_panic("a timer", || false, body) {
        let again = || alarm.set(time_now() + AFTER_PANIC, context.thread());
        catch_panic("a timer after a panic", || (), again);
    }
}
