//! Filters from other modules: RedisBloom's, read and tested with their own arithmetic.
//!
//! A filter does not store its items, so it often cannot be rebuilt. Its bits are therefore taken
//! as they are, and tested as RedisBloom tests them: every item that was present still is, and
//! every other one gets the same answer as before.
//!
//! ```text
//!   layers       Bloom filters of RedisBloom, and of valkey-bloom, which differ by the hash alone
//!   cuckoo       filters of RedisBloom that count and delete
//!   redisbloom   RedisBloom's Bloom filters in RDB files and DUMP, and the pieces of BF.SCANDUMP
//!   valkey       valkey-bloom's, in RDB files and BF.LOAD
//! ```
//!
//! ```
//! use splitbloom_filter::{Filter, Seed, SizeLimit};
//!
//! // What RedisBloom's BF.SCANDUMP returns after BF.RESERVE key 0.01 3 NONSCALING and an item.
//! let mut header = 1u64.to_le_bytes().to_vec();
//! header.extend([1u32, 13, 2].map(u32::to_le_bytes).as_flattened());
//! let bits_per_item = 9.585058377367446f64.to_bits();
//! let layer = [8, 64, 1, 0.01f64.to_bits(), bits_per_item];
//! header.extend(layer.map(u64::to_le_bytes).as_flattened());
//! header.extend(7u32.to_le_bytes());
//! header.extend(3u64.to_le_bytes());
//! header.push(0);
//!
//! let seed = Seed(0x5eed); // a server draws it at random
//! let mut filter = Filter::begin_redisbloom(&header, seed, SizeLimit::Unlimited)?;
//! filter.take_piece(9, &[0xff; 8])?; // as if all bits were set
//! assert!(filter.contains(b"anything"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The table after the layers
//! An item that is not in the layers goes into the table, never into the old bits, so their error
//! rate no longer rises. The table gets what the layers leave of the requested error rate, at
//! least a 64th; each halving costs a bit per item, so an item takes at most 6 bits more than in a
//! table with the whole rate. A filter that does not grow takes as many more items as its last
//! layer has room for.
//!
//! # What it costs
//! In each layer up to the first that has the item, a lookup reads as many cache lines as the layer
//! has hashes, and one line of the table. It cost the same in RedisBloom; a batch overlaps the
//! misses of 16 items ([`Layer`]). Bits are in segments, as in our own filters
//! ([`crate::storage`]): allocated where a bit is set, shared by copies, and freed, saved and moved
//! one by one.
//!
//! The hash is not keyed: whoever knows RedisBloom can choose items that are false positives of the
//! layers. Items added here are hashed with the seed.
//!
//! # What is refused
//! Encoding versions above 4, and every field that is out of range or contradicts another one
//! (docs/format.md lists all of them). Bytes that pass these checks form a filter that works in
//! every respect; the reader cannot know whether the bits are those of the intended items.

pub mod cuckoo;
mod fields;
mod layer;
pub(crate) mod layers;
mod pieces;
mod probes;
pub mod redisbloom;
pub mod valkey;

pub use fields::Source;
pub use layer::{Description, Layer};
pub use layers::Layers;
pub use splitbloom_foundation::fields::Fields;

#[cfg(test)]
pub(crate) mod tests;
