//! The commands. A command is parse, open, act, propagate, reply.
//!
//! ```text
//!   reserve   BF.RESERVE                       options     the words of RESERVE and INSERT
//!   add       BF.ADD, BF.MADD, BF.INSERT       numbers     numbers as clients write them
//!   exists    BF.EXISTS, BF.MEXISTS            parameters  what COMMAND DOCS shows of arguments
//!   info      BF.INFO, BF.CARD                 text        every error a client can see
//!   dump      BF.SCANDUMP, BF.LOADCHUNK
//!   keys      BF.KEYS
//! ```

mod add;
mod dump;
mod exists;
mod info;
mod keys;
pub mod numbers;
pub mod options;
mod parameters;
mod reserve;
pub mod text;

use crate::redis::command::{add_category, register, Refused};
use crate::redis::context::Context;

/// The ACL category of all commands, where the server can make one.
const CATEGORY: &str = "bloom";

/// Registers every command.
///
/// # Errors
/// What the server refused.
pub fn register_all(context: &Context) -> Result<(), Refused> {
    add_category(context, CATEGORY);
    register::<reserve::Reserve>(context, CATEGORY)?;
    register::<add::Add>(context, CATEGORY)?;
    register::<add::MultiAdd>(context, CATEGORY)?;
    register::<add::Insert>(context, CATEGORY)?;
    register::<exists::Exists>(context, CATEGORY)?;
    register::<exists::MultiExists>(context, CATEGORY)?;
    register::<info::Info>(context, CATEGORY)?;
    register::<info::Card>(context, CATEGORY)?;
    register::<dump::ScanDump>(context, CATEGORY)?;
    register::<dump::LoadChunk>(context, CATEGORY)?;
    register::<keys::Keys>(context, CATEGORY)
}
