//! Filters as bytes: one format for RDB files, DUMP, AOF, SCANDUMP and LOADCHUNK.
//!
//! A filter is written as a chain of chunks of at most 1 MiB. Each chunk is complete in itself:
//!
//! ```text
//!   chunk    "SBF" version:1 | start:8 next:8 filler:108 | filter:8 | record… | checksum:8
//!   record   1  filter       seed:8 error_rate:f64 capacity:8 expansion:4
//!            2  sub-filter   index:4 layout:1 sub_bitmap_bits:4 num_hashes:4 num_sub_bitmaps:8
//!                            capacity:8 error_rate:f64 guard_limit:8 items:8
//!            3  segment      index of the sub-filter:4 segment:8 length:4 bytes
//!            4  end          loading:8 loaded:4
//!            5  table        error_rate:f64 payload_bits:1
//!            6  page         length:2 bytes (`table::record`)
//!            7  end of table items:8 removed:8
//!            8  counting     seed:8 error_rate:f64 capacity:8 expansion:2 bucket_size:2
//!               filter       iterations:2
//!            9  windowed     seed:8 error_rate:f64 capacity:8 expansion:4 seconds:4 slices:1
//!               filter       renew:1
//!           10  filter from  seed:8 options:4 growth:4
//!               RedisBloom
//!            2  its layer    index:4 layout:1 entries:8 error_rate:f64 hashes:4 bits_per_item:f64
//!                            bits:8 n2:1 items:8
//!           11  state        latest:8 dead:2 sweeping:2 swept:8 (payload:1 items:8)…
//!           12  sparse       index of the sub-filter:4 segment:8 length:4 (sub-bitmap:2 bytes)…
//!               segment
//! ```
//!
//! docs/format.md says what each field means. All numbers are little-endian. `start` is the
//! iterator that the chunk was made for and `next` the one after it. `filter` is a hash of the head
//! record (1, 8, 9 or 10), equal in all chunks of a chain, so that a chunk of another filter does
//! not fit.
//!
//! A chunk can be made from the filter alone, at any time, in bounded time; a chain can be
//! interrupted, stored and continued.
//!
//! # The filler hides the seed
//! Whoever knows a filter's seed can choose items that collide, and a server's slow log keeps the
//! first 128 bytes of an argument. With the filler, those bytes are the head: the filter's hash,
//! which gives the seed away, and everything else about the filter come after it. In a dump the
//! server may compress the chunk, so the filler is made of bytes that do not compress.
//!
//! # The decoder is total
//! Its input may come from anyone. It trusts no length, holds at most [`MEMORY_PER_BYTE`] bytes for
//! a byte it is given, checks every field before it changes a bit, and counts the set bits itself.
//! What it accepts is a filter that works in every respect; it cannot know whether the bits are
//! those of the intended items.
//!
//! # Versions
//! The version byte changes when an old reader would misread a chunk. The layout kind says how
//! items map to bits in a sub-filter: 1 is this module's, 2 RedisBloom's ([`crate::foreign`]), 3
//! RedisBloom's slots; 0 and 4 to 255 are reserved.

mod decode;
mod digest;
mod encode;
mod file;
mod format;

pub use crate::storage::MEMORY_PER_BYTE;
pub use decode::{is_chunk, load_chunk, Chunk};
pub use encode::{chunks, encode_chunk, Encoded, Outline};
pub use file::{FileError, FileReader, FileWriter};
pub use format::{StoredType, END, LOGGED_BYTES, MAX_CHUNK_BYTES};

#[cfg(test)]
mod table_tests;
#[cfg(test)]
mod tests;
