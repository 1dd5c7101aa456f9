//! The false-positive rate as an exact sum: without rounding, so terms can be subtracted again.
//!
//! A fingerprint of t bits of path, in a cell that gets s of 256 parts of all items, is matched by
//! an absent item with probability s/256 * 2^(3-t): the first three bits name the cell.

use crate::table::fingerprint::Fingerprint;
use crate::table::path::{Path, CELL_BITS};

/// Weights are in units of 2^-UNIT * 2^CELL_BITS / 256. A path has 64 bits, so every weight is an
/// integer; 1 is 2^105.
const UNIT: u32 = 100;

/// A sum of probabilities. With an alignment of 8 a table fits one cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(Rust, packed(8))]
pub struct Weight(u128);

impl Weight {
    /// The weight of a fingerprint of `length` bits at `path` below `depth`.
    pub fn of_fingerprint(path: Path, depth: u8, length: u8) -> Self {
        Self(u128::from(path.share()) << (UNIT - u32::from(depth) - u32::from(length)))
    }

    /// The weight of `fingerprints` fingerprints of `length` bits of path, spread evenly.
    pub fn of_many(fingerprints: u64, length: u8) -> Self {
        Self(u128::from(fingerprints) << (UNIT + 8 - CELL_BITS - u32::from(length)))
    }

    /// The weight of all paths that begin with the first `depth` bits of `start`.
    pub fn of_all(start: Path, depth: u8) -> Self {
        let below = CELL_BITS.saturating_sub(u32::from(depth));
        let cells = (0..1 << below).map(|cell| Path(start.0 | cell << (64 - CELL_BITS)));
        let weights = cells.map(|cell| Self::of_fingerprint(cell, depth, below as u8));
        weights.fold(Self::default(), Self::plus)
    }

    /// The weight of the entries of a page, equal fingerprints counted once.
    pub fn of_page(fingerprints: &[Fingerprint], start: Path, depth: u8) -> Self {
        if depth >= CELL_BITS as u8 {
            return Self::of_fingerprints(fingerprints, start, depth);
        }
        let path =
            |fingerprint: &Fingerprint| Path(start.0 | fingerprint.without_payload() >> depth);
        let cells = fingerprints.chunk_by(|one, other| path(one).share() == path(other).share());
        let weights = cells
            .map(|fingerprints| Self::of_fingerprints(fingerprints, path(&fingerprints[0]), depth));
        weights.fold(Self::default(), Self::plus)
    }

    /// The same within one cell: no fingerprint is so short that it spans two.
    fn of_fingerprints(fingerprints: &[Fingerprint], path: Path, depth: u8) -> Self {
        // The delimiter of a fingerprint of t bits is 2^(63-t).
        let (mut sum, mut before) = (0u128, 0);
        for fingerprint in fingerprints {
            let bits = fingerprint.without_payload();
            let delimiter = bits & bits.wrapping_neg();
            let is_new = bits != before;
            sum += u128::from(delimiter * u64::from(is_new));
            before = bits;
        }
        Self((sum << 1 >> depth << (UNIT - 64)) * u128::from(path.share()))
    }

    pub fn plus(self, more: Self) -> Self {
        Self(self.0 + more.0)
    }

    /// The difference. (A forged page may have entries whose sum is less than that of its terms.)
    pub fn minus(self, less: Self) -> Self {
        Self({ self.0 }.saturating_sub(less.0))
    }

    /// Whether it is at most `halves` times half of `unit`.
    pub fn is_within_halves(self, halves: u8, unit: Self) -> bool {
        self.0 <= unit.0 * u128::from(halves) / 2
    }

    /// The probability, at most 1: what two fingerprints match is counted twice.
    pub fn rate(self) -> f64 {
        let one = (256 >> CELL_BITS) as f64 * (1u128 << UNIT) as f64;
        (self.0 as f64 / one).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_paths_together_weigh_one() {
        assert_eq!(Weight::of_all(Path(0), 0).rate(), 1.0);
        let halves = [0, 1 << 63].map(|start| Weight::of_all(Path(start), 1));
        assert_eq!(halves[0].plus(halves[1]), Weight::of_all(Path(0), 0));
        assert!(halves[0].rate() < halves[1].rate(), "the last cells are the largest");
    }

    #[test]
    fn a_fingerprint_weighs_what_its_two_halves_weigh() {
        let fingerprint = Fingerprint::new(0x9234_5678_9abc_def0, 20, 0);
        let weight = |fingerprints: &[Fingerprint]| Weight::of_page(fingerprints, Path(0), 0);
        assert_eq!(weight(&[fingerprint]), weight(&fingerprint.halves()));
        assert_eq!(weight(&[fingerprint]), weight(&[fingerprint; 3]));
    }
}
