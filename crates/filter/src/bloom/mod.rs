//! A blocked Bloom filter of fixed capacity (Putze, Sanders, Singler, "Cache-, hash- and
//! space-efficient Bloom filters", 2007).
//!
//! ```text
//!   sub_bitmap     the k bits of an item            shape    how many sub-bitmaps, bits, probes
//!   guard          when it is too full              sizing   shape for a capacity and error rate
//!   fill           how full it is                   estimate items and false-positive rate now
//!   blocked_bloom  puts them together         union    the bits of two
//!   fold           the same in fewer sub-bitmaps
//! ```

pub mod blocked_bloom;
mod estimate;
pub mod fill;
pub(crate) mod fold;
pub mod guard;
pub mod shape;
pub mod sizing;
pub(crate) mod sub_bitmap;
mod union;
