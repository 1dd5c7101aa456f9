//! Keys: opened, looked into, closed when dropped.

use super::allocator::try_box;
use super::arguments::Argument;
use super::call::call;
use super::context::Context;
use super::data_type::Value;
use super::failpoints;
use redis_module::native_types::RedisType;
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

struct Key<'a> {
    raw: *mut raw::RedisModuleKey,
    _context: PhantomData<&'a Context>,
}

/// What a key holds.
pub enum Held<T> {
    Nothing,
    /// A value of another type.
    Other,
    Value(T),
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
    /// The address of the value, if the key holds one of type `T`.
    fn held<T: Value>(&self) -> Held<*mut T> {
        if self.raw.is_null() {
            return Held::Nothing;
        }
        // The type first: most keys that a command opens hold one of ours.
        // SAFETY: the key is open. So below.
        let native = unsafe { call!(RedisModule_ModuleTypeGetType(self.raw)) };
        if native == handle_of(T::native()) || is_other::<T>(native) {
            // SAFETY: as above.
            let value = unsafe { call!(RedisModule_ModuleTypeGetValue(self.raw)) };
            return Held::Value(value.cast());
        }
        // SAFETY: as above.
        let kind = unsafe { call!(RedisModule_KeyType(self.raw)) };
        if kind as isize == raw::REDISMODULE_KEYTYPE_EMPTY {
            Held::Nothing
        } else {
            Held::Other
        }
    }
}

/// The server's handle of the type, which it gave when the type was registered.
fn handle_of(native: &RedisType) -> *mut raw::RedisModuleType {
    // SAFETY: written once, by `data_type::register`, before any command runs.
    unsafe { *native.raw_type.as_ptr() }
}

/// Whether it is the other type whose values are the same. (A key that holds no module's value has
/// no handle, and neither has a type that is not registered.)
fn is_other<T: Value>(native: *mut raw::RedisModuleType) -> bool {
    !native.is_null() && T::other_native().is_some_and(|other| native == handle_of(other))
}

impl ReadKey<'_> {
    /// What the key holds.
    pub fn held<T: Value>(&self) -> Held<&T> {
        match self.0.held::<T>() {
            Held::Nothing => Held::Nothing,
            Held::Other => Held::Other,
            // SAFETY: a value of our type came from a `Box<T>`; the server changes nothing while a
            // command runs, and the command reaches the value only through this key.
            Held::Value(value) => Held::Value(unsafe { &*value }),
        }
    }
}

impl WriteKey<'_> {
    /// What the key holds.
    pub fn held<T: Value>(&mut self) -> Held<&mut T> {
        match self.0.held::<T>() {
            Held::Nothing => Held::Nothing,
            Held::Other => Held::Other,
            // SAFETY: as for reading; the borrow is unique because that of the key is.
            Held::Value(value) => Held::Value(unsafe { &mut *value }),
        }
    }

    /// Puts a value into an empty key and returns it; `None` if there is no memory for it.
    pub fn put<T: Value>(&mut self, value: T) -> Option<&mut T> {
        let value = Box::into_raw(try_box(value)?);
        let native = handle_of(T::native());
        // SAFETY: the key is open for writing, the type registered. From here on the value is the
        // server's, which gives it back through the type's `free`.
        unsafe {
            call!(RedisModule_ModuleTypeSetValue(
                self.0.raw,
                native,
                value.cast()
            ))
        };
        // SAFETY: as in `held`.
        Some(unsafe { &mut *value })
    }
}

impl Context {
    /// Opens a key for reading. Cost: one look-up.
    pub fn open_to_read(&self, name: Argument<'_>) -> ReadKey<'_> {
        ReadKey(self.open(name, raw::REDISMODULE_READ))
    }

    /// Opens a key for writing. Cost: one look-up.
    ///
    /// # Errors
    /// `InUse`.
    pub fn open_to_write(&self, name: Argument<'_>) -> Result<WriteKey<'_>, InUse> {
        self.open_for_writing(name, 0)
    }

    /// Opens a key for writing without a trace: its age for eviction stays, statistics do not count
    /// it, and if it has expired it is missing, but not deleted. Redis 7.0 knows only the first.
    ///
    /// # Errors
    /// `InUse`.
    pub fn open_quietly(&self, name: Argument<'_>) -> Result<WriteKey<'_>, InUse> {
        let quietly = raw::REDISMODULE_OPEN_KEY_NOTOUCH | raw::REDISMODULE_OPEN_KEY_NOEFFECTS;
        self.open_for_writing(name, quietly)
    }

    /// A server returns null for a key opened for reading if it is missing, but for one opened for
    /// writing only if it is in use.
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
        Key {
            raw: raw.cast(),
            _context: PhantomData,
        }
    }
}
