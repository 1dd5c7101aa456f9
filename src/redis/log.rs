//! The server's log.

use redis_module::raw;
use std::ffi::CString;

/// How loud.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Notice,
    Warning,
}

/// Writes a line to the server's log; outside a server, nowhere.
///
/// The text goes in as an argument of `%s`, never as the format: an item with `%n` in it must stay text.
pub fn log(level: Level, text: &str) {
    let level = match level {
        Level::Notice => c"notice",
        Level::Warning => c"warning",
    };
    let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
    // SAFETY: all three strings end in a zero byte and live through the call; a null context is allowed.
    unsafe {
        if let Some(write) = raw::RedisModule_Log {
            write(
                std::ptr::null_mut(),
                level.as_ptr(),
                c"%s".as_ptr(),
                text.as_ptr(),
            );
        }
    }
}
