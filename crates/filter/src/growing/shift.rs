//! How adding or removing an entry changes the bits of a line: its bucket gets one bit more or
//! less, and slots make room for the entry or close the gap.
//!
//! ```text
//!               start              bottom  low             top     high
//!   before  | ... |unary, free bits|       |slots that move        |slots ... |
//!   after   | ... |0|unary, free bits|slots that moved     |new one|slots ... |
//! ```
//!
//! All of that happens in one step, because reading a line in another width than it was just
//! written in makes the processor wait for its own stores. With AVX2 or AVX-512 all words change in
//! the same way, and no branch depends on the position; elsewhere a loop visits the words that
//! change.

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "loads and stores of vectors")]
pub mod avx2;
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "a load and a store of a vector")]
pub mod avx512;
pub mod portable;
#[cfg(test)]
mod tests;

use crate::growing::line::LINE_BYTES;

/// A line.
pub type Bytes = [u8; LINE_BYTES];

/// The positions at which the bits of a line move apart, counted from its first bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parting {
    /// Where the bucket gets its bit or loses one; `bottom` if none does. If it gets one, the bit
    /// below `bottom` is clear.
    pub start: usize,
    /// Where the last slot ends while the added or removed one is present.
    pub bottom: usize,
    /// Where the added or removed slot begins: slots have their first bit on top.
    pub high: usize,
    /// Bits of a slot: 1 to 57.
    pub bits: usize,
}

impl Parting {
    /// Where the last slot ends without the added or removed one.
    #[cfg(any(target_arch = "x86_64", test))] // elsewhere words are gone through from `bottom` on
    #[inline(always)]
    fn low(self) -> usize {
        self.bottom + self.bits
    }

    /// Where the added or removed slot ends.
    #[inline(always)]
    fn top(self) -> usize {
        self.high - self.bits
    }
}
