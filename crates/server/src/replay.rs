//! Commands that have run before: from a primary, or from the append-only file.
//!
//! The sender assumes that they succeed here, too, and reads no reply. If one is refused, this
//! server lacks data that the other has, so the log and INFO report it. A server that loads its
//! append-only file exits, as servers do for an unknown command in it, and for a value that they
//! cannot load: otherwise it would start without data that clients have added.

use super::arguments::bytes_of;
use super::call::call;
use super::context::Context;
use super::info::Counter;
use super::log::warn;
use super::refused::Refused;
use super::settings::{self, Integer, Switch};
use super::text::ShownKey;
use redis_module::raw;
use std::process::exit;
use std::sync::OnceLock;

/// The id of the client that runs the commands of an append-only file (`CLIENT_ID_AOF`).
const FILE_CLIENT: u64 = u64::MAX;

/// The status with which servers exit if a file is damaged.
const DAMAGED_FILE: i32 = 1;

/// Commands from the primary or the append-only file that were refused, with a loss.
pub static REPLAYS_REFUSED: Counter = Counter::new();
/// Whether the server goes on loading an append-only file after it has refused a command in it.
static LOADS_DAMAGED_FILES: Switch = Switch::new(false);
/// The name of that setting.
static SETTING: OnceLock<&str> = OnceLock::new();

/// Registers a setting called `name`, off by default: whether the server goes on loading an
/// append-only file after it has refused a command in it.
///
/// # Errors
/// The server already has a setting of this name.
pub fn register(context: &Context, name: &'static str) -> Result<(), Refused> {
    let _ = SETTING.set(name);
    settings::register(context, name, &LOADS_DAMAGED_FILES)
}

impl Context {
    /// Whether the command comes from the primary or the append-only file, so has run before. While
    /// a replica loads a new copy next to the old one, commands come from clients. So do those
    /// without a key, which change nothing and may run while a file is loaded.
    pub fn is_replay(&self) -> bool {
        let flags = raw::REDISMODULE_CTX_FLAGS_LOADING | raw::REDISMODULE_CTX_FLAGS_REPLICATED;
        self.command.has_keys && self.has_flag(flags)
    }

    /// The limit that `setting` sets to the running command; none if that has run before.
    pub fn limit(&self, setting: &Integer) -> u64 {
        match self.is_replay() {
            true => u64::MAX,
            false => setting.get().unsigned_abs(),
        }
    }

    /// Counts and logs the running command, which is refused with the error reply `reason`, if it
    /// is a replay. Does not return if the command is in the append-only file and the server must
    /// not start without it.
    pub(crate) fn note_loss(&self, reason: &str) {
        if !self.is_replay() {
            return;
        }
        REPLAYS_REFUSED.increment();
        let is_loading = self.has_flag(raw::REDISMODULE_CTX_FLAGS_LOADING);
        // SAFETY: the context is live.
        let client = unsafe { call!(RedisModule_GetClientId(self.raw)) };
        let is_in_file = is_loading && client == FILE_CLIENT;
        let (from, way_out) = match is_loading {
            true if is_in_file => ("the append-only file", "This server lacks what it held"),
            // A script in the file or another module runs it, gets the reply, and may handle an
            // error.
            true => (
                "a script or a module while a file loads",
                "This server lacks what it brought: restore the file",
            ),
            false => (
                "the replication stream",
                "This server lacks what it brought: synchronize it in full, or move the slot again",
            ),
        };
        let (name, key) = (self.command.name, ShownKey(self.key()));
        let database = self.database();
        warn(format_args!(
            "refused {name} from {from}: {reason}. {way_out}. Database {database}, key {key}"
        ));
        if is_in_file && !LOADS_DAMAGED_FILES.get() {
            let setting = SETTING.get().copied().unwrap_or_default();
            warn(format_args!(
                "the server exits, because it would start without data that has been added: \
                 restore the append-only file, or set {setting} to yes to load the rest"
            ));
            exit(DAMAGED_FILE);
        }
    }

    /// The key of the running command, if it has one.
    fn key(&self) -> Option<&[u8]> {
        let key = self.command.key;
        // SAFETY: an argument of the running command, which lives as long as the context.
        (!key.is_null()).then(|| unsafe { bytes_of(key) })
    }
}
