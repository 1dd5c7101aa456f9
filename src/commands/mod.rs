//! The commands. Each parses its arguments, opens the key, acts, propagates, and replies.
//!
//! ```text
//!   bf, cf         commands of one family
//!   reserve, lookup, pack, transfer, clear    commands of both families
//!   create, add    create a filter, and add items to one
//!   packed, bits   items in one argument, and replies of a bit each
//!   ration         the memory that an add may take
//!   common, reply_error    what describes commands; the errors that clients see
//! ```

mod add;
mod bf;
mod bits;
mod cf;
mod clear;
mod common;
mod create;
mod lookup;
mod pack;
mod packed;
mod ration;
pub mod reply_error;
mod reserve;
mod transfer;

use splitbloom_server::command::add_category;
use splitbloom_server::context::Context;
use splitbloom_server::entry::Refused;

/// Categories of RedisBloom's other commands, which this module lacks. They are empty, so that a
/// rule on one of them does not stop a server that loads this module in RedisBloom's place.
const WITHOUT_COMMANDS: [&str; 3] = ["cms", "topk", "tdigest"];

/// Registers every command, in the ACL category of its family, and the empty categories.
///
/// # Errors
/// What the server refused.
pub fn register(context: &Context) -> Result<(), Refused> {
    bf::register(context)?;
    cf::register(context)?;
    WITHOUT_COMMANDS.iter().for_each(|category| add_category(context, category));
    Ok(())
}
