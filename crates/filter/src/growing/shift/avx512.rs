//! All words at once, in one register. A shift across words is one instruction here.

use super::{Bytes, Parting};
use std::arch::x86_64::*;

/// Lets a slot in over what stands above `bottom`, and adds to the first word.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2")]
pub fn let_in(line: &mut Bytes, parting: Parting, value: u64, to_head: u64) {
    let words = Words::load(line);
    let (start, high) = (from(parting.start), from(parting.high));
    let unary = words.and(start.xor(from(parting.bottom))).up(1);
    let slots = words.and(from(parting.low()).xor(high)).down(parting.bits);
    let others = words.and_not(start.xor(high));
    let new = at(parting.top(), value);
    others.or(unary).or(slots.or(new)).add(to_head).store(line);
}

/// Lets a slot out, and adds to the first word.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2")]
pub fn let_out(line: &mut Bytes, parting: Parting, to_head: u64) {
    let words = Words::load(line);
    let (start, bottom) = (from(parting.start), from(parting.bottom));
    let unary = words.and(from(parting.start + 1).and_not(bottom)).down(1);
    let slots = words.and(bottom.xor(from(parting.top()))).up(parting.bits);
    let others = words.and_not(start.xor(from(parting.high)));
    others.or(unary).or(slots).add(to_head).store(line);
}

/// The words of a line.
#[derive(Clone, Copy)]
struct Words(__m512i);

/// In each word the number of its first bit.
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
    // A shift by 64 or more leaves nothing, one by less than nothing is none.
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
    // Shifts are modulo 2^64, so that all but one of a word's two leave nothing.
    Words(_mm512_or_si512(
        _mm512_sllv_epi64(value, _mm512_sub_epi64(bit, first_bits())),
        _mm512_srlv_epi64(value, _mm512_sub_epi64(first_bits(), bit)),
    ))
}

impl Words {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load(line: &Bytes) -> Self {
        // SAFETY: 64 bytes, at any address.
        Self(unsafe { _mm512_loadu_si512(line.as_ptr().cast()) })
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn store(self, line: &mut Bytes) {
        // SAFETY: as above.
        unsafe { _mm512_storeu_si512(line.as_mut_ptr().cast(), self.0) };
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

    /// Moved up by `by` bits, less than 64. Those that the last word loses are clear.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vbmi2")]
    fn up(self, by: usize) -> Self {
        // Each word with the one below; the first one with the last one.
        let below = _mm512_alignr_epi64::<7>(self.0, self.0);
        let by = _mm512_set1_epi64(by as i64);
        Self(_mm512_shldv_epi64(self.0, below, by))
    }

    /// Moved down by `by` bits, less than 64. Those that the first word loses are clear.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vbmi2")]
    fn down(self, by: usize) -> Self {
        // Each word with the one above; the last one with the first one.
        let above = _mm512_alignr_epi64::<1>(self.0, self.0);
        let by = _mm512_set1_epi64(by as i64);
        Self(_mm512_shrdv_epi64(self.0, above, by))
    }
}
