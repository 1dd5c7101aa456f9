//! The server's log.

use redis_module::raw;
use std::ffi::CString;

/// Writes a warning to the server's log; outside a server, nowhere.
///
/// The text goes in as an argument of `%s`, never as the format: an item with `%n` in it must stay text.
pub fn warn(text: &str) {
    let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
    // SAFETY: all strings end in a zero byte and live through the call; a null context is allowed.
    unsafe {
        if let Some(write) = raw::RedisModule_Log {
            write(
                std::ptr::null_mut(),
                c"warning".as_ptr(),
                c"%s".as_ptr(),
                text.as_ptr(),
            );
        }
    }
}
