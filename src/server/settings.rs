//! The module's settings, for CONFIG GET, CONFIG SET and the server's configuration file.

use super::arguments::bytes_of;
use super::call::call;
use super::catch_panic::catch_panic;
use super::context::Context;
use super::failpoints::server_setting;
use super::refused::Refused;
use super::text::c_text;
use redis_module::raw;
use std::ffi::{c_char, c_int, c_longlong, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

/// An integer setting.
pub struct Integer {
    pub default: i64,
    pub min: i64,
    pub max: i64,
    /// Whether the number counts bytes, so that it can be written as `1gb`.
    pub is_memory: bool,
    pub get: fn() -> i64,
    pub set: fn(i64),
}

/// A text setting.
pub struct Text {
    pub default: String,
    pub get: fn() -> String,
    /// Stores the text, or returns what is wrong with it.
    pub set: fn(&str) -> Result<(), &'static str>,
    /// The string that the server got last; it does not free it.
    shown: AtomicPtr<raw::RedisModuleString>,
}

/// A setting that is on or off.
pub struct Switch {
    pub default: bool,
    pub get: fn() -> bool,
    pub set: fn(bool),
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

/// What has been registered, in that order, by the names that CONFIG SET knows.
static REGISTERED: Mutex<Vec<(String, Setting)>> = Mutex::new(Vec::new());

enum Setting {
    Integer(&'static Integer),
    Text(&'static Text),
    Switch(&'static Switch),
}

/// All settings as they are now: `name value, name value, …`.
pub fn in_force() -> String {
    let registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    let settings = registered.iter().map(|(name, setting)| match setting {
        Setting::Integer(integer) => format!("{name} {}", (integer.get)()),
        Setting::Text(text) => format!("{name} {}", (text.get)()),
        Setting::Switch(switch) => {
            format!("{name} {}", if (switch.get)() { "yes" } else { "no" })
        }
    });
    settings.collect::<Vec<_>>().join(", ")
}

/// How a setting is registered. CONFIG REWRITE writes its name, `<module>.<name>`, on every server.
///
/// Redis 8 prefers `<module>-<name>`. There that spelling is an alias: one setting that CONFIG GET,
/// CONFIG SET and the configuration file know by both names. Two settings with one value would not
/// work: CONFIG REWRITE writes both, and whoever edits one line of the file has the other undo it.
///
/// A module with more than one family of commands has settings `<module>.<family>.<name>`. Redis 8
/// has them under the family's name, in both spellings; elsewhere every setting of a module begins
/// with the module's name, so they are `<module>.<family>-<name>`.
#[derive(Debug, PartialEq, Eq)]
struct Registration {
    name: String,
    flags: u32,
    /// The name that CONFIG REWRITE writes.
    full_name: String,
}

impl Registration {
    fn of(name: &str) -> Self {
        Self::spelled(name, allows_any_prefix())
    }

    fn spelled(name: &str, allows_any_prefix: bool) -> Self {
        let (module, own_name) = name.split_once('.').unwrap_or(("", name));
        if allows_any_prefix {
            let (family, own_name) = own_name.split_once('.').unwrap_or((module, own_name));
            let full_name = format!("{family}.{own_name}");
            Self {
                name: format!("{full_name}|{family}-{own_name}"),
                flags: raw::REDISMODULE_CONFIG_UNPREFIXED,
                full_name,
            }
        } else {
            let name = own_name.replace('.', "-"); // the server adds the module's name
            Self {
                flags: raw::REDISMODULE_CONFIG_DEFAULT,
                full_name: format!("{module}.{name}"),
                name,
            }
        }
    }

    /// Notes the setting for [`in_force`] if the server took it.
    fn finish(self, status: c_int, setting: Setting) -> Result<(), Refused> {
        let name = self.full_name;
        if status as isize != raw::REDISMODULE_OK {
            return Err(Refused::Taken(format!("the setting {name}")));
        }
        let mut registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
        registered.push((name, setting));
        Ok(())
    }
}

/// Whether the server lets a module choose the prefix of its settings, and give them aliases. Both
/// came in Redis 8, with this function.
pub fn allows_any_prefix() -> bool {
    // SAFETY: the server's table is filled once, before anything else of the module runs.
    unsafe { raw::RedisModule_LoadDefaultConfigs }.is_some()
}

/// Registers a setting for the life of the process; see [`Registration`] for its name.
///
/// # Errors
/// The server already has a setting of this name.
pub fn register_integer(
    context: &Context,
    name: &str,
    setting: &'static Integer,
) -> Result<(), Refused> {
    let registration = Registration::of(name);
    let memory = if setting.is_memory {
        raw::REDISMODULE_CONFIG_MEMORY
    } else {
        0
    };
    // SAFETY: the context is that of `OnLoad`. The server copies the name, and passes the setting
    // to the functions below.
    let status = unsafe {
        call!(RedisModule_RegisterNumericConfig(
            context.raw,
            c_text(&registration.name).as_ptr(),
            setting.default,
            registration.flags | memory,
            setting.min,
            setting.max,
            Some(get_integer),
            Some(set_integer),
            None,
            std::ptr::from_ref(setting).cast_mut().cast()
        ))
    };
    registration.finish(status, Setting::Integer(setting))
}

/// Registers a setting for the life of the process; see [`Registration`] for its name.
///
/// # Errors
/// The server already has a setting of this name.
pub fn register_text(context: &Context, name: &str, setting: &'static Text) -> Result<(), Refused> {
    let registration = Registration::of(name);
    // SAFETY: as in `register_integer`.
    let status = unsafe {
        call!(RedisModule_RegisterStringConfig(
            context.raw,
            c_text(&registration.name).as_ptr(),
            c_text(&setting.default).as_ptr(),
            registration.flags,
            Some(get_text),
            Some(set_text),
            None,
            std::ptr::from_ref(setting).cast_mut().cast()
        ))
    };
    registration.finish(status, Setting::Text(setting))
}

/// Registers a setting for the life of the process; see [`Registration`] for its name.
///
/// # Errors
/// The server already has a setting of this name.
pub fn register_switch(
    context: &Context,
    name: &str,
    setting: &'static Switch,
) -> Result<(), Refused> {
    let registration = Registration::of(name);
    // SAFETY: as in `register_integer`.
    let status = unsafe {
        call!(RedisModule_RegisterBoolConfig(
            context.raw,
            c_text(&registration.name).as_ptr(),
            c_int::from(setting.default),
            registration.flags,
            Some(get_switch),
            Some(set_switch),
            None,
            std::ptr::from_ref(setting).cast_mut().cast()
        ))
    };
    registration.finish(status, Setting::Switch(setting))
}

/// Sets all settings from the server's configuration file, or to their defaults, and prepares for
/// [`of_server`]. The server unloads
/// a module that has settings and does not call this.
///
/// # Errors
/// A value in the file was refused.
pub fn load(context: &Context) -> Result<(), Refused> {
    // SAFETY: the context is that of `OnLoad`.
    let reader = unsafe { call!(RedisModule_GetDetachedThreadSafeContext(context.raw)) };
    READER.store(reader, Ordering::Release);
    // SAFETY: as above.
    let status = unsafe { call!(RedisModule_LoadConfigs(context.raw)) };
    if status as isize == raw::REDISMODULE_OK {
        Ok(())
    } else {
        Err(Refused::Bad(
            "a value in the configuration file is refused".into(),
        ))
    }
}

/// An integer setting of the server's own; none if it has none of this name, or does not let a
/// module read it. Redis 8.6 does; Redis 8.0 and Valkey 9.1 do not.
///
/// Only from the server's own thread. Cost: a lookup.
pub fn of_server(name: &str) -> Option<i64> {
    // SAFETY: the server's table is filled once, before anything else of the module runs.
    let get = unsafe { raw::RedisModule_ConfigGetNumeric }?;
    let context = READER.load(Ordering::Acquire);
    if context.is_null() {
        return None;
    }
    let name = c_text(&server_setting(name));
    let mut value = 0;
    // SAFETY: the context lives as long as the process; the name, and the number, through the call.
    let status = unsafe { get(context, name.as_ptr(), &raw mut value) };
    (status as isize == raw::REDISMODULE_OK).then_some(value)
}

/// What [`of_server`] reads with, since INFO is assembled without a context.
static READER: AtomicPtr<raw::RedisModuleCtx> = AtomicPtr::new(std::ptr::null_mut());

/// # Safety
/// `setting` was registered as a `&'static T`.
unsafe fn registered<T>(setting: *mut c_void) -> &'static T {
    // SAFETY: the caller's duty.
    unsafe { &*setting.cast::<T>() }
}

/// # Safety
/// `setting` was registered as a `&'static Integer`. So for `set_integer`.
unsafe extern "C" fn get_integer(_name: *const c_char, setting: *mut c_void) -> c_longlong {
    // SAFETY: the caller's duty.
    let setting: &Integer = unsafe { registered(setting) };
    catch_panic("a setting", || 0, || (setting.get)())
}

/// # Safety
/// See [`get_integer`].
unsafe extern "C" fn set_integer(
    _name: *const c_char,
    value: c_longlong,
    setting: *mut c_void,
    _error: *mut *mut raw::RedisModuleString,
) -> c_int {
    // SAFETY: the caller's duty.
    let setting: &Integer = unsafe { registered(setting) };
    let set = || {
        (setting.set)(value); // the server has checked the range
        raw::REDISMODULE_OK as c_int
    };
    catch_panic("a setting", || raw::REDISMODULE_ERR as c_int, set)
}

/// # Safety
/// `setting` was registered as a `&'static Switch`. So for `set_switch`.
unsafe extern "C" fn get_switch(_name: *const c_char, setting: *mut c_void) -> c_int {
    // SAFETY: the caller's duty.
    let setting: &Switch = unsafe { registered(setting) };
    catch_panic("a setting", || 0, || c_int::from((setting.get)()))
}

/// # Safety
/// See [`get_switch`].
unsafe extern "C" fn set_switch(
    _name: *const c_char,
    value: c_int,
    setting: *mut c_void,
    _error: *mut *mut raw::RedisModuleString,
) -> c_int {
    // SAFETY: the caller's duty.
    let setting: &Switch = unsafe { registered(setting) };
    let set = || {
        (setting.set)(value != 0);
        raw::REDISMODULE_OK as c_int
    };
    catch_panic("a setting", || raw::REDISMODULE_ERR as c_int, set)
}

/// # Safety
/// `setting` was registered as a `&'static Text`.
unsafe extern "C" fn get_text(
    _name: *const c_char,
    setting: *mut c_void,
) -> *mut raw::RedisModuleString {
    // SAFETY: the caller's duty.
    let setting: &Text = unsafe { registered(setting) };
    catch_panic("a setting", std::ptr::null_mut, || {
        let shown = new_string(&(setting.get)());
        let before = setting.shown.swap(shown, Ordering::Relaxed);
        if !before.is_null() {
            // SAFETY: the string is ours, and the server has done with it.
            unsafe { call!(RedisModule_FreeString(std::ptr::null_mut(), before)) };
        }
        shown
    })
}

/// # Safety
/// `setting` was registered as a `&'static Text`, `value` lives through the call, and `error` is
/// null or takes a string that the server frees.
unsafe extern "C" fn set_text(
    _name: *const c_char,
    value: *mut raw::RedisModuleString,
    setting: *mut c_void,
    error: *mut *mut raw::RedisModuleString,
) -> c_int {
    // SAFETY: the caller's duty.
    let setting: &Text = unsafe { registered(setting) };
    let set = || {
        // SAFETY: the caller's duty.
        let text = std::str::from_utf8(unsafe { bytes_of(value) });
        let Err(message) = text.map_or(Err("not a text"), setting.set) else {
            return raw::REDISMODULE_OK as c_int;
        };
        if !error.is_null() {
            // SAFETY: the caller's duty.
            unsafe { error.write(new_string(message)) };
        }
        raw::REDISMODULE_ERR as c_int
    };
    catch_panic("a setting", || raw::REDISMODULE_ERR as c_int, set)
}

/// A string that somebody has to free.
fn new_string(text: &str) -> *mut raw::RedisModuleString {
    // SAFETY: the server copies the bytes. A null context: nobody frees the string for us.
    unsafe {
        call!(RedisModule_CreateString(
            std::ptr::null_mut(),
            text.as_ptr().cast(),
            text.len()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spelling_with_a_dash_is_an_alias_where_the_server_has_aliases() {
        let with = Registration::spelled("module.some-name", true);
        assert_eq!(with.name, "module.some-name|module-some-name");
        assert_eq!(with.full_name, "module.some-name");
        let without = Registration::spelled("module.some-name", false);
        assert_eq!(without.name, "some-name");
        assert_eq!(without.full_name, "module.some-name");
        assert_ne!(with.flags, without.flags);
    }

    #[test]
    fn a_further_family_of_commands_has_its_own_prefix_where_the_server_allows_it() {
        let with = Registration::spelled("module.family.some-name", true);
        assert_eq!(with.name, "family.some-name|family-some-name");
        assert_eq!(with.full_name, "family.some-name");
        let without = Registration::spelled("module.family.some-name", false);
        assert_eq!(without.name, "family-some-name");
        assert_eq!(without.full_name, "module.family-some-name");
    }
}
