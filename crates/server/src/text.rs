//! Text for the server. A [`ShortText`] is on the stack: errors are reported when memory may be
//! short.

use std::ffi::{c_char, CString};
use std::fmt::{self, Display, Write};

/// Bytes of a line that servers keep in their log (`LOG_MAX_LEN`); replies are shorter.
const LINE_BYTES: usize = 1024;

/// A text of at most 1023 bytes on the stack. It ends in a zero byte and contains no other, and no
/// newline; longer text is cut off.
pub struct ShortText {
    bytes: [u8; LINE_BYTES],
    len: usize,
}

/// The number of bytes of a key that a line shows. Each may take four when escaped.
const SHOWN_BYTES: usize = 128;

/// Displays a key in the log, escaped, since it may be any bytes; `None` as "missing".
pub(crate) struct ShownKey<'a>(pub Option<&'a [u8]>);

impl Display for ShownKey<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(key) = self.0 else {
            return formatter.write_str("missing");
        };
        let shown = key.get(..SHOWN_BYTES).unwrap_or(key);
        write!(formatter, "\"{}\"", shown.escape_ascii())?;
        if shown.len() < key.len() {
            write!(formatter, " and {} bytes more", key.len() - shown.len())?;
        }
        Ok(())
    }
}

impl ShortText {
    /// Formats `text`.
    pub fn of(text: impl Display) -> Self {
        let mut line = Self { bytes: [0; LINE_BYTES], len: 0 };
        // An error means that the line is full.
        let _ = write!(line, "{text}");
        line
    }

    /// The text without its zero byte.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    pub(crate) fn as_ptr(&self) -> *const c_char {
        self.bytes.as_ptr().cast()
    }
}

/// `text` up to its first zero byte, as the server expects it. Allocates infallibly: only for what
/// happens while the module is loaded and in CONFIG and INFO.
pub(crate) fn c_text(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..end]).unwrap_or_default()
}

impl Write for ShortText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = &mut self.bytes[self.len..LINE_BYTES - 1];
        for (to, from) in room.iter_mut().zip(text.bytes()) {
            *to = if matches!(from, 0 | b'\n') { b' ' } else { from };
        }
        let fits = text.len() <= room.len();
        self.len += text.len().min(room.len());
        fits.then_some(()).ok_or(fmt::Error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_where_it_is_too_long_and_ends_in_its_only_zero_byte() {
        for len in [0, 1, LINE_BYTES - 1, LINE_BYTES, 3 * LINE_BYTES] {
            let text: String = "a\0%\n ".chars().cycle().take(len).collect();
            let line = ShortText::of(format_args!("{}{}", &text[..len / 2], &text[len / 2..]));
            let kept = len.min(LINE_BYTES - 1);
            let expected = text.replace(['\0', '\n'], " ");
            assert_eq!(line.bytes[..kept], expected.as_bytes()[..kept]);
            assert_eq!(line.bytes.iter().position(|byte| *byte == 0), Some(kept));
        }
    }

    #[test]
    fn a_key_is_shown_escaped_and_cut_where_it_is_long() {
        let shown = |key: &[u8]| ShownKey(Some(key)).to_string();
        assert_eq!(shown(b"user:1"), "\"user:1\"");
        assert_eq!(shown(b"\0%n\"\r\n\xff"), r#""\x00%n\"\r\n\xff""#);
        let long = [b'a'; SHOWN_BYTES + 3];
        let expected = format!("\"{}\" and 3 bytes more", "a".repeat(SHOWN_BYTES));
        assert_eq!(shown(&long), expected);
        assert_eq!(ShownKey(None).to_string(), "missing");
    }
}
