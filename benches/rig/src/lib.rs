//! What the benchmarks and examples share: servers of their own, medians over interleaved rounds,
//! and the tables that the documents show.
//!
//! # The map
//! ```text
//!   server      a server of our own                     process     what the kernel counts of it
//!   info        fields of its INFO                      slow        what is slow every time
//!   urls        items: URLs                             parts       what is to run
//!   statistics  medians                                 progress    of a long step
//!   table       a table, printed and saved              documents   where tables are shown
//! ```

pub mod documents;
pub mod info;
pub mod parts;
pub mod process;
pub mod progress;
pub mod server;
pub mod slow;
pub mod statistics;
pub mod table;
pub mod urls;

pub type Outcome<T> = Result<T, Box<dyn std::error::Error>>;
