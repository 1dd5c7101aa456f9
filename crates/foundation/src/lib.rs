#![doc = include_str!("../README.md")]
//!
//! ```text
//!   alloc      memory that may be refused, and moved
//!   segment    64 KiB of zeroed cache lines        shared     a value with several owners
//!   prefetch   hints about cache lines             murmur     MurmurHash2
//!   fields     what a saved value consists of     number     numbers as clients write them
//!   span       lengths of time in slices       packing    many items in one argument
//!   attachment what the owner of a value keeps with it
//!   slot       a part that a copy shares       math       powers, the same on every machine
//! ```
#![deny(missing_docs)]

pub mod alloc;
pub mod attachment;
pub mod fields;
pub mod math;
#[allow(unsafe_code, reason = "AVX2, where the CPU has it")]
pub mod murmur;
pub mod number;
pub mod packing;
#[allow(unsafe_code, reason = "prefetch instructions")]
pub mod prefetch;
#[allow(
    unsafe_code,
    reason = "a segment is zeroed memory, requested by page, seen as cache lines and as words"
)]
pub mod segment;
#[allow(unsafe_code, reason = "counted owners, as in Arc")]
pub mod shared;
pub mod slot;
pub mod span;

/// The atomic type that `shared` counts owners with. `fuzz/threads` compiles `shared` with another.
mod atomic {
    pub use std::sync::atomic::{AtomicUsize, Ordering};
}

pub use alloc::OutOfMemory;
