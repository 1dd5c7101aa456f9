//! The server's log.

use super::call::optional;
use super::context::Context;
use super::text::ShortText;
use redis_module::raw;
use std::ffi::CStr;
use std::fmt::Display;

/// Writes `text` to the server's log as a warning. Does nothing outside a server. Allocates
/// nothing: the reason may be that there is no memory.
pub fn warn(text: impl Display) {
    write(std::ptr::null_mut(), c"warning", text);
}

/// Writes `text` to the server's log as a notice, under the module's name.
pub fn notice(context: &Context, text: impl Display) {
    write(context.raw, c"notice", text);
}

/// Passes `text` as an argument of `%s`, never as the format: a client may have sent a `%n` in it.
fn write(context: *mut raw::RedisModuleCtx, level: &CStr, text: impl Display) {
    let line = ShortText::of(text);
    if let Some(write) = optional!(RedisModule_Log) {
        // SAFETY: all texts end in a zero byte and live through the call; the context is live or
        // null, which is allowed.
        unsafe { write(context, level.as_ptr(), c"%s".as_ptr(), line.as_ptr()) };
    }
}
