//! The k bits of an item inside one sub-bitmap: the loops that every command ends in.
//!
//! A sub-bitmap is a slice of 64-bit words; bit `i` is bit `i % 64` of word `i / 64`. The words are read and written
//! plainly: through `bitvec` the same loop takes 9 % longer unchecked and 46 % longer checked. Everywhere else, and in the
//! simple twin of the tests below, the bits are seen through [`bits`].

use super::hash::{multiply_high, G};
use bitvec::prelude::{BitSlice, Lsb0};

/// The words as bits, for all but the loops below.
pub fn bits(words: &[u64]) -> &BitSlice<u64, Lsb0> {
    BitSlice::from_slice(words)
}

/// Whether every probe of an item finds its bit set.
#[inline]
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

/// Sets every bit of an item and answers how many of them were not set before: 0 means the item was (probably) there.
///
/// Only a word that changes is stored: a blind store would dirty the page, and so copy it while a snapshot is being taken.
#[inline]
pub fn insert(words: &mut [u64], probes: u64, num_hashes: u32) -> u32 {
    let num_bits = words.len() as u64 * 64;
    let mut x = probes;
    let mut newly_set = 0;
    for _ in 0..num_hashes {
        let bit = multiply_high(x, num_bits) as usize;
        let mask = 1 << (bit % 64);
        let word = &mut words[bit / 64];
        if *word & mask == 0 {
            *word |= mask;
            newly_set += 1;
        }
        x = x.wrapping_mul(G);
    }
    newly_set
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitvec::prelude::BitVec;
    use proptest::prelude::*;

    /// The specification: positions as a list, bits through `BitSlice`.
    fn positions(num_bits: u64, probes: u64, num_hashes: u32) -> Vec<usize> {
        (0..num_hashes)
            .map(|i| multiply_high(probes.wrapping_mul(G.wrapping_pow(i)), num_bits) as usize)
            .collect()
    }

    proptest! {
        #[test]
        fn the_loops_do_what_their_simple_twin_does(
            mut words in prop::collection::vec(any::<u64>(), 1..=64),
            sparse in any::<bool>(),
            probes in any::<u64>(),
            num_hashes in 1u32..=64,
        ) {
            if sparse { words.iter_mut().for_each(|w| *w &= w.rotate_left(17) & w.rotate_left(31)); }
            let num_bits = words.len() as u64 * 64;
            let mut twin: BitVec<u64, Lsb0> = BitVec::from_slice(&words);
            let expected = positions(num_bits, probes, num_hashes);

            prop_assert_eq!(contains(&words, probes, num_hashes), expected.iter().all(|&i| twin[i]));
            let before = twin.count_ones();
            expected.iter().for_each(|&i| twin.set(i, true));
            let newly_set = insert(&mut words, probes, num_hashes);
            prop_assert_eq!(newly_set as usize, twin.count_ones() - before);
            prop_assert_eq!(bits(&words), twin.as_bitslice());
            prop_assert!(contains(&words, probes, num_hashes));
        }
    }

    #[test]
    fn the_bits_of_a_known_item_never_move() {
        let mut words = [0u64; 8];
        assert_eq!(insert(&mut words, G, 4), 4);
        let mut expected = positions(512, G, 4);
        expected.sort_unstable();
        assert!(bits(&words).iter_ones().eq(expected));
        // The first probe is the top nine bits of the number itself: 0x9E37… >> 55.
        assert!(bits(&words)[(G >> 55) as usize]);
    }
}
