//! The commands. Each parses its words, opens the key, acts, propagates, and replies.

pub mod bf;
pub mod reply_error;

use crate::server::command::add_category;
use crate::server::context::Context;
use crate::server::Refused;
use std::ffi::CStr;

/// The ACL category of the commands, on servers that let a module create one.
const CATEGORY: &str = "bloom";

/// The version that introduced every command so far. A later command names its own.
const FIRST_RELEASE: &CStr = c"0.1.0";

/// Registers every command.
///
/// # Errors
/// What the server refused.
pub fn register_all(context: &Context) -> Result<(), Refused> {
    add_category(context, CATEGORY);
    bf::register_all(context, CATEGORY)
}
