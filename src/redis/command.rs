//! A command: what the server must know of it, and its entry.

use super::call::call;
use super::context::{c_text, Arguments, Context};
use super::guard::guarded;
use redis_module::raw;
use std::ffi::{c_int, c_uint, CStr};
use std::ptr::null;

/// What a command does with its one key, as ACL rules for keys see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyAccess {
    /// It has none: any node of a cluster answers, to any user who may call it.
    None,
    /// Reads it.
    Read,
    /// Adds to what is there, or makes it.
    Add,
    /// Makes it, never looking at what was there.
    Create,
}

/// The type of an argument, as clients show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Key,
    Text,
    Integer,
    Double,
    /// A word that stands for itself.
    Token,
}

/// How often an argument may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    Once,
    AtMostOnce,
    OnceOrMore,
    Any,
}

/// One argument of a command, as COMMAND DOCS shows it.
pub struct Parameter {
    pub name: &'static CStr,
    pub kind: Kind,
    /// The word in front of it.
    pub token: Option<&'static CStr>,
    pub times: Times,
    /// Where the argument is one of several.
    pub choices: &'static [Parameter],
}

impl Parameter {
    pub const fn new(name: &'static CStr, kind: Kind, times: Times) -> Self {
        Self {
            name,
            kind,
            token: None,
            times,
            choices: &[],
        }
    }

    /// The same, behind a word of its own.
    pub const fn behind(self, token: &'static CStr) -> Self {
        Self {
            token: Some(token),
            ..self
        }
    }

    /// The same, but it may be left out.
    pub const fn optional(self) -> Self {
        let times = match self.times {
            Times::Once | Times::AtMostOnce => Times::AtMostOnce,
            Times::OnceOrMore | Times::Any => Times::Any,
        };
        Self { times, ..self }
    }

    /// One of several.
    pub const fn one_of(name: &'static CStr, times: Times, choices: &'static [Parameter]) -> Self {
        Self {
            choices,
            ..Self::new(name, Kind::Token, times)
        }
    }
}

/// What the server must know of a command.
pub struct Specification {
    pub name: &'static CStr,
    /// Number of words, the name included; if negative, at least so many.
    pub arity: i32,
    /// Flags, as `RedisModule_CreateCommand` takes them.
    pub flags: &'static CStr,
    /// ACL categories that every server has.
    pub categories: &'static str,
    pub access: KeyAccess,
    pub summary: &'static CStr,
    pub complexity: &'static CStr,
    pub parameters: &'static [Parameter],
}

/// A command of the module. Its first argument is its one key, if it has any.
pub trait Command {
    const SPECIFICATION: Specification;
    /// Runs it. It must reply exactly once; a panic on the way is answered for it.
    fn run(context: &Context, arguments: Arguments<'_>);
}

/// Why a command, a type or a setting could not be registered.
#[derive(Debug, PartialEq, Eq)]
pub struct Refused(pub String);

/// Registers a command, with `category` (the module's own ACL category) where the server knows such.
///
/// # Errors
/// What the server refused; ACL categories, which servers before 7.2 do not know, are not insisted on.
pub fn register<C: Command>(context: &Context, category: &str) -> Result<(), Refused> {
    let specification = &C::SPECIFICATION;
    let name = specification.name.as_ptr();
    let refused = |what: &str| {
        Refused(format!(
            "{what} of {}",
            specification.name.to_string_lossy()
        ))
    };
    // First key, last key, step from one to the next.
    let key = c_int::from(specification.access != KeyAccess::None);
    // SAFETY: the context is that of `OnLoad`; all texts are constants or live through the call that they are passed to.
    unsafe {
        let created = call!(RedisModule_CreateCommand(
            context.raw,
            name,
            Some(entry::<C>),
            specification.flags.as_ptr(),
            key,
            key,
            key
        ));
        let command = call!(RedisModule_GetCommand(context.raw, name));
        if created as isize != raw::REDISMODULE_OK || command.is_null() {
            return Err(refused("the name"));
        }
        if !set_info(command, specification) {
            return Err(refused("the description"));
        }
        if let Some(set_categories) = raw::RedisModule_SetCommandACLCategories {
            // 7.2 does not know categories of modules: without.
            let with = c_text(&format!("{} {category}", specification.categories));
            let without = c_text(specification.categories);
            if set_categories(command, with.as_ptr()) as isize != raw::REDISMODULE_OK {
                set_categories(command, without.as_ptr());
            }
        }
    }
    Ok(())
}

/// Makes an ACL category of the module's own, where the server can.
pub fn add_category(context: &Context, category: &str) {
    // SAFETY: the context is that of `OnLoad`. That the category exists is no harm.
    unsafe {
        if let Some(add) = raw::RedisModule_AddACLCategory {
            add(context.raw, c_text(category).as_ptr());
        }
    }
}

/// The command's name, for the log.
const fn name_of<C: Command>() -> &'static str {
    match C::SPECIFICATION.name.to_str() {
        Ok(name) => name,
        Err(_) => "a command",
    }
}

/// What the server calls.
///
/// # Safety
/// Called by the server with a live context and its arguments.
unsafe extern "C" fn entry<C: Command>(
    context: *mut raw::RedisModuleCtx,
    argv: *mut *mut raw::RedisModuleString,
    argc: c_int,
) -> c_int {
    // SAFETY: see above; neither outlives this call.
    let (context, arguments) = unsafe { (Context::new(context), Arguments::new(argv, argc)) };
    guarded(
        const { name_of::<C>() },
        || context.complete_with_error("ERR internal error, see the server's log"),
        || C::run(&context, arguments),
    );
    raw::REDISMODULE_OK as c_int
}

static INFO_VERSION: raw::RedisModuleCommandInfoVersion = raw::RedisModuleCommandInfoVersion {
    version: 1,
    sizeof_historyentry: size_of::<raw::RedisModuleCommandHistoryEntry>(),
    sizeof_keyspec: size_of::<raw::RedisModuleCommandKeySpec>(),
    sizeof_arg: size_of::<raw::RedisModuleCommandArg>(),
};

/// # Safety
/// `command` is a command that `OnLoad` has just made.
unsafe fn set_info(command: *mut raw::RedisModuleCommand, specification: &Specification) -> bool {
    let mut key_specs: Vec<_> = key_spec(specification.access).into_iter().collect();
    key_specs.push(END_OF_KEY_SPECS);
    let mut choices: Vec<Vec<raw::RedisModuleCommandArg>> = Vec::new();
    let mut parameters = native_parameters(specification.parameters, &mut choices);
    let info = raw::RedisModuleCommandInfo {
        version: &raw const INFO_VERSION,
        summary: specification.summary.as_ptr(),
        complexity: specification.complexity.as_ptr(),
        since: SINCE.as_ptr(),
        history: std::ptr::null_mut(),
        tips: null(),
        arity: specification.arity,
        key_specs: key_specs.as_mut_ptr(),
        args: parameters.as_mut_ptr(),
    };
    // SAFETY: the arrays end in an empty element, as the server expects, and live through the call; it copies them.
    unsafe {
        call!(RedisModule_SetCommandInfo(command, &raw const info)) as isize == raw::REDISMODULE_OK
    }
}

/// The version of the module that the commands came with.
const SINCE: &CStr = c"0.1.0";

/// The server's words for the first argument as a key, if the command has one.
fn key_spec(access: KeyAccess) -> Option<raw::RedisModuleCommandKeySpec> {
    let flags = match access {
        KeyAccess::None => return None,
        KeyAccess::Read => raw::REDISMODULE_CMD_KEY_RO | raw::REDISMODULE_CMD_KEY_ACCESS,
        KeyAccess::Add => raw::REDISMODULE_CMD_KEY_RW | raw::REDISMODULE_CMD_KEY_INSERT,
        KeyAccess::Create => raw::REDISMODULE_CMD_KEY_OW | raw::REDISMODULE_CMD_KEY_INSERT,
    };
    Some(raw::RedisModuleCommandKeySpec {
        flags: u64::from(flags),
        begin_search_type: raw::RedisModuleKeySpecBeginSearchType_REDISMODULE_KSPEC_BS_INDEX,
        ..END_OF_KEY_SPECS
    })
}

/// What ends the list; and what stands in each, but for its flags and the way to find it: the key is word 1, alone.
const END_OF_KEY_SPECS: raw::RedisModuleCommandKeySpec = raw::RedisModuleCommandKeySpec {
    flags: 0,
    begin_search_type: raw::RedisModuleKeySpecBeginSearchType_REDISMODULE_KSPEC_BS_INVALID,
    bs: raw::RedisModuleCommandKeySpec__bindgen_ty_1 {
        index: raw::RedisModuleCommandKeySpec__bindgen_ty_1__bindgen_ty_1 { pos: 1 },
    },
    find_keys_type: raw::RedisModuleKeySpecFindKeysType_REDISMODULE_KSPEC_FK_RANGE,
    fk: raw::RedisModuleCommandKeySpec__bindgen_ty_2 {
        range: raw::RedisModuleCommandKeySpec__bindgen_ty_2__bindgen_ty_1 {
            lastkey: 0,
            keystep: 1,
            limit: 0,
        },
    },
    notes: null(),
};

/// The server's form of the parameters, with an empty one behind them. The lists of choices are kept in `choices`, whose own
/// buffers do not move.
fn native_parameters(
    parameters: &[Parameter],
    choices: &mut Vec<Vec<raw::RedisModuleCommandArg>>,
) -> Vec<raw::RedisModuleCommandArg> {
    let mut native: Vec<_> = parameters.iter().map(native_parameter).collect();
    for (native, parameter) in native.iter_mut().zip(parameters) {
        if !parameter.choices.is_empty() {
            let mut list = native_parameters(parameter.choices, choices);
            native.subargs = list.as_mut_ptr();
            choices.push(list);
        }
    }
    native.push(native_argument(null(), null(), 0, 0, -1));
    native
}

fn native_parameter(parameter: &Parameter) -> raw::RedisModuleCommandArg {
    let kind = match (parameter.kind, parameter.choices) {
        (_, [_, ..]) => raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_ONEOF,
        (Kind::Key, _) => raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_KEY,
        (Kind::Text, _) => raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_STRING,
        (Kind::Integer, _) => raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_INTEGER,
        (Kind::Double, _) => raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_DOUBLE,
        (Kind::Token, _) => raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_PURE_TOKEN,
    };
    let flags = match parameter.times {
        Times::Once => raw::REDISMODULE_CMD_ARG_NONE,
        Times::AtMostOnce => raw::REDISMODULE_CMD_ARG_OPTIONAL,
        Times::OnceOrMore => raw::REDISMODULE_CMD_ARG_MULTIPLE,
        Times::Any => raw::REDISMODULE_CMD_ARG_OPTIONAL | raw::REDISMODULE_CMD_ARG_MULTIPLE,
    };
    let key_spec = if parameter.kind == Kind::Key { 0 } else { -1 };
    let token = parameter.token.map_or(null(), CStr::as_ptr);
    native_argument(parameter.name.as_ptr(), token, kind, flags, key_spec)
}

fn native_argument(
    name: *const std::ffi::c_char,
    token: *const std::ffi::c_char,
    kind: c_uint,
    flags: u32,
    key_spec_index: c_int,
) -> raw::RedisModuleCommandArg {
    raw::RedisModuleCommandArg {
        name,
        type_: kind,
        key_spec_index,
        token,
        summary: null(),
        since: null(),
        flags: flags as c_int,
        deprecated_since: null(),
        subargs: std::ptr::null_mut(),
        display_text: null(),
    }
}
