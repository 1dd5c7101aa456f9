//! An error that a client sees. The texts are part of the interface: clients compare them.

use splitbloom_server::command::ErrorReply;
use splitbloom_server::context::Context;
use splitbloom_server::key::{OpenError, WrongType};
use splitbloom_server::ration::Ration;

/// An error reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyError(pub &'static str);

impl ReplyError {
    /// The reply is the server's own.
    pub const WRONG_ARITY: Self = Self("ERR wrong number of arguments");
    /// The key holds another type. The server's own text.
    pub const WRONG_TYPE: Self =
        Self("WRONGTYPE Operation against a key holding the wrong kind of value");
    /// The server's own text, which it sends before a command begins.
    pub const OVER_MAXMEMORY: Self =
        Self("OOM command not allowed when used memory > 'maxmemory'.");
    /// Another thread saves the key's value.
    pub const IN_USE: Self = Self("TRYAGAIN the server is saving the key");
}

impl ReplyError {
    /// This error, or the server's own if memory was refused because `ration` is used up.
    pub fn within(self, ration: &Ration) -> Self {
        match ration.is_used_up() {
            true => Self::OVER_MAXMEMORY,
            false => self,
        }
    }

    /// Replies with the error of a command of which only the first `number` items took effect.
    pub fn reply_after(self, context: &Context, number: usize) {
        let text = self.0.trim_end_matches('.');
        context.refuse(self.0, format_args!("{text}: only the first {number} took effect"));
    }
}

impl ErrorReply for ReplyError {
    fn reply(self, context: &Context) {
        match self {
            Self::WRONG_ARITY => context.refuse_arity(),
            Self(text) => context.refuse(text, text),
        }
    }
}

impl From<WrongType> for ReplyError {
    fn from(WrongType: WrongType) -> Self {
        Self::WRONG_TYPE
    }
}

impl From<OpenError> for ReplyError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::InUse => Self::IN_USE,
            OpenError::WrongType => Self::WRONG_TYPE,
        }
    }
}
