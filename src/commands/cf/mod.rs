//! The `CF.*` commands; those that `BF.*` has as well stand in the modules of
//! [both families](super).
//!
//! ```text
//!   add     CF.ADD, CF.ADDNX, CF.INSERT, CF.INSERTNX
//!   delete  CF.DEL, CF.COMPACT
//!   info    CF.INFO, CF.DEBUG
//! ```

mod add;
mod delete;
mod info;

use crate::commands::clear::CF_CLEAR;
use crate::commands::lookup::{CF_COUNT, CF_EXISTS, CF_MULTI_EXISTS};
use crate::commands::pack::{CF_PACK_ADD, CF_PACK_DELETE, CF_PACK_EXISTS};
use crate::commands::reply_error::ReplyError;
use crate::commands::reserve::CF_RESERVE;
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
            CF_RESERVE,
            add::ADD,
            add::ADD_ABSENT,
            add::INSERT,
            add::INSERT_ABSENT,
            CF_EXISTS,
            CF_MULTI_EXISTS,
            CF_COUNT,
            delete::DELETE,
            CF_PACK_ADD,
            CF_PACK_DELETE,
            CF_PACK_EXISTS,
            info::INFO,
            info::DEBUG,
            CF_SCAN_DUMP,
            CF_LOAD_CHUNK,
            CF_CLEAR,
            delete::COMPACT,
        ]
    )
}
