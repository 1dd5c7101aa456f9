//! The portable kernel for sub-bitmaps of one cache line, used from an error rate of 0.43 % up.
//!
//! A probe is nine bits: one of eight words, one of its 64 bits. There is no branch on a bit, since
//! half of them would be mispredicted. With AVX-512, `avx512` replaces these functions.
//!
//! In 128 MiB, with 7 probes, batches of 32 and set bits not counted:
//!
//! | ns an item | one branch a probe | without | AVX-512 |
//! |---|---|---|---|
//! | lookup, half of the items present | 22 | 20 | 16 |
//! | insert of a new item | 41 | 30 | 24 |
//! | lookup, one at a time | 73 | 70 | 42 |

use super::{popcount, Inserted};
use crate::hash::G;

/// The maximum number of probes that every kernel supports: the lanes of an AVX-512 register. More
/// probes use this portable kernel.
pub const MAX_PROBES: u32 = 8;

#[inline]
pub fn contains(line: &[u64; 8], probes: u64, num_hashes: u32) -> bool {
    let mut x = probes;
    let mut all = 1;
    for _ in 0..num_hashes {
        all &= line[word_of(x)] >> bit_of(x);
        x = x.wrapping_mul(G);
    }
    all & 1 == 1
}

#[inline]
pub fn insert(line: &mut [u64; 8], probes: u64, num_hashes: u32) -> Inserted {
    if contains(line, probes, num_hashes) {
        return Inserted::NOTHING;
    }
    let mut x = probes;
    let mut new_bits = 0;
    for _ in 0..num_hashes {
        let word = &mut line[word_of(x)];
        new_bits += 1 - (*word >> bit_of(x) & 1) as u32;
        *word |= 1 << bit_of(x);
        x = x.wrapping_mul(G);
    }
    Inserted::new(new_bits, popcount::count(line))
}

/// The top three bits of a probe: `multiply_high(x, 512) / 64`.
#[inline]
fn word_of(x: u64) -> usize {
    (x >> 61) as usize
}

/// The six bits after those: `multiply_high(x, 512) % 64`.
#[inline]
fn bit_of(x: u64) -> u64 {
    x >> 55 & 63
}
