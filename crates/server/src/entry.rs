//! What the server calls when it loads the module.
//!
//! This replaces the macro `redis_module!` of the redis-module crate, which logs nothing if the
//! module's name is taken, and makes most servers warn that they skip a defragmentation callback
//! that this module does not have.

use super::arguments::Arguments;
use super::call::optional;
use super::catch_panic::{catch_panic, log_panics};
use super::context::Context;
use super::log::warn;
use super::owner::Owner;
pub use super::refused::Refused;
use redis_module::raw;
use std::ffi::{c_int, CStr};

/// What the server must know about the module.
pub struct Module {
    /// Its name, also that of its settings and the lines of INFO.
    pub name: &'static CStr,
    /// The name that users know it by.
    pub title: &'static str,
    /// Its version, from [`version!`](crate::version).
    pub version: Version,
    /// Its families of commands, in words.
    pub commands: &'static str,
    /// The other modules with these commands, in words.
    pub rivals: &'static str,
    /// Registers everything the module has. The arguments are those after the file's name.
    pub load: fn(&Context, Arguments<'_>) -> Result<(), Refused>,
}

impl Module {
    /// The line in the log that says why the module was not loaded, and what to do about it.
    fn refusal(&self, refused: &Refused) -> String {
        let title = self.title;
        match refused {
            Refused::Taken(what) => self.refusal_beside_a_module(what, ""),
            Refused::Command(name, Owner::Module(module)) => {
                let by = format!(" by the module {module}");
                self.refusal_beside_a_module(&format!("the command {name}"), &by)
            }
            Refused::Command(name, Owner::Server) => format!(
                "{title} was not loaded: the command {name} is the server's own. Rename those that \
                 {title} has in the configuration file, by lines such as rename-command {name} \"\""
            ),
            Refused::Bad(what) => format!("{title} was not loaded: {what}"),
        }
    }

    /// The line if another module has `what`. `by` names that module, or is empty.
    fn refusal_beside_a_module(&self, what: &str, by: &str) -> String {
        let Self { title, commands, rivals, .. } = self;
        format!(
            "{title} was not loaded: {what} is taken{by}. Another module with the {commands} \
             commands is loaded already ({rivals}, or {title} itself a second time), and a server \
             can have only one: remove the loadmodule line of one of the two"
        )
    }
}

/// A module's version.
pub struct Version {
    /// As users see it, with the commit if the compiler knew it.
    pub text: &'static str,
    /// As `MODULE LIST` shows it.
    number: i32,
}

impl Version {
    /// `text`, and as a number 10000 * major + 100 * minor + patch, which are decimal digits.
    pub const fn new(text: &'static str, [major, minor, patch]: [&str; 3]) -> Self {
        let number = 10_000 * number(major) + 100 * number(minor) + number(patch);
        Self { text, number }
    }
}

/// The [`Version`] of the package that is being compiled, as text `$build` if that is some: the
/// version with the commit.
#[macro_export]
macro_rules! version {
    ($build:expr) => {
        $crate::entry::Version::new(
            match $build {
                Some(build) => build,
                None => env!("CARGO_PKG_VERSION"),
            },
            [
                env!("CARGO_PKG_VERSION_MAJOR"),
                env!("CARGO_PKG_VERSION_MINOR"),
                env!("CARGO_PKG_VERSION_PATCH"),
            ],
        )
    };
}

const fn number(digits: &str) -> i32 {
    match i32::from_str_radix(digits, 10) {
        Ok(number) => number,
        // Versions are constants, so this is an error of the compiler.
        Err(_) => panic!("a part of the version is no number"),
    }
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
            module.version.number,
            raw::REDISMODULE_APIVER_1 as c_int,
        )
    };
    let load = || {
        if status as isize != raw::REDISMODULE_OK {
            let name = module.name.to_string_lossy();
            return Err(Refused::Taken(format!("the module name {name}")));
        }
        // SAFETY: the caller's duty; the context does not outlive this call.
        let context = unsafe { Context::new(context) };
        // SAFETY: the caller's duty; the arguments do not outlive this call.
        let arguments = unsafe { Arguments::new(argv, argc) };
        log_panics();
        // Redis 7.0 was the first to have it.
        if optional!(RedisModule_SetCommandInfo).is_none() {
            return Err(Refused::Bad("the server is older than Redis 7.0".into()));
        }
        context.detach();
        context.set_module_options();
        (module.load)(&context, arguments)
    };
    match catch_panic("OnLoad", || Err(Refused::Bad("a panic".into())), load) {
        Ok(()) => raw::REDISMODULE_OK as c_int,
        Err(refused) => {
            warn(module.refusal(&refused));
            raw::REDISMODULE_ERR as c_int
        }
    }
}

/// Defines `RedisModule_OnLoad`, the one function that the server looks up in the file, for this
/// [`Module`].
#[macro_export]
macro_rules! module {
    ($module:expr) => {
        /// # Safety
        /// Called once, by the server.
        #[no_mangle]
        #[allow(non_snake_case, reason = "the name that the server looks up")]
        pub unsafe extern "C" fn RedisModule_OnLoad(
            context: *mut $crate::raw::RedisModuleCtx,
            argv: *mut *mut $crate::raw::RedisModuleString,
            argc: std::ffi::c_int,
        ) -> std::ffi::c_int {
            let module = &$module;
            // SAFETY: this is that function.
            unsafe { $crate::entry::load(module, context, argv, argc) }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: Module = Module {
        name: c"name",
        title: "title",
        version: Version::new("1.0.0", ["1", "0", "0"]),
        commands: "SOME",
        rivals: "rivals",
        load: |_, _| Ok(()),
    };

    #[test]
    fn a_refusal_names_the_owner_of_a_command_and_the_way_out() {
        let refusal = |owner| MODULE.refusal(&Refused::Command("some.add".to_owned(), owner));
        let of_module = refusal(Owner::Module("other".to_owned()));
        assert!(of_module.contains("the command some.add is taken by the module other."));
        assert!(of_module.contains("remove the loadmodule line"));
        let of_server = refusal(Owner::Server);
        assert!(of_server.contains("the command some.add is the server's own."));
        assert!(of_server.ends_with("rename-command some.add \"\""));
    }
}
