//! The filter itself. This layer knows no server: it imports the standard library, its hash, views of bits
//! (`bitvec`), one call of the system (`libc`) and nothing else.
//!
//! The idea: **a filter is many small sub-bitmaps; a hash of the item picks one of them, and all k bits of the item lie inside
//! it.** So no value of any size is one big block of memory, and an item costs one cache line (or a few), one page.
//!
//! ```text
//!   Filter (one key)        scalable     a series of sub-filters, newest last; what is full gets a successor
//!   └ SplitBloom            split_bloom  a Bloom filter of fixed capacity
//!     └ Segments            segments     its bits: 64 KiB pieces, there once an item has touched them
//!       └ sub-bitmap        sub_bitmap   64 B to 4 KiB, in which the k bits of an item lie
//!
//!   hash      where an item's bits lie           model     how often such a sub-bitmap errs
//!   sizing    how many bits, probes, sub-bitmaps estimate  how many items, how many errors now
//!   fill      how full it is                     fill_guard  when it is too full, whoever filled it
//!   codec     a filter as bytes, and back        digest    one number for all of it
//!   memory    what the allocator holds           pages     when the memory comes
//!   shared    what two copies have in common      error     what can go wrong
//! ```

pub mod codec;
pub mod digest;
pub mod error;
pub mod estimate;
pub mod fill;
pub mod fill_guard;
pub mod hash;
pub mod memory;
pub mod model;
mod pages;
pub mod scalable;
pub mod segments;
mod shared;
pub mod sizing;
pub mod split_bloom;
mod sub_bitmap;
