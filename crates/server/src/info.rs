//! The module's part of INFO.

use super::call::call;
use super::catch_panic::catch_panic;
use super::context::Context;
use super::text::ShortText;
pub use super::values::Counter;
use redis_module::raw;
use std::ffi::{c_int, CStr};
use std::sync::OnceLock;

/// One line of INFO; the server adds the module's name as a prefix.
pub enum Field {
    /// A name and its text.
    Text(&'static CStr, fn() -> &'static str),
    /// A name and its number.
    Number(&'static CStr, fn() -> u64),
    /// A name and a counter.
    Counter(&'static CStr, &'static Counter),
    /// As `Number`, if the function calls the server or takes a lock. Left out of a crash report,
    /// which the server assembles in a signal handler.
    FromServer(&'static CStr, fn() -> u64),
}

static FIELDS: OnceLock<&'static [Field]> = OnceLock::new();

/// Registers `fields`, the lines that INFO shows.
pub fn register(context: &Context, fields: &'static [Field]) {
    let _ = FIELDS.set(fields);
    // SAFETY: the context is that of `OnLoad`.
    unsafe { call!(RedisModule_RegisterInfoFunc(context.raw, Some(info))) };
}

/// # Safety
/// The context, with which the server assembles INFO, lives through the call.
unsafe extern "C" fn info(context: *mut raw::RedisModuleInfoCtx, for_crash_report: c_int) {
    let write = || {
        // SAFETY: the context is live.
        unsafe { call!(RedisModule_InfoAddSection(context, c"stats".as_ptr())) };
        for field in FIELDS.get().copied().unwrap_or_default() {
            if for_crash_report != 0 && matches!(field, Field::FromServer(..)) {
                continue;
            }
            // SAFETY: the context is live.
            unsafe { field.write(context) };
        }
    };
    catch_panic("info", || (), write);
}

impl Field {
    /// # Safety
    /// The context is live.
    unsafe fn write(&self, context: *mut raw::RedisModuleInfoCtx) {
        let (name, value) = match self {
            Self::Text(name, text) => {
                let (name, text) = (name.as_ptr(), ShortText::of(text()));
                let text = text.as_ptr();
                // SAFETY: the caller's duty; the texts live through the call.
                unsafe { call!(RedisModule_InfoAddFieldCString(context, name, text)) };
                return;
            }
            Self::Number(name, value) | Self::FromServer(name, value) => (name, value()),
            Self::Counter(name, counter) => (name, counter.get()),
        };
        let name = name.as_ptr();
        // SAFETY: the caller's duty; the name lives through the call.
        unsafe { call!(RedisModule_InfoAddFieldULongLong(context, name, value)) };
    }
}
