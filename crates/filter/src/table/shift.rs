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
//! recent store to the same bytes waits for that store. With AVX2 all words change in the same way,
//! and no branch depends on the position; elsewhere the loop of this module visits the words that
//! change. AVX-512, which holds a line in one register, gained nothing on an EPYC of 2025.

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "loads and stores of vectors")]
pub mod avx2;

/// Inserts a slot, over whatever is above `bottom`, and adds `to_head` to the first word.
#[inline(always)]
pub fn insert(line: &mut Bytes, shift: Shift, value: u64, to_head: u64) {
    let mut words = Words(line);
    words.slots_down(shift, value);
    if shift.start < shift.bottom {
        words.slide_up(shift.start, shift.bottom - 1, 1);
    }
    words.set(0, words.get(0).wrapping_add(to_head));
}

/// Removes a slot, and adds `to_head` to the first word.
#[inline(always)]
pub fn remove(line: &mut Bytes, shift: Shift, to_head: u64) {
    let mut words = Words(line);
    words.clear(shift.top(), shift.high);
    words.slide_up(shift.bottom, shift.top(), shift.bits);
    if shift.start < shift.bottom {
        words.slide_down(shift.start, shift.bottom);
    }
    words.set(0, words.get(0).wrapping_add(to_head));
}

/// Inserts a bit into the bucket at `start`; the bit below `end` is 0.
pub fn open(line: &mut Bytes, start: usize, end: usize) {
    Words(line).slide_up(start, end - 1, 1);
}

/// Removes a bit, which is 0, from the bucket at `start`.
pub fn close(line: &mut Bytes, start: usize, end: usize) {
    Words(line).slide_down(start, end);
}

struct Words<'a>(&'a mut Bytes);

impl Words<'_> {
    #[inline(always)]
    fn get(&self, word: usize) -> u64 {
        u64::from_le_bytes(self.0.as_chunks::<8>().0[word & 7])
    }

    #[inline(always)]
    fn set(&mut self, word: usize, value: u64) {
        self.0.as_chunks_mut::<8>().0[word & 7] = value.to_le_bytes();
    }

    /// Moves the slots below `high` down by one slot, over whatever is there, and puts `value`
    /// above them.
    #[inline(always)]
    fn slots_down(&mut self, shift: Shift, value: u64) {
        let Shift { bottom, high, bits, .. } = shift;
        // The words that change, and the bits that stay in the lowest and the highest of them.
        let (first, last) = (bottom / 64, (high - 1) / 64);
        let is_moved = from(bottom, first);
        let stays_low = self.get(first) & !is_moved;
        let stays_high = self.get(last) & from(high, last);
        // The value is above the bits that move, and moves with them.
        let value = u128::from(value) << (high - 64 * last);
        let mut here = self.get(last) ^ stays_high | value as u64;
        let mut moved = here >> bits | ((value >> 64) as u64) << (64 - bits) | stays_high;
        for word in (first..last).rev() {
            self.set(word + 1, moved);
            let below = self.get(word);
            moved = below >> bits | here << (64 - bits);
            here = below;
        }
        self.set(first, moved & is_moved | stays_low);
    }

    /// Moves the bits from `low` to `high` up by `by` bits, over zeros.
    #[inline(always)]
    fn slide_up(&mut self, low: usize, high: usize, by: usize) {
        let mut below = 0;
        let last = (high + by - 1) / 64;
        for word in low / 64..=last.min(7) {
            let (bits, mask) = (self.get(word), from(low, word) & !from(high, word));
            let moving = bits & mask;
            self.set(word, bits & !mask | moving << by | below);
            below = moving >> (64 - by);
        }
    }

    /// Moves the bits between `start` and `end` down by one, over the bit at `start`.
    #[inline(always)]
    fn slide_down(&mut self, start: usize, end: usize) {
        let mut above = 0;
        for word in (start / 64..=(end - 1) / 64).rev() {
            let (bits, mask) = (self.get(word), from(start, word) & !from(end, word));
            let moving = bits & mask;
            let moved = (moving & from(start + 1, word)) >> 1;
            self.set(word, bits & !mask | moved | above);
            above = (moving & from(start + 1, word)) << 63;
        }
    }

    /// Clears the bits from `low` to `high`.
    #[inline(always)]
    fn clear(&mut self, low: usize, high: usize) {
        for word in low / 64..=(high - 1) / 64 {
            let cleared = from(low, word) & !from(high, word);
            self.set(word, self.get(word) & !cleared);
        }
    }
}

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
