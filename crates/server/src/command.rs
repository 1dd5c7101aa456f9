//! Commands: what the server must know about one, and the function that it calls.
//!
//! A module has its commands as constants, and registers them as a table:
//!
//! ```text
//! register_commands!(context, "category", Error, [get::GET, set::SET])
//! ```

use super::arguments::Arguments;
use super::blocking::{DONE, ELSEWHERE, WAITS};
use super::call::{call, optional};
use super::catch_panic::catch_panic;
use super::context::{Context, Running, Wait};
use super::refused::Refused;
use super::text::c_text;
use redis_module::raw;
use std::ffi::{c_int, CStr};
use std::ptr::{null, null_mut};

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
    /// Adds to the first key what it reads from others. Their number is the second argument, and
    /// they follow it. Servers route the command by its first key alone, so the command itself must
    /// check that the others are in the same slot. (With the flag `getkeys-api` servers would ask
    /// the module for all keys, but newer ones do so on I/O threads, which share the state that
    /// such a call changes.)
    AddFromOthers,
}

/// Whether equal calls on equal data get equal replies, which COMMAND INFO shows as a tip. The
/// other tips say where a cluster's client sends a command and how it joins the replies. Their
/// defaults are right: to the node that has the keys' slot, or to any if there is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Equal calls on equal data get equal replies. (A reply may also change as time passes if that
    /// is signalled, as [`lapse`] does: to clients the data has changed.)
    ///
    /// [`lapse`]: super::lapse
    Determined,
    /// A reply depends on the time, on chance, or on the server's memory as well.
    Varies,
}

/// The type of an argument, as clients show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The first key.
    Key,
    /// A further key.
    OtherKey,
    /// A string.
    Text,
    /// An integer.
    Integer,
    /// A double.
    Double,
    /// A keyword.
    Token,
    /// Several arguments, one after the other.
    Block,
}

/// How often an argument may occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Times {
    /// Exactly once.
    Once = raw::REDISMODULE_CMD_ARG_NONE,
    /// Once or not at all.
    AtMostOnce = raw::REDISMODULE_CMD_ARG_OPTIONAL,
    /// Once or several times.
    OnceOrMore = raw::REDISMODULE_CMD_ARG_MULTIPLE,
    /// Any number of times.
    Any = raw::REDISMODULE_CMD_ARG_OPTIONAL | raw::REDISMODULE_CMD_ARG_MULTIPLE,
}

/// One argument of a command, as COMMAND DOCS shows it.
pub struct Parameter {
    name: &'static CStr,
    kind: Kind,
    /// The keyword before it.
    token: Option<&'static CStr>,
    times: Times,
    /// The alternatives, if the argument is one of several; the arguments of a block.
    choices: &'static [Parameter],
}

impl Parameter {
    /// The key of most commands.
    pub const KEY: Self = Self::new(c"key", Kind::Key, Times::Once);

    /// An argument called `name`.
    pub const fn new(name: &'static CStr, kind: Kind, times: Times) -> Self {
        Self { name, kind, token: None, times, choices: &[] }
    }

    /// The keyword `token`, called `name`.
    pub const fn word(name: &'static CStr, token: &'static CStr) -> Self {
        Self::new(name, Kind::Token, Times::Once).after(token)
    }

    /// This parameter, after the keyword `token`.
    pub const fn after(self, token: &'static CStr) -> Self {
        Self { token: Some(token), ..self }
    }

    /// The same, but optional.
    pub const fn optional(self) -> Self {
        let times = match self.times {
            Times::Once | Times::AtMostOnce => Times::AtMostOnce,
            Times::OnceOrMore | Times::Any => Times::Any,
        };
        Self { times, ..self }
    }

    /// One of `choices`, called `name`.
    pub const fn one_of(name: &'static CStr, times: Times, choices: &'static [Parameter]) -> Self {
        Self { choices, ..Self::new(name, Kind::Token, times) }
    }

    /// All of `parts`, one after the other, called `name`.
    pub const fn block(name: &'static CStr, times: Times, parts: &'static [Parameter]) -> Self {
        Self { choices: parts, ..Self::new(name, Kind::Block, times) }
    }
}

/// An error that a command returns.
pub trait ErrorReply {
    /// Replies with the error, once.
    fn reply(self, context: &Context);
}

/// A command of the module, whose errors are of type `E`. Its first argument is its one key, if it
/// has any.
pub struct Command<E> {
    /// Its name, in lower case.
    pub name: &'static CStr,
    /// The number of arguments, the name included; a negative number is a minimum.
    pub arity: i32,
    /// Flags, as `RedisModule_CreateCommand` takes them. Its ACL categories follow from them.
    pub flags: &'static str,
    /// What it does with its key.
    pub access: KeyAccess,
    /// Whether its replies vary.
    pub output: Output,
    /// The version of the module that introduced it.
    pub since: &'static CStr,
    /// What it does.
    pub summary: &'static CStr,
    /// What it costs.
    pub complexity: &'static CStr,
    /// Its arguments after the name.
    pub parameters: &'static [Parameter],
    /// Runs it. It replies exactly once; an error that it returns is its reply, or the last element
    /// of its reply. If it panics, the rest of the reply is errors.
    pub run: fn(&Context, Arguments<'_>) -> Result<(), E>,
}

/// Templates: a command of one key that varies in name, arity, summary and function.
impl<E> Command<E> {
    /// The defaults. All commands so far date from this version; a later command sets its own.
    pub const ANY: Self = Self {
        name: c"",
        arity: 0,
        flags: "",
        access: KeyAccess::None,
        output: Output::Determined,
        since: c"0.1.0",
        summary: c"",
        complexity: c"O(1)",
        parameters: &[Parameter::KEY],
        run: |_, _| Ok(()),
    };

    /// Reads one key.
    pub const READ: Self = Self { flags: "readonly", access: KeyAccess::Read, ..Self::ANY };

    /// Reads one key, at a cost that does not depend on its arguments.
    pub const FAST_READ: Self = Self { flags: "readonly fast", ..Self::READ };

    /// Adds to one key.
    pub const WRITE: Self = Self { flags: "write deny-oom", access: KeyAccess::Add, ..Self::ANY };

    /// Adds to one key, at a cost that does not depend on its arguments.
    pub const FAST_WRITE: Self = Self { flags: "write deny-oom fast", ..Self::WRITE };

    /// Creates one key.
    pub const CREATE: Self = Self { access: KeyAccess::Create, ..Self::WRITE };

    /// Removes from one key, also when memory is short.
    pub const REMOVE: Self = Self { flags: "write", access: KeyAccess::Delete, ..Self::ANY };

    /// Removes from one key, at a cost that does not depend on its arguments.
    pub const FAST_REMOVE: Self = Self { flags: "write fast", ..Self::REMOVE };
}

impl<E> Command<E> {
    /// Whether the command takes `len` arguments. The server checks that for clients, and for a
    /// primary, but not while it loads an append-only file.
    const fn takes(&self, len: usize) -> bool {
        let least = self.arity.unsigned_abs() as usize;
        len == least || self.arity < 0 && len > least
    }

    /// Whether it has the flag `flag`.
    fn has_flag(&self, flag: &str) -> bool {
        self.flags.split(' ').any(|one| one == flag)
    }

    /// The ACL categories that every server has.
    fn categories(&self) -> String {
        let access = if self.has_flag("write") { "write" } else { "read" };
        let fast = if self.has_flag("fast") { " fast" } else { "" };
        let blocking = if self.has_flag("blocking") { " blocking" } else { "" };
        format!("{access}{fast}{blocking}")
    }

    /// The name, for the log.
    const fn shown_name(&self) -> &'static str {
        match self.name.to_str() {
            Ok(name) => name,
            Err(_) => "a command",
        }
    }
}

/// A type for each command, since the server passes only the arguments to the function that it
/// calls. [`register_commands!`](crate::register_commands) defines them.
#[doc(hidden)]
pub trait Registered {
    type Error: ErrorReply;
    const COMMAND: Command<Self::Error>;
}

/// Registers constants of type [`Command`], whose errors are of type `$error`, in `$category`, an
/// ACL category of the module's own, which it creates where the server allows it. Evaluates to the
/// first `Refused`, if there is one.
#[macro_export]
macro_rules! register_commands {
    ($context:expr, $category:expr, $error:ty, [$($command:path),* $(,)?]) => {{
        $crate::command::add_category($context, $category);
        Ok(())$(.and_then(|()| {
            struct This;
            impl $crate::command::Registered for This {
                type Error = $error;
                const COMMAND: $crate::command::Command<$error> = $command;
            }
            $crate::command::register::<This>($context, $category)
        }))*
    }};
}

/// A command that the server has just created, while the module is being loaded.
struct Created(*mut raw::RedisModuleCommand);

/// Registers a command, with `category`, the module's own ACL category, where the server allows it.
///
/// # Errors
/// What the server refused. ACL categories, which servers before 7.2 do not know, are optional.
#[doc(hidden)]
pub fn register<C: Registered>(context: &Context, category: &str) -> Result<(), Refused> {
    let name = C::COMMAND.shown_name();
    let created = Created::new::<C>(context);
    let created = created.ok_or_else(|| context.refusal_of(name))?;
    if !created.set_info(&C::COMMAND) {
        let what = format!("the server does not take the description of {name}");
        return Err(Refused::Bad(what));
    }
    // 7.2 knows categories, but none of a module's own.
    let categories = C::COMMAND.categories();
    if !created.set_categories(&format!("{categories} {category}")) {
        created.set_categories(&categories);
    }
    Ok(())
}

/// Creates `category`, an ACL category of the module's own, where the server allows it.
pub fn add_category(context: &Context, category: &str) {
    if let Some(add) = optional!(RedisModule_AddACLCategory) {
        // SAFETY: the context is that of `OnLoad`. If the category exists, this does nothing.
        unsafe { add(context.raw, c_text(category).as_ptr()) };
    }
}

/// The error reply after a panic.
pub(crate) const INTERNAL_ERROR: &str = "ERR internal error, see the server's log";

/// What the server calls to run the command: for the first time, or `AGAIN` because its client has
/// waited. That client goes on waiting after any status but OK: see [`Context::wait_for_key`].
///
/// # Safety
/// The context and the arguments live as long as the call.
unsafe extern "C" fn entry<C: Registered, const AGAIN: bool>(
    context: *mut raw::RedisModuleCtx,
    argv: *mut *mut raw::RedisModuleString,
    argc: c_int,
) -> c_int {
    // SAFETY: the caller's duty; the arguments do not outlive this call.
    let arguments = unsafe { Arguments::new(argv, argc) };
    let has_keys = const { !matches!(C::COMMAND.access, KeyAccess::None) };
    let running = Running {
        name: const { C::COMMAND.shown_name() },
        has_keys,
        key: match has_keys && arguments.len() > 1 {
            true => arguments.at(1).raw,
            false => null_mut(),
        },
    };
    let wait = match AGAIN {
        true => Wait::Woken,
        false => Wait::Not(Some(entry::<C, true>)),
    };
    // SAFETY: the caller's duty; the context does not outlive this call.
    let context = unsafe { Context::of_command(context, running, wait) };
    let run = || {
        if !C::COMMAND.takes(arguments.len()) {
            return context.refuse_arity();
        }
        if AGAIN && !context.may_run_again(arguments, C::COMMAND.has_flag("write")) {
            return;
        }
        let run = const { C::COMMAND.run };
        run(&context, arguments).unwrap_or_else(|error| error.reply(&context));
    };
    let internal_error = || {
        context.note_loss(INTERNAL_ERROR);
        context.complete_with_error(INTERNAL_ERROR);
    };
    catch_panic(const { C::COMMAND.shown_name() }, internal_error, run);
    match context.wait.get() {
        Wait::GoesOn => WAITS,
        Wait::Elsewhere => ELSEWHERE,
        Wait::Not(_) | Wait::Woken => DONE,
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
    fn new<C: Registered>(context: &Context) -> Option<Self> {
        let name = C::COMMAND.name.as_ptr();
        let flags = c_text(C::COMMAND.flags);
        // First key, last key, step from one to the next.
        let key = c_int::from(C::COMMAND.access != KeyAccess::None);
        // SAFETY: the context is that of `OnLoad`; the server copies the texts.
        let status = unsafe {
            call!(RedisModule_CreateCommand(
                context.raw,
                name,
                Some(entry::<C, false>),
                flags.as_ptr(),
                key,
                key,
                key
            ))
        };
        // SAFETY: the context is that of `OnLoad`.
        let command = unsafe { call!(RedisModule_GetCommand(context.raw, name)) };
        let is_created = status as isize == raw::REDISMODULE_OK && !command.is_null();
        is_created.then_some(Self(command))
    }

    /// Sets the categories; returns whether the server took them. Before 7.2 it takes none.
    fn set_categories(&self, categories: &str) -> bool {
        let Some(set) = optional!(RedisModule_SetCommandACLCategories) else {
            return false;
        };
        // SAFETY: a command that `OnLoad` created; the text lives through the call.
        let status = unsafe { set(self.0, c_text(categories).as_ptr()) };
        status as isize == raw::REDISMODULE_OK
    }

    /// Sets what COMMAND DOCS and COMMAND INFO show; returns whether the server took it.
    fn set_info<E>(&self, command: &Command<E>) -> bool {
        let others = match command.access {
            KeyAccess::AddFromOthers => OTHER_KEYS,
            _ => END_OF_KEY_SPECS,
        };
        let mut key_specs = [key_spec(command.access), others, END_OF_KEY_SPECS];
        let mut choices = Vec::new();
        let mut parameters = native_parameters(command.parameters, &mut choices);
        let info = raw::RedisModuleCommandInfo {
            version: &raw const INFO_VERSION,
            summary: command.summary.as_ptr(),
            complexity: command.complexity.as_ptr(),
            since: command.since.as_ptr(),
            history: null_mut(),
            tips: match command.output {
                Output::Determined => null(),
                Output::Varies => c"nondeterministic_output".as_ptr(),
            },
            arity: command.arity,
            key_specs: key_specs.as_mut_ptr(),
            args: parameters.as_mut_ptr(),
        };
        // SAFETY: a command that `OnLoad` created. The arrays end in an empty element, as the
        // server expects, and live through the call; it copies them.
        let status = unsafe { call!(RedisModule_SetCommandInfo(self.0, &raw const info)) };
        status as isize == raw::REDISMODULE_OK
    }
}

/// Describes the first argument to the server as a key; returns `END_OF_KEY_SPECS` if `access`
/// says that it is not one.
fn key_spec(access: KeyAccess) -> raw::RedisModuleCommandKeySpec {
    let flags = match access {
        KeyAccess::None => return END_OF_KEY_SPECS,
        KeyAccess::Read => raw::REDISMODULE_CMD_KEY_RO | raw::REDISMODULE_CMD_KEY_ACCESS,
        KeyAccess::Add | KeyAccess::AddFromOthers => {
            raw::REDISMODULE_CMD_KEY_RW | raw::REDISMODULE_CMD_KEY_INSERT
        }
        KeyAccess::Create => raw::REDISMODULE_CMD_KEY_OW | raw::REDISMODULE_CMD_KEY_INSERT,
        KeyAccess::Delete => raw::REDISMODULE_CMD_KEY_RW | raw::REDISMODULE_CMD_KEY_DELETE,
        KeyAccess::Update => raw::REDISMODULE_CMD_KEY_RW | raw::REDISMODULE_CMD_KEY_UPDATE,
    };
    raw::RedisModuleCommandKeySpec {
        flags: u64::from(flags),
        begin_search_type: raw::RedisModuleKeySpecBeginSearchType_REDISMODULE_KSPEC_BS_INDEX,
        ..END_OF_KEY_SPECS
    }
}

/// Keys that are read: their number is argument 2, and they follow it.
const OTHER_KEYS: raw::RedisModuleCommandKeySpec = raw::RedisModuleCommandKeySpec {
    flags: (raw::REDISMODULE_CMD_KEY_RO | raw::REDISMODULE_CMD_KEY_ACCESS) as u64,
    begin_search_type: raw::RedisModuleKeySpecBeginSearchType_REDISMODULE_KSPEC_BS_INDEX,
    bs: raw::RedisModuleCommandKeySpec__bindgen_ty_1 {
        index: raw::RedisModuleCommandKeySpec__bindgen_ty_1__bindgen_ty_1 { pos: 2 },
    },
    find_keys_type: raw::RedisModuleKeySpecFindKeysType_REDISMODULE_KSPEC_FK_KEYNUM,
    fk: raw::RedisModuleCommandKeySpec__bindgen_ty_2 {
        keynum: raw::RedisModuleCommandKeySpec__bindgen_ty_2__bindgen_ty_2 {
            keynumidx: 0,
            firstkey: 1,
            keystep: 1,
        },
    },
    ..END_OF_KEY_SPECS
};

/// Ends the list. Also the template for the others, which add flags and how to begin the search:
/// the one key is argument 1.
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
    native.push(END_OF_PARAMETERS);
    native
}

fn native_parameter(parameter: &Parameter) -> raw::RedisModuleCommandArg {
    let kind = match (parameter.kind, parameter.choices) {
        (Kind::Block, _) => raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_BLOCK,
        (_, [_, ..]) => raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_ONEOF,
        (Kind::Key | Kind::OtherKey, _) => raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_KEY,
        (Kind::Text, _) => raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_STRING,
        (Kind::Integer, _) => raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_INTEGER,
        (Kind::Double, _) => raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_DOUBLE,
        (Kind::Token, _) => raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_PURE_TOKEN,
    };
    raw::RedisModuleCommandArg {
        name: parameter.name.as_ptr(),
        type_: kind,
        key_spec_index: match parameter.kind {
            Kind::Key => 0,
            Kind::OtherKey => 1,
            _ => -1,
        },
        token: parameter.token.map_or(null(), CStr::as_ptr),
        flags: parameter.times as c_int,
        ..END_OF_PARAMETERS
    }
}

/// Ends a list of parameters.
const END_OF_PARAMETERS: raw::RedisModuleCommandArg = raw::RedisModuleCommandArg {
    name: null(),
    type_: 0,
    key_spec_index: -1,
    token: null(),
    summary: null(),
    since: null(),
    flags: 0,
    deprecated_since: null(),
    subargs: null_mut(),
    display_text: null(),
};
