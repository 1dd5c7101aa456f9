//! The words of a line in two registers.

use super::{Bytes, Shift};
use std::arch::x86_64::*;
use std::mem::transmute;

/// Inserts a slot, over whatever is above `bottom`, and adds `to_head` to the first word.
#[inline]
#[target_feature(enable = "avx2")]
pub fn insert(line: &mut Bytes, shift: Shift, value: u64, to_head: u64) {
    let words = Words::load(line);
    let (start, high) = (from(shift.start), from(shift.high));
    let unary = words.and(start.xor(from(shift.bottom))).up(1);
    let slots = words.and(from(shift.low()).xor(high)).down(shift.bits);
    let others = words.and_not(start.xor(high));
    let new = at(shift.top(), value);
    others.or(unary).or(slots.or(new)).add(to_head).store(line);
}

/// Removes a slot, and adds `to_head` to the first word.
#[inline]
#[target_feature(enable = "avx2")]
pub fn remove(line: &mut Bytes, shift: Shift, to_head: u64) {
    let words = Words::load(line);
    let (start, bottom) = (from(shift.start), from(shift.bottom));
    let unary = words.and(from(shift.start + 1).and_not(bottom)).down(1);
    let slots = words.and(bottom.xor(from(shift.top()))).up(shift.bits);
    let others = words.and_not(start.xor(from(shift.high)));
    others.or(unary).or(slots).add(to_head).store(line);
}

/// The words of a line.
#[derive(Clone, Copy)]
struct Words(__m256i, __m256i);

/// The number of each word's first bit.
#[inline]
#[target_feature(enable = "avx2")]
fn first_bits() -> Words {
    let low = _mm256_set_epi64x(192, 128, 64, 0);
    Words(low, _mm256_add_epi64(low, _mm256_set1_epi64x(256)))
}

/// All bits from `bit` on.
#[inline]
#[target_feature(enable = "avx2")]
fn from(bit: usize) -> Words {
    let (ones, bit) = (_mm256_set1_epi64x(-1), _mm256_set1_epi64x(bit as i64));
    // A shift by 64 or more leaves nothing, and a negative one becomes 0.
    let Words(low, high) = first_bits();
    Words(
        _mm256_sllv_epi64(ones, _mm256_subs_epu16(bit, low)),
        _mm256_sllv_epi64(ones, _mm256_subs_epu16(bit, high)),
    )
}

/// A value of less than 64 bits from `bit` on.
#[inline]
#[target_feature(enable = "avx2")]
fn at(bit: usize, value: u64) -> Words {
    let (value, bit) = (_mm256_set1_epi64x(value as i64), _mm256_set1_epi64x(bit as i64));
    let Words(low, high) = first_bits();
    // The shift that is negative, and so huge as unsigned, leaves nothing.
    Words(
        _mm256_or_si256(
            _mm256_sllv_epi64(value, _mm256_sub_epi64(bit, low)),
            _mm256_srlv_epi64(value, _mm256_sub_epi64(low, bit)),
        ),
        _mm256_or_si256(
            _mm256_sllv_epi64(value, _mm256_sub_epi64(bit, high)),
            _mm256_srlv_epi64(value, _mm256_sub_epi64(high, bit)),
        ),
    )
}

impl Words {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(line: &Bytes) -> Self {
        // SAFETY: 64 bytes on both sides, and any bits are a vector.
        let [low, high] = unsafe { transmute::<Bytes, [__m256i; 2]>(*line) };
        Self(low, high)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn store(self, line: &mut Bytes) {
        // SAFETY: 64 bytes on both sides, and any bits are bytes.
        *line = unsafe { transmute::<[__m256i; 2], Bytes>([self.0, self.1]) };
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn and(self, other: Self) -> Self {
        Self(_mm256_and_si256(self.0, other.0), _mm256_and_si256(self.1, other.1))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn and_not(self, other: Self) -> Self {
        Self(_mm256_andnot_si256(other.0, self.0), _mm256_andnot_si256(other.1, self.1))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn or(self, other: Self) -> Self {
        Self(_mm256_or_si256(self.0, other.0), _mm256_or_si256(self.1, other.1))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn xor(self, other: Self) -> Self {
        Self(_mm256_xor_si256(self.0, other.0), _mm256_xor_si256(self.1, other.1))
    }

    /// Adds to the first word, modulo 2^64.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn add(self, to_head: u64) -> Self {
        let to_head = _mm256_set_epi64x(0, 0, 0, to_head as i64);
        Self(_mm256_add_epi64(self.0, to_head), self.1)
    }

    /// All words moved up by `by` bits, less than 64. The bits shifted out of the last word are 0.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn up(self, by: usize) -> Self {
        // Each word's lower neighbour; for the first word, the last one.
        let low = _mm256_permute4x64_epi64::<0b10_01_00_11>(self.0);
        let high = _mm256_permute4x64_epi64::<0b10_01_00_11>(self.1);
        let below = Self(
            _mm256_blend_epi32::<0b0000_0011>(low, high),
            _mm256_blend_epi32::<0b0000_0011>(high, low),
        );
        let (by, across) = counts(by);
        Self(
            _mm256_or_si256(_mm256_sll_epi64(self.0, by), _mm256_srl_epi64(below.0, across)),
            _mm256_or_si256(_mm256_sll_epi64(self.1, by), _mm256_srl_epi64(below.1, across)),
        )
    }

    /// All words moved down by `by` bits, less than 64. The bits shifted out of the first word are
    /// 0.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn down(self, by: usize) -> Self {
        // Each word's upper neighbour; for the last word, the first one.
        let low = _mm256_permute4x64_epi64::<0b00_11_10_01>(self.0);
        let high = _mm256_permute4x64_epi64::<0b00_11_10_01>(self.1);
        let above = Self(
            _mm256_blend_epi32::<0b1100_0000>(low, high),
            _mm256_blend_epi32::<0b1100_0000>(high, low),
        );
        let (by, across) = counts(by);
        Self(
            _mm256_or_si256(_mm256_srl_epi64(self.0, by), _mm256_sll_epi64(above.0, across)),
            _mm256_or_si256(_mm256_srl_epi64(self.1, by), _mm256_sll_epi64(above.1, across)),
        )
    }
}

/// The two distances of a shift by `by` bits: within a word, and between neighbours.
#[inline]
#[target_feature(enable = "avx2")]
fn counts(by: usize) -> (__m128i, __m128i) {
    (_mm_cvtsi64_si128(by as i64), _mm_cvtsi64_si128(64 - by as i64))
}
