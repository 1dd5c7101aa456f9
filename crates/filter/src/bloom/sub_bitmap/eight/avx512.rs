//! The lanes on the CPU.

use super::super::Inserted;
use super::Lanes;
use crate::bloom::sub_bitmap::eight;
use std::arch::x86_64::*;

/// Proof that the CPU has AVX-512 F, DQ and VPOPCNTDQ. Only [`Avx512::detect`] creates one, which
/// makes all functions below safe to call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Avx512(());

impl Avx512 {
    /// Takes a few loads.
    pub fn detect() -> Option<Self> {
        let is_there = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vpopcntdq");
        is_there.then_some(Self(()))
    }

    /// As [`eight::contains`].
    #[inline]
    pub fn contains(self, line: &[u64; 8], probes: u64, num_hashes: u32) -> bool {
        // SAFETY: `self` proves that the CPU has these features.
        unsafe { contains(self, line, probes, num_hashes) }
    }

    /// As [`eight::insert`].
    #[inline(always)]
    pub fn insert(self, line: &mut [u64; 8], probes: u64, num_hashes: u32) -> Inserted {
        // SAFETY: `self` proves that the CPU has these features.
        unsafe { insert(self, line, probes, num_hashes) }
    }
}

/// Compiled for the features, so that each operation below becomes one instruction.
#[target_feature(enable = "avx512f,avx512dq,avx512vpopcntdq")]
fn contains(lanes: Avx512, line: &[u64; 8], probes: u64, num_hashes: u32) -> bool {
    eight::contains(lanes, line, probes, num_hashes)
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vpopcntdq")]
fn insert(lanes: Avx512, line: &mut [u64; 8], probes: u64, num_hashes: u32) -> Inserted {
    eight::insert(lanes, line, probes, num_hashes)
}

impl Lanes for Avx512 {
    type Register = __m512i;

    #[inline(always)]
    fn load(self, words: &[u64; 8]) -> __m512i {
        // SAFETY: reads 64 live bytes; the load requires no alignment. `self` is the proof.
        unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store(self, a: __m512i, words: &mut [u64; 8]) {
        // SAFETY: writes 64 bytes that are borrowed mutably; the store requires no alignment.
        // `self` is the proof.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), a) }
    }

    #[inline(always)]
    fn splat(self, word: u64) -> __m512i {
        // SAFETY: `self` is the proof.
        unsafe { _mm512_set1_epi64(word as i64) }
    }

    #[inline(always)]
    fn and(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: `self` is the proof.
        unsafe { _mm512_and_si512(a, b) }
    }

    #[inline(always)]
    fn xor(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: `self` is the proof.
        unsafe { _mm512_xor_si512(a, b) }
    }

    #[inline(always)]
    fn or_of_three(self, a: __m512i, b: __m512i, c: __m512i) -> __m512i {
        /// The truth table of `a | b | c`: 0 if no bit is set, 1 for the other seven inputs.
        const OR: i32 = 0b1111_1110;
        // SAFETY: `self` is the proof.
        unsafe { _mm512_ternarylogic_epi64::<OR>(a, b, c) }
    }

    #[inline(always)]
    fn add(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: `self` is the proof.
        unsafe { _mm512_add_epi64(a, b) }
    }

    #[inline(always)]
    fn multiply(self, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: `self` is the proof.
        unsafe { _mm512_mullo_epi64(a, b) }
    }

    #[inline(always)]
    fn count_ones(self, a: __m512i) -> __m512i {
        // SAFETY: `self` is the proof.
        unsafe { _mm512_popcnt_epi64(a) }
    }

    #[inline(always)]
    fn sum(self, a: __m512i) -> u64 {
        // SAFETY: `self` is the proof.
        unsafe { _mm512_reduce_add_epi64(a) as u64 }
    }

    #[inline(always)]
    fn shift_left<const BITS: u32>(self, a: __m512i) -> __m512i {
        // SAFETY: `self` is the proof.
        unsafe { _mm512_slli_epi64::<BITS>(a) }
    }

    #[inline(always)]
    fn shift_right<const BITS: u32>(self, a: __m512i) -> __m512i {
        // SAFETY: `self` is the proof.
        unsafe { _mm512_srli_epi64::<BITS>(a) }
    }

    #[inline(always)]
    fn shift_right_some<const BITS: u32>(
        self,
        mask: u8,
        a: __m512i,
        otherwise: __m512i,
    ) -> __m512i {
        // SAFETY: `self` is the proof.
        unsafe { _mm512_mask_srli_epi64::<BITS>(otherwise, mask, a) }
    }

    #[inline(always)]
    fn shift_left_each(self, a: __m512i, distances: __m512i) -> __m512i {
        // SAFETY: `self` is the proof.
        unsafe { _mm512_sllv_epi64(a, distances) }
    }

    #[inline(always)]
    fn permute(self, a: __m512i, places: __m512i) -> __m512i {
        // SAFETY: `self` is the proof.
        unsafe { _mm512_permutexvar_epi64(places, a) }
    }

    #[inline(always)]
    fn have_common_bits(self, a: __m512i, b: __m512i) -> u8 {
        // SAFETY: `self` is the proof.
        unsafe { _mm512_test_epi64_mask(a, b) }
    }
}
