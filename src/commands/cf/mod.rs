//! The `CF.*` commands; [lookups](super::lookup), [transfer](super::transfer) in chunks and
//! [clear](super::clear) are shared with `BF.*`.
//!
//! ```text
//!   reserve   CF.RESERVE                 delete    CF.DEL
//!   add       CF.ADD, CF.ADDNX,          compact   CF.COMPACT
//!             CF.INSERT, CF.INSERTNX     info      CF.INFO, CF.DEBUG
//!   adding    what those four do
//!   pack      CF.PACKADD, CF.PACKDEL, CF.PACKEXISTS
//! ```

mod add;
mod adding;
mod compact;
mod delete;
mod info;
mod pack;
mod reserve;

use crate::commands::clear::CF_CLEAR;
use crate::commands::lookup::{CF_COUNT, CF_EXISTS, CF_MULTI_EXISTS};
use crate::commands::reply_error::ReplyError;
use crate::commands::transfer::{CF_LOAD_CHUNK, CF_SCAN_DUMP};
use splitbloom_server::context::Context;
use splitbloom_server::entry::Refused;
use splitbloom_server::register_commands;

/// Registers every command, in the ACL category `category` if the server has it.
///
/// # Errors
/// What the server refused.
pub fn register(context: &Context, category: &str) -> Result<(), Refused> {
    register_commands!(
        context,
        category,
        ReplyError,
        [
            reserve::RESERVE,
            add::ADD,
            add::ADD_ABSENT,
            add::INSERT,
            add::INSERT_ABSENT,
            CF_EXISTS,
            CF_MULTI_EXISTS,
            CF_COUNT,
            delete::DELETE,
            pack::PACK_ADD,
            pack::PACK_DELETE,
            pack::PACK_EXISTS,
            info::INFO,
            info::DEBUG,
            CF_SCAN_DUMP,
            CF_LOAD_CHUNK,
            CF_CLEAR,
            compact::COMPACT,
        ]
    )
}
