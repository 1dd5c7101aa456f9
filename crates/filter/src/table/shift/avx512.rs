//! The words of a line in one register. A shift across words is one instruction.

use super::{Bytes, Shift};
use std::arch::x86_64::*;
use std::mem::transmute;

vector_kernel!("avx512f,avx512bw,avx512vbmi2");

/// The words of a line.
#[derive(Clone, Copy)]
struct Words(__m512i);

/// The number of each word's first bit.
#[inline]
#[target_feature(enable = "avx512f")]
fn first_bits() -> __m512i {
    _mm512_set_epi64(448, 384, 320, 256, 192, 128, 64, 0)
}

/// All bits from `bit` on.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn from(bit: usize) -> Words {
    let (ones, bit) = (_mm512_set1_epi64(-1), _mm512_set1_epi64(bit as i64));
    // A shift by 64 or more leaves nothing, and a negative one becomes 0.
    Words(_mm512_sllv_epi64(
        ones,
        _mm512_subs_epu16(bit, first_bits()),
    ))
}

/// A value of less than 64 bits from `bit` on.
#[inline]
#[target_feature(enable = "avx512f")]
fn at(bit: usize, value: u64) -> Words {
    let (value, bit) = (
        _mm512_set1_epi64(value as i64),
        _mm512_set1_epi64(bit as i64),
    );
    // The shift that is negative, and so huge as unsigned, leaves nothing.
    Words(_mm512_or_si512(
        _mm512_sllv_epi64(value, _mm512_sub_epi64(bit, first_bits())),
        _mm512_srlv_epi64(value, _mm512_sub_epi64(first_bits(), bit)),
    ))
}

impl Words {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load(line: &Bytes) -> Self {
        // SAFETY: 64 bytes on both sides, and any bits are a vector.
        Self(unsafe { transmute::<Bytes, __m512i>(*line) })
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn store(self, line: &mut Bytes) {
        // SAFETY: 64 bytes on both sides, and any bits are bytes.
        *line = unsafe { transmute::<__m512i, Bytes>(self.0) };
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn and(self, other: Self) -> Self {
        Self(_mm512_and_si512(self.0, other.0))
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn and_not(self, other: Self) -> Self {
        Self(_mm512_andnot_si512(other.0, self.0))
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn or(self, other: Self) -> Self {
        Self(_mm512_or_si512(self.0, other.0))
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn xor(self, other: Self) -> Self {
        Self(_mm512_xor_si512(self.0, other.0))
    }

    /// Adds to the first word, modulo 2^64.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn add(self, to_head: u64) -> Self {
        let to_head = _mm512_zextsi128_si512(_mm_cvtsi64_si128(to_head as i64));
        Self(_mm512_add_epi64(self.0, to_head))
    }

    /// All words moved up by `by` bits, less than 64. The bits shifted out of the last word are 0.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vbmi2")]
    fn up(self, by: usize) -> Self {
        // Each word's lower neighbour; for the first word, the last one.
        let below = _mm512_alignr_epi64::<7>(self.0, self.0);
        let by = _mm512_set1_epi64(by as i64);
        Self(_mm512_shldv_epi64(self.0, below, by))
    }

    /// All words moved down by `by` bits, less than 64. The bits shifted out of the first word are
    /// 0.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vbmi2")]
    fn down(self, by: usize) -> Self {
        // Each word's upper neighbour; for the last word, the first one.
        let above = _mm512_alignr_epi64::<1>(self.0, self.0);
        let by = _mm512_set1_epi64(by as i64);
        Self(_mm512_shrdv_epi64(self.0, above, by))
    }
}
