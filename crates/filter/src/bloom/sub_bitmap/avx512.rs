//! The kernel for one cache line and at most eight probes, with AVX-512: the line is one register,
//! the probes another. Lane `i` of a register holds word `i` of the line, or probe `i`.

use super::line::MAX_PROBES;
use super::Inserted;
use crate::hash::G;
use std::arch::x86_64::*;
use std::hint::black_box;
use std::mem::transmute;

/// G^0 to G^7: one multiplication gives eight probes.
const POWERS: [u64; 8] = {
    let mut powers = [1u64; 8];
    let mut i = 1;
    while i < 8 {
        powers[i] = powers[i - 1].wrapping_mul(G);
        i += 1;
    }
    powers
};

/// A position beyond the line.
const NOWHERE: i64 = 512;

/// The truth table of `a | b | c`: 0 if no bit is set, 1 for the other seven inputs.
const OR: i32 = 0b1111_1110;

/// Eight positions in one line of the stack: one store writes them and each is loaded alone.
#[repr(align(64))]
struct Positions([u64; 8]);

/// Proof that the CPU has AVX-512 F, DQ and VPOPCNTDQ. Only [`Avx512::detect`] creates one.
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

    /// As [`super::line::contains`], for at most [`MAX_PROBES`] probes.
    #[inline]
    pub fn contains(self, line: &[u64; 8], probes: u64, num_hashes: u32) -> bool {
        // SAFETY: `self` proves that the CPU has these features.
        unsafe { contains(line, probes, num_hashes) }
    }

    /// As [`super::line::insert`], for at most [`MAX_PROBES`] probes.
    #[inline(always)]
    pub fn insert(self, line: &mut [u64; 8], probes: u64, num_hashes: u32) -> Inserted {
        // SAFETY: `self` proves that the CPU has these features.
        unsafe { insert(line, probes, num_hashes) }
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512vpopcntdq")]
fn contains(line: &[u64; 8], probes: u64, num_hashes: u32) -> bool {
    let x = multiples(probes);
    let bits = _mm512_and_si512(_mm512_srli_epi64::<55>(x), _mm512_set1_epi64(63));
    let words = _mm512_srli_epi64::<61>(x);
    let probed = _mm512_permutexvar_epi64(words, register(*line));
    let bits = _mm512_sllv_epi64(_mm512_set1_epi64(1), bits);
    let found = _mm512_test_epi64_mask(probed, bits);
    found & first_lanes(num_hashes) == first_lanes(num_hashes)
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vpopcntdq")]
fn insert(line: &mut [u64; 8], probes: u64, num_hashes: u32) -> Inserted {
    let (x, nowhere) = (multiples(probes), _mm512_set1_epi64(NOWHERE));
    let probed = _mm512_mask_srli_epi64::<55>(nowhere, first_lanes(num_hashes), x);
    let positions = Positions(words(probed));
    // Deliberately through memory: a load spreads a position over all lanes, where the compiler
    // would shuffle registers.
    let Positions([p0, p1, p2, p3, p4, p5, p6, p7]) = *black_box(&positions);
    // The line is used last, in one step: instructions that wait for it occupy the reorder buffer
    // that the next item needs.
    let some = _mm512_ternarylogic_epi64::<OR>(bit(p0), bit(p1), bit(p2));
    let others = _mm512_ternarylogic_epi64::<OR>(bit(p3), bit(p4), bit(p5));
    let most = _mm512_ternarylogic_epi64::<OR>(some, others, bit(p6));
    let before = register(*line);
    let after = _mm512_ternarylogic_epi64::<OR>(most, bit(p7), before);
    // Both counts in one sum, as `Inserted` has them.
    let changed = _mm512_popcnt_epi64(_mm512_xor_si512(before, after));
    let shifted = _mm512_slli_epi64::<{ Inserted::WIDTH }>(changed);
    let counts = _mm512_add_epi64(shifted, _mm512_popcnt_epi64(after));
    let inserted = Inserted(_mm512_reduce_add_epi64(counts) as u32);
    if inserted.is_new() {
        *line = words(after);
    }
    inserted
}

/// The positions of eight probes are the top nine bits of these.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn multiples(probes: u64) -> __m512i {
    _mm512_mullo_epi64(_mm512_set1_epi64(probes as i64), register(POWERS))
}

/// A mask of the first `num_hashes` lanes.
#[inline(always)]
fn first_lanes(num_hashes: u32) -> u8 {
    debug_assert!(num_hashes <= MAX_PROBES);
    ((1u32 << num_hashes) - 1) as u8
}

/// A line with the bit at `position` set, empty for [`NOWHERE`]. In the other lanes the distance is
/// above 63, or negative and so huge as unsigned, and the shift leaves 0.
#[inline]
#[target_feature(enable = "avx512f")]
fn bit(position: u64) -> __m512i {
    let to_lane = _mm512_set_epi64(-448, -384, -320, -256, -192, -128, -64, 0);
    let distances = _mm512_add_epi64(_mm512_set1_epi64(position as i64), to_lane);
    _mm512_sllv_epi64(_mm512_set1_epi64(1), distances)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn register(words: [u64; 8]) -> __m512i {
    // SAFETY: 64 bytes on both sides, and any bits are a register.
    unsafe { transmute(words) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn words(register: __m512i) -> [u64; 8] {
    // SAFETY: 64 bytes on both sides, and any bits are words.
    unsafe { transmute(register) }
}
