//! The kernel for one cache line and at most eight probes: the line is one register, the probes
//! another.
//!
//! It is written once, over the operations of [`Lanes`], of which there are two implementations.
//! [`avx512`] is the CPU, one intrinsic per operation. The model is eight plain words, for tests
//! only: it runs the kernel's own source on any machine, and machines with AVX-512 compare each of
//! its operations with the CPU.

use super::line::MAX_PROBES;
use super::Inserted;
use crate::hash::G;
use std::hint::black_box;

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

/// Added to a position in the line, gives its distance in each lane: minus 64 for each lane before.
const TO_LANE: [u64; 8] = {
    let mut to_lane = [0u64; 8];
    let mut i = 1;
    while i < 8 {
        to_lane[i] = to_lane[i - 1].wrapping_sub(64);
        i += 1;
    }
    to_lane
};

/// A position beyond the line.
const NOWHERE: u64 = 512;

/// Eight positions in one line of the stack: one store writes them and each is loaded alone.
#[repr(align(64))]
struct Positions([u64; 8]);

/// The positions of eight probes are the top nine bits of these.
#[inline(always)]
fn multiples<L: Lanes>(lanes: L, probes: u64) -> L::Register {
    lanes.multiply(lanes.splat(probes), lanes.load(&POWERS))
}

/// A mask of the first `num_hashes` lanes.
#[inline(always)]
fn first_lanes(num_hashes: u32) -> u8 {
    debug_assert!(num_hashes <= MAX_PROBES);
    ((1u32 << num_hashes) - 1) as u8
}

/// As [`super::line::contains`], for at most [`MAX_PROBES`] probes.
#[inline(always)]
pub fn contains<L: Lanes>(lanes: L, line: &[u64; 8], probes: u64, num_hashes: u32) -> bool {
    let x = multiples(lanes, probes);
    let words = lanes.shift_right::<61>(x);
    let bits = lanes.and(lanes.shift_right::<55>(x), lanes.splat(63));
    let probed = lanes.permute(lanes.load(line), words);
    let found = lanes.have_common_bits(probed, lanes.shift_left_each(lanes.splat(1), bits));
    found & first_lanes(num_hashes) == first_lanes(num_hashes)
}

/// As [`super::line::insert`], for at most [`MAX_PROBES`] probes.
#[inline(always)]
pub fn insert<L: Lanes>(lanes: L, line: &mut [u64; 8], probes: u64, num_hashes: u32) -> Inserted {
    let x = multiples(lanes, probes);
    let nowhere = lanes.splat(NOWHERE);
    let probed = lanes.shift_right_some::<55>(first_lanes(num_hashes), x, nowhere);
    let mut positions = Positions([0; 8]);
    lanes.store(probed, &mut positions.0);
    // Deliberately through memory: a load spreads a position over all lanes, where the compiler
    // would shuffle registers.
    let Positions([p0, p1, p2, p3, p4, p5, p6, p7]) = *black_box(&positions);
    // The line is used last, in one step: instructions that wait for it occupy the reorder buffer
    // that the next item needs.
    let some = lanes.or_of_three(bit(lanes, p0), bit(lanes, p1), bit(lanes, p2));
    let others = lanes.or_of_three(bit(lanes, p3), bit(lanes, p4), bit(lanes, p5));
    let most = lanes.or_of_three(some, others, bit(lanes, p6));
    let before = lanes.load(line);
    let after = lanes.or_of_three(most, bit(lanes, p7), before);
    // Both counts in one sum, as `Inserted` has them.
    let changed = lanes.count_ones(lanes.xor(before, after));
    let shifted = lanes.shift_left::<{ Inserted::WIDTH }>(changed);
    let counts = lanes.add(shifted, lanes.count_ones(after));
    let inserted = Inserted(lanes.sum(counts) as u32);
    if inserted.is_new() {
        lanes.store(after, line);
    }
    inserted
}

/// A line with the bit at `position` set, empty for [`NOWHERE`]. In the other lanes the distance is
/// above 63, or negative and so huge as unsigned, and the shift leaves 0.
#[inline(always)]
fn bit<L: Lanes>(lanes: L, position: u64) -> L::Register {
    let distances = lanes.add(lanes.splat(position), lanes.load(&TO_LANE));
    lanes.shift_left_each(lanes.splat(1), distances)
}

#[cfg(target_arch = "x86_64")]
#[allow(
    unsafe_code,
    reason = "one intrinsic an operation, behind proof of the processor"
)]
pub mod avx512;
#[cfg(test)]
pub mod model;

/// Implements the operations. Lane `i` holds word `i`.
pub trait Lanes: Copy {
    /// A register.
    type Register: Copy;

    fn load(self, words: &[u64; 8]) -> Self::Register;
    fn store(self, a: Self::Register, words: &mut [u64; 8]);
    /// The same word in every lane.
    fn splat(self, word: u64) -> Self::Register;

    fn and(self, a: Self::Register, b: Self::Register) -> Self::Register;
    fn xor(self, a: Self::Register, b: Self::Register) -> Self::Register;
    fn or_of_three(self, a: Self::Register, b: Self::Register, c: Self::Register)
        -> Self::Register;

    /// Modulo 2^64, like all arithmetic here.
    fn add(self, a: Self::Register, b: Self::Register) -> Self::Register;
    fn multiply(self, a: Self::Register, b: Self::Register) -> Self::Register;
    /// The number of set bits of each lane.
    fn count_ones(self, a: Self::Register) -> Self::Register;
    /// The sum of all lanes.
    fn sum(self, a: Self::Register) -> u64;

    fn shift_left<const BITS: u32>(self, a: Self::Register) -> Self::Register;
    fn shift_right<const BITS: u32>(self, a: Self::Register) -> Self::Register;
    /// Shifts right in the lanes of `mask`; the other lanes come from `otherwise`.
    fn shift_right_some<const BITS: u32>(
        self,
        mask: u8,
        a: Self::Register,
        otherwise: Self::Register,
    ) -> Self::Register;
    /// Shifts each lane by its own distance. A distance above 63 leaves 0.
    fn shift_left_each(self, a: Self::Register, distances: Self::Register) -> Self::Register;

    /// Lane `i` of the result is lane `places[i]` of `a`; only the low three bits of a place count.
    fn permute(self, a: Self::Register, places: Self::Register) -> Self::Register;
    /// The lanes in which `a` and `b` have a set bit in common.
    fn have_common_bits(self, a: Self::Register, b: Self::Register) -> u8;
}
