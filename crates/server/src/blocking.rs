//! Commands that wait for news of their key, as BLPOP and XREAD do.
//!
//! ```text
//!   run ─ wait_for_key ─► blocked ─ signal_ready ─► run again ─ reply ────────► unblocked
//!                           │  ▲                        └────── wait_for_key ─► still blocked
//!                           │  └──────────────────────────────────────────────────┘
//!                           └─ timeout, CLIENT UNBLOCK ─► null, or the server's error
//! ```
//!
//! The server keeps the arguments of a blocked client, so a command is run again from them, and
//! finds out anew whether it has something to reply. Servers check their own commands again before
//! that, because permissions and slots may have changed; for a module's, the module must.

use super::allocator::try_box;
use super::arguments::{Argument, Arguments, OwnedString};
use super::call::{call, optional};
use super::catch_panic::catch_panic;
use super::context::{Context, Wait};
use redis_module::raw;
use std::ffi::{c_int, c_longlong, c_void};

/// Where no client can be made to wait: in a transaction, in a script, and wherever else the server
/// says so.
const NO_BLOCKING: u32 = raw::REDISMODULE_CTX_FLAGS_DENY_BLOCKING
    | raw::REDISMODULE_CTX_FLAGS_MULTI
    | raw::REDISMODULE_CTX_FLAGS_LUA;

/// The server's error for a write on a replica.
const READ_ONLY: &str = "READONLY You can't write against a read only replica.";

impl Context {
    /// Whether the command of a client that has waited may run again. Otherwise it has replied, or
    /// the client goes on waiting: a key whose slot has moved is for the server to redirect, which
    /// it does for every client that waits for a key, within a second.
    pub(crate) fn may_run_again(&self, arguments: Arguments<'_>, writes: bool) -> bool {
        if !self.is_permitted(arguments) {
            let name = self.command.name;
            self.reply_error(format_args!(
                "NOPERM User has no permissions to run the '{name}' command, or to access its key"
            ));
        } else if writes && self.has_flag(raw::REDISMODULE_CTX_FLAGS_READONLY) {
            self.reply_error(READ_ONLY);
        } else if !self.serves_its_key() {
            self.wait.set(Wait::GoesOn);
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

    /// Ends the running command without a reply: its client waits, at most `milliseconds`, 0 for
    /// ever, until someone calls [`Context::signal_ready`] for `key`, or the server sees the key
    /// replaced; then the command runs again, if the client's user may still run it. From Redis and Valkey 7.2 on it also does if the key
    /// is deleted. After the time the reply is null. Where no client can wait, it is at once.
    ///
    /// What `waiter` returns is dropped when the client waits no longer, whatever the reason. It is
    /// not called for a client that has waited before and goes on.
    ///
    /// Returns false, and has not replied, if `waiter` returns none or there is no memory for it.
    pub fn wait_for_key<W: Send + 'static>(
        &self,
        key: Argument<'_>,
        milliseconds: u64,
        waiter: impl FnOnce() -> Option<W>,
    ) -> bool {
        let Wait::Not(again) = self.wait.get() else {
            self.wait.set(Wait::GoesOn);
            return true;
        };
        if !self.can_wait() {
            self.reply_null_array();
            return true;
        }
        let Some(waiter) = waiter().and_then(try_box) else {
            return false;
        };
        let timeout = c_longlong::try_from(milliseconds).unwrap_or(c_longlong::MAX);
        let (mut key, waiter) = (key.raw, Box::into_raw(waiter).cast());
        match optional!(RedisModule_BlockClientOnKeysWithFlags) {
            // SAFETY: the context is that of a command, and the key is live; the server takes a
            // reference of its own. The waiter is the server's from here on, until `free`.
            Some(block) => unsafe {
                block(
                    self.raw,
                    again,
                    Some(time_out),
                    Some(free::<W>),
                    timeout,
                    &raw mut key,
                    1,
                    waiter,
                    raw::REDISMODULE_BLOCK_UNBLOCK_DELETED as c_int,
                )
            },
            // SAFETY: as above.
            None => unsafe {
                call!(RedisModule_BlockClientOnKeys(
                    self.raw,
                    again,
                    Some(time_out),
                    Some(free::<W>),
                    timeout,
                    &raw mut key,
                    1,
                    waiter
                ))
            },
        };
        true
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

    /// Runs the commands again that wait for `key`, once the running command, script or transaction
    /// is over. Cost: a look-up if none waits for this key.
    pub fn signal_ready(&self, key: Argument<'_>) {
        // SAFETY: context and key are live.
        unsafe { call!(RedisModule_SignalKeyAsReady(self.raw, key.raw)) };
    }
}

/// Replies to a client that has waited for as long as it wanted.
///
/// # Safety
/// The context lives through the call.
unsafe extern "C" fn time_out(
    context: *mut raw::RedisModuleCtx,
    _argv: *mut *mut raw::RedisModuleString,
    _argc: c_int,
) -> c_int {
    let reply = || {
        // SAFETY: the caller's duty.
        unsafe { Context::new(context) }.reply_null_array();
    };
    catch_panic("a timeout", || (), reply);
    raw::REDISMODULE_OK as c_int
}

/// # Safety
/// `waiter` came from a `Box<W>` in `wait_for_key`, and the server gives it up.
unsafe extern "C" fn free<W>(_context: *mut raw::RedisModuleCtx, waiter: *mut c_void) {
    // SAFETY: the caller's duty.
    let free = || drop(unsafe { Box::from_raw(waiter.cast::<W>()) });
    catch_panic("the end of a wait", || (), free);
}
