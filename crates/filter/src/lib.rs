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
//!   filter    a Bloom filter of the capacity reserved, and a table for what it has no room for
//!   any       whichever kind of filter a key of BF.* commands holds
//!   counting  a filter that counts and deletes: a table with a fingerprint for each copy
//!   windowed  a filter that forgets: a table whose fingerprints carry a slice of time
//!   foreign   filters of RedisBloom and valkey-bloom, read by their arithmetic; and a table
//!
//!   bloom     a blocked Bloom filter of fixed capacity, also called a sub-filter
//!   table     a table of fingerprints that grows page by page
//!   parts     what a filter is made of: one of them, or both
//!   storage   bits: inline, in one block, or in segments of 64 KiB allocated on first touch
//!   codec     a filter as bytes, and back      stored_type  the names of its types on a server
//!   math      false-positive rate of a sub-bitmap    hash   where an item belongs
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

pub mod any;
pub mod bloom;
pub mod codec;
pub mod counting;
pub mod error;
pub mod filter;
pub mod foreign;
mod group;
pub mod hash;
pub mod math;
mod parts;
#[allow(unsafe_code, reason = "prefetch instructions")]
mod prefetch;
mod size_limit;
pub mod storage;
mod stored_type;
pub mod table;
pub mod windowed;

pub use any::AnyFilter;
pub use counting::{CountingFilter, CountingParameters};
pub use error::{AddError, DecodeError, UnionError};
pub use filter::{Filter, Growth, Parameters, SizeLimit};
pub use foreign::ForeignFilter;
pub use hash::Seed;
pub use stored_type::StoredType;
pub use windowed::{Window, WindowedFilter};

/// The name of the kernel for sub-bitmaps of one cache line on this machine, for people to read.
pub fn kernel_name() -> &'static str {
    bloom::sub_bitmap::Kernel::in_use().name()
}

/// The name of the instructions that growing tables use on this machine, for people to read.
pub fn table_kernel_name() -> &'static str {
    table::instructions_name()
}
