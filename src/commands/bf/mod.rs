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

use crate::commands::reply_error::ReplyError;
use crate::commands::{clear, lookup, pack, reserve, transfer};
use splitbloom_filter::foreign::{Layer, Layers};
use splitbloom_filter::Filter;
use splitbloom_server::context::Context;
use splitbloom_server::entry::Refused;
use splitbloom_server::register_commands;

/// The number of sub-filters that BF.DEBUG and BF.INFO show: the newest ones. A filter that
/// RedisBloom grew with EXPANSION 1 may have thousands.
const SHOWN_SUB_FILTERS: usize = 1000;

/// The number of sub-filters from another module that are not shown, and those that are shown.
fn newest(filter: &Filter) -> (usize, &[Layer]) {
    let layers = filter.layers().map_or(&[][..], Layers::each);
    let (left_out, shown) = layers.split_at(layers.len().saturating_sub(SHOWN_SUB_FILTERS));
    (left_out.len(), shown)
}

/// Registers the commands.
///
/// # Errors
/// What the server refused.
pub fn register(context: &Context) -> Result<(), Refused> {
    register_commands!(
        context,
        "bloom",
        ReplyError,
        [
            reserve::BF_RESERVE,
            add::ADD,
            add::MULTI_ADD,
            add::INSERT,
            lookup::BF_EXISTS,
            lookup::BF_MULTI_EXISTS,
            pack::BF_PACK_ADD,
            pack::BF_PACK_EXISTS,
            merge::MERGE,
            shrink::SHRINK,
            info::INFO,
            info::CARD,
            debug::DEBUG,
            transfer::BF_SCAN_DUMP,
            transfer::BF_LOAD_CHUNK,
            transfer::BF_LOAD,
            clear::BF_CLEAR,
            forget::FORGET,
            keys::KEYS,
            changes::CHANGES,
        ]
    )
}
