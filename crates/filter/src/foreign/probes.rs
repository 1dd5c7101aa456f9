//! Which bits an item has in a filter of RedisBloom's: double hashing with MurmurHash2.

use super::murmur::{murmur32, murmur64a};

/// Probes whose cache lines are fetched together.
pub const ROUND: usize = 4;

/// How items are hashed, which all sub-filters of a series have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hashing {
    /// MurmurHash2 of 32 bits, as in filters of old.
    Bits32,
    /// MurmurHash64A.
    Bits64,
}

/// The two hashes of an item; number i of it is a + i * b.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pair {
    a: u64,
    b: u64,
}

impl Hashing {
    /// The hashes of `item`.
    #[inline]
    pub fn pair(self, item: &[u8]) -> Pair {
        match self {
            Self::Bits64 => {
                let a = murmur64a(item, 0xc6a4_a793_5bd1_e995);
                let b = murmur64a(item, a);
                Pair { a, b }
            }
            Self::Bits32 => {
                let a = murmur32(item, 0x9747_b28c);
                let b = murmur32(item, a);
                Pair {
                    a: a.into(),
                    b: b.into(),
                }
            }
        }
    }
}

impl Pair {
    /// The numbers of the item from `from` on, at most a round of them.
    #[inline]
    pub fn round(self, from: u32, hashes: u32) -> impl Iterator<Item = u64> {
        let end = hashes.min(from + ROUND as u32);
        (from..end).map(move |i| self.a.wrapping_add(u64::from(i).wrapping_mul(self.b)))
    }

    /// All rounds.
    #[inline]
    pub fn rounds(self, hashes: u32) -> impl Iterator<Item = impl Iterator<Item = u64>> {
        (0..hashes)
            .step_by(ROUND)
            .map(move |from| self.round(from, hashes))
    }
}

/// A bit of a filter, and the word that holds it.
#[derive(Clone, Copy)]
pub struct Probe<'a> {
    pub word: &'a u64,
    /// Its number in the filter, of which the last six bits are the place in the word.
    pub bit: u64,
}

impl Probe<'_> {
    /// 1 if the bit is set.
    #[inline]
    pub fn bit(self) -> u64 {
        self.word >> (self.bit % 64) & 1
    }
}
