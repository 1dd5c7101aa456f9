//! Each structure a second time, for tests: as plain as possible, of numbers and bytes alone, and
//! written from the formats' description, so that it shares no mistake with the crates that are
//! compared with it. Those must accept what these readers accept, refuse what they refuse, and
//! return the same.
//!
//! ```text
//!   plain_reader  chunks and files of filters, and a writer of chunks
//!   redisbloom    RedisBloom's Bloom filters     \  layers has what
//!   valkey_bloom  valkey-bloom's                 /  the two share
//!   cuckoo        RedisBloom's cuckoo filters
//!   count_min     count-min sketches             \  with windows, too,
//!   heavy_keeper  top-k sketches                 /  which are slices
//!   tdigest       saved t-digests
//!   stream        any bytes as the fields of a saved value
//!   murmur        the hash of what RedisBloom makes
//! ```

pub mod count_min;
pub mod cuckoo;
pub mod heavy_keeper;
pub mod layers;
pub mod murmur;
pub mod plain_reader;
pub mod redisbloom;
mod slices;
pub mod stream;
pub mod tdigest;
pub mod valkey_bloom;

/// Each number in as many bytes as `widths` says, the least significant first.
pub fn written<const N: usize>(widths: [usize; N], numbers: [u64; N]) -> Vec<u8> {
    let numbers = numbers.map(u64::to_le_bytes);
    widths.iter().zip(&numbers).flat_map(|(width, bytes)| &bytes[..*width]).copied().collect()
}

/// `None` unless `hold`, so that a reader can end with `?`.
fn must(hold: bool) -> Option<()> {
    hold.then_some(())
}

/// A little-endian number.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}
