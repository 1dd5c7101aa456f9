//! What the fuzzers in `fuzz/` run and `cargo test` replays: one function a target, from any bytes to nothing, that panics where a law is broken.
//!
//! ```text
//!   decode      a chain of pieces, its checksums put right      \  the decoder against plain_reader,
//!   chunks      pieces in any order, changed, cut, repeated     /  a second reader of the format; memory is measured
//!   operations  adds, lookups, copies, transfers, moves            against sets of items
//!   options     the words of BF.RESERVE, BF.INSERT, loadmodule     against what the words mean
//! ```
//!
//! `laws` is what holds of every filter, wherever it came from.

pub mod chunks;
pub mod decode;
mod laws;
mod loaded;
pub mod operations;
pub mod options;
mod plain_reader;

#[cfg(test)]
mod kept;
