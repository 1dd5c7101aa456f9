//! Which bits an item sets in a filter from another module: double hashing, with MurmurHash2 in
//! RedisBloom and SipHash in valkey-bloom.

use siphasher::sip::SipHasher13;
use splitbloom_foundation::murmur::{murmur32, murmur64a};
use std::hash::Hasher as _;

/// Probes of an item whose cache lines are fetched together. docs/design.md has the times with 4
/// and 8.
pub const ROUND: usize = 4;

/// How items are hashed, which all sub-filters of a series have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hashing {
    /// MurmurHash2 of 32 bits, as in old filters.
    Bits32,
    /// MurmurHash64A.
    Bits64,
    /// SipHash-1-3 under two keys, as valkey-bloom does it.
    Sip(Keys),
}

/// The two keys of valkey-bloom, in its order.
pub type Keys = [[u8; 16]; 2];

/// The modulus of valkey-bloom's numbers: the largest prime of 64 bits.
const PRIME: u64 = 0xFFFF_FFFF_FFFF_FFC5;

/// The two hashes of an item, which give its numbers: number i is a + i * b. In valkey-bloom number
/// 1 is b itself, and those that follow are taken modulo a prime.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pair {
    a: u64,
    b: u64,
    is_sip: bool,
}

impl Hashing {
    /// The hashes of `item`.
    #[inline]
    pub fn pair(self, item: &[u8]) -> Pair {
        let [a, b] = match self {
            Self::Bits64 => {
                let a = murmur64a(item, 0xc6a4_a793_5bd1_e995);
                [a, murmur64a(item, a)]
            }
            Self::Bits32 => {
                let a = murmur32(item, 0x9747_b28c);
                [a, murmur32(item, a)].map(u64::from)
            }
            Self::Sip(keys) => keys.map(|key| {
                let mut hasher = SipHasher13::new_with_key(&key);
                // As Rust hashes a slice: its length comes first.
                hasher.write(&(item.len() as u64).to_le_bytes());
                hasher.write(item);
                hasher.finish()
            }),
        };
        let is_sip = matches!(self, Self::Sip(_));
        Pair { a, b, is_sip }
    }
}

impl Pair {
    /// The numbers of the item, from number `from` on.
    #[inline]
    pub fn numbers(self, from: usize) -> impl Iterator<Item = u64> {
        let first = self.a.wrapping_add(self.b.wrapping_mul(from as u64));
        let numbers = std::iter::successors(Some(first), move |x| Some(x.wrapping_add(self.b)));
        let numbers = numbers.zip(from..);
        numbers.map(move |(x, number)| match number {
            _ if !self.is_sip => x,
            0 => x,
            1 => self.b,
            _ => x.checked_sub(PRIME).unwrap_or(x),
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_valkey_bloom_are_taken_modulo_its_prime_after_the_first_two() {
        let pair = |a, b| Pair { a, b, is_sip: true };
        let numbers = |pair: Pair| pair.numbers(0).take(4).collect::<Vec<_>>();
        // Sums at the prime, one above it, and beyond 2^64.
        assert_eq!(numbers(pair(PRIME, 0)), [PRIME, 0, 0, 0], "the first is no sum");
        assert_eq!(numbers(pair(PRIME - 2, 1)), [PRIME - 2, 1, 0, 1], "nor is the second");
        assert_eq!(numbers(pair(u64::MAX, 1)), [u64::MAX, 1, 1, 2]);
        let later: Vec<u64> = pair(PRIME - 2, 1).numbers(2).take(2).collect();
        assert_eq!(later, [0, 1]);
    }
}
