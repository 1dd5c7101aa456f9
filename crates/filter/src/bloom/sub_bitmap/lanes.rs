//! Eight lanes of 64 bits: the AVX-512 operations that the kernel in [`super::eight`] uses.
//!
//! There are two implementations. [`avx512`] is the CPU, one intrinsic per operation. The model is
//! eight plain words, for tests only: it runs the kernel's own source on any machine, and machines
//! with AVX-512 compare each of its operations with the CPU.

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
