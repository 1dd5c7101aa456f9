//! The kernel for one cache line and at most eight probes: the line is one register, the probes
//! another.
//!
//! It is written once, over [`Lanes`]. The module runs it on the processor; tests also run it on
//! the model, so machines without AVX-512 test the same source.

use super::lanes::Lanes;
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
