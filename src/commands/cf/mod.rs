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

use crate::commands::reply_error::ReplyError;
use crate::commands::{clear, lookup, pack, reserve, transfer};
use splitbloom_server::context::Context;
use splitbloom_server::entry::Refused;
use splitbloom_server::register_commands;

/// Registers the commands.
///
/// # Errors
/// What the server refused.
pub fn register(context: &Context) -> Result<(), Refused> {
    register_commands!(
        context,
        "cuckoo",
        ReplyError,
        [
            reserve::CF_RESERVE,
            add::ADD,
            add::ADD_ABSENT,
            add::INSERT,
            add::INSERT_ABSENT,
            lookup::CF_EXISTS,
            lookup::CF_MULTI_EXISTS,
            lookup::CF_COUNT,
            delete::DELETE,
            pack::CF_PACK_ADD,
            pack::CF_PACK_DELETE,
            pack::CF_PACK_EXISTS,
            info::INFO,
            info::DEBUG,
            transfer::CF_SCAN_DUMP,
            transfer::CF_LOAD_CHUNK,
            clear::CF_CLEAR,
            delete::COMPACT,
        ]
    )
}
