//! What an entry that comes or goes does to the bits of a line: its bucket gets one bit more or
//! less, and slots make room for one or close up.
//!
//! ```text
//!               start              bottom  low             top     high
//!   before  | ... |unary, free bits|       |slots that move        |slots ... |
//!   after   | ... |0|unary, free bits|slots that moved     |new one|slots ... |
//! ```
//!
//! All of that happens at once: a line that is read again in another width than it was just written
//! in makes the processor wait for its own stores. With AVX2 or AVX-512 all words change alike, and
//! no branch depends on where they part; elsewhere the words that change are gone through.

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

/// Where the bits of a line part, counted from its first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parting {
    /// Where the bucket gets its bit or loses one; `bottom` if none does. If it gets one, the bit
    /// below `bottom` is clear.
    pub start: usize,
    /// Where the last slot ends as long as there is the one that comes or goes.
    pub bottom: usize,
    /// Where the one that comes or goes begins: slots have their first bit on top.
    pub high: usize,
    /// Bits of a slot: 1 to 57.
    pub bits: usize,
}

impl Parting {
    /// Where the last slot ends as long as there is one less.
    #[cfg(any(target_arch = "x86_64", test))] // elsewhere words are gone through from `bottom` on
    #[inline(always)]
    fn low(self) -> usize {
        self.bottom + self.bits
    }

    /// Where the one that comes or goes ends.
    #[inline(always)]
    fn top(self) -> usize {
        self.high - self.bits
    }
}
