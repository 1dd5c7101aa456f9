//! The commands. Each parses its words, opens the key, acts, propagates, and replies.

mod answers;
mod bf;
mod bits;
mod cf;
mod complexity;
mod held;
mod lookup;
mod packed;
mod parameters;
mod ration;
pub mod reply_error;
mod seeds;
mod transfer;

use crate::server::command::add_category;
use crate::server::context::Context;
use crate::server::Refused;
use std::ffi::CStr;

/// The ACL categories of the BF and CF commands, on servers that let a module create them.
const BLOOM: &str = "bloom";
const CUCKOO: &str = "cuckoo";

/// Categories of RedisBloom's other commands, which are not here: empty, so that a rule on one of
/// them does not end a server that has this module in RedisBloom's place.
const WITHOUT_COMMANDS: [&str; 3] = ["cms", "topk", "tdigest"];

/// The version that introduced every command so far. A later command names its own.
const FIRST_RELEASE: &CStr = c"0.1.0";

/// Registers every command.
///
/// # Errors
/// What the server refused.
pub fn register_all(context: &Context) -> Result<(), Refused> {
    add_category(context, BLOOM);
    add_category(context, CUCKOO);
    for category in WITHOUT_COMMANDS {
        add_category(context, category);
    }
    bf::register_all(context, BLOOM)?;
    cf::register_all(context, CUCKOO)
}
