//! Events of the server: a value has moved to another key, databases have been swapped, a replica
//! has become a primary.

use super::arguments::Argument;
use super::call::call;
use super::catch_panic::catch_panic;
use super::context::Context;
use super::queue;
use redis_module::raw;
use std::ffi::{c_char, c_int, c_void, CStr};
use std::sync::{OnceLock, PoisonError, RwLock};

/// Called with a key to which a value has moved from another, by RENAME or MOVE. Not on Valkey 8:
/// see [`MISPLACES_CLIENTS`].
type Moved = fn(&Context, Argument<'_>);

static MOVED: RwLock<Vec<Moved>> = RwLock::new(Vec::new());
static ROLE_CHANGED: OnceLock<fn(&Context)> = OnceLock::new();

/// Valkey 8 runs the callback with the client of the command, and leaves that client in the event's
/// database: after COPY to another database or MOVE, of a value of any type, its next command would
/// go there. (Valkey 9.1 and all Redis servers tested switch it back.) So on Valkey 8 the module
/// subscribes to no key events.
const MISPLACES_CLIENTS: &str = "Valkey 8.";

/// The events of a value that has moved to another key.
const MOVES: [&CStr; 2] = [c"rename_to", c"move_to"];

/// From here on `moved` is called for each value that moves.
pub(crate) fn on_move(moved: Moved) {
    MOVED.write().unwrap_or_else(PoisonError::into_inner).push(moved);
}

/// Subscribes to the events: the queues follow swapped databases, and `role_changed` is called when
/// the server has become a primary or a replica.
pub fn register(context: &Context, role_changed: fn(&Context)) {
    let _ = ROLE_CHANGED.set(role_changed);
    if !context.server().starts_with(MISPLACES_CLIENTS) {
        let class = raw::REDISMODULE_NOTIFY_GENERIC;
        // SAFETY: the context is that of `OnLoad`.
        unsafe {
            call!(RedisModule_SubscribeToKeyspaceEvents(context.raw, class, Some(key_event)))
        };
    }
    for id in [raw::REDISMODULE_EVENT_SWAPDB, raw::REDISMODULE_EVENT_REPLICATION_ROLE_CHANGED] {
        let event = raw::RedisModuleEvent { id, dataver: 1 };
        // SAFETY: the context is that of `OnLoad`.
        unsafe {
            call!(RedisModule_SubscribeToServerEvent(context.raw, event, Some(server_event)))
        };
    }
}

/// # Safety
/// The context and the key live through the call, and the event ends in a zero byte.
unsafe extern "C" fn key_event(
    context: *mut raw::RedisModuleCtx,
    _class: c_int,
    event: *const c_char,
    key: *mut raw::RedisModuleString,
) -> c_int {
    let notify = || {
        // SAFETY: the caller's duty.
        let event = unsafe { CStr::from_ptr(event) };
        if MOVES.contains(&event) {
            // SAFETY: the caller's duty.
            let context = unsafe { Context::new(context) };
            // SAFETY: the caller's duty.
            let key = unsafe { Argument::new(key) };
            let all = MOVED.read().unwrap_or_else(PoisonError::into_inner);
            all.iter().for_each(|moved| moved(&context, key));
        }
    };
    catch_panic("a key event", || (), notify);
    raw::REDISMODULE_OK as c_int
}

/// # Safety
/// The context lives through the call, and `data` is what the server documents for the event.
unsafe extern "C" fn server_event(
    context: *mut raw::RedisModuleCtx,
    event: raw::RedisModuleEvent,
    _subevent: u64,
    data: *mut c_void,
) {
    let notify = || match (event.id, ROLE_CHANGED.get()) {
        (raw::REDISMODULE_EVENT_SWAPDB, _) if !data.is_null() => {
            // SAFETY: the caller's duty.
            let swap = unsafe { &*data.cast::<raw::RedisModuleSwapDbInfo>() };
            let databases = [swap.dbnum_first, swap.dbnum_second].map(u32::try_from);
            if let [Ok(first), Ok(second)] = databases {
                queue::databases().swap(first, second);
            }
        }
        (raw::REDISMODULE_EVENT_REPLICATION_ROLE_CHANGED, Some(role_changed)) => {
            // SAFETY: the caller's duty.
            role_changed(&unsafe { Context::new(context) });
        }
        _ => {}
    };
    catch_panic("a server event", || (), notify);
}
