//! Where a key is: its database and its name, to come back to it later.

use super::arguments::{bytes_of, Argument, OwnedString};
use super::call::call;
use super::context::Context;
use super::data_type::{CopyTarget, RdbSource};
use super::text::ShownKey;
use redis_module::raw;
use splitbloom_foundation::alloc::try_boxed;
use std::ffi::c_int;
use std::fmt::Display;

/// A database and the name of a key in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The number of the database.
    pub database: u32,
    /// The name of the key.
    pub name: Box<[u8]>,
}

impl Location {
    /// `None` if there is no memory for the name.
    fn new(database: c_int, name: &[u8]) -> Option<Self> {
        let name = try_boxed(name.len(), |copy| copy.extend_from_slice(name)).ok()?;
        Some(Self { database: u32::try_from(database).ok()?, name })
    }
}

impl Context {
    /// The database of the running command, event or timer.
    pub fn database(&self) -> u32 {
        // SAFETY: the context is live.
        let database = unsafe { call!(RedisModule_GetSelectedDb(self.raw)) };
        u32::try_from(database).unwrap_or(0)
    }

    /// Where `key` is; `None` if there is no memory for its name.
    pub fn location_of(&self, key: Argument<'_>) -> Option<Location> {
        Location::new(self.database() as c_int, key.bytes())
    }

    /// Selects `database` and returns `name` as the server holds it; `None` if there is no such
    /// database. Only for timers: a command must stay in the database of its client.
    pub fn go_to(&self, database: u32, name: &[u8]) -> Option<OwnedString> {
        let database = c_int::try_from(database).ok()?;
        // SAFETY: the context is live; the server checks the number.
        let status = unsafe { call!(RedisModule_SelectDb(self.raw, database)) };
        (status as isize == raw::REDISMODULE_OK).then(|| OwnedString::new(name))?
    }
}

impl RdbSource {
    /// Displays the key of the value being read, for the log.
    pub fn shown_key(&self) -> impl Display + use<'_> {
        ShownKey(self.key())
    }

    /// Where the value being read will be; `None` if the server does not say, or if there is no
    /// memory for the name.
    pub fn location(&self) -> Option<Location> {
        let name = self.key()?;
        // SAFETY: the source is being read.
        let database = unsafe { call!(RedisModule_GetDbIdFromIO(self.0)) };
        Location::new(database, name)
    }

    /// The key of the value being read, if the server provides it.
    fn key(&self) -> Option<&[u8]> {
        // SAFETY: the source is being read.
        let name = unsafe { call!(RedisModule_GetKeyNameFromIO(self.0)) };
        // SAFETY: the name lives as long as the source is being read.
        (!name.is_null()).then(|| unsafe { bytes_of(name) })
    }
}

impl CopyTarget {
    /// Where the copy will be; `None` as in [`RdbSource::location`].
    pub fn location(&self) -> Option<Location> {
        // SAFETY: the copy is being made.
        let name = unsafe { call!(RedisModule_GetToKeyNameFromOptCtx(self.0)) };
        if name.is_null() {
            return None;
        }
        // SAFETY: the copy is being made.
        let database = unsafe { call!(RedisModule_GetToDbIdFromOptCtx(self.0)) };
        // SAFETY: the name lives until the copy is made.
        Location::new(database, unsafe { bytes_of(name) })
    }
}
