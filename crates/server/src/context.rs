//! A running command, event or timer: what it may call in the server, except replies and keys.

use super::arguments::{Argument, Arguments, OwnedString};
use super::call::{call, optional};
use redis_module::raw;
use std::cell::Cell;
use std::ffi::{c_int, CStr};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The server is reading a file, in the foreground or while it keeps its old data.
const LOADING: u32 = raw::REDISMODULE_CTX_FLAGS_LOADING | raw::REDISMODULE_CTX_FLAGS_ASYNC_LOADING;

/// Valkey's option for a module whose values may arrive, key by key and under writes, in a slot
/// that the node does not own yet. Without it Valkey 9 refuses CLUSTER MIGRATESLOTS for all keys of
/// the cluster (`valkeymodule.h`). Redis has no such option.
const VALKEY_HANDLES_ATOMIC_SLOT_MIGRATION: c_int = 1 << 5;

/// Valkey's option, from 9.2 on, for a module whose values can be saved on another thread:
/// `rdb_save` runs there while commands read the value on the server's own thread, and a key that
/// is being saved, or waits for that, cannot be opened for writing ([`InUse`]). While one module
/// lacks the option, the server forks to save and to synchronize replicas.
///
/// [`InUse`]: super::key::InUse
const VALKEY_HANDLES_FORKLESS: c_int = 1 << 6;

/// The module's own context: see [`detached`].
static DETACHED: AtomicPtr<raw::RedisModuleCtx> = AtomicPtr::new(null_mut());

/// A context for where the server provides none, as when it loads a value. It lives as long as the
/// process. Only the server's own thread follows the address.
pub(crate) fn detached() -> *mut raw::RedisModuleCtx {
    DETACHED.load(Ordering::Acquire)
}

/// The server's side of a running command.
pub struct Context {
    /// Outlives this: see [`Context::new`].
    pub(crate) raw: *mut raw::RedisModuleCtx,
    /// The number of replies still needed to complete that of the running command: see `reply`.
    pub(crate) lacking: Cell<usize>,
    pub(crate) command: Running,
    pub(crate) wait: Cell<Wait>,
    /// The server's flags for the command and for itself, once they have been read.
    flags: Cell<Option<u32>>,
}

/// How a command waits.
#[derive(Clone, Copy)]
pub(crate) enum Wait {
    /// It has not waited. The server calls the function, if there is one, to run it again.
    Not(raw::RedisModuleCmdFunc),
    /// It has waited, and runs again.
    Woken,
    /// It has run again, and goes on waiting.
    GoesOn,
    /// It goes on waiting without having run: its key is for another node.
    Elsewhere,
}

/// The command that runs, for the log.
pub(crate) struct Running {
    pub name: &'static str,
    pub has_keys: bool,
    /// Null if the command has no key, or it was left out. Lives as long as the command runs.
    pub key: *mut raw::RedisModuleString,
}

/// The maximum number of arguments of a replicated command after its key, not counting those of the
/// running command.
const MAX_REPLICATED: usize = 16;

impl Context {
    /// # Safety
    /// `raw` is the context of a running command, event or timer, or of `OnLoad`, and outlives what
    /// is returned.
    pub(crate) unsafe fn new(raw: *mut raw::RedisModuleCtx) -> Self {
        let none = Running { name: "no command", has_keys: false, key: null_mut() };
        // SAFETY: the caller's duty; there is no key.
        unsafe { Self::of_command(raw, none, Wait::Not(None)) }
    }

    /// # Safety
    /// `raw` is the context of this running command. It and the key outlive what is returned.
    pub(crate) unsafe fn of_command(
        raw: *mut raw::RedisModuleCtx,
        command: Running,
        wait: Wait,
    ) -> Self {
        let (lacking, wait, flags) = (Cell::new(1), Cell::new(wait), Cell::new(None));
        Self { raw, lacking, command, wait, flags }
    }

    /// Creates the context that [`detached`] returns, while the server loads the module.
    pub(crate) fn detach(&self) {
        // SAFETY: the context is that of `OnLoad`.
        let context = unsafe { call!(RedisModule_GetDetachedThreadSafeContext(self.raw)) };
        DETACHED.store(context, Ordering::Release);
    }

    /// Declares to the server, while it loads the module, that the module
    /// - handles truncated files, where the server would otherwise exit,
    /// - signals changed keys itself, so that a write that changes nothing breaks no WATCH,
    /// - serves commands while a replica loads a new copy next to the old one,
    /// - allows atomic slot migration,
    /// - saves values on any thread, and expects that a key may be in use.
    pub(crate) fn set_module_options(&self) {
        let options = raw::REDISMODULE_OPTIONS_HANDLE_IO_ERRORS
            | raw::REDISMODULE_OPTION_NO_IMPLICIT_SIGNAL_MODIFIED
            | raw::REDISMODULE_OPTIONS_HANDLE_REPL_ASYNC_LOAD;
        let of_valkey =
            options_of_valkey() & (VALKEY_HANDLES_ATOMIC_SLOT_MIGRATION | VALKEY_HANDLES_FORKLESS);
        // SAFETY: the context is that of `OnLoad`.
        unsafe { call!(RedisModule_SetModuleOptions(self.raw, options as c_int | of_valkey)) };
    }

    /// The server's name and version, as in "Valkey 8.1.1".
    pub fn server(&self) -> String {
        let section = c"server".as_ptr();
        // SAFETY: the context is live.
        let info = unsafe { call!(RedisModule_GetServerInfo(self.raw, section)) };
        let field = |name: &CStr| {
            // SAFETY: `info` is freed below.
            let text = unsafe { call!(RedisModule_ServerInfoGetFieldC(info, name.as_ptr())) };
            // SAFETY: not null, so a text that ends in a zero byte and lives as long as `info`.
            let text = (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) });
            text.map(|text| text.to_string_lossy().into_owned())
        };
        // Valkey also gives the version of Redis that it is compatible with.
        let server = match (field(c"valkey_version"), field(c"redis_version")) {
            (Some(version), _) => format!("Valkey {version}"),
            (None, Some(version)) => format!("Redis {version}"),
            (None, None) => "an unknown server".to_owned(),
        };
        // SAFETY: freed once, after its last use.
        unsafe { call!(RedisModule_FreeServerInfo(self.raw, info)) };
        server
    }

    /// Whether the command comes from a file that the server is loading.
    pub fn is_loading(&self) -> bool {
        self.has_flag(LOADING)
    }

    /// Whether the server is a primary, whose dataset is its own to change.
    pub fn is_primary(&self) -> bool {
        self.has_flag(raw::REDISMODULE_CTX_FLAGS_MASTER)
    }

    /// As [`Context::is_primary`], outside of a command.
    pub fn server_is_primary() -> bool {
        // SAFETY: without a context, the flags are those of the process.
        let flags = unsafe { call!(RedisModule_GetContextFlags(std::ptr::null_mut())) };
        flags as u32 & raw::REDISMODULE_CTX_FLAGS_MASTER != 0
    }

    /// Whether the module must not change the dataset now by itself: the server is loading it, or a
    /// failover waits for replicas to catch up.
    pub fn must_wait(&self) -> bool {
        // SAFETY: the function takes nothing and returns a number.
        self.is_loading() || unsafe { call!(RedisModule_AvoidReplicaTraffic()) != 0 }
    }

    /// Whether any of these context flags, which last as long as the command runs, is set. The
    /// server is called once: it sums the counters of its allocator each time.
    pub(crate) fn has_flag(&self, any: u32) -> bool {
        let flags = self.flags.get().unwrap_or_else(|| {
            // Not with `call!`, which tests can make panic: the allocator needs them, too.
            let flags = optional!(RedisModule_GetContextFlags).expect("every server has it");
            // SAFETY: the context is live.
            unsafe { flags(self.raw) as u32 }
        });
        self.flags.set(Some(flags));
        flags & any != 0
    }

    /// Hides argument `index` of the running command from MONITOR and SLOWLOG; replication still
    /// sees it. Read the argument first: Valkey 8.1 and later replace it in the array of
    /// [`Arguments`] and keep the original in a copy; Redis and Valkey 8.0 replace it in a copy.
    /// The string itself lives on either way.
    ///
    /// Does nothing while a file is loaded. Nothing is logged then, and the loader of append-only
    /// files in 7.0 would redact the same arguments of the next command, which may have fewer.
    pub fn redact(&self, index: usize) {
        if !self.is_loading() {
            // SAFETY: the context is live; the server checks the index.
            unsafe { call!(RedisModule_RedactClientCommandArgument(self.raw, index as i32)) };
        }
    }

    /// Replicates the running command as the client sent it.
    pub(crate) fn replicate_verbatim(&self) {
        // SAFETY: the context is live.
        unsafe { call!(RedisModule_ReplicateVerbatim(self.raw)) };
    }

    /// Replicates `name key args…`, and after `args` the `arguments`, which are some of the running
    /// command's. Without `args` it allocates nothing: there may be no memory left.
    ///
    /// # Panics
    /// If there are more than 16 `args`.
    pub(crate) fn replicate_before<'a>(
        &self,
        name: &CStr,
        key: Argument<'_>,
        args: impl IntoIterator<Item = &'a [u8]>,
        arguments: Arguments<'_>,
    ) {
        let (mut created, mut len) = ([const { None }; MAX_REPLICATED], 0);
        for arg in args {
            created[len] = OwnedString::new(arg);
            len += 1;
        }
        // A string, and two arrays of strings with their lengths (a size_t). The server takes
        // references of its own.
        let format = c"svv".as_ptr();
        // SAFETY: the context is live, and so are the strings; the arguments are those of the
        // format. The first `len` strings created are no `None`, so they are pointers.
        unsafe {
            call!(RedisModule_Replicate(
                self.raw,
                name.as_ptr(),
                format,
                key.raw,
                created.as_ptr(),
                len,
                arguments.argv,
                arguments.len()
            ))
        };
    }

    /// Signals that `key` has changed to transactions that watch it and clients that cache it.
    pub(crate) fn signal_modified(&self, key: Argument<'_>) {
        // SAFETY: context and key are live.
        unsafe { call!(RedisModule_SignalModifiedKey(self.raw, key.raw)) };
    }

    /// Signals that `key` has changed, and publishes `event`.
    pub(crate) fn signal_change(&self, event: &CStr, key: Argument<'_>) {
        self.signal_modified(key);
        self.publish(raw::REDISMODULE_NOTIFY_MODULE, event, key);
    }

    /// Publishes the server's own event for a key that has got an expiry.
    pub(crate) fn publish_expiry(&self, key: Argument<'_>) {
        self.publish(raw::REDISMODULE_NOTIFY_GENERIC, c"expire", key);
    }

    fn publish(&self, class: c_int, event: &CStr, key: Argument<'_>) {
        // SAFETY: context, event and key are live.
        unsafe { call!(RedisModule_NotifyKeyspaceEvent(self.raw, class, event.as_ptr(), key.raw)) };
    }

    /// An unpredictable 64-bit number, from the server's generator, which the system's generator
    /// seeds.
    pub fn random(&self) -> u64 {
        let mut bytes = [0u8; 8];
        // SAFETY: the eight bytes are ours.
        unsafe { call!(RedisModule_GetRandomBytes(bytes.as_mut_ptr(), bytes.len())) };
        u64::from_le_bytes(bytes)
    }
}

/// The module options that a Valkey server knows; none on other servers. Valkey's name for the
/// function tells the two apart: Redis has it under its own name only, and may one day give bit 5
/// another meaning.
fn options_of_valkey() -> c_int {
    let mut known: Option<unsafe extern "C" fn() -> c_int> = None;
    let name = c"ValkeyModule_GetModuleOptionsAll".as_ptr();
    // SAFETY: while a module is loaded the server looks the name up in its table. It writes the
    // address of that function into `known`, or leaves `known` as it is.
    unsafe { call!(RedisModule_GetApi(name, (&raw mut known).cast())) };
    // SAFETY: the function takes nothing and returns an int.
    known.map_or(0, |known| unsafe { known() })
}
