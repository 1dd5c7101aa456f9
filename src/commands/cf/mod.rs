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

use crate::server::command::register;
use crate::server::context::Context;
use crate::server::Refused;

/// Registers every command, in the ACL category `category` if the server has it.
///
/// # Errors
/// What the server refused.
pub fn register_all(context: &Context, category: &str) -> Result<(), Refused> {
    register::<reserve::Reserve>(context, category)?;
    register::<add::Add>(context, category)?;
    register::<add::AddAbsent>(context, category)?;
    register::<add::Insert>(context, category)?;
    register::<add::InsertAbsent>(context, category)?;
    register::<exists::Exists>(context, category)?;
    register::<exists::MultiExists>(context, category)?;
    register::<count::Count>(context, category)?;
    register::<delete::Delete>(context, category)?;
    register::<pack::PackAdd>(context, category)?;
    register::<pack::PackDelete>(context, category)?;
    register::<pack::PackExists>(context, category)?;
    register::<info::Info>(context, category)?;
    register::<info::Debug>(context, category)?;
    register::<dump::ScanDump>(context, category)?;
    register::<dump::LoadChunk>(context, category)?;
    register::<compact::Compact>(context, category)
}
