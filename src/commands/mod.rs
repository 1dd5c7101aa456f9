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

use reply_error::ReplyError;
use splitbloom_server::command::add_category;
use splitbloom_server::context::Context;
use splitbloom_server::entry::Refused;
use splitbloom_server::register_commands;

/// The ACL categories of the BF and CF commands, on servers that let a module create them.
const BLOOM: &str = "bloom";
const CUCKOO: &str = "cuckoo";

/// Categories of RedisBloom's other commands, which this module lacks. They are empty, so that a
/// rule on one of them does not stop a server that loads this module in RedisBloom's place.
const WITHOUT_COMMANDS: [&str; 3] = ["cms", "topk", "tdigest"];

/// Registers every command, in the ACL category of its family if the server has it.
///
/// # Errors
/// What the server refused.
pub fn register(context: &Context) -> Result<(), Refused> {
    for category in [BLOOM, CUCKOO].into_iter().chain(WITHOUT_COMMANDS) {
        add_category(context, category);
    }
    register_commands!(
        context,
        BLOOM,
        ReplyError,
        [
            reserve::BF_RESERVE,
            bf::add::ADD,
            bf::add::MULTI_ADD,
            bf::add::INSERT,
            lookup::BF_EXISTS,
            lookup::BF_MULTI_EXISTS,
            pack::BF_PACK_ADD,
            pack::BF_PACK_EXISTS,
            bf::merge::MERGE,
            bf::shrink::SHRINK,
            bf::info::INFO,
            bf::info::CARD,
            bf::debug::DEBUG,
            transfer::BF_SCAN_DUMP,
            transfer::BF_LOAD_CHUNK,
            transfer::BF_LOAD,
            clear::BF_CLEAR,
            bf::forget::FORGET,
            bf::keys::KEYS,
            bf::changes::CHANGES,
        ]
    )?;
    register_commands!(
        context,
        CUCKOO,
        ReplyError,
        [
            reserve::CF_RESERVE,
            cf::add::ADD,
            cf::add::ADD_ABSENT,
            cf::add::INSERT,
            cf::add::INSERT_ABSENT,
            lookup::CF_EXISTS,
            lookup::CF_MULTI_EXISTS,
            lookup::CF_COUNT,
            cf::delete::DELETE,
            pack::CF_PACK_ADD,
            pack::CF_PACK_DELETE,
            pack::CF_PACK_EXISTS,
            cf::info::INFO,
            cf::info::DEBUG,
            transfer::CF_SCAN_DUMP,
            transfer::CF_LOAD_CHUNK,
            clear::CF_CLEAR,
            cf::delete::COMPACT,
        ]
    )
}
