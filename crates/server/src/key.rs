//! Keys: opened, looked into, closed when dropped.

use super::arguments::Argument;
use super::call::call;
use super::context::Context;
use super::data_type::Value;
use super::failpoints;
use redis_module::raw;
use std::marker::PhantomData;

/// A key opened for reading.
pub struct ReadKey<'a>(Key<'a>);

/// A key opened for writing.
pub struct WriteKey<'a>(Key<'a>);

/// The server saves the key's value on another thread. Nothing may change it until that is done;
/// then the key can be opened for writing.
#[derive(Debug)]
pub struct InUse;

/// The key holds a value of another type.
#[derive(Debug)]
pub struct WrongType;

/// Why a value cannot be opened for writing.
#[derive(Debug)]
pub enum OpenError {
    /// As [`InUse`].
    InUse,
    /// As [`WrongType`].
    WrongType,
}

impl From<InUse> for OpenError {
    fn from(InUse: InUse) -> Self {
        Self::InUse
    }
}

impl From<WrongType> for OpenError {
    fn from(WrongType: WrongType) -> Self {
        Self::WrongType
    }
}

struct Key<'a> {
    raw: *mut raw::RedisModuleKey,
    _context: PhantomData<&'a Context>,
}

impl Drop for Key<'_> {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            // SAFETY: opened by `open`, closed once.
            unsafe { call!(RedisModule_CloseKey(self.raw)) };
        }
    }
}

impl Key<'_> {
    /// The address of the value; `None` if the key is empty.
    fn value<T: Value>(&self) -> Result<Option<*mut T>, WrongType> {
        if self.raw.is_null() {
            return Ok(None);
        }
        // Check the type first: most keys that a command opens hold one of ours.
        // SAFETY: the key is open.
        let handle = unsafe { call!(RedisModule_ModuleTypeGetType(self.raw)) };
        if T::natives().iter().any(|native| native.is(handle)) {
            // SAFETY: the key is open, and holds a module's value.
            let value = unsafe { call!(RedisModule_ModuleTypeGetValue(self.raw)) };
            return Ok(Some(value.cast()));
        }
        // SAFETY: the key is open.
        let kind = unsafe { call!(RedisModule_KeyType(self.raw)) };
        match kind as isize {
            raw::REDISMODULE_KEYTYPE_EMPTY => Ok(None),
            _ => Err(WrongType),
        }
    }
}

impl ReadKey<'_> {
    /// The key's value; `None` if the key is missing.
    ///
    /// # Errors
    /// `WrongType`.
    pub fn value<T: Value>(&self) -> Result<Option<&T>, WrongType> {
        let value = self.0.value::<T>()?;
        // SAFETY: a value of this type came from a `Box<T>`; the server changes nothing while a
        // command runs, and the command reaches the value only through this key.
        Ok(value.map(|value| unsafe { &*value }))
    }
}

impl WriteKey<'_> {
    /// The key's value; `None` if the key is missing.
    ///
    /// # Errors
    /// `WrongType`.
    pub fn value<T: Value>(&mut self) -> Result<Option<&mut T>, WrongType> {
        let value = self.0.value::<T>()?;
        // SAFETY: as `ReadKey::value` says; the borrow is unique because that of the key is.
        Ok(value.map(|value| unsafe { &mut *value }))
    }

    /// Puts `value` into an empty key and returns it.
    pub(crate) fn put<T: Value>(&mut self, value: Box<T>) -> &mut T {
        let native = value.own_native().handle();
        let value = Box::into_raw(value);
        // SAFETY: the key is open for writing, the type registered. From here on the value is the
        // server's, which gives it back through the type's `free`.
        unsafe { call!(RedisModule_ModuleTypeSetValue(self.0.raw, native, value.cast())) };
        // SAFETY: the value that was just put; the borrow is unique because that of the key is.
        unsafe { &mut *value }
    }

    /// Makes the key expire at `time`, in milliseconds since 1970. Nothing is replicated, signalled
    /// or published. Does nothing if the key is empty.
    pub(crate) fn expire_at(&mut self, time: u64) {
        let time = i64::try_from(time).unwrap_or(i64::MAX);
        // SAFETY: the key is open for writing.
        unsafe { call!(RedisModule_SetAbsExpire(self.0.raw, time)) };
    }
}

impl Context {
    /// Opens the key `name` for reading. Cost: one look-up.
    pub fn open_to_read(&self, name: Argument<'_>) -> ReadKey<'_> {
        ReadKey(self.open(name, raw::REDISMODULE_READ))
    }

    /// Opens the key `name` for writing. Cost: one look-up.
    ///
    /// # Errors
    /// `InUse`.
    pub(crate) fn open_to_write(&self, name: Argument<'_>) -> Result<WriteKey<'_>, InUse> {
        self.open_for_writing(name, 0)
    }

    /// Opens the key `name` for writing without side effects: its age for eviction stays,
    /// statistics do not count the access, and an expired key is missing, but not deleted. Redis
    /// 7.0 supports only the first.
    ///
    /// # Errors
    /// `InUse`.
    pub fn open_quietly(&self, name: Argument<'_>) -> Result<WriteKey<'_>, InUse> {
        let quietly = raw::REDISMODULE_OPEN_KEY_NOTOUCH | raw::REDISMODULE_OPEN_KEY_NOEFFECTS;
        self.open_for_writing(name, quietly)
    }

    /// Opens a key for writing. For a missing key opened for reading, a server returns null; for
    /// one opened for writing, only if it is in use.
    fn open_for_writing(&self, name: Argument<'_>, flags: u32) -> Result<WriteKey<'_>, InUse> {
        let mode = raw::REDISMODULE_READ | raw::REDISMODULE_WRITE | flags;
        let key = self.open(name, mode);
        if key.raw.is_null() || failpoints::key_is_in_use() {
            return Err(InUse);
        }
        Ok(WriteKey(key))
    }

    fn open(&self, name: Argument<'_>, mode: u32) -> Key<'_> {
        // SAFETY: context and name are live.
        let raw = unsafe { call!(RedisModule_OpenKey(self.raw, name.raw, mode as i32)) };
        Key { raw: raw.cast(), _context: PhantomData }
    }
}
