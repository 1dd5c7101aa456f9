//! What the benchmarks and examples share: contenders on servers of their own, medians over
//! interleaved rounds, a load, and the tables that the documents show.
//!
//! # The map
//! ```text
//!   settings    parts, sizes, rounds, tables                server      a server of our own
//!   statistics  rounds, their order and medians             info        fields of its INFO
//!   load        items through a few busy connections        process     what the kernel counts
//!   urls        items: URLs                                 slow        what is slow every time
//!   table       a table, printed and saved                  samples     what is seen meanwhile
//!   documents   where tables are shown                      progress    of a long step
//!   pipelined   commands of redis-rs
//! ```

pub mod documents;
pub mod info;
pub mod load;
mod pipelined;
mod process;
mod progress;
mod samples;
mod server;
mod settings;
mod slow;
mod statistics;
mod table;
mod urls;

pub use pipelined::pipelined;
pub use process::{cpu_seconds, prefer};
pub use progress::Progress;
pub use samples::{ping, samples_during};
pub use server::{Port, Server, Setup};
pub use settings::{named, run_parts, Part, Settings};
pub use slow::{slow_commands, slowest_in_every, Slow};
pub use statistics::{in_words, median, order, percent, percentile, rounds, Rounds};
pub use table::{Cell, Table};
pub use urls::write_url;

pub type Outcome<T> = Result<T, Box<dyn std::error::Error>>;
