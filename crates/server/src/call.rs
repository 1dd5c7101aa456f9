//! Calling into the server.
//!
//! A server fills a table of functions when it loads the module. Each function here looks its
//! namesake up there and calls it, so that a caller's `unsafe` block contains one operation, the
//! call, and states the premises of that call. Every server since Redis 7.0 has all of these
//! functions. If one were missing, the call would panic, which [`catch_panic`](super::catch_panic)
//! turns into an error. A function that only some servers have is looked up with `optional!`.
#![allow(
    non_snake_case,
    clippy::too_many_arguments,
    reason = "names and arguments are the server's"
)]

use redis_module::raw;
use redis_module::raw::{
    RedisModuleCallReply as Reply, RedisModuleCtx as Context, RedisModuleDefragCtx as Defrag,
    RedisModuleDigest as Digest, RedisModuleIO as Io, RedisModuleInfoCtx as Info,
    RedisModuleKey as Key, RedisModuleKeyOptCtx as CopyKeys, RedisModuleString as Text,
};
use std::ffi::{
    c_char, c_int, c_long, c_longlong, c_uchar, c_uint, c_ulong, c_ulonglong, c_void, CStr,
};

/// Calls a function of the server: `call!(RedisModule_Name(arguments))`. Tests can make it panic
/// instead (see [`failpoints`](super::failpoints)).
macro_rules! call {
    ($name:ident($($argument:expr),* $(,)?)) => {
        {
            $crate::failpoints::step();
            $crate::call::$name($($argument),*)
        }
    };
}

/// A function that only some servers have: `optional!(RedisModule_Name)` is `Some` where they do.
/// Outside a server it is always `None`.
macro_rules! optional {
    ($name:ident) => {
        // SAFETY: the table is filled once, before anything else of the module runs.
        unsafe { redis_module::raw::$name }
    };
}

pub(crate) use {call, optional};

macro_rules! functions {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)?;)*) => {$(
        /// # Safety
        /// The arguments are as the server's documentation of the function requires.
        pub(crate) unsafe fn $name($($argument: $type),*) $(-> $result)? {
            let function = optional!($name).expect(stringify!($name));
            // SAFETY: the caller's duty.
            unsafe { function($($argument),*) }
        }
    )*};
}

functions! {
    fn RedisModule_AvoidReplicaTraffic() -> c_int;
    fn RedisModule_CallReplyStringPtr(reply: *mut Reply, len: *mut usize) -> *const c_char;
    fn RedisModule_CloseKey(key: *mut Key);
    fn RedisModule_CreateCommand(
        context: *mut Context, name: *const c_char, run: raw::RedisModuleCmdFunc,
        flags: *const c_char, first_key: c_int, last_key: c_int, key_step: c_int
    ) -> c_int;
    fn RedisModule_CreateString(
        context: *mut Context, start: *const c_char, len: usize
    ) -> *mut Text;
    fn RedisModule_CreateTimer(
        context: *mut Context, period: c_longlong, ring: raw::RedisModuleTimerProc,
        data: *mut c_void
    ) -> raw::RedisModuleTimerID;
    fn RedisModule_DefragAlloc(context: *mut Defrag, block: *mut c_void) -> *mut c_void;
    fn RedisModule_DefragCursorGet(context: *mut Defrag, cursor: *mut c_ulong) -> c_int;
    fn RedisModule_DefragCursorSet(context: *mut Defrag, cursor: c_ulong) -> c_int;
    fn RedisModule_DefragShouldStop(context: *mut Defrag) -> c_int;
    fn RedisModule_DigestAddStringBuffer(digest: *mut Digest, start: *const c_char, len: usize);
    fn RedisModule_DigestEndSequence(digest: *mut Digest);
    fn RedisModule_Free(block: *mut c_void);
    fn RedisModule_FreeCallReply(reply: *mut Reply);
    fn RedisModule_FreeServerInfo(context: *mut Context, info: *mut raw::RedisModuleServerInfoData);
    fn RedisModule_FreeString(context: *mut Context, text: *mut Text);
    fn RedisModule_GetApi(name: *const c_char, function: *mut c_void) -> c_int;
    fn RedisModule_GetClientId(context: *mut Context) -> c_ulonglong;
    fn RedisModule_GetCommand(
        context: *mut Context, name: *const c_char
    ) -> *mut raw::RedisModuleCommand;
    fn RedisModule_GetContextFlags(context: *mut Context) -> c_int;
    fn RedisModule_GetDbIdFromIO(io: *mut Io) -> c_int;
    fn RedisModule_GetDetachedThreadSafeContext(context: *mut Context) -> *mut Context;
    fn RedisModule_GetKeyNameFromIO(io: *mut Io) -> *const Text;
    fn RedisModule_GetRandomBytes(start: *mut c_uchar, len: usize);
    fn RedisModule_GetSelectedDb(context: *mut Context) -> c_int;
    fn RedisModule_GetServerInfo(
        context: *mut Context, section: *const c_char
    ) -> *mut raw::RedisModuleServerInfoData;
    fn RedisModule_GetToDbIdFromOptCtx(keys: *mut CopyKeys) -> c_int;
    fn RedisModule_GetToKeyNameFromOptCtx(keys: *mut CopyKeys) -> *const Text;
    fn RedisModule_GetUsedMemoryRatio() -> f32;
    fn RedisModule_InfoAddFieldCString(
        context: *mut Info, field: *const c_char, value: *const c_char
    ) -> c_int;
    fn RedisModule_InfoAddFieldULongLong(
        context: *mut Info, field: *const c_char, value: c_ulonglong
    ) -> c_int;
    fn RedisModule_InfoAddSection(context: *mut Info, name: *const c_char) -> c_int;
    fn RedisModule_IsIOError(io: *mut Io) -> c_int;
    fn RedisModule_KeyType(key: *mut Key) -> c_int;
    fn RedisModule_LoadConfigs(context: *mut Context) -> c_int;
    fn RedisModule_LoadDouble(io: *mut Io) -> f64;
    fn RedisModule_LoadStringBuffer(io: *mut Io, len: *mut usize) -> *mut c_char;
    fn RedisModule_LoadUnsigned(io: *mut Io) -> u64;
    fn RedisModule_Milliseconds() -> c_longlong;
    fn RedisModule_ModuleTypeGetType(key: *mut Key) -> *mut raw::RedisModuleType;
    fn RedisModule_ModuleTypeGetValue(key: *mut Key) -> *mut c_void;
    fn RedisModule_ModuleTypeSetValue(
        key: *mut Key, native: *mut raw::RedisModuleType, value: *mut c_void
    ) -> c_int;
    fn RedisModule_NotifyKeyspaceEvent(
        context: *mut Context, class: c_int, event: *const c_char, key: *mut Text
    ) -> c_int;
    fn RedisModule_OpenKey(context: *mut Context, key: *mut Text, mode: c_int) -> *mut Key;
    fn RedisModule_RedactClientCommandArgument(context: *mut Context, index: c_int) -> c_int;
    fn RedisModule_RegisterBoolConfig(
        context: *mut Context, name: *const c_char, default: c_int, flags: c_uint,
        get: raw::RedisModuleConfigGetBoolFunc, set: raw::RedisModuleConfigSetBoolFunc,
        apply: raw::RedisModuleConfigApplyFunc, setting: *mut c_void
    ) -> c_int;
    fn RedisModule_RegisterInfoFunc(
        context: *mut Context, write: raw::RedisModuleInfoFunc
    ) -> c_int;
    fn RedisModule_RegisterNumericConfig(
        context: *mut Context, name: *const c_char, default: c_longlong, flags: c_uint,
        min: c_longlong, max: c_longlong, get: raw::RedisModuleConfigGetNumericFunc,
        set: raw::RedisModuleConfigSetNumericFunc, apply: raw::RedisModuleConfigApplyFunc,
        setting: *mut c_void
    ) -> c_int;
    fn RedisModule_RegisterStringConfig(
        context: *mut Context, name: *const c_char, default: *const c_char, flags: c_uint,
        get: raw::RedisModuleConfigGetStringFunc, set: raw::RedisModuleConfigSetStringFunc,
        apply: raw::RedisModuleConfigApplyFunc, setting: *mut c_void
    ) -> c_int;
    fn RedisModule_ReplicateVerbatim(context: *mut Context) -> c_int;
    fn RedisModule_ReplyWithArray(context: *mut Context, len: c_long) -> c_int;
    fn RedisModule_ReplyWithBool(context: *mut Context, value: c_int) -> c_int;
    fn RedisModule_ReplyWithDouble(context: *mut Context, value: f64) -> c_int;
    fn RedisModule_ReplyWithError(context: *mut Context, text: *const c_char) -> c_int;
    fn RedisModule_ReplyWithLongLong(context: *mut Context, value: c_longlong) -> c_int;
    fn RedisModule_ReplyWithMap(context: *mut Context, len: c_long) -> c_int;
    fn RedisModule_ReplyWithNull(context: *mut Context) -> c_int;
    fn RedisModule_ReplyWithSimpleString(context: *mut Context, text: *const c_char) -> c_int;
    fn RedisModule_ReplyWithStringBuffer(
        context: *mut Context, start: *const c_char, len: usize
    ) -> c_int;
    fn RedisModule_SaveStringBuffer(io: *mut Io, start: *const c_char, len: usize);
    fn RedisModule_SelectDb(context: *mut Context, database: c_int) -> c_int;
    fn RedisModule_ServerInfoGetFieldC(
        info: *mut raw::RedisModuleServerInfoData, field: *const c_char
    ) -> *const c_char;
    fn RedisModule_SetCommandInfo(
        command: *mut raw::RedisModuleCommand, info: *const raw::RedisModuleCommandInfo
    ) -> c_int;
    fn RedisModule_SetModuleOptions(context: *mut Context, options: c_int);
    fn RedisModule_SignalModifiedKey(context: *mut Context, key: *mut Text) -> c_int;
    fn RedisModule_StopTimer(
        context: *mut Context, timer: raw::RedisModuleTimerID, data: *mut *mut c_void
    ) -> c_int;
    fn RedisModule_StringPtrLen(text: *const Text, len: *mut usize) -> *const c_char;
    fn RedisModule_SubscribeToKeyspaceEvents(
        context: *mut Context, classes: c_int, tell: raw::RedisModuleNotificationFunc
    ) -> c_int;
    fn RedisModule_SubscribeToServerEvent(
        context: *mut Context, event: raw::RedisModuleEvent, tell: raw::RedisModuleEventCallback
    ) -> c_int;
    fn RedisModule_WrongArity(context: *mut Context) -> c_int;
}

/// Runs the server's command `name` with the argument `argument` and returns its reply, or null.
///
/// # Safety
/// The context is live. The caller frees the reply.
pub(crate) unsafe fn RedisModule_Call(
    context: *mut Context,
    name: &CStr,
    argument: &CStr,
) -> *mut Reply {
    let call = optional!(RedisModule_Call).expect("RedisModule_Call");
    // "c" takes a text that ends in a zero byte.
    let format = c"c".as_ptr();
    // SAFETY: the caller's duty; the argument is that of the format.
    unsafe { call(context, name.as_ptr(), format, argument.as_ptr()) }
}

/// Replicates `name key args… more…`.
///
/// # Safety
/// The context is live, `name` ends in a zero byte, and the strings are the server's.
pub(crate) unsafe fn RedisModule_Replicate(
    context: *mut Context,
    name: *const c_char,
    key: *mut Text,
    args: &[*mut Text],
    more: &[*mut Text],
) -> c_int {
    let replicate = optional!(RedisModule_Replicate).expect("RedisModule_Replicate");
    // "s" takes a string, "v" an array of strings and its length (a size_t). The server takes
    // references of its own.
    let format = c"svv".as_ptr();
    let (args, len) = (args.as_ptr(), args.len());
    let (more, more_len) = (more.as_ptr(), more.len());
    // SAFETY: the caller's duty; the arguments are those of the format.
    unsafe { replicate(context, name, format, key, args, len, more, more_len) }
}

/// Writes `name key number bytes` to an append-only file.
///
/// # Safety
/// `io` is the file being written, `name` ends in a zero byte, and `key` is the server's.
pub(crate) unsafe fn RedisModule_EmitAOF(
    io: *mut Io,
    name: *const c_char,
    key: *mut Text,
    number: c_longlong,
    bytes: &[u8],
) {
    let emit = optional!(RedisModule_EmitAOF).expect("RedisModule_EmitAOF");
    // "s" takes a string, "l" a long long, "b" bytes and their length (a size_t).
    let format = c"slb".as_ptr();
    // SAFETY: the caller's duty; the arguments are those of the format.
    unsafe { emit(io, name, format, key, number, bytes.as_ptr(), bytes.len()) };
}
