//! Text for the server.

use std::ffi::CString;

/// A text that ends in a zero byte, for the server. Cut off at the first zero byte in `text`.
pub(super) fn c_text(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..end]).unwrap_or_default()
}
