//! The `CF.*` commands.
//!
//! ```text
//!   reserve   CF.RESERVE                 count     CF.COUNT
//!   add       CF.ADD, CF.ADDNX,          exists    CF.EXISTS, CF.MEXISTS
//!             CF.INSERT, CF.INSERTNX     delete    CF.DEL
//!   adding    what those four do         compact   CF.COMPACT
//!   dump      CF.SCANDUMP, CF.LOADCHUNK  info      CF.INFO, CF.DEBUG
//!   pack      CF.PACKADD, CF.PACKDEL, CF.PACKEXISTS
//! ```

mod add;
mod adding;
mod compact;
mod count;
mod delete;
mod dump;
mod exists;
mod info;
mod pack;
mod reserve;

use crate::commands::reply_error::ReplyError;
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
            exists::EXISTS,
            exists::MULTI_EXISTS,
            count::COUNT,
            delete::DELETE,
            pack::PACK_ADD,
            pack::PACK_DELETE,
            pack::PACK_EXISTS,
            info::INFO,
            info::DEBUG,
            dump::SCAN_DUMP,
            dump::LOAD_CHUNK,
            compact::COMPACT,
        ]
    )
}
