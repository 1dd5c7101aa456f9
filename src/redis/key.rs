//! Keys: opened, looked into, closed when dropped.

use super::call::call;
use super::context::{Argument, Context};
use super::data_type::Value;
use redis_module::raw;
use std::marker::PhantomData;

/// A key opened for reading.
pub struct ReadKey<'a>(Key<'a>);

/// A key opened for writing.
pub struct WriteKey<'a>(Key<'a>);

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
        // SAFETY: the key is open.
        unsafe {
            // The type first: what is asked for most is a filter that is there.
            if call!(RedisModule_ModuleTypeGetType(self.raw)) == *T::native().raw_type.as_ptr() {
                Held::Value(call!(RedisModule_ModuleTypeGetValue(self.raw)).cast())
            } else if call!(RedisModule_KeyType(self.raw)) as isize
                == raw::REDISMODULE_KEYTYPE_EMPTY
            {
                Held::Nothing
            } else {
                Held::Other
            }
        }
    }
}

impl ReadKey<'_> {
    /// What the key holds.
    pub fn held<T: Value>(&self) -> Held<&T> {
        match self.0.held::<T>() {
            Held::Nothing => Held::Nothing,
            Held::Other => Held::Other,
            // SAFETY: a value of our type was made from a `Box<T>`; the server changes nothing while a command runs, and
            // the command has no other way to it than this key.
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

    /// Puts a value into an empty key and answers it.
    pub fn put<T: Value>(&mut self, value: T) -> &mut T {
        let value = Box::into_raw(Box::new(value));
        // SAFETY: the key is open for writing and the type is registered; from here on the value is the server's, which gives
        // it back through the type's `free`. The borrow is unique because that of the key is.
        unsafe {
            let native = *T::native().raw_type.as_ptr();
            call!(RedisModule_ModuleTypeSetValue(
                self.0.raw,
                native,
                value.cast()
            ));
            &mut *value
        }
    }
}

impl Context {
    /// Opens a key for reading. Cost: one look-up.
    pub fn open_to_read(&self, name: Argument<'_>) -> ReadKey<'_> {
        ReadKey(self.open(name, raw::REDISMODULE_READ))
    }

    /// Opens a key for writing. Cost: one look-up.
    pub fn open_to_write(&self, name: Argument<'_>) -> WriteKey<'_> {
        WriteKey(self.open(name, raw::REDISMODULE_READ | raw::REDISMODULE_WRITE))
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
