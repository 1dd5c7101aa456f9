//! The module's part of INFO.

use super::call::call;
use super::context::{c_text, Context};
use super::guard::guarded;
use redis_module::raw;
use std::ffi::{c_int, CStr};
use std::sync::OnceLock;

/// One line of INFO; the server puts the module's name in front.
pub enum Field {
    Text(&'static CStr, &'static str),
    Number(&'static CStr, fn() -> u64),
}

static FIELDS: OnceLock<&'static [Field]> = OnceLock::new();

/// Registers the lines that INFO shall show.
pub fn register(context: &Context, fields: &'static [Field]) {
    let _ = FIELDS.set(fields);
    // SAFETY: the context is that of `OnLoad`.
    unsafe { call!(RedisModule_RegisterInfoFunc(context.raw, Some(info))) };
}

/// # Safety
/// Called by the server, while it puts INFO together.
unsafe extern "C" fn info(context: *mut raw::RedisModuleInfoCtx, _for_crash_report: c_int) {
    // SAFETY: the context lives through the call, and so do all texts.
    guarded(
        "info",
        || (),
        || unsafe {
            call!(RedisModule_InfoAddSection(context, c"stats".as_ptr()));
            for field in FIELDS.get().copied().unwrap_or_default() {
                match field {
                    Field::Text(name, text) => {
                        let text = c_text(text);
                        call!(RedisModule_InfoAddFieldCString(
                            context,
                            name.as_ptr(),
                            text.as_ptr()
                        ));
                    }
                    Field::Number(name, value) => {
                        call!(RedisModule_InfoAddFieldULongLong(
                            context,
                            name.as_ptr(),
                            value()
                        ));
                    }
                }
            }
        },
    );
}
