//! Which bits an item has in a filter of RedisBloom's: double hashing with MurmurHash2.

use super::murmur::{murmur32, murmur64a};

/// Probes of an item whose cache lines are fetched together. docs/design.md has the times with 4 and
/// 8.
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
    /// The numbers of the item, from number `from` on.
    #[inline]
    pub fn numbers(self, from: usize) -> impl Iterator<Item = u64> {
        let first = self.a.wrapping_add(self.b.wrapping_mul(from as u64));
        std::iter::successors(Some(first), move |x| Some(x.wrapping_add(self.b)))
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
    /// A bit that is clear.
    pub const NONE: Self = Self { word: &0, bit: 0 };
}

/// Whether all of these bits are set. It reads all of them: a branch on each, wrong every other
/// time for an absent item, would take longer.
#[inline]
pub fn all_set(probes: &[Probe<'_>]) -> bool {
    let bits = probes.iter().map(|probe| probe.word >> (probe.bit % 64));
    bits.fold(1, |all, bit| all & bit) == 1
}
