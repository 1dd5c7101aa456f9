//! Count-min sketch, top-k and t-digest as a library, without a server.
//!
//! ```text
//!   cms        how often items have come              topk      which items come most often
//!   window     a sketch over the last W seconds       tdigest   how numbers are distributed
//!   counters   tables of counters, in segments        rows      from an item to its counters
//!   batch      several items on their way at once     sketch    what a server does with each
//! ```

mod batch;
pub mod cms;
pub mod counters;
pub mod error;
mod rows;
mod sketch;
pub mod tdigest;
pub mod topk;
pub mod window;

pub use error::DecodeError;
pub use rows::steps_to_hash;
pub use sketch::Sketch;
