//! The module's settings: CONFIG GET, CONFIG SET, CONFIG REWRITE. A setting holds its own value,
//! and the value that it has when it is registered is its default.

use super::arguments::bytes_of;
use super::call::{call, optional};
use super::catch_panic::catch_panic;
use super::context::{detached, Context};
use super::failpoint_settings;
use super::failpoints::server_setting;
use super::refused::Refused;
use super::text::c_text;
pub use super::values::{Integer, Switch};
use redis_module::raw;
use std::ffi::{c_char, c_int, c_longlong, c_void, CString};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

/// A text setting, whose functions keep the value.
pub struct Text {
    get: fn() -> String,
    set: fn(&str) -> Result<(), &'static str>,
    /// The string last passed to the server, which does not free it.
    shown: AtomicPtr<raw::RedisModuleString>,
}

impl Text {
    /// A setting whose value is what `get` returns. `set` stores a text, or returns what is wrong
    /// with it.
    pub const fn new(get: fn() -> String, set: fn(&str) -> Result<(), &'static str>) -> Self {
        Self { get, set, shown: AtomicPtr::new(std::ptr::null_mut()) }
    }
}

/// A setting of any type.
pub trait Setting: Sync {
    /// Registers it under `name` with these `flags`; returns the server's status.
    #[doc(hidden)]
    fn register(&'static self, context: &Context, name: CString, flags: u32) -> c_int;
    /// Its value as CONFIG GET shows it.
    fn shown(&self) -> String;
}

impl Setting for Integer {
    fn register(&'static self, context: &Context, name: CString, flags: u32) -> c_int {
        let memory = if self.is_memory { raw::REDISMODULE_CONFIG_MEMORY } else { 0 };
        // SAFETY: the context is that of `OnLoad`. The server copies the name, and passes the
        // setting, which lives as long as the process, to the two functions.
        unsafe {
            call!(RedisModule_RegisterNumericConfig(
                context.raw,
                name.as_ptr(),
                self.get(),
                flags | memory,
                self.min,
                self.max,
                Some(get_integer),
                Some(set_integer),
                None,
                std::ptr::from_ref(self).cast_mut().cast()
            ))
        }
    }

    fn shown(&self) -> String {
        self.get().to_string()
    }
}

impl Setting for Switch {
    fn register(&'static self, context: &Context, name: CString, flags: u32) -> c_int {
        // SAFETY: as `Integer::register` says.
        unsafe {
            call!(RedisModule_RegisterBoolConfig(
                context.raw,
                name.as_ptr(),
                c_int::from(self.get()),
                flags,
                Some(get_switch),
                Some(set_switch),
                None,
                std::ptr::from_ref(self).cast_mut().cast()
            ))
        }
    }

    fn shown(&self) -> String {
        if self.get() { "yes" } else { "no" }.to_owned()
    }
}

impl Setting for Text {
    fn register(&'static self, context: &Context, name: CString, flags: u32) -> c_int {
        // SAFETY: as `Integer::register` says; the server copies the default, too.
        unsafe {
            call!(RedisModule_RegisterStringConfig(
                context.raw,
                name.as_ptr(),
                c_text(&(self.get)()).as_ptr(),
                flags,
                Some(get_text),
                Some(set_text),
                None,
                std::ptr::from_ref(self).cast_mut().cast()
            ))
        }
    }

    fn shown(&self) -> String {
        (self.get)()
    }
}

/// The registered settings, in order of registration, with the names that CONFIG SET knows.
static REGISTERED: Mutex<Vec<(String, &'static dyn Setting)>> = Mutex::new(Vec::new());

/// All settings as they are now: `name value, name value, …`.
pub fn in_force() -> String {
    let registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    let settings = registered.iter();
    let settings = settings.map(|(name, setting)| format!("{name} {}", setting.shown()));
    settings.collect::<Vec<_>>().join(", ")
}

/// Registers `setting` for the life of the process, with its value as the default.
///
/// `name` is `<module>.<name>`, which CONFIG REWRITE writes on every server. Redis 8 prefers
/// `<module>-<name>`. There that spelling is an alias: one setting that CONFIG GET, CONFIG SET and
/// the configuration file know by both names. Two settings with one value would not work: CONFIG
/// REWRITE writes both, and if a user edits one of the two lines, the other undoes that.
///
/// A module with more than one family of commands has settings `<module>.<family>.<name>`. Redis 8
/// has them under the family's name, in both spellings; elsewhere every setting of a module begins
/// with the module's name, so they are `<module>.<family>-<name>`.
///
/// # Errors
/// The server already has a setting of this name.
pub fn register(
    context: &Context,
    name: &str,
    setting: &'static dyn Setting,
) -> Result<(), Refused> {
    register_with(context, name, setting, raw::REDISMODULE_CONFIG_DEFAULT)
}

/// As [`register`], for a setting that only the configuration file sets: CONFIG SET refuses it.
///
/// # Errors
/// The server already has a setting of this name.
pub fn register_fixed(
    context: &Context,
    name: &str,
    setting: &'static dyn Setting,
) -> Result<(), Refused> {
    register_with(context, name, setting, raw::REDISMODULE_CONFIG_IMMUTABLE)
}

fn register_with(
    context: &Context,
    name: &str,
    setting: &'static dyn Setting,
    more_flags: u32,
) -> Result<(), Refused> {
    let Registration { name, flags, full_name } = Registration::spelled(name, allows_any_prefix());
    let status = setting.register(context, c_text(&name), flags | more_flags);
    if status as isize != raw::REDISMODULE_OK {
        return Err(Refused::Taken(format!("the setting {full_name}")));
    }
    let mut registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    registered.push((full_name, setting));
    Ok(())
}

/// The names of a setting on one server.
#[derive(Debug, PartialEq, Eq)]
struct Registration {
    /// The name passed to the server, and perhaps an alias.
    name: String,
    flags: u32,
    /// The name that CONFIG REWRITE writes.
    full_name: String,
}

impl Registration {
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
}

/// Whether the server lets a module choose the prefix of its settings, and give them aliases. Both
/// came in Redis 8, with this function.
pub fn allows_any_prefix() -> bool {
    optional!(RedisModule_LoadDefaultConfigs).is_some()
}

/// Sets the settings registered so far from the server's configuration file, or to their defaults,
/// so that the defaults of others can follow from them. A line of the file counts once: [`load`]
/// sets these settings to their defaults again, except those whose value a later one shares.
///
/// # Errors
/// A value in the file was refused.
pub fn load_first(context: &Context) -> Result<(), Refused> {
    // SAFETY: the context is that of `OnLoad`.
    let status = unsafe { call!(RedisModule_LoadConfigs(context.raw)) };
    if status as isize != raw::REDISMODULE_OK {
        return Err(Refused::Bad("a value in the configuration file is refused".into()));
    }
    Ok(())
}

/// Sets all settings of the module `module` from the server's configuration file, or to their
/// defaults. The server unloads a module that has settings and does not call this.
///
/// # Errors
/// A value in the file was refused.
pub fn load(context: &Context, module: &str) -> Result<(), Refused> {
    failpoint_settings::register(context, module)?;
    load_first(context)
}

/// The server's own integer setting `name`; `None` if it has none, or does not let a module read
/// it. Redis 8.6 does; Redis 8.0 and Valkey 9.1 do not.
///
/// Only from the server's own thread, and also where there is no context, as in INFO. Cost: a
/// lookup.
pub fn of_server(name: &str) -> Option<i64> {
    let get = optional!(RedisModule_ConfigGetNumeric)?;
    let name = c_text(&server_setting(name));
    let mut value = 0;
    // SAFETY: the context lives as long as the process; the name, and the number, through the call.
    let status = unsafe { get(detached(), name.as_ptr(), &raw mut value) };
    (status as isize == raw::REDISMODULE_OK).then_some(value)
}

/// # Safety
/// `setting` was registered as a `&'static T`.
unsafe fn registered<T>(setting: *mut c_void) -> &'static T {
    // SAFETY: the caller's duty.
    unsafe { &*setting.cast::<T>() }
}

/// # Safety
/// `setting` was registered as a `&'static Integer`.
unsafe extern "C" fn get_integer(_name: *const c_char, setting: *mut c_void) -> c_longlong {
    // SAFETY: the caller's duty.
    let setting: &Integer = unsafe { registered(setting) };
    catch_panic("a setting", || 0, || setting.get())
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
        setting.set(value); // the server has checked the range
        raw::REDISMODULE_OK as c_int
    };
    catch_panic("a setting", || raw::REDISMODULE_ERR as c_int, set)
}

/// # Safety
/// `setting` was registered as a `&'static Switch`.
unsafe extern "C" fn get_switch(_name: *const c_char, setting: *mut c_void) -> c_int {
    // SAFETY: the caller's duty.
    let setting: &Switch = unsafe { registered(setting) };
    catch_panic("a setting", || 0, || c_int::from(setting.get()))
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
        setting.set(value != 0);
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

/// A string of the server that the caller has to free.
fn new_string(text: &str) -> *mut raw::RedisModuleString {
    // SAFETY: the server copies the bytes. A null context: the string is ours to free.
    unsafe {
        call!(RedisModule_CreateString(std::ptr::null_mut(), text.as_ptr().cast(), text.len()))
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
