//! What some processors have instructions for: finding the n-th set bit of a word, the one step of
//! a lookup that is slow without; and shifting all words of a line, as inserts and removals do.
//!
//! Lookups are compiled twice, inserts and removals three times, and which is used is decided at
//! run time: with BMI2 a lookup in a batch takes two thirds of the time. What they do is the same.

#[cfg(target_arch = "x86_64")]
use crate::growing::shift::{avx2, avx512};
use crate::growing::shift::{portable, Bytes, Parting};
#[cfg(target_arch = "x86_64")]
use std::sync::LazyLock;

/// What a processor has.
pub trait Instructions {
    /// Set bit number `n`, counted from 0, alone; nothing if there are not as many.
    fn nth_one(word: u64, n: u32) -> u64;
    /// Lets a slot into a line, and adds to the line's first word.
    fn let_in(line: &mut Bytes, parting: Parting, value: u64, to_head: u64);
    /// Lets a slot out of a line, and adds to the line's first word.
    fn let_out(line: &mut Bytes, parting: Parting, to_head: u64);
}

/// What every processor has.
pub struct Portable;

impl Instructions for Portable {
    #[inline(always)]
    fn nth_one(word: u64, n: u32) -> u64 {
        if n < word.count_ones() {
            1 << select(word, n)
        } else {
            0
        }
    }

    #[inline(always)]
    fn let_in(line: &mut Bytes, parting: Parting, value: u64, to_head: u64) {
        portable::let_in(line, parting, value, to_head);
    }

    #[inline(always)]
    fn let_out(line: &mut Bytes, parting: Parting, to_head: u64) {
        portable::let_out(line, parting, to_head);
    }
}

/// The position of set bit number `n`, counted from 0, of a word that has more than `n`.
///
/// Counts of set bits by byte, summed up by a multiplication, give the byte (Vigna, "Broadword
/// implementation of rank/select queries", 2008); a table gives the bit.
#[inline(always)]
pub fn select(word: u64, n: u32) -> u32 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let pairs = word - (word >> 1 & 0x5555_5555_5555_5555);
    let nibbles = (pairs & 0x3333_3333_3333_3333) + (pairs >> 2 & 0x3333_3333_3333_3333);
    let bytes = (nibbles + (nibbles >> 4)) & 0x0f0f_0f0f_0f0f_0f0f;
    let sums = bytes.wrapping_mul(ONES);
    // A byte's high bit stays set where the sum up to it is at most n.
    let passed = (((u64::from(n) * ONES) | (0x80 * ONES)) - sums) & (0x80 * ONES);
    let byte = (passed >> 7).wrapping_mul(ONES) >> 56 << 3;
    let before = (sums << 8) >> (byte & 63) & 0xff;
    let rank = (u64::from(n) - before) & 7;
    byte as u32 + u32::from(SELECT_IN_BYTE[rank as usize][(word >> (byte & 63) & 0xff) as usize])
}

/// The position of set bit number `rank` in each byte.
const SELECT_IN_BYTE: [[u8; 256]; 8] = {
    let mut table = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let (mut bit, mut rank) = (0, 0);
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                table[rank][byte] = bit as u8;
                rank += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    table
};

/// BMI2, POPCNT and AVX2; to be used only where [`Found`] says so.
#[cfg(target_arch = "x86_64")]
pub struct Bmi2;

#[cfg(target_arch = "x86_64")]
impl Instructions for Bmi2 {
    #[inline(always)]
    fn nth_one(word: u64, n: u32) -> u64 {
        // SAFETY: this type is used only by functions that are compiled for all of these and called
        // where the processor has them. So below.
        unsafe { std::arch::x86_64::_pdep_u64(1u64.unbounded_shl(n), word) }
    }

    #[inline(always)]
    fn let_in(line: &mut Bytes, parting: Parting, value: u64, to_head: u64) {
        // SAFETY: as above.
        unsafe { avx2::let_in(line, parting, value, to_head) }
    }

    #[inline(always)]
    fn let_out(line: &mut Bytes, parting: Parting, to_head: u64) {
        // SAFETY: as above.
        unsafe { avx2::let_out(line, parting, to_head) }
    }
}

/// The same with a line in one register: AVX-512 F, BW and VBMI2.
#[cfg(target_arch = "x86_64")]
pub struct Avx512;

#[cfg(target_arch = "x86_64")]
impl Instructions for Avx512 {
    #[inline(always)]
    fn nth_one(word: u64, n: u32) -> u64 {
        Bmi2::nth_one(word, n)
    }

    #[inline(always)]
    fn let_in(line: &mut Bytes, parting: Parting, value: u64, to_head: u64) {
        // SAFETY: as above.
        unsafe { avx512::let_in(line, parting, value, to_head) }
    }

    #[inline(always)]
    fn let_out(line: &mut Bytes, parting: Parting, to_head: u64) {
        // SAFETY: as above.
        unsafe { avx512::let_out(line, parting, to_head) }
    }
}

/// What the processor has, and is quick at.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    Nothing,
    /// For [`Bmi2`].
    Bmi2,
    /// For [`Bmi2`] and [`Avx512`].
    Avx512,
}

#[cfg(target_arch = "x86_64")]
impl Found {
    /// AMD's were slow at BMI2 before Zen 3, when they got VPCLMULQDQ; Intel's never were, but
    /// those before AVX-512 take the portable way too, so that no model numbers need be compared.
    fn detect() -> Self {
        let has_bmi2 = is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("avx2")
            && (is_x86_feature_detected!("vpclmulqdq") || is_x86_feature_detected!("avx512f"));
        let has_avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vbmi2");
        match (has_bmi2, has_avx512) {
            (false, _) => Self::Nothing,
            (true, false) => Self::Bmi2,
            (true, true) => Self::Avx512,
        }
    }
}

/// Costs a load and a branch.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn found() -> Found {
    static FOUND: LazyLock<Found> = LazyLock::new(Found::detect);
    *FOUND
}

/// Whether lookups are to use [`Bmi2`].
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn has_fast_select() -> bool {
    found() != Found::Nothing
}

/// The name of the instructions that tables use on this processor.
pub fn instructions_name() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    match found() {
        Found::Avx512 => return "AVX-512",
        Found::Bmi2 => return "BMI2",
        Found::Nothing => {}
    }
    "portable"
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_way_finds_the_same_bit(word in any::<u64>(), mask in any::<u64>()) {
            for word in [word, word & mask, word | mask] {
                let bits = (0..64).filter(|bit| word >> bit & 1 == 1);
                let bits: Vec<u64> = bits.map(|bit| 1 << bit).collect();
                for n in 0..130 {
                    let bit = bits.get(n).copied().unwrap_or(0);
                    prop_assert_eq!(Portable::nth_one(word, n as u32), bit);
                    #[cfg(target_arch = "x86_64")]
                    if has_fast_select() {
                        prop_assert_eq!(Bmi2::nth_one(word, n as u32), bit);
                    }
                }
            }
        }
    }
}
