//! How adding or removing an entry changes the bits of a line: its bucket gets one bit more or
//! less, and slots make room for the entry or close the gap.
//!
//! ```text
//!               start              bottom  low             top     high
//!   before  | ... |unary, free bits|       |slots that move        |slots ... |
//!   after   | ... |0|unary, free bits|slots that moved     |new one|slots ... |
//! ```
//!
//! All of that is one load and one store of the whole line, because a load that is wider than a
//! recent store to the same bytes waits for that store. With AVX2 or AVX-512 all words change in
//! the same way, and no branch depends on the position; elsewhere a loop visits the words that
//! change.

/// Defines `insert` and `remove` over the `Words` of the module, compiled for its CPU features.
#[cfg(target_arch = "x86_64")]
macro_rules! vector_kernel {
    ($features:literal) => {
        /// Inserts a slot, over whatever is above `bottom`, and adds `to_head` to the first word.
        #[inline]
        #[target_feature(enable = $features)]
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
        #[target_feature(enable = $features)]
        pub fn remove(line: &mut Bytes, shift: Shift, to_head: u64) {
            let words = Words::load(line);
            let (start, bottom) = (from(shift.start), from(shift.bottom));
            let unary = words.and(from(shift.start + 1).and_not(bottom)).down(1);
            let slots = words.and(bottom.xor(from(shift.top()))).up(shift.bits);
            let others = words.and_not(start.xor(from(shift.high)));
            others.or(unary).or(slots).add(to_head).store(line);
        }
    };
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "loads and stores of vectors")]
pub mod avx2;
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "a load and a store of a vector")]
pub mod avx512;
pub mod portable;
#[cfg(test)]
mod tests;

/// Bytes of a line.
pub const LINE_BYTES: usize = 64;
/// A line.
pub type Bytes = [u8; LINE_BYTES];

/// Where the bits of a line shift: positions counted from its first bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shift {
    /// Where the bucket gains or loses its bit; `bottom` if no bucket of the line does. If it gains
    /// one, the bit below `bottom` is clear.
    pub start: usize,
    /// Where the last slot ends while the added or removed one is present.
    pub bottom: usize,
    /// Where the added or removed slot begins: slots have their first bit on top.
    pub high: usize,
    /// Bits of a slot: 1 to 57.
    pub bits: usize,
}

impl Shift {
    /// Where the last slot ends without the added or removed one.
    #[cfg(any(target_arch = "x86_64", test))] // the portable loop starts at `bottom`
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

/// The bits of word number `word` that are at or after bit `bit` of the line.
#[inline]
pub fn from(bit: usize, word: usize) -> u64 {
    match bit.saturating_sub(64 * word) {
        bit @ 0..=63 => u64::MAX << bit,
        _ => 0,
    }
}
