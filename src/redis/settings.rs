//! Settings: what CONFIG GET, CONFIG SET and the server's configuration file know of the module.

use super::call::call;
use super::command::Refused;
use super::context::{c_text, Context};
use super::guard::guarded;
use redis_module::raw;
use std::ffi::{c_char, c_int, c_longlong, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// Under which names the server shall know a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    /// `<module>.<name>`.
    Prefixed(&'static str),
    /// The name as it is, which only some servers allow.
    Plain(&'static str),
}

/// A setting that is a whole number.
pub struct Integer {
    pub default: i64,
    pub least: i64,
    pub most: i64,
    /// Whether the number is of bytes, so that `1gb` may be written.
    pub is_memory: bool,
    pub get: fn() -> i64,
    pub set: fn(i64),
}

/// A setting that is a text.
pub struct Text {
    pub default: String,
    pub get: fn() -> String,
    /// Takes the text, or says what is wrong with it.
    pub set: fn(&str) -> Result<(), &'static str>,
    /// What was last given to the server, which does not free it.
    shown: AtomicPtr<raw::RedisModuleString>,
}

impl Text {
    pub fn new(
        default: String,
        get: fn() -> String,
        set: fn(&str) -> Result<(), &'static str>,
    ) -> Self {
        Self {
            default,
            get,
            set,
            shown: AtomicPtr::default(),
        }
    }
}

/// Whether the server takes names of settings without a prefix (Redis 8 does; a server that does not may ignore the wish).
pub fn allows_plain_names() -> bool {
    // SAFETY: the table of functions is complete once `OnLoad` runs.
    let load_defaults = unsafe { raw::RedisModule_LoadDefaultConfigs };
    load_defaults.is_some()
}

impl Name {
    fn text(self) -> &'static str {
        match self {
            Self::Prefixed(text) | Self::Plain(text) => text,
        }
    }

    fn flags(self) -> u32 {
        match self {
            Self::Prefixed(_) => raw::REDISMODULE_CONFIG_DEFAULT,
            Self::Plain(_) => raw::REDISMODULE_CONFIG_UNPREFIXED,
        }
    }

    fn checked(self, status: c_int) -> Result<(), Refused> {
        if status as isize == raw::REDISMODULE_OK {
            Ok(())
        } else {
            Err(Refused(format!("the setting {}", self.text())))
        }
    }
}

/// Registers a setting for the life of the process.
///
/// # Errors
/// The server refused the name.
pub fn register_integer(
    context: &Context,
    name: Name,
    setting: &'static Integer,
) -> Result<(), Refused> {
    let memory = if setting.is_memory {
        raw::REDISMODULE_CONFIG_MEMORY
    } else {
        0
    };
    // SAFETY: the context is that of `OnLoad`; the server copies the name and hands the setting back to the functions below.
    name.checked(unsafe {
        call!(RedisModule_RegisterNumericConfig(
            context.raw,
            c_text(name.text()).as_ptr(),
            setting.default,
            name.flags() | memory,
            setting.least,
            setting.most,
            Some(get_integer),
            Some(set_integer),
            None,
            std::ptr::from_ref(setting).cast_mut().cast()
        ))
    })
}

/// Registers a setting for the life of the process.
///
/// # Errors
/// The server refused the name.
pub fn register_text(context: &Context, name: Name, setting: &'static Text) -> Result<(), Refused> {
    // SAFETY: as in `register_integer`.
    name.checked(unsafe {
        call!(RedisModule_RegisterStringConfig(
            context.raw,
            c_text(name.text()).as_ptr(),
            c_text(&setting.default).as_ptr(),
            name.flags(),
            Some(get_text),
            Some(set_text),
            None,
            std::ptr::from_ref(setting).cast_mut().cast()
        ))
    })
}

/// Sets all settings from the server's configuration file, or to their defaults. Without this call the server unloads the module.
///
/// # Errors
/// A value in the file was refused.
pub fn load(context: &Context) -> Result<(), Refused> {
    // SAFETY: the context is that of `OnLoad`.
    let status = unsafe { call!(RedisModule_LoadConfigs(context.raw)) };
    if status as isize == raw::REDISMODULE_OK {
        Ok(())
    } else {
        Err(Refused("a value in the configuration file".into()))
    }
}

/// # Safety
/// Called by the server with what was registered. So below.
unsafe extern "C" fn get_integer(_name: *const c_char, setting: *mut c_void) -> c_longlong {
    // SAFETY: `setting` was registered as a `&'static Integer`.
    guarded(
        "a setting",
        || 0,
        || unsafe { ((*setting.cast::<Integer>()).get)() },
    )
}

/// # Safety
/// See [`get_integer`].
unsafe extern "C" fn set_integer(
    _name: *const c_char,
    value: c_longlong,
    setting: *mut c_void,
    _error: *mut *mut raw::RedisModuleString,
) -> c_int {
    let refused = raw::REDISMODULE_ERR as c_int;
    guarded(
        "a setting",
        || refused,
        || {
            // SAFETY: `setting` was registered as a `&'static Integer`. The server has checked the range.
            unsafe { ((*setting.cast::<Integer>()).set)(value) };
            raw::REDISMODULE_OK as c_int
        },
    )
}

/// # Safety
/// See [`get_integer`].
unsafe extern "C" fn get_text(
    _name: *const c_char,
    setting: *mut c_void,
) -> *mut raw::RedisModuleString {
    guarded("a setting", std::ptr::null_mut, || {
        // SAFETY: `setting` was registered as a `&'static Text`. The string stays ours; the one before is not in use any more.
        unsafe {
            let setting = &*setting.cast::<Text>();
            let shown = new_string(&(setting.get)());
            let before = setting.shown.swap(shown, Ordering::Relaxed);
            if !before.is_null() {
                call!(RedisModule_FreeString(std::ptr::null_mut(), before));
            }
            shown
        }
    })
}

/// # Safety
/// See [`get_integer`]; `error` is null or takes a string that the server frees.
unsafe extern "C" fn set_text(
    _name: *const c_char,
    value: *mut raw::RedisModuleString,
    setting: *mut c_void,
    error: *mut *mut raw::RedisModuleString,
) -> c_int {
    let refused = raw::REDISMODULE_ERR as c_int;
    guarded(
        "a setting",
        || refused,
        || {
            // SAFETY: `setting` was registered as a `&'static Text`; the value lives through the call.
            unsafe {
                let mut len = 0;
                let start = call!(RedisModule_StringPtrLen(value, &raw mut len));
                let text = std::str::from_utf8(std::slice::from_raw_parts(start.cast(), len));
                let set = text.map_or(Err("not a text"), |text| {
                    ((*setting.cast::<Text>()).set)(text)
                });
                let Err(message) = set else {
                    return raw::REDISMODULE_OK as c_int;
                };
                if !error.is_null() {
                    *error = new_string(message);
                }
                refused
            }
        },
    )
}

/// # Safety
/// The server's table of functions is filled.
unsafe fn new_string(text: &str) -> *mut raw::RedisModuleString {
    // SAFETY: the server copies the bytes; a null context means that nobody frees the string for us.
    unsafe {
        call!(RedisModule_CreateString(
            std::ptr::null_mut(),
            text.as_ptr().cast(),
            text.len()
        ))
    }
}
