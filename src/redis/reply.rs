//! Replies, written straight to the client. Each degrades to RESP2 by itself where that is what the client speaks.

use super::call::call;
use super::context::{c_text, Context};
use redis_module::raw;
use std::ffi::c_char;

impl Context {
    /// `OK` and its like.
    pub fn reply_simple(&self, text: &str) {
        // SAFETY: the context is live, and so is the text through the call; so below.
        unsafe {
            call!(RedisModule_ReplyWithSimpleString(
                self.raw,
                c_text(text).as_ptr()
            ))
        };
    }

    /// An error; the text begins with its code, such as `ERR`.
    pub fn reply_error(&self, text: &str) {
        // SAFETY: see `reply_simple`.
        unsafe { call!(RedisModule_ReplyWithError(self.raw, c_text(text).as_ptr())) };
    }

    /// The server's own words for a wrong number of arguments.
    pub fn reply_wrong_arity(&self) {
        // SAFETY: see `reply_simple`.
        unsafe { call!(RedisModule_WrongArity(self.raw)) };
    }

    /// The server's own words for a key that holds something else.
    pub fn reply_wrong_type(&self) {
        // SAFETY: the text is a constant that ends in a zero byte.
        unsafe {
            let text = raw::REDISMODULE_ERRORMSG_WRONGTYPE.as_ptr();
            call!(RedisModule_ReplyWithError(self.raw, text.cast()))
        };
    }

    pub fn reply_integer(&self, value: u64) {
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        // SAFETY: see `reply_simple`.
        unsafe { call!(RedisModule_ReplyWithLongLong(self.raw, value)) };
    }

    /// A boolean; 1 or 0 in RESP2.
    pub fn reply_bool(&self, value: bool) {
        // SAFETY: see `reply_simple`.
        unsafe { call!(RedisModule_ReplyWithBool(self.raw, i32::from(value))) };
    }

    /// A double; its decimal digits as a string in RESP2.
    pub fn reply_double(&self, value: f64) {
        // SAFETY: see `reply_simple`.
        unsafe { call!(RedisModule_ReplyWithDouble(self.raw, value)) };
    }

    pub fn reply_null(&self) {
        // SAFETY: see `reply_simple`.
        unsafe { call!(RedisModule_ReplyWithNull(self.raw)) };
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
    }

    /// The head of an array; `len` replies must follow.
    pub fn reply_array(&self, len: usize) {
        // SAFETY: see `reply_simple`.
        unsafe { call!(RedisModule_ReplyWithArray(self.raw, len as _)) };
    }

    /// The head of a map; `len` times a name and a value must follow. In RESP2 a flat array.
    pub fn reply_map(&self, len: usize) {
        // SAFETY: see `reply_simple`.
        unsafe { call!(RedisModule_ReplyWithMap(self.raw, len as _)) };
    }

    /// Whether the client speaks RESP3.
    pub fn speaks_resp3(&self) -> bool {
        self.has_flag(raw::REDISMODULE_CTX_FLAGS_RESP3)
    }
}
