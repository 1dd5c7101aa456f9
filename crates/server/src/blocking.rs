//! Commands that wait for news of their key, as BLPOP and XREAD do.
//!
//! ```text
//!   run ─ wait_for_key ─► blocked ─ signal_ready ─► run again ─ reply ────────► unblocked
//!                           │  ▲                        └────── wait_for_key ─► still blocked
//!                           │  └──────────────────────────────────────────────────┘
//!                           ├─ wake ─► run again ─ reply, or null ─────────────► unblocked
//!                           └─ timeout, CLIENT UNBLOCK ─► null, or the server's error
//! ```
//! `signal_ready` wakes all clients that wait for a key, `wake` one client. A command also runs
//! again after its timeout if it has requested that ([`Sleeper::runs_at_end`]).
//!
//! The server keeps the arguments of a blocked client, so a command is run again from them, and
//! finds out anew whether it has something to reply. Before that, servers check permissions and
//! slots of their own commands again, since both may have changed; the module must check its own.

use super::allocator::try_box;
use super::arguments::{Argument, Arguments, OwnedString};
use super::call::{call, optional};
use super::catch_panic::catch_panic;
use super::command::INTERNAL_ERROR;
use super::context::{Context, Wait};
use redis_module::raw;
use std::ffi::{c_int, c_longlong, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering::Relaxed};
use std::sync::Arc;

/// Where no client can be made to wait: in a transaction, in a script, and wherever else the server
/// says so.
const NO_BLOCKING: u32 = raw::REDISMODULE_CTX_FLAGS_DENY_BLOCKING
    | raw::REDISMODULE_CTX_FLAGS_MULTI
    | raw::REDISMODULE_CTX_FLAGS_LUA;

/// What a command returns to the server: it has replied; its client goes on waiting, because there
/// is nothing to reply; or it goes on waiting, because another node has the key.
pub(crate) const DONE: c_int = raw::REDISMODULE_OK as c_int;
pub(crate) const WAITS: c_int = raw::REDISMODULE_ERR as c_int;
pub(crate) const ELSEWHERE: c_int = 2;

/// The error if the time is over before the server has redirected the client.
const MOVING: &str = "TRYAGAIN The slot of the key is moving to another node";

/// The server's error for a write on a replica.
const READ_ONLY: &str = "READONLY You can't write against a read only replica.";

impl Context {
    /// Whether the command of a client that has waited may run again. If not, this has replied, or
    /// the client goes on waiting: if the slot of its key has moved, the server redirects it within
    /// a second, as it does every client that waits for a key.
    pub(crate) fn may_run_again(&self, arguments: Arguments<'_>, writes: bool) -> bool {
        if !self.is_permitted(arguments) {
            let name = self.command.name;
            self.reply_error(format_args!(
                "NOPERM User has no permissions to run the '{name}' command, or to access its key"
            ));
        } else if writes && self.has_flag(raw::REDISMODULE_CTX_FLAGS_READONLY) {
            self.reply_error(READ_ONLY);
        } else if !self.serves_its_key() {
            self.wait.set(Wait::Elsewhere);
        } else {
            return true;
        }
        false
    }

    /// Whether the client's user may run the command with these arguments now. A user that is not
    /// on the server's list, such as another module's, cannot be checked, so may not.
    fn is_permitted(&self, arguments: Arguments<'_>) -> bool {
        // SAFETY: the context is that of a command.
        let name = unsafe { call!(RedisModule_GetCurrentUserName(self.raw)) };
        // SAFETY: null, or the module's to free.
        let Some(name) = (unsafe { OwnedString::from_raw(name) }) else {
            return true; // the server's own clients have no user
        };
        let name = name.argument().raw;
        // SAFETY: the name is live.
        let user = unsafe { call!(RedisModule_GetModuleUserFromUserName(name)) };
        if user.is_null() {
            return false;
        }
        let (argv, argc) = (arguments.argv.cast_mut(), arguments.len() as c_int);
        // SAFETY: the user is freed below; the server only reads the arguments.
        let status = unsafe { call!(RedisModule_ACLCheckCommandPermissions(user, argv, argc)) };
        // SAFETY: freed once, after its last use.
        unsafe { call!(RedisModule_FreeModuleUser(user)) };
        status as isize == raw::REDISMODULE_OK
    }

    /// Ends the running command without a reply: its client waits for at most `milliseconds`, or
    /// for ever if that is 0, until [`Context::signal_ready`] is called for `key`, or the server
    /// sees that the key was replaced. Then the command runs again, if the client's user may still
    /// run it. From Redis and Valkey 7.2 on, it also runs again if the key is deleted. After the
    /// timeout the reply is null. Where no client can wait, it is null at once.
    ///
    /// Calls `waiter` with what [`Context::wake`] needs, unless the client has waited before and
    /// goes on. What it returns is dropped when the client waits no longer, whatever the reason.
    ///
    /// Returns false, without a reply, if `waiter` returns `None` or there is no memory for it.
    pub fn wait_for_key<W: Send + 'static>(
        &self,
        key: Argument<'_>,
        milliseconds: u64,
        waiter: impl FnOnce(Sleeper) -> Option<W>,
    ) -> bool {
        let Wait::Not(again) = self.wait.get() else {
            self.wait.set(Wait::GoesOn);
            return true;
        };
        if !self.can_wait() {
            self.reply_null_array();
            return true;
        }
        let sleeper = Sleeper::default();
        let waiter = waiter(sleeper.clone());
        let held = waiter.map(|waiter| Held { sleeper: sleeper.clone(), again, _waiter: waiter });
        let Some(held) = held.and_then(try_box) else {
            return false;
        };
        let timeout = c_longlong::try_from(milliseconds).unwrap_or(c_longlong::MAX);
        let (mut key, held) = (key.raw, Box::into_raw(held).cast());
        let client = match optional!(RedisModule_BlockClientOnKeysWithFlags) {
            // SAFETY: the context is that of a command, and the key is live; the server takes a
            // reference of its own. `held` is the server's from here on, until `free`.
            Some(block) => unsafe {
                block(
                    self.raw,
                    again,
                    Some(time_out::<W>),
                    Some(free::<W>),
                    timeout,
                    &raw mut key,
                    1,
                    held,
                    raw::REDISMODULE_BLOCK_UNBLOCK_DELETED as c_int,
                )
            },
            // SAFETY: as above.
            None => unsafe {
                call!(RedisModule_BlockClientOnKeys(
                    self.raw,
                    again,
                    Some(time_out::<W>),
                    Some(free::<W>),
                    timeout,
                    &raw mut key,
                    1,
                    held
                ))
            },
        };
        sleeper.0.client.store(client, Relaxed);
        true
    }

    /// Runs the command of a waiting client again, at once, so not to be called from a command. If
    /// it has nothing to reply, the reply is null. Does nothing if the client waits no longer.
    pub fn wake(&self, Sleeper(sleeper): &Sleeper) {
        let client = sleeper.client.load(Relaxed);
        if client.is_null() {
            return;
        }
        sleeper.runs_at_end.store(true, Relaxed);
        // SAFETY: the server keeps its handle of the client until it calls `free`, which runs on
        // this thread and stores null. For a client that waits for a key it calls `time_out`,
        // unless the client has been served.
        unsafe { call!(RedisModule_UnblockClient(client, null_mut())) };
    }

    /// Whether the running command's client can be made to wait, and has not waited yet.
    pub fn can_wait(&self) -> bool {
        let is_first = matches!(self.wait.get(), Wait::Not(Some(_)));
        is_first && !self.is_replay() && !self.has_flag(NO_BLOCKING)
    }

    /// Whether the running command's client has waited.
    pub fn has_waited(&self) -> bool {
        !matches!(self.wait.get(), Wait::Not(_))
    }

    /// Runs the commands that wait for `key` again, once the running command, script or transaction
    /// is over. Cost: a look-up if none waits for this key.
    pub fn signal_ready(&self, key: Argument<'_>) {
        // SAFETY: context and key are live.
        unsafe { call!(RedisModule_SignalKeyAsReady(self.raw, key.raw)) };
    }
}

/// A client that waits, for [`Context::wake`].
#[derive(Clone, Default)]
pub struct Sleeper(Arc<Asleep>);

#[derive(Default)]
struct Asleep {
    /// The server's handle of the client; null before and after the wait.
    client: AtomicPtr<raw::RedisModuleBlockedClient>,
    runs_at_end: AtomicBool,
}

impl Sleeper {
    /// Makes the command run again after its timeout, too: there may be something to reply.
    pub fn runs_at_end(&self) {
        self.0.runs_at_end.store(true, Relaxed);
    }
}

/// What the server holds for a client that waits.
struct Held<W> {
    sleeper: Sleeper,
    again: raw::RedisModuleCmdFunc,
    _waiter: W,
}

/// Replies to a client whose timeout is over, or that was woken.
///
/// # Safety
/// The context is that of a client that waits with a `Held<W>`; it and the arguments live through
/// the call.
unsafe extern "C" fn time_out<W>(
    context: *mut raw::RedisModuleCtx,
    argv: *mut *mut raw::RedisModuleString,
    argc: c_int,
) -> c_int {
    // SAFETY: the caller's duty.
    let own = || unsafe { Context::new(context) };
    let reply = || {
        // SAFETY: the caller's duty.
        let held = unsafe { call!(RedisModule_GetBlockedClientPrivateData(context)) };
        // SAFETY: the caller's duty; `free` comes later.
        let held = unsafe { &*held.cast::<Held<W>>() };
        let again = held.again.filter(|_| held.sleeper.0.runs_at_end.load(Relaxed));
        // SAFETY: the caller's duty.
        let status = again.map(|again| unsafe { again(context, argv, argc) });
        match status {
            Some(DONE) => {}
            // Null would say that there is nothing new.
            Some(ELSEWHERE) => own().reply_error(MOVING),
            _ => own().reply_null_array(),
        }
    };
    catch_panic("a timeout", || own().reply_error(INTERNAL_ERROR), reply);
    raw::REDISMODULE_OK as c_int
}

/// # Safety
/// `held` came from a `Box<Held<W>>` in `wait_for_key`, and the server gives it up.
unsafe extern "C" fn free<W>(_context: *mut raw::RedisModuleCtx, held: *mut c_void) {
    let free = || {
        // SAFETY: the caller's duty.
        let held = unsafe { Box::from_raw(held.cast::<Held<W>>()) };
        held.sleeper.0.client.store(null_mut(), Relaxed);
    };
    catch_panic("the end of a wait", || (), free);
}
