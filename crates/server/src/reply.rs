//! Replies, written straight to the client. The server converts each for clients that speak RESP2.
//!
//! There are two kinds of errors. [`Context::refuse`] is for what the command does not do: in a
//! replay, that is reported as lost. [`Context::reply_remark`] is for what it does, or for what the
//! primary refused, too: in a replay it is not an error. So no replay ends in an error unless this
//! server lacks something.

use super::call::call;
use super::context::Context;
use super::text::ShortText;
use redis_module::raw;
use std::ffi::c_char;
use std::fmt::Display;

/// For the log; the client gets the server's own reply.
const WRONG_ARITY: &str = "ERR wrong number of arguments";

/// A value that can be a reply, or part of one, such as a field of a map.
pub trait Reply {
    /// Replies with it.
    fn reply(self, context: &Context);
}

impl Reply for u64 {
    fn reply(self, context: &Context) {
        context.reply_integer(self);
    }
}

impl Reply for i64 {
    fn reply(self, context: &Context) {
        context.reply_signed(self);
    }
}

impl Reply for f64 {
    fn reply(self, context: &Context) {
        context.reply_double(self);
    }
}

impl<R: Reply> Reply for Option<R> {
    fn reply(self, context: &Context) {
        match self {
            Some(value) => value.reply(context),
            None => context.reply_null(),
        }
    }
}

impl Context {
    /// Notes a reply that announces `elements` elements of its own. Called after it is written: a
    /// call that panics has written nothing.
    fn note(&self, elements: usize) {
        self.lacking.set(self.lacking.get().saturating_sub(1) + elements);
    }

    /// Completes the reply with errors: one, or one for each element still to come. Even a command
    /// that panics halfway must complete its one reply, with as many elements as each array and map
    /// announced: otherwise the client takes the next reply for the rest of this one.
    pub(crate) fn complete_with_error(&self, text: &str) {
        for _ in 0..self.lacking.get() {
            self.reply_error(text);
        }
    }

    /// The simple string `OK`. It is not copied, as those of [`Context::reply_simple`] are.
    pub fn reply_ok(&self) {
        // SAFETY: the context is live, and the text is static.
        unsafe { call!(RedisModule_ReplyWithSimpleString(self.raw, c"OK".as_ptr())) };
        self.note(0);
    }

    /// A simple string.
    pub fn reply_simple(&self, text: &str) {
        // SAFETY: the context is live, and the text lives through the call.
        unsafe { call!(RedisModule_ReplyWithSimpleString(self.raw, ShortText::of(text).as_ptr())) };
        self.note(0);
    }

    /// An error; `text` begins with its code, such as `ERR`.
    pub(crate) fn reply_error(&self, text: impl Display) {
        // SAFETY: the context is live, and the text lives through the call.
        unsafe { call!(RedisModule_ReplyWithError(self.raw, ShortText::of(text).as_ptr())) };
        self.note(0);
    }

    /// Refuses the command, or an item of it, with the error `text`, which begins with its code,
    /// such as `ERR`. In a replay, `reason` is in the log.
    pub fn refuse(&self, reason: &str, text: impl Display) {
        self.note_loss(reason);
        self.reply_error(text);
    }

    /// Refuses the command with the server's own error for a wrong number of arguments.
    pub fn refuse_arity(&self) {
        self.note_loss(WRONG_ARITY);
        // SAFETY: the context is live.
        unsafe { call!(RedisModule_WrongArity(self.raw)) };
        self.note(0);
    }

    /// Refuses the command with the server's own error for an expiry that is not after now, or too
    /// late to be represented.
    pub fn refuse_expire_time(&self) {
        self.note_loss("ERR invalid expire time");
        let name = self.command.name;
        self.reply_error(format_args!("ERR invalid expire time in '{name}' command"));
    }

    /// An error in place of an answer although nothing is lost in a replay: the item has taken
    /// effect, or the primary has not added it either. In a replay it is null: the server reports
    /// each error to its primary as broken replication.
    pub fn reply_remark(&self, text: impl Display) {
        match self.is_replay() {
            true => self.reply_null(),
            false => self.reply_error(text),
        }
    }

    /// An integer; one that does not fit 63 bits is sent as the largest that does.
    pub fn reply_integer(&self, value: u64) {
        self.reply_signed(i64::try_from(value).unwrap_or(i64::MAX));
    }

    /// An integer that may be negative.
    pub fn reply_signed(&self, value: i64) {
        // SAFETY: the context is live.
        unsafe { call!(RedisModule_ReplyWithLongLong(self.raw, value)) };
        self.note(0);
    }

    /// A boolean; 1 or 0 in RESP2.
    pub fn reply_bool(&self, value: bool) {
        // SAFETY: the context is live.
        unsafe { call!(RedisModule_ReplyWithBool(self.raw, i32::from(value))) };
        self.note(0);
    }

    /// A double; a string of decimal digits in RESP2.
    pub fn reply_double(&self, value: f64) {
        // SAFETY: the context is live.
        unsafe { call!(RedisModule_ReplyWithDouble(self.raw, value)) };
        self.note(0);
    }

    /// Null.
    pub fn reply_null(&self) {
        // SAFETY: the context is live.
        unsafe { call!(RedisModule_ReplyWithNull(self.raw)) };
        self.note(0);
    }

    /// Null in place of an array, which RESP2 tells from null in place of a string.
    pub fn reply_null_array(&self) {
        // SAFETY: the context is live.
        unsafe { call!(RedisModule_ReplyWithNullArray(self.raw)) };
        self.note(0);
    }

    /// A bulk string.
    pub fn reply_bytes(&self, bytes: &[u8]) {
        let start = bytes.as_ptr().cast::<c_char>();
        // SAFETY: the context is live; the server copies the bytes.
        unsafe { call!(RedisModule_ReplyWithStringBuffer(self.raw, start, bytes.len())) };
        self.note(0);
    }

    /// Begins an array; `len` replies must follow.
    pub fn reply_array(&self, len: usize) {
        // SAFETY: the context is live.
        unsafe { call!(RedisModule_ReplyWithArray(self.raw, len as _)) };
        self.note(len);
    }

    /// Begins a map; `len` names, each with its value, must follow. A flat array in RESP2.
    pub fn reply_map(&self, len: usize) {
        // SAFETY: the context is live.
        unsafe { call!(RedisModule_ReplyWithMap(self.raw, len as _)) };
        self.note(len * 2);
    }

    /// The next name of a map, and its value.
    pub fn reply_field(&self, name: &str, value: impl Reply) {
        self.reply_simple(name);
        value.reply(self);
    }

    /// Whether the client speaks RESP3.
    pub fn speaks_resp3(&self) -> bool {
        self.has_flag(raw::REDISMODULE_CTX_FLAGS_RESP3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::null_mut;

    /// The number of replies still lacking after replies that announce these numbers of elements.
    fn lacking(elements: &[usize]) -> usize {
        // SAFETY: nothing follows the address.
        let context = unsafe { Context::new(null_mut()) };
        elements.iter().for_each(|elements| context.note(*elements));
        context.lacking.get()
    }

    #[test]
    fn a_silent_command_lacks_one_reply_and_one_that_has_replied_lacks_none() {
        assert_eq!(lacking(&[]), 1);
        assert_eq!(lacking(&[0]), 0);
    }

    #[test]
    fn an_array_lacks_its_elements_and_those_of_arrays_inside_it() {
        assert_eq!(lacking(&[3]), 3);
        assert_eq!(lacking(&[3, 0, 2]), 3, "two inside, one after");
        assert_eq!(lacking(&[3, 0, 2, 0, 0, 0]), 0);
    }
}
