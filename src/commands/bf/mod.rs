//! The `BF.*` commands; those that `CF.*` has as well stand in the modules of
//! [both families](super).
//!
//! ```text
//!   add      BF.ADD, BF.MADD, BF.INSERT    merge    BF.MERGE
//!   info     BF.INFO, BF.CARD              shrink   BF.SHRINK
//!   debug    BF.DEBUG                      forget   BF.FORGET
//!   keys     BF.KEYS                       changes  BF.CHANGES
//! ```

mod add;
mod changes;
mod debug;
mod forget;
mod info;
mod keys;
mod merge;
mod shrink;

use crate::commands::clear::BF_CLEAR;
use crate::commands::lookup::{BF_EXISTS, BF_MULTI_EXISTS};
use crate::commands::pack::{BF_PACK_ADD, BF_PACK_EXISTS};
use crate::commands::reply_error::ReplyError;
use crate::commands::reserve::BF_RESERVE;
use crate::commands::transfer::{BF_LOAD, BF_LOAD_CHUNK, BF_SCAN_DUMP};
use splitbloom_filter::foreign::{Layer, Layers};
use splitbloom_filter::Filter;
use splitbloom_server::context::Context;
use splitbloom_server::entry::Refused;
use splitbloom_server::register_commands;

/// The number of sub-filters that BF.DEBUG and BF.INFO show: the newest ones. A filter that
/// RedisBloom grew with EXPANSION 1 may have thousands.
const SHOWN_SUB_FILTERS: usize = 1000;

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
            BF_RESERVE,
            add::ADD,
            add::MULTI_ADD,
            add::INSERT,
            BF_EXISTS,
            BF_MULTI_EXISTS,
            BF_PACK_ADD,
            BF_PACK_EXISTS,
            merge::MERGE,
            shrink::SHRINK,
            info::INFO,
            info::CARD,
            debug::DEBUG,
            BF_SCAN_DUMP,
            BF_LOAD_CHUNK,
            BF_LOAD,
            BF_CLEAR,
            forget::FORGET,
            keys::KEYS,
            changes::CHANGES,
        ]
    )
}

/// The number of sub-filters from another module that are not shown, and those that are shown.
fn newest(filter: &Filter) -> (usize, &[Layer]) {
    let layers = filter.layers().map_or(&[][..], Layers::each);
    let (left_out, shown) = layers.split_at(layers.len().saturating_sub(SHOWN_SUB_FILTERS));
    (left_out.len(), shown)
}
