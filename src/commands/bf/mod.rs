//! The `BF.*` commands; those that `CF.*` has as well stand in the modules of
//! [both families](super).
//!
//! ```text
//!   add      BF.ADD, BF.MADD, BF.INSERT    merge    BF.MERGE
//!   info     BF.INFO, BF.CARD              shrink   BF.SHRINK
//!   debug    BF.DEBUG                      forget   BF.FORGET
//!   keys     BF.KEYS                       changes  BF.CHANGES
//! ```

pub mod add;
pub mod changes;
pub mod debug;
pub mod forget;
pub mod info;
pub mod keys;
pub mod merge;
pub mod shrink;

use splitbloom_filter::foreign::{Layer, Layers};
use splitbloom_filter::Filter;

/// The number of sub-filters that BF.DEBUG and BF.INFO show: the newest ones. A filter that
/// RedisBloom grew with EXPANSION 1 may have thousands.
const SHOWN_SUB_FILTERS: usize = 1000;

/// The number of sub-filters from another module that are not shown, and those that are shown.
fn newest(filter: &Filter) -> (usize, &[Layer]) {
    let layers = filter.layers().map_or(&[][..], Layers::each);
    let (left_out, shown) = layers.split_at(layers.len().saturating_sub(SHOWN_SUB_FILTERS));
    (left_out.len(), shown)
}
