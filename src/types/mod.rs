//! The module's data types.
//!
//! ```text
//!   family      the filters of BF.* and of CF.*, and the names of their types
//!   origin      reads a value: one that we saved, or another module
//!   stored      a value: a filter that the server keeps
//!   chunks      its bytes in a file
//!   timetable   when a filter that forgets is visited
//! ```
//!
//! Each uses only what stands below it.

mod chunks;
mod family;
mod origin;
mod stored;
pub mod timetable;

pub use family::{register, BloomFilter, BloomFilters, CountingFilter, CountingFilters};
pub use stored::{Family, Stored};

use splitbloom_filter::Filter;
use splitbloom_server::clock::time_of_command;

/// The time for lookups in `filter` if it has a window; 0 otherwise.
pub fn now_for(filter: &Filter) -> u64 {
    filter.window().map_or(0, |_| time_of_command())
}
