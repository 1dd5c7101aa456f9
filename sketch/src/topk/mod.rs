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
use splitbloom_server::arguments::Argument;
use splitbloom_server::command::add_category;
use splitbloom_server::context::Context;
use splitbloom_server::data_type;
use splitbloom_server::entry::Refused;
use splitbloom_server::lapse;
use splitbloom_server::register_commands;
use value::StoredTopK;

/// The ACL category, on servers that let a module create one.
const CATEGORY: &str = "topk";

/// Registers types and commands.
///
/// # Errors
/// What the server refused.
pub fn register(context: &Context) -> Result<(), Refused> {
    lapse::register::<StoredTopK>();
    add_category(context, CATEGORY);
    data_type::register::<StoredTopK>(context)?;
    register_commands!(
        context,
        CATEGORY,
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

/// A value has moved to `key`: one of these waits there for the end of its slice.
pub fn moved(context: &Context, key: Argument<'_>) {
    lapse::moved::<StoredTopK>(context, key);
}
