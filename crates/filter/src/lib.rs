//! Bloom filters that grow, and filters that count and delete: those of splitbloom as a library,
//! without a server.
//!
//! Two ideas:
//! - **A Bloom filter is many small sub-bitmaps; a hash of the item picks one of them, and all k
//!   bits of the item lie inside it.**
//! - **What grows is a table of fingerprints; a page that is full splits by the next bit of the
//!   hash, and each entry pays for it with one bit of its fingerprint.**
//!
//! So no value, of any size, is one big block of memory, and an item costs one cache line (or a
//! few) and one page.
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
//!   bytes     numbers as bytes, and back             alloc   memory that may be refused
//! ```
//!
//! A filter built here can be loaded into a server, chunk by chunk, by its BF.LOADCHUNK:
//!
//! ```
//! use splitbloom_filter::codec::encode_chunk;
//! use splitbloom_filter::{Filter, Growth, Parameters, Seed, SizeLimit};
//!
//! let parameters = Parameters {
//!     error_rate: 0.01,
//!     capacity: 1_000,
//!     growth: Growth::Times(2),
//!     seed: Seed(0x5eed), // a server draws it at random
//! };
//! let mut filter = Filter::new(parameters, SizeLimit::Unlimited)?;
//! assert!(filter.add(b"apple", SizeLimit::Unlimited)?);
//! assert!(!filter.add(b"apple", SizeLimit::Unlimited)?, "it is there already");
//! let fruits = [b"pear".as_slice(), b"plum"];
//! filter.add_many(fruits.into_iter(), SizeLimit::Unlimited, |is_new| assert!(is_new))?;
//! assert!(filter.contains(b"plum"));
//!
//! let mut iterator = 0;
//! while let Some(chunk) = encode_chunk(&filter, iterator)? {
//!     iterator = chunk.next;
//!     // BF.LOADCHUNK key iterator chunk.bytes
//!     assert!(!chunk.bytes.is_empty());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod alloc;
pub mod bloom;
mod bytes;
pub mod codec;
pub mod error;
pub mod filter;
pub mod foreign;
pub mod hash;
pub mod math;
#[allow(unsafe_code, reason = "prefetch instructions")]
mod prefetch;
pub mod storage;
pub mod table;

pub use codec::StoredType;
pub use error::{AddError, DecodeError, UnionError};
pub use filter::{CountingParameters, Filter, Growth, Kind, Parameters, SizeLimit, Window};
pub use hash::Seed;

/// The name of the kernel for sub-bitmaps of one cache line on this machine, for people to read.
pub fn kernel_name() -> &'static str {
    bloom::sub_bitmap::Kernel::in_use().name()
}

/// The name of the instructions that growing tables use on this machine, for people to read.
pub fn table_kernel_name() -> &'static str {
    table::instructions_name()
}
