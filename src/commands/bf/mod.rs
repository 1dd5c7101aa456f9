//! The `BF.*` commands.
//!
//! ```text
//!   reserve   BF.RESERVE                    exists   BF.EXISTS, BF.MEXISTS
//!   add       BF.ADD, BF.MADD, BF.INSERT    dump     BF.SCANDUMP, BF.LOADCHUNK
//!   info      BF.INFO, BF.CARD              keys     BF.KEYS
//!   debug     BF.DEBUG                      forget   BF.FORGET
//!   time      when items come               pack     BF.PACKADD, BF.PACKEXISTS
//!   merge     BF.MERGE                      load     BF.LOAD
//! ```

mod add;
mod debug;
mod dump;
mod exists;
mod forget;
mod info;
mod keys;
mod load;
mod merge;
mod pack;
mod reserve;
mod time;

use crate::server::command::register;
use crate::server::context::Context;
use crate::server::Refused;

/// Sub-filters that BF.DEBUG and BF.INFO show of a filter, the newest. A filter that an earlier
/// version grew with EXPANSION 1 may have thousands, which nobody reads.
const SHOWN_SUB_FILTERS: usize = 1000;

/// Registers every command, in the ACL category `category` if the server has it.
///
/// # Errors
/// What the server refused.
pub fn register_all(context: &Context, category: &str) -> Result<(), Refused> {
    register::<reserve::Reserve>(context, category)?;
    register::<add::Add>(context, category)?;
    register::<add::MultiAdd>(context, category)?;
    register::<add::Insert>(context, category)?;
    register::<exists::Exists>(context, category)?;
    register::<exists::MultiExists>(context, category)?;
    register::<pack::PackAdd>(context, category)?;
    register::<pack::PackExists>(context, category)?;
    register::<merge::Merge>(context, category)?;
    register::<info::Info>(context, category)?;
    register::<info::Card>(context, category)?;
    register::<debug::Debug>(context, category)?;
    register::<dump::ScanDump>(context, category)?;
    register::<dump::LoadChunk>(context, category)?;
    register::<load::Load>(context, category)?;
    register::<forget::Forget>(context, category)?;
    register::<keys::Keys>(context, category)
}

/// How many of a filter's sub-filters are not shown, and those that are.
fn newest<B>(series: &[B]) -> (usize, &[B]) {
    let (left_out, shown) = series.split_at(series.len().saturating_sub(SHOWN_SUB_FILTERS));
    (left_out.len(), shown)
}
