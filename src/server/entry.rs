//! What the server calls when it loads the module.
//!
//! This replaces the macro `redis_module!` of the redis-module crate, which logs nothing if the
//! module's name is taken, and makes most servers warn that they skip a defragmentation callback
//! that this module does not have.

use super::arguments::Arguments;
use super::catch_panic::catch_panic;
use super::context::Context;
use super::log::warn;
use super::refused::Refused;
use redis_module::raw;
use std::ffi::{c_int, CStr};

/// What the server must know about the module.
pub struct Module {
    pub name: &'static CStr,
    /// As `MODULE LIST` shows it.
    pub version: i32,
    /// Registers everything the module has. The arguments are the words after the file's name.
    pub load: fn(&Context, Arguments<'_>) -> Result<(), Refused>,
    /// What the log says if the module is not loaded.
    pub refusal: fn(&Refused) -> String,
}

/// Loads the module, or logs why not.
///
/// # Safety
/// Called once, with the arguments of `RedisModule_OnLoad`.
pub unsafe fn load(
    module: &Module,
    context: *mut raw::RedisModuleCtx,
    argv: *mut *mut raw::RedisModuleString,
    argc: c_int,
) -> c_int {
    // SAFETY: the caller's duty. This fills the table of functions before the module allocates
    // anything; it fails only if the name is taken.
    let status = unsafe {
        raw::Export_RedisModule_Init(
            context,
            module.name.as_ptr(),
            module.version,
            raw::REDISMODULE_APIVER_1 as c_int,
        )
    };
    let loaded = if status as isize == raw::REDISMODULE_OK {
        catch_panic(
            "OnLoad",
            || Err(Refused::Bad("a panic".into())),
            || {
                // SAFETY: the caller's duty; neither outlives this call. So below.
                let context = unsafe { Context::new(context) };
                // SAFETY: as above.
                let arguments = unsafe { Arguments::new(argv, argc) };
                (module.load)(&context, arguments)
            },
        )
    } else {
        let name = module.name.to_string_lossy();
        Err(Refused::Taken(format!("the module name {name}")))
    };
    match loaded {
        Ok(()) => raw::REDISMODULE_OK as c_int,
        Err(refused) => {
            warn((module.refusal)(&refused));
            raw::REDISMODULE_ERR as c_int
        }
    }
}

/// Defines `RedisModule_OnLoad`, the one function that the server looks up in the file.
macro_rules! entry_of {
    ($module:expr) => {
        /// # Safety
        /// Called once, by the server.
        #[no_mangle]
        #[allow(non_snake_case, reason = "the name that the server looks up")]
        #[allow(
            unsafe_code,
            reason = "this belongs to the server's side, wherever it expands"
        )]
        pub unsafe extern "C" fn RedisModule_OnLoad(
            context: *mut redis_module::raw::RedisModuleCtx,
            argv: *mut *mut redis_module::raw::RedisModuleString,
            argc: std::ffi::c_int,
        ) -> std::ffi::c_int {
            let module = &$module;
            // SAFETY: this is that function.
            unsafe { $crate::server::entry::load(module, context, argv, argc) }
        }
    };
}

pub(crate) use entry_of;
