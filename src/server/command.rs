//! Commands: what the server must know about one, and the function that it calls.

use super::arguments::Arguments;
use super::call::call;
use super::catch_panic::catch_panic;
use super::context::{Context, Running};
use super::refused::Refused;
use super::text::c_text;
use redis_module::raw;
use std::ffi::{c_int, c_uint, CStr};
use std::ptr::null;

/// What a command does with its one key, for ACL rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyAccess {
    /// It has no key: any node of a cluster serves it, to any user who may call it.
    None,
    /// Reads it.
    Read,
    /// Adds to the value, or creates it.
    Add,
    /// Creates it, without looking at an old value.
    Create,
    /// Removes from the value.
    Delete,
    /// Changes the value without adding or removing.
    Update,
    /// Adds to the first key what it reads from others: as many as the argument after the first
    /// says follow that argument. The flags must include `getkeys-api`: older servers route a
    /// command by its first key alone, unless they may ask it for its keys.
    AddFromOthers,
}

/// Whether equal calls on equal data get equal replies, which COMMAND INFO says as a tip. The other
/// tips tell where a cluster's client sends a command and how it joins the replies. Their defaults
/// are right: to the node that has the keys' slot, or to any if there is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    Determined,
    /// It depends on the time, on chance, or on the server's memory as well.
    Varies,
}

/// The type of an argument, as clients show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Key,
    /// A key besides the first.
    OtherKey,
    Text,
    Integer,
    Double,
    /// A keyword.
    Token,
}

/// How often an argument may occur.
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
    /// The keyword before it.
    pub token: Option<&'static CStr>,
    pub times: Times,
    /// The alternatives, if the argument is one of several.
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

    /// The same, after a keyword.
    pub const fn after(self, token: &'static CStr) -> Self {
        Self {
            token: Some(token),
            ..self
        }
    }

    /// The same, but optional.
    pub const fn optional(self) -> Self {
        let times = match self.times {
            Times::Once | Times::AtMostOnce => Times::AtMostOnce,
            Times::OnceOrMore | Times::Any => Times::Any,
        };
        Self { times, ..self }
    }

    /// One of several arguments.
    pub const fn one_of(name: &'static CStr, times: Times, choices: &'static [Parameter]) -> Self {
        Self {
            choices,
            ..Self::new(name, Kind::Token, times)
        }
    }
}

/// What the server must know about a command.
pub struct Specification {
    pub name: &'static CStr,
    /// Number of words, the name included; a negative number is a minimum.
    pub arity: i32,
    /// Flags, as `RedisModule_CreateCommand` takes them.
    pub flags: &'static CStr,
    /// ACL categories that every server has.
    pub categories: &'static str,
    pub access: KeyAccess,
    pub output: Output,
    /// The version of the module that introduced it.
    pub since: &'static CStr,
    pub summary: &'static CStr,
    pub complexity: &'static CStr,
    pub parameters: &'static [Parameter],
}

impl Specification {
    /// Whether the command takes this many words. The server checks that for clients, and for a
    /// primary, but not while it loads an append-only file.
    fn takes(&self, words: usize) -> bool {
        let least = self.arity.unsigned_abs() as usize;
        words == least || self.arity < 0 && words > least
    }
}

/// A command of the module. Its first argument is its one key, if it has any.
pub trait Command {
    const SPECIFICATION: Specification;
    /// Runs it. It must reply exactly once; if it panics, the rest of the reply is errors.
    fn run(context: &Context, arguments: Arguments<'_>);
}

/// A command that the server has just created, while the module is being loaded.
struct Created(*mut raw::RedisModuleCommand);

/// Registers a command, with `category`, the module's own ACL category, where the server allows it.
///
/// # Errors
/// What the server refused. ACL categories, which servers before 7.2 do not know, are optional.
pub fn register<C: Command>(context: &Context, category: &str) -> Result<(), Refused> {
    let specification = &C::SPECIFICATION;
    let name = specification.name.to_string_lossy();
    let created = Created::new::<C>(context);
    let created = created.ok_or_else(|| Refused::Taken(format!("the command {name}")))?;
    if !created.set_info(specification) {
        let what = format!("the server does not take the description of {name}");
        return Err(Refused::Bad(what));
    }
    // 7.2 knows categories, but none of a module's own.
    let categories = specification.categories;
    if !created.set_categories(&format!("{categories} {category}")) {
        created.set_categories(categories);
    }
    Ok(())
}

/// Creates an ACL category of the module's own, where the server allows it.
pub fn add_category(context: &Context, category: &str) {
    // SAFETY: the server's table is filled once, before anything else of the module runs.
    if let Some(add) = unsafe { raw::RedisModule_AddACLCategory } {
        // SAFETY: the context is that of `OnLoad`. If the category exists, this does nothing.
        unsafe { add(context.raw, c_text(category).as_ptr()) };
    }
}

/// The command's name, for the log.
const fn name_of<C: Command>() -> &'static str {
    match C::SPECIFICATION.name.to_str() {
        Ok(name) => name,
        Err(_) => "a command",
    }
}

const INTERNAL_ERROR: &str = "ERR internal error, see the server's log";

/// As the log has it; the server has its own reply.
const WRONG_ARITY: &str = "ERR wrong number of arguments";

/// The command's key; null if it has none.
fn key_of<C: Command>(arguments: Arguments<'_>) -> *mut raw::RedisModuleString {
    match C::SPECIFICATION.access {
        KeyAccess::None => std::ptr::null_mut(),
        _ if arguments.len() < 2 => std::ptr::null_mut(),
        _ => arguments.at(1).raw,
    }
}

/// Refuses a command before or after it has run.
fn refuse(context: &Context, reply: impl FnOnce(), reason: &str) {
    if context.is_replay() {
        context.note_loss(reason);
    }
    reply();
}

/// What the server calls.
///
/// # Safety
/// The context and the arguments live as long as the call.
unsafe extern "C" fn entry<C: Command>(
    context: *mut raw::RedisModuleCtx,
    argv: *mut *mut raw::RedisModuleString,
    argc: c_int,
) -> c_int {
    // SAFETY: the caller's duty; neither outlives this call. So below.
    let arguments = unsafe { Arguments::new(argv, argc) };
    let command = Running {
        name: const { name_of::<C>() },
        access: C::SPECIFICATION.access,
        key: key_of::<C>(arguments),
    };
    // SAFETY: as above.
    let context = unsafe { Context::of_command(context, command) };
    let ok = raw::REDISMODULE_OK as c_int;
    if C::SPECIFICATION.access == KeyAccess::AddFromOthers && context.is_asked_for_keys() {
        // Not the command's name: newer servers ask before each run.
        let report = || report_keys(&context, arguments);
        catch_panic("a request for keys", || (), report);
        return ok;
    }
    catch_panic(
        const { name_of::<C>() },
        || {
            refuse(
                &context,
                || context.complete_with_error(INTERNAL_ERROR),
                INTERNAL_ERROR,
            )
        },
        || match C::SPECIFICATION.takes(arguments.len()) {
            true => C::run(&context, arguments),
            false => refuse(&context, || context.reply_wrong_arity(), WRONG_ARITY),
        },
    );
    ok
}

/// Reports the keys that the key specs of [`KeyAccess::AddFromOthers`] describe; none if the number
/// of keys is wrong, as the server does for its own commands.
///
/// A server with threads for input may call this on any of them, so it touches the words alone.
fn report_keys(context: &Context, arguments: Arguments<'_>) {
    let first = FIRST_OTHER_KEY as usize;
    let given = arguments.len().saturating_sub(first);
    if given == 0 {
        return;
    }
    let number = arguments.at(first - 1).integer();
    let number = number.and_then(|number| usize::try_from(number).ok());
    let Some(number) = number.filter(|number| (1..=given).contains(number)) else {
        return;
    };
    context.report_key(1, FIRST_KEY_IS_ADDED_TO);
    for word in first..first + number {
        context.report_key(word, OTHER_KEY_IS_READ);
    }
}

static INFO_VERSION: raw::RedisModuleCommandInfoVersion = raw::RedisModuleCommandInfoVersion {
    version: 1,
    sizeof_historyentry: size_of::<raw::RedisModuleCommandHistoryEntry>(),
    sizeof_keyspec: size_of::<raw::RedisModuleCommandKeySpec>(),
    sizeof_arg: size_of::<raw::RedisModuleCommandArg>(),
};

impl Created {
    /// Creates the command; `None` if the server has one of this name.
    fn new<C: Command>(context: &Context) -> Option<Self> {
        let name = C::SPECIFICATION.name.as_ptr();
        // First key, last key, step from one to the next.
        let key = c_int::from(C::SPECIFICATION.access != KeyAccess::None);
        // SAFETY: the context is that of `OnLoad`, the texts are constants.
        let status = unsafe {
            call!(RedisModule_CreateCommand(
                context.raw,
                name,
                Some(entry::<C>),
                C::SPECIFICATION.flags.as_ptr(),
                key,
                key,
                key
            ))
        };
        // SAFETY: as above.
        let command = unsafe { call!(RedisModule_GetCommand(context.raw, name)) };
        let is_created = status as isize == raw::REDISMODULE_OK && !command.is_null();
        is_created.then_some(Self(command))
    }

    /// Whether the server took the categories. Before 7.2 it takes none.
    fn set_categories(&self, categories: &str) -> bool {
        // SAFETY: the server's table is filled once, before anything else of the module runs.
        let Some(set) = (unsafe { raw::RedisModule_SetCommandACLCategories }) else {
            return false;
        };
        // SAFETY: a command that `OnLoad` created; the text lives through the call.
        let status = unsafe { set(self.0, c_text(categories).as_ptr()) };
        status as isize == raw::REDISMODULE_OK
    }

    /// Whether the server took what COMMAND DOCS and COMMAND INFO say about the command.
    fn set_info(&self, specification: &Specification) -> bool {
        let mut key_specs: Vec<_> = key_spec(specification.access).into_iter().collect();
        if specification.access == KeyAccess::AddFromOthers {
            key_specs.push(OTHER_KEYS);
        }
        key_specs.push(END_OF_KEY_SPECS);
        let mut choices: Vec<Vec<raw::RedisModuleCommandArg>> = Vec::new();
        let mut parameters = native_parameters(specification.parameters, &mut choices);
        let info = raw::RedisModuleCommandInfo {
            version: &raw const INFO_VERSION,
            summary: specification.summary.as_ptr(),
            complexity: specification.complexity.as_ptr(),
            since: specification.since.as_ptr(),
            history: std::ptr::null_mut(),
            tips: match specification.output {
                Output::Determined => null(),
                Output::Varies => c"nondeterministic_output".as_ptr(),
            },
            arity: specification.arity,
            key_specs: key_specs.as_mut_ptr(),
            args: parameters.as_mut_ptr(),
        };
        // SAFETY: a command that `OnLoad` created. The arrays end in an empty element, as the
        // server expects, and live through the call; it copies them.
        let status = unsafe { call!(RedisModule_SetCommandInfo(self.0, &raw const info)) };
        status as isize == raw::REDISMODULE_OK
    }
}

/// The server's description of the first argument as a key, if the command has one.
fn key_spec(access: KeyAccess) -> Option<raw::RedisModuleCommandKeySpec> {
    let flags = match access {
        KeyAccess::None => return None,
        KeyAccess::Read => raw::REDISMODULE_CMD_KEY_RO | raw::REDISMODULE_CMD_KEY_ACCESS,
        KeyAccess::Add | KeyAccess::AddFromOthers => FIRST_KEY_IS_ADDED_TO,
        KeyAccess::Create => raw::REDISMODULE_CMD_KEY_OW | raw::REDISMODULE_CMD_KEY_INSERT,
        KeyAccess::Delete => raw::REDISMODULE_CMD_KEY_RW | raw::REDISMODULE_CMD_KEY_DELETE,
        KeyAccess::Update => raw::REDISMODULE_CMD_KEY_RW | raw::REDISMODULE_CMD_KEY_UPDATE,
    };
    Some(raw::RedisModuleCommandKeySpec {
        flags: u64::from(flags),
        begin_search_type: raw::RedisModuleKeySpecBeginSearchType_REDISMODULE_KSPEC_BS_INDEX,
        ..END_OF_KEY_SPECS
    })
}

/// The access to the first key of a command that adds.
const FIRST_KEY_IS_ADDED_TO: u32 = raw::REDISMODULE_CMD_KEY_RW | raw::REDISMODULE_CMD_KEY_INSERT;

/// The access to the other keys.
const OTHER_KEY_IS_READ: u32 = raw::REDISMODULE_CMD_KEY_RO | raw::REDISMODULE_CMD_KEY_ACCESS;

/// The word of the first other key.
const FIRST_OTHER_KEY: c_int = 3;

/// Keys that are read: their number is word 2, and they follow it.
const OTHER_KEYS: raw::RedisModuleCommandKeySpec = raw::RedisModuleCommandKeySpec {
    flags: OTHER_KEY_IS_READ as u64,
    begin_search_type: raw::RedisModuleKeySpecBeginSearchType_REDISMODULE_KSPEC_BS_INDEX,
    bs: raw::RedisModuleCommandKeySpec__bindgen_ty_1 {
        index: raw::RedisModuleCommandKeySpec__bindgen_ty_1__bindgen_ty_1 {
            pos: FIRST_OTHER_KEY - 1,
        },
    },
    find_keys_type: raw::RedisModuleKeySpecFindKeysType_REDISMODULE_KSPEC_FK_KEYNUM,
    fk: raw::RedisModuleCommandKeySpec__bindgen_ty_2 {
        keynum: raw::RedisModuleCommandKeySpec__bindgen_ty_2__bindgen_ty_2 {
            keynumidx: 0,
            firstkey: 1,
            keystep: 1,
        },
    },
    notes: null(),
};

/// Ends the list. Also the template for the others, which add flags and how to begin the search:
/// the one key is word 1.
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

/// The parameters in the server's form, ended by an empty one. `choices` keeps the nested lists
/// alive; their buffers do not move when it grows.
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
        (Kind::Key | Kind::OtherKey, _) => raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_KEY,
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
    let key_spec = match parameter.kind {
        Kind::Key => 0,
        Kind::OtherKey => 1,
        _ => -1,
    };
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
