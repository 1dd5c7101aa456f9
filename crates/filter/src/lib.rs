#![doc = include_str!("../README.md")]
//!
//! # The map
//! Two ideas:
//! - **A Bloom filter is many small sub-bitmaps; a hash of the item picks one of them, and all k
//!   bits of the item lie inside it.**
//! - **What grows is a table of fingerprints; a page that is full splits by the next bit of the
//!   hash, and each entry pays for it with one bit of its fingerprint.**
//!
//! ```text
//!   filter    one value for whatever a key holds: it keeps its items, counts and deletes them, or
//!             forgets them after a time; what these have in common, and a policy for each
//!   codec     a filter as bytes, and back; the names of its types on a server
//!   foreign   filters of RedisBloom and valkey-bloom, read by their arithmetic
//!
//!   bloom     a blocked Bloom filter of fixed capacity, also called a sub-filter
//!   table     a table of fingerprints that grows page by page
//!   storage   bits: inline, in one block, or in segments of 64 KiB allocated on first touch
//!   math      false-positive rate of a sub-bitmap    hash    where an item belongs
//!   bytes     numbers as bytes, and back
//! ```
#![deny(missing_docs)]

pub mod codec;
pub mod error;
pub mod filter;
pub mod foreign;

// `doc(hidden)`: only for modules, tools, tests and benchmarks of this workspace. It is not part of
// the interface, and any release may change it.
#[doc(hidden)]
pub mod bloom;
mod bytes;
#[doc(hidden)]
pub mod hash;
#[doc(hidden)]
pub mod math;
#[doc(hidden)]
pub mod storage;
#[doc(hidden)]
pub mod table;

pub use codec::StoredType;
pub use error::{AddError, DecodeError, UnionError};
pub use filter::{CountingParameters, Filter, Growth, Kind, Parameters, SizeLimit, Window};
pub use hash::{ItemHash, Seed};

/// The name of the kernel for sub-bitmaps of one cache line on this machine, for people to read.
pub fn kernel_name() -> &'static str {
    bloom::sub_bitmap::Kernel::in_use().name()
}

/// The name of the instructions that growing tables use on this machine, for people to read.
pub fn table_kernel_name() -> &'static str {
    table::instructions_name()
}
