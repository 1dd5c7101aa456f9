//! CPU-specific primitives: the position of the n-th set bit of a word, the one step of a lookup
//! that is slow without BMI2, and the shifts of a line, which inserts and removals need.
//!
//! Everything above these primitives is generic over [`Instructions`] and compiled once for each
//! implementation by `compiled_per_cpu!`. Which one runs is decided once per operation. With BMI2
//! a lookup in a batch takes two thirds of the time. All implementations return the same results.
//!
//! [`Bmi2`] is a proof: only detection creates one, so code that holds it may execute the
//! instructions it stands for.

#[cfg(target_arch = "x86_64")]
use crate::table::shift::avx2;
use crate::table::shift::{self, Bytes, Shift};
#[cfg(target_arch = "x86_64")]
use std::sync::LazyLock;

/// The primitives of one instruction set.
pub trait Instructions: Copy {
    /// A word with only the `n`-th set bit of `word`, counted from 0; 0 if there are no more than
    /// `n`.
    fn nth_one(self, word: u64, n: u32) -> u64;
    /// Inserts a slot of this `value` into a line, and adds `to_head` to the line's first word.
    fn insert(self, line: &mut Bytes, shift: Shift, value: u64, to_head: u64);
    /// Removes a slot from a line, and adds `to_head` to the line's first word.
    fn remove(self, line: &mut Bytes, shift: Shift, to_head: u64);
}

/// Plain Rust, for any CPU.
#[derive(Clone, Copy, Debug)]
pub struct Portable;

impl Instructions for Portable {
    #[inline(always)]
    fn nth_one(self, word: u64, n: u32) -> u64 {
        if n < word.count_ones() {
            1 << select(word, n)
        } else {
            0
        }
    }

    #[inline(always)]
    fn insert(self, line: &mut Bytes, shift: Shift, value: u64, to_head: u64) {
        shift::insert(line, shift, value, to_head);
    }

    #[inline(always)]
    fn remove(self, line: &mut Bytes, shift: Shift, to_head: u64) {
        shift::remove(line, shift, to_head);
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

/// Proof that the CPU has BMI1, BMI2, POPCNT and AVX2. Only [`Detected::get`] creates one.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug)]
pub struct Bmi2(());

#[cfg(target_arch = "x86_64")]
impl Instructions for Bmi2 {
    #[inline(always)]
    fn nth_one(self, word: u64, n: u32) -> u64 {
        // SAFETY: `self` proves that the CPU has BMI2.
        unsafe { std::arch::x86_64::_pdep_u64(1u64.unbounded_shl(n), word) }
    }

    #[inline(always)]
    fn insert(self, line: &mut Bytes, shift: Shift, value: u64, to_head: u64) {
        // SAFETY: `self` proves that the CPU has AVX2.
        unsafe { avx2::insert(line, shift, value, to_head) }
    }

    #[inline(always)]
    fn remove(self, line: &mut Bytes, shift: Shift, to_head: u64) {
        // SAFETY: `self` proves that the CPU has AVX2.
        unsafe { avx2::remove(line, shift, to_head) }
    }
}

/// The fastest primitives that the CPU has.
#[derive(Clone, Copy, Debug)]
pub enum Detected {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Bmi2(Bmi2),
}

impl Detected {
    /// Costs a load and a branch.
    #[inline]
    pub fn get() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            static DETECTED: LazyLock<Detected> = LazyLock::new(Detected::detect);
            *DETECTED
        }
        #[cfg(not(target_arch = "x86_64"))]
        Self::Portable
    }

    /// AMD's CPUs were slow at BMI2 before Zen 3, which added VPCLMULQDQ. Intel's never were, but
    /// those before AVX-512 take the portable path too, so that no model numbers need be compared.
    #[cfg(target_arch = "x86_64")]
    fn detect() -> Self {
        let has_bmi2 = is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("avx2")
            && (is_x86_feature_detected!("vpclmulqdq") || is_x86_feature_detected!("avx512f"));
        match has_bmi2 {
            true => Self::Bmi2(Bmi2(())),
            false => Self::Portable,
        }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
impl Detected {
    /// The proof of BMI2, if the CPU has it.
    pub fn bmi2(self) -> Option<Bmi2> {
        match self {
            Self::Portable => None,
            Self::Bmi2(proof) => Some(proof),
        }
    }
}

/// The name of the instructions that tables use on this CPU.
pub fn instructions_name() -> &'static str {
    match Detected::get() {
        Detected::Portable => "portable",
        #[cfg(target_arch = "x86_64")]
        Detected::Bmi2(_) => "BMI2",
    }
}

/// Defines a function that calls `$kernel`, which is generic over [`Instructions`] and inlined, as
/// compiled for what this CPU has. The proof is the second argument of the kernel.
///
/// The portable version is out of line, which keeps it out of the instruction cache of CPUs that
/// never run it.
macro_rules! compiled_per_cpu {
    (
        $(#[$attribute:meta])*
        $visibility:vis fn $name:ident $(<$lifetime:lifetime>)? (
            $this:ident: $This:ty $(, $argument:ident: $Argument:ty)* $(,)?
        ) $(-> $Output:ty)? = $kernel:path;
    ) => {
        $(#[$attribute])*
        #[allow(unsafe_code, reason = "calls what is compiled for proven CPU features")]
        $visibility fn $name $(<$lifetime>)? (
            $this: $This $(, $argument: $Argument)*
        ) $(-> $Output)? {
            #[cfg_attr(target_arch = "x86_64", inline(never))]
            fn portable $(<$lifetime>)? (
                this: $This $(, $argument: $Argument)*
            ) $(-> $Output)? {
                $kernel(this, $crate::table::instructions::Portable $(, $argument)*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "bmi1,bmi2,popcnt,avx2")]
            fn with_bmi2 $(<$lifetime>)? (
                this: $This,
                proof: $crate::table::instructions::Bmi2
                $(, $argument: $Argument)*
            ) $(-> $Output)? {
                $kernel(this, proof $(, $argument)*)
            }

            use $crate::table::instructions::Detected;
            match Detected::get() {
                Detected::Portable => portable($this $(, $argument)*),
                // SAFETY: `proof` exists only where the CPU has these features.
                #[cfg(target_arch = "x86_64")]
                Detected::Bmi2(proof) => unsafe { with_bmi2($this, proof $(, $argument)*) },
            }
        }
    };
}
pub(super) use compiled_per_cpu;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_instruction_set_finds_the_same_bit(word in any::<u64>(), mask in any::<u64>()) {
            for word in [word, word & mask, word | mask] {
                let bits = (0..64).filter(|bit| word >> bit & 1 == 1);
                let bits: Vec<u64> = bits.map(|bit| 1 << bit).collect();
                for n in 0..130 {
                    let bit = bits.get(n).copied().unwrap_or(0);
                    prop_assert_eq!(Portable.nth_one(word, n as u32), bit);
                    #[cfg(target_arch = "x86_64")]
                    if let Some(bmi2) = Detected::get().bmi2() {
                        prop_assert_eq!(bmi2.nth_one(word, n as u32), bit);
                    }
                }
            }
        }
    }
}
