//! The `TOPK.*` commands.
//!
//! ```text
//!   reserve   TOPK.RESERVE
//!   add       TOPK.ADD, TOPK.INCRBY, and both with a time
//!   read      TOPK.QUERY, TOPK.COUNT, TOPK.LIST, TOPK.INFO
//!   value     how values are saved
//! ```

mod add;
pub mod read;
mod reserve;
mod value;

use crate::errors::ReplyError;
use crate::stored;
use splitbloom_server::context::Context;
use splitbloom_server::entry::Refused;
use splitbloom_server::register_commands;
use splitbloom_sketch::topk::TopK;

/// Registers types and commands.
///
/// # Errors
/// What the server refused.
pub fn register(context: &Context) -> Result<(), Refused> {
    stored::register::<TopK>(context)?;
    register_commands!(
        context,
        "topk",
        ReplyError,
        [
            reserve::RESERVE,
            add::ADD,
            add::INCRBY,
            add::ADD_AT,
            add::INCRBY_AT,
            read::QUERY,
            read::COUNT,
            read::LIST,
            read::INFO,
        ]
    )
}
