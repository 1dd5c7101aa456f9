//! The loops for a sub-bitmap of exactly one cache line, which is what error rates from 0.43 % up have.
//!
//! A probe is nine bits: which of eight words, which of its 64 bits. There is no branch on a bit (half of them would be guessed
//! wrong), and with AVX-512 there is no loop either: the line is one register, and so are eight probes.
//!
//! | ns an item, 128 MiB, 7 probes, batches of 32, bits not counted | one branch a probe | without | AVX-512 |
//! |---|---|---|---|
//! | lookup, half of the items there | 22 | 20 | 16 |
//! | insert of a new item | 41 | 30 | 24 |
//! | lookup, one at a time | 73 | 70 | 42 |

use super::super::hash::G;
use super::{ones, Inserted};

/// Probes that fit a register of AVX-512.
pub const AVX512_PROBES: u32 = 8;

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
    Inserted::new(new_bits, ones::count(line))
}

/// The top three bits of a probe: `multiply_high(x, 512) / 64`.
#[inline]
fn word_of(x: u64) -> usize {
    (x >> 61) as usize
}

/// The six bits below: `multiply_high(x, 512) % 64`.
#[inline]
fn bit_of(x: u64) -> u64 {
    x >> 55 & 63
}

#[cfg(target_arch = "x86_64")]
pub use avx512::{contains_avx512, has_avx512, insert_avx512};
#[cfg(not(target_arch = "x86_64"))]
pub use {contains as contains_avx512, insert as insert_avx512};

#[cfg(not(target_arch = "x86_64"))]
pub fn has_avx512() -> bool {
    false
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::super::super::hash::G;
    use super::super::Inserted;
    use super::AVX512_PROBES;
    use std::arch::x86_64::*;
    use std::hint::black_box;

    /// Whether this processor can run the two functions below. Cost: some loads.
    pub fn has_avx512() -> bool {
        is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vpopcntdq")
    }

    /// G^0 … G^7: eight probes are one multiplication.
    const POWERS: [u64; 8] = {
        let mut powers = [1u64; 8];
        let mut i = 1;
        while i < 8 {
            powers[i] = powers[i - 1].wrapping_mul(G);
            i += 1;
        }
        powers
    };

    /// As [`super::contains`], for at most [`AVX512_PROBES`] probes.
    ///
    /// # Panics
    /// In debug builds, if the processor lacks what [`has_avx512`] asks for.
    #[inline]
    pub fn contains_avx512(line: &[u64; 8], probes: u64, num_hashes: u32) -> bool {
        debug_assert!(has_avx512() && num_hashes <= AVX512_PROBES);
        // SAFETY: `Loops::LineAvx512`, which leads here, is chosen where `has_avx512` holds.
        unsafe { contains_all(line, probes, num_hashes) }
    }

    /// As [`super::insert`], for at most [`AVX512_PROBES`] probes.
    ///
    /// # Panics
    /// As [`contains_avx512`].
    #[inline(always)]
    pub fn insert_avx512(line: &mut [u64; 8], probes: u64, num_hashes: u32) -> Inserted {
        debug_assert!(has_avx512() && num_hashes <= AVX512_PROBES);
        // SAFETY: as above.
        unsafe { insert_all(line, probes, num_hashes) }
    }

    /// The word and the bit of eight probes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    fn words_and_bits(probes: u64) -> (__m512i, __m512i) {
        let x = _mm512_mullo_epi64(_mm512_set1_epi64(probes as i64), load(&POWERS));
        let bits = _mm512_and_si512(_mm512_srli_epi64::<55>(x), _mm512_set1_epi64(63));
        (_mm512_srli_epi64::<61>(x), bits)
    }

    /// A mask of the first `num_hashes` lanes.
    #[inline]
    fn lanes(num_hashes: u32) -> u8 {
        ((1u32 << num_hashes) - 1) as u8
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load(words: &[u64; 8]) -> __m512i {
        // SAFETY: 64 bytes that are there; the load asks for no alignment.
        unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx512f,avx512dq")]
    fn contains_all(line: &[u64; 8], probes: u64, num_hashes: u32) -> bool {
        let (words, bits) = words_and_bits(probes);
        let probed = _mm512_permutexvar_epi64(words, load(line));
        let found = _mm512_test_epi64_mask(probed, _mm512_sllv_epi64(_mm512_set1_epi64(1), bits));
        found & lanes(num_hashes) == lanes(num_hashes)
    }

    /// A position behind the line.
    const NOWHERE: i64 = 512;

    /// Eight positions in one line of the stack, so that one store fills it and each is loaded alone.
    #[repr(align(64))]
    struct Positions([i64; 8]);

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn or_of_three(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
        _mm512_ternarylogic_epi64::<0xFE>(a, b, c)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vpopcntdq")]
    fn insert_all(line: &mut [u64; 8], probes: u64, num_hashes: u32) -> Inserted {
        let x = _mm512_mullo_epi64(_mm512_set1_epi64(probes as i64), load(&POWERS));
        let nowhere = _mm512_set1_epi64(NOWHERE);
        let probed = _mm512_mask_srli_epi64::<55>(nowhere, lanes(num_hashes), x);
        let mut positions = Positions([0; 8]);
        // SAFETY: 64 bytes that are there, aligned to as many.
        unsafe { _mm512_store_si512(positions.0.as_mut_ptr().cast(), probed) };
        // Through memory indeed: a load spreads a position over all lanes, where the compiler would shuffle registers.
        let Positions(positions) = black_box(&positions);
        // Lane `i` begins at bit `64 * i`. A shift by less than 0 or more than 63 leaves nothing of the one.
        let begins = _mm512_setr_epi64(0, 64, 128, 192, 256, 320, 384, 448);
        let mask = |position| {
            let shifts = _mm512_sub_epi64(_mm512_set1_epi64(position), begins);
            _mm512_sllv_epi64(_mm512_set1_epi64(1), shifts)
        };
        // The line comes last, in one step: whatever waits for it stands in the way of the next item.
        let [p0, p1, p2, p3, p4, p5, p6, p7] = positions;
        let some = or_of_three(mask(*p0), mask(*p1), mask(*p2));
        let others = or_of_three(mask(*p3), mask(*p4), mask(*p5));
        let most = or_of_three(some, others, mask(*p6));
        let before = load(line);
        let after = or_of_three(most, mask(*p7), before);
        // Both counts in one sum, as `Inserted` has them.
        let changed = _mm512_popcnt_epi64(_mm512_xor_si512(before, after));
        let shifted = _mm512_slli_epi64::<{ Inserted::WIDTH }>(changed);
        let counts = _mm512_add_epi64(shifted, _mm512_popcnt_epi64(after));
        let inserted = Inserted(_mm512_reduce_add_epi64(counts) as u32);
        if inserted.is_new() {
            // SAFETY: 64 bytes that are there and ours to write; the store asks for no alignment.
            unsafe { _mm512_storeu_si512(line.as_mut_ptr().cast(), after) };
        }
        inserted
    }
}
