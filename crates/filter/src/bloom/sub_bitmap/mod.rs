//! The k bits of an item inside one sub-bitmap: the kernel of every command.
//!
//! A sub-bitmap is a slice of 64-bit words; bit `i` is bit `i % 64` of word `i / 64`. The kernel
//! reads and writes plain words: through `bitvec` the same loop takes 9 % longer unchecked and 46 %
//! longer checked. All other code, and the specification in the tests below, reads bits through
//! [`crate::storage::bits`].

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "calls what is compiled for a newer processor")]
mod avx512;
mod kernel;
mod line;
#[allow(unsafe_code, reason = "calls what is compiled for a newer processor")]
mod popcount;

#[cfg(test)]
pub use kernel::chosen;
pub use kernel::Kernel;

use crate::bloom::shape::LINE_BITS;
use crate::hash::{multiply_high, G};
use crate::storage::LINE_WORDS;
use splitbloom_foundation::prefetch;

/// The maximum number of lines prefetched of a sub-bitmap: all of them down to an error rate of
/// 1e-6, then those of the first probes.
const MAX_PREFETCHED: usize = 8;

/// What an item changed in its sub-bitmap. It is one word, because instructions that depend on the
/// sub-bitmap occupy the reorder buffer while it comes from memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inserted(u32);

impl Inserted {
    /// The item was already present.
    pub const NOTHING: Self = Self(0);
    /// Width of the lower part, which holds the set bits; a sub-bitmap has at most 2^19. The upper
    /// part holds the new bits, at most 64.
    const WIDTH: u32 = 24;

    /// `new_bits` bits were clear before; `set_bits` are set now, the new ones included.
    #[inline]
    pub fn new(new_bits: u32, set_bits: u32) -> Self {
        debug_assert!(new_bits < 1 << (32 - Self::WIDTH) && set_bits < 1 << Self::WIDTH);
        Self(new_bits << Self::WIDTH | set_bits)
    }

    /// Whether any bit was clear before; if none was, the item was (probably) present.
    #[inline]
    pub fn is_new(self) -> bool {
        self.new_bits() > 0
    }

    /// The number of bits that were clear before.
    #[inline]
    pub fn new_bits(self) -> u32 {
        self.0 >> Self::WIDTH
    }

    /// The number of bits that are set now; may be 0 instead if none is new.
    #[inline]
    pub fn set_bits(self) -> u32 {
        self.0 & ((1 << Self::WIDTH) - 1)
    }
}

/// The maximum number of lines that [`prefetch()`] prefetches of a sub-bitmap of `words` words.
pub fn prefetched_lines(words: usize) -> usize {
    words.div_ceil(LINE_WORDS).min(MAX_PREFETCHED)
}

/// Prefetches the lines that an item's probes fall into.
#[inline]
pub fn prefetch(words: &[u64], probes: u64, num_hashes: u32) {
    if words.len() <= MAX_PREFETCHED * LINE_WORDS {
        for line in words.chunks(LINE_WORDS) {
            prefetch::prefetch(&line[0]);
        }
        return;
    }
    let num_bits = words.len() as u64 * 64;
    let mut x = probes;
    for _ in 0..num_hashes.min(MAX_PREFETCHED as u32) {
        prefetch::prefetch(&words[multiply_high(x, num_bits) as usize / 64]);
        x = x.wrapping_mul(G);
    }
}

/// Whether every probe of an item finds its bit set.
pub fn contains(words: &[u64], probes: u64, num_hashes: u32) -> bool {
    let num_bits = words.len() as u64 * 64;
    let mut x = probes;
    for _ in 0..num_hashes {
        let bit = multiply_high(x, num_bits) as usize;
        if words[bit / 64] & (1 << (bit % 64)) == 0 {
            return false;
        }
        x = x.wrapping_mul(G);
    }
    true
}

/// The number of set bits.
pub fn count_ones(words: &[u64]) -> u32 {
    popcount::count(words)
}

/// Sets every bit of an item, and returns how many were clear before and how many are set now. If
/// all are set already it stores nothing: a store would dirty the page, which a snapshot would then
/// copy.
///
/// It tests first, then stores unconditionally. A branch on each bit would be mispredicted half the
/// time, which costs more (359 against 328 ns an item for 29 probes in 2 KiB, 75 against 60 ns for
/// 10 in 128 bytes). Testing all bits, rather than stopping at the first clear one, made inserts
/// one at a time 15 % faster and batches 12 % slower.
pub fn insert(words: &mut [u64], probes: u64, num_hashes: u32) -> Inserted {
    if contains(words, probes, num_hashes) {
        return Inserted::NOTHING;
    }
    let num_bits = words.len() as u64 * 64;
    let (mut x, mut new_bits) = (probes, 0);
    for _ in 0..num_hashes {
        let bit = multiply_high(x, num_bits) as usize;
        let word = &mut words[bit / 64];
        new_bits += 1 - (*word >> (bit % 64) & 1) as u32;
        *word |= 1 << (bit % 64);
        x = x.wrapping_mul(G);
    }
    Inserted::new(new_bits, count_ones(words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::bits;
    use bitvec::prelude::{BitVec, Lsb0};
    use proptest::prelude::*;

    /// The specification: positions as a list, bits through `BitSlice`.
    fn positions(num_bits: u64, probes: u64, num_hashes: u32) -> Vec<usize> {
        (0..num_hashes)
            .map(|i| multiply_high(probes.wrapping_mul(G.wrapping_pow(i)), num_bits) as usize)
            .collect()
    }

    /// Every kernel for lines that this processor can run: see [`chosen`].
    fn all_line_kernels(num_hashes: u32) -> Vec<Kernel> {
        let mut kernels = chosen::all();
        kernels.retain(|&kernel| kernel == Kernel::Portable || num_hashes <= line::MAX_PROBES);
        kernels
    }

    proptest! {
        #[test]
        fn the_loops_do_what_their_simple_twin_does(
            mut words in prop_oneof![
                prop::collection::vec(any::<u64>(), 8),
                prop::collection::vec(any::<u64>(), 1..=64),
            ],
            sparse in any::<bool>(),
            probes in any::<u64>(),
            num_hashes in prop_oneof![1u32..=8, 1u32..=64],
        ) {
            if sparse {
                let thin = |w: &mut u64| *w &= w.rotate_left(17) & w.rotate_left(31);
                words.iter_mut().for_each(thin);
            }
            let num_bits = words.len() as u64 * 64;
            let mut twin: BitVec<u64, Lsb0> = BitVec::from_slice(&words);
            let expected = positions(num_bits, probes, num_hashes);

            let is_there = expected.iter().all(|&i| twin[i]);
            let before = twin.count_ones();
            expected.iter().for_each(|&i| twin.set(i, true));
            let after = twin.count_ones();
            let is_right = |inserted: Inserted| {
                inserted.new_bits() as usize == after - before
                    && (after == before || inserted.set_bits() as usize == after)
            };
            if let Ok(line) = <[u64; 8]>::try_from(words.as_slice()) {
                for kernel in all_line_kernels(num_hashes) {
                    let mut line = line;
                    prop_assert_eq!(kernel.contains(&line, probes, num_hashes), is_there);
                    let inserted = kernel.insert(&mut line, probes, num_hashes);
                    prop_assert!(is_right(inserted), "{:?}", inserted);
                    prop_assert_eq!(bits(&line), twin.as_bitslice());
                    prop_assert!(kernel.contains(&line, probes, num_hashes));
                }
            }
            prop_assert_eq!(contains(&words, probes, num_hashes), is_there);
            let inserted = insert(&mut words, probes, num_hashes);
            prop_assert!(is_right(inserted), "{:?}", inserted);
            prop_assert_eq!(bits(&words), twin.as_bitslice());
            prop_assert!(contains(&words, probes, num_hashes));
        }
    }

    #[test]
    fn the_bits_of_a_known_item_never_move() {
        let mut words = [0u64; 8];
        assert_eq!(insert(&mut words, G, 4).new_bits(), 4);
        let mut expected = positions(512, G, 4);
        expected.sort_unstable();
        assert!(bits(&words).iter_ones().eq(expected));
        // The first probe is the top nine bits of the number itself: 0x9E37… >> 55.
        assert!(bits(&words)[(G >> 55) as usize]);
    }
}
