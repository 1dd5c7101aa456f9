//! The owner of a command that this module could not register.

use super::call::call;
use super::context::Context;
use super::refused::Refused;
use super::text::c_text;
use redis_module::raw;

/// The owner of a command.
#[derive(Debug, PartialEq, Eq)]
pub enum Owner {
    /// The module of this name.
    Module(String),
    /// The server itself.
    Server,
}

impl Context {
    /// Why `command` could not be registered: it has an owner already.
    pub(crate) fn refusal_of(&self, command: &str) -> Refused {
        match self.owner_of(command) {
            Some(owner) => Refused::Command(command.to_owned(), owner),
            None => Refused::Taken(format!("the command {command}")),
        }
    }

    /// The owner of `command`; `None` if the server does not say. For use while the module is
    /// loaded. Cost: that of COMMAND DOCS for one command.
    fn owner_of(&self, command: &str) -> Option<Owner> {
        let (docs, name) = (c"DOCS".as_ptr(), c_text(command));
        // Two texts that end in a zero byte.
        let format = c"cc".as_ptr();
        // SAFETY: the context is that of `OnLoad`; the arguments are those of the format.
        let reply = unsafe {
            call!(RedisModule_Call(self.raw, c"COMMAND".as_ptr(), format, docs, name.as_ptr()))
        };
        if reply.is_null() {
            return None;
        }
        let owner = owner_in(reply);
        // SAFETY: freed once, after its last use.
        unsafe { call!(RedisModule_FreeCallReply(reply)) };
        owner
    }
}

/// The owner in a reply of COMMAND DOCS, `[name, [field, value, …]]`, which has a field `module`
/// for a module's command.
fn owner_in(reply: *mut raw::RedisModuleCallReply) -> Option<Owner> {
    let fields = element(reply, 1)?;
    // SAFETY: the reply is live.
    let count = unsafe { call!(RedisModule_CallReplyLength(fields)) };
    let field = (0..count)
        .step_by(2)
        .find(|&at| element(fields, at).and_then(text).is_some_and(|name| name == "module"));
    let Some(at) = field else {
        return Some(Owner::Server);
    };
    element(fields, at + 1).and_then(text).map(Owner::Module)
}

/// Element `at` of an array; `None` for another reply, or beyond its end.
fn element(
    reply: *mut raw::RedisModuleCallReply,
    at: usize,
) -> Option<*mut raw::RedisModuleCallReply> {
    // SAFETY: the reply is live; for one that is no array the function returns null.
    let element = unsafe { call!(RedisModule_CallReplyArrayElement(reply, at)) };
    (!element.is_null()).then_some(element)
}

/// The text of a reply; `None` if it is no string.
fn text(reply: *mut raw::RedisModuleCallReply) -> Option<String> {
    let mut len = 0;
    // SAFETY: the reply is live; for one that is no string the function returns null.
    let start = unsafe { call!(RedisModule_CallReplyStringPtr(reply, &raw mut len)) };
    if start.is_null() {
        return None;
    }
    // SAFETY: the server says that `len` bytes are there; they live as long as the reply.
    let bytes = unsafe { std::slice::from_raw_parts(start.cast(), len) };
    Some(String::from_utf8_lossy(bytes).into_owned())
}
