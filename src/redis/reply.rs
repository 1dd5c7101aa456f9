//! Replies, written straight to the client. Each degrades to RESP2 by itself where that is what the client speaks.

use super::call::call;
use super::context::{c_text, Context};
use redis_module::raw;
use std::ffi::c_char;

/// How far the reply to the running command has come. A command replies exactly once, and arrays and maps have as many elements as
/// they were begun with, even if it panics half way: the client would take the next reply for the rest of this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Nothing has been said.
    Silent,
    /// So many elements of what was begun are still to come; with 0, all has been said.
    Lacking(usize),
}

impl Progress {
    /// After one more element, which has `elements` of its own.
    fn after(self, elements: usize) -> Self {
        match self {
            Self::Silent => Self::Lacking(elements),
            Self::Lacking(lacking) => Self::Lacking(lacking.saturating_sub(1) + elements),
        }
    }

    /// Replies that make it complete.
    fn lacking(self) -> usize {
        match self {
            Self::Silent => 1,
            Self::Lacking(lacking) => lacking,
        }
    }
}

impl Context {
    /// An element has been said, which has so many of its own. Called once it has: a call that panics has said nothing.
    fn say(&self, elements: usize) {
        self.progress.set(self.progress.get().after(elements));
    }

    /// Completes the reply with errors: one, or one for each element that an array still lacks.
    pub(super) fn complete_with_error(&self, text: &str) {
        for _ in 0..self.progress.get().lacking() {
            self.reply_error(text);
        }
    }

    /// `OK` and its like.
    pub fn reply_simple(&self, text: &str) {
        // SAFETY: the context is live, and so is the text through the call; so below.
        unsafe {
            call!(RedisModule_ReplyWithSimpleString(
                self.raw,
                c_text(text).as_ptr()
            ))
        };
        self.say(0);
    }

    /// An error; the text begins with its code, such as `ERR`.
    pub fn reply_error(&self, text: &str) {
        // SAFETY: see `reply_simple`.
        unsafe { call!(RedisModule_ReplyWithError(self.raw, c_text(text).as_ptr())) };
        self.say(0);
    }

    /// The server's own words for a wrong number of arguments.
    pub fn reply_wrong_arity(&self) {
        // SAFETY: see `reply_simple`.
        unsafe { call!(RedisModule_WrongArity(self.raw)) };
        self.say(0);
    }

    /// The server's own words for a key that holds something else.
    pub fn reply_wrong_type(&self) {
        // SAFETY: the text is a constant that ends in a zero byte.
        unsafe {
            let text = raw::REDISMODULE_ERRORMSG_WRONGTYPE.as_ptr();
            call!(RedisModule_ReplyWithError(self.raw, text.cast()))
        };
        self.say(0);
    }

    pub fn reply_integer(&self, value: u64) {
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        // SAFETY: see `reply_simple`.
        unsafe { call!(RedisModule_ReplyWithLongLong(self.raw, value)) };
        self.say(0);
    }

    /// A boolean; 1 or 0 in RESP2.
    pub fn reply_bool(&self, value: bool) {
        // SAFETY: see `reply_simple`.
        unsafe { call!(RedisModule_ReplyWithBool(self.raw, i32::from(value))) };
        self.say(0);
    }

    /// A double; its decimal digits as a string in RESP2.
    pub fn reply_double(&self, value: f64) {
        // SAFETY: see `reply_simple`.
        unsafe { call!(RedisModule_ReplyWithDouble(self.raw, value)) };
        self.say(0);
    }

    pub fn reply_null(&self) {
        // SAFETY: see `reply_simple`.
        unsafe { call!(RedisModule_ReplyWithNull(self.raw)) };
        self.say(0);
    }

    pub fn reply_bytes(&self, bytes: &[u8]) {
        let start = bytes.as_ptr().cast::<c_char>();
        // SAFETY: the server copies the bytes.
        unsafe {
            call!(RedisModule_ReplyWithStringBuffer(
                self.raw,
                start,
                bytes.len()
            ))
        };
        self.say(0);
    }

    /// The head of an array; `len` replies must follow.
    pub fn reply_array(&self, len: usize) {
        // SAFETY: see `reply_simple`.
        unsafe { call!(RedisModule_ReplyWithArray(self.raw, len as _)) };
        self.say(len);
    }

    /// The head of a map; `len` times a name and a value must follow. In RESP2 a flat array.
    pub fn reply_map(&self, len: usize) {
        // SAFETY: see `reply_simple`.
        unsafe { call!(RedisModule_ReplyWithMap(self.raw, len as _)) };
        self.say(len * 2);
    }

    /// Whether the client speaks RESP3.
    pub fn speaks_resp3(&self) -> bool {
        self.has_flag(raw::REDISMODULE_CTX_FLAGS_RESP3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_command_lacks_one_reply_and_one_that_has_spoken_none() {
        assert_eq!(Progress::Silent.lacking(), 1);
        assert_eq!(Progress::Silent.after(0).lacking(), 0);
    }

    #[test]
    fn what_is_begun_lacks_its_elements_and_those_of_what_is_inside() {
        let begun = Progress::Silent.after(3);
        assert_eq!(begun.lacking(), 3);
        let inner = begun.after(0).after(2);
        assert_eq!(inner.lacking(), 3, "two inside, one behind");
        assert_eq!(inner.after(0).after(0).after(0).lacking(), 0);
    }
}
