//! Count-min sketch, top-k and t-digest as a library, without a server.
//!
//! ```text
//!   cms        how often items have come              topk      which items come most often
//!   tdigest    how numbers are distributed            sketch    what a server does with each
//!   body       a sketch of all that comes, or of the last W seconds: a ring of slices (window)
//!   counters   tables of counters, in segments        rows      from an item to its counters
//!   batch      several items on their way at once     read      fields of saved sketches
//! ```

mod batch;
mod body;
pub mod cms;
mod counters;
pub mod error;
mod read;
mod rows;
mod sketch;
pub mod tdigest;
pub mod topk;
mod window;

pub use body::Part;
pub use error::DecodeError;
pub use rows::steps_to_hash;
pub use sketch::Sketch;
