//! A line of a page: 64 bytes that hold the entries of some neighbouring buckets.
//!
//! ```text
//!   bit 0        8         15 16                                              512
//!     | held     | spilled |1| unary: a 0 an entry, a 1 a bucket |  free  | ... slot 1 | slot 0 |
//! ```
//!
//! - `held`: the number of slots in this line. The first `spilled` of them belong to earlier lines.
//! - Unary: each bucket of the line is one zero per entry, then a one. The one at bit 15 ends an
//!   imaginary bucket before the first, so that bucket q begins after 1-bit number q (counted from
//!   0).
//! - Slots grow from the end of the line towards the unary part. Free bits are 0.
//!
//! Entries of this line's buckets that do not fit spill to the front of the next line; the number
//! spilled is stored only there. So the line's buckets have `held - spilled + (spilled of the next
//! line)` entries.

mod compare;

use crate::table::fingerprint::{SlotShape, WINDOW_BITS};
use crate::table::instructions::{select, Instructions};
pub use crate::table::shift::LINE_BYTES;
use crate::table::shift::{self, from, Shift};
pub use compare::Rank;
use std::hint::select_unpredictable;

/// Words of a line.
pub const LINE_WORDS: usize = LINE_BYTES / 8;
/// Bits of a line.
pub const LINE_BITS: usize = LINE_BYTES * 8;
/// Where the unary part begins.
pub const UNARY: usize = 16;
/// Bits of a line for unary part and slots.
pub const BODY_BITS: usize = LINE_BITS - UNARY;
/// The maximum number of slots that earlier lines may spill into a line: what 7 bits hold, less the
/// two that one insert may add.
pub const MAX_SPILLED: usize = 125;

/// What the first word of a line gains with a slot, and with a slot that an earlier line spills.
const HELD: u64 = 1;
const SPILLED: u64 = 1 << 8;

/// A cache line.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Line(pub [u8; LINE_BYTES]);

/// A bucket in its line: the bit where its unary part begins, the index of its first entry among
/// those of the line's buckets, and the number of its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub start: usize,
    pub first: usize,
    pub len: usize,
}

impl Shift {
    /// The shift for slot `n` of `held` slots. `run` is the entry's bucket if that belongs to this
    /// line.
    #[inline(always)]
    fn of(run: Option<Run>, held: usize, n: usize, slot: SlotShape) -> Self {
        let bits = slot.bits();
        let bottom = LINE_BITS - held * bits;
        Self {
            start: run.map_or(bottom, |run| run.start),
            bottom,
            high: LINE_BITS - n * bits,
            bits,
        }
    }
}

impl Line {
    /// A line of these words.
    pub fn of_words(words: [u64; LINE_WORDS]) -> Self {
        let mut line = Self([0; LINE_BYTES]);
        for (n, word) in words.into_iter().enumerate() {
            line.set_word(n, word);
        }
        line
    }

    pub fn words(&self) -> [u64; LINE_WORDS] {
        std::array::from_fn(|n| self.word(n))
    }

    /// The bits before the unary part.
    pub fn header(held: usize, spilled: usize) -> u64 {
        1 << (UNARY - 1) | (spilled << 8 | held) as u64
    }

    /// The number of slots in this line.
    #[inline]
    pub fn held(&self) -> usize {
        usize::from(self.0[0])
    }

    /// The number of slots that belong to earlier lines.
    #[inline]
    pub fn spilled(&self) -> usize {
        usize::from(self.0[1] & 0x7f)
    }

    pub fn set_held(&mut self, held: usize) {
        self.0[0] = held as u8;
    }

    pub fn set_spilled(&mut self, spilled: usize) {
        debug_assert!(spilled < 128);
        self.0[1] = self.0[1] & 0x80 | spilled as u8;
    }

    #[inline(always)]
    fn word(&self, word: usize) -> u64 {
        let bytes = self.0.as_chunks::<8>().0;
        u64::from_le_bytes(bytes[word & 7])
    }

    #[inline(always)]
    fn set_word(&mut self, word: usize, value: u64) {
        self.0.as_chunks_mut::<8>().0[word & 7] = value.to_le_bytes();
    }

    /// The position of 1-bit number `n`, counted from the one at bit 15.
    fn position_of_one(&self, mut n: usize) -> usize {
        for word in 0..8 {
            let bits = self.word(word) & from(UNARY - 1, word);
            let ones = bits.count_ones() as usize;
            if n < ones {
                return 64 * word + select(bits, n as u32) as usize;
            }
            n -= ones;
        }
        LINE_BITS
    }

    /// Bucket number `q` of the line.
    #[inline(always)]
    pub fn run<I: Instructions>(&self, instructions: I, q: usize) -> Run {
        let (first, second) = (self.word(0) & from(UNARY - 1, 0), self.word(1));
        // Half of all buckets begin in the second word: no branch for that.
        let ones = first.count_ones() as usize;
        let is_second = q >= ones;
        let left = q - select_unpredictable(is_second, ones, 0);
        let bits = select_unpredictable(is_second, second, first);
        // The 1-bit before the bucket, and those from its end on.
        let before = instructions.nth_one(bits, left as u32);
        let beyond = bits & !(before ^ before.wrapping_sub(1));
        if beyond == 0 {
            return self.run_across_words(q);
        }
        let start = (usize::from(is_second) << 6) + before.trailing_zeros() as usize + 1;
        Run {
            start,
            first: start - UNARY - q,
            len: (beyond.trailing_zeros() - before.trailing_zeros()) as usize - 1,
        }
    }

    /// The same for a bucket that crosses words, or is beyond the first two: one of 30 buckets.
    #[cold]
    fn run_across_words(&self, q: usize) -> Run {
        let start = self.position_of_one(q) + 1;
        Run { start, first: start - UNARY - q, len: self.position_of_one(q + 1) - start }
    }

    /// The bits below `end`, the last one on top: at least 57 of them, or all.
    #[inline(always)]
    fn window_below(&self, end: usize) -> u64 {
        let byte = end.div_ceil(8);
        let byte = byte.clamp(8, LINE_BYTES) - 8;
        let mut eight = [0; 8];
        eight.copy_from_slice(&self.0[byte..byte + 8]);
        u64::from_le_bytes(eight).wrapping_shl((8 * byte + 64 - end) as u32)
    }

    #[inline(always)]
    fn slot_or_garbage(&self, n: usize, slot: SlotShape) -> u64 {
        let bit = LINE_BITS.wrapping_sub((n + 1) * slot.bits());
        let byte = (bit >> 3).min(LINE_BYTES - 8);
        let mut eight = [0; 8];
        eight.copy_from_slice(&self.0[byte..byte + 8]);
        u64::from_le_bytes(eight).wrapping_shr(bit.wrapping_sub(8 * byte) as u32) & slot.mask()
    }

    /// Slot number `n`, which is below [`Line::held`].
    #[inline]
    pub fn slot(&self, n: usize, slot: SlotShape) -> u64 {
        debug_assert!((n + 1) * slot.bits() <= BODY_BITS);
        self.slot_or_garbage(n, slot)
    }

    /// Flips those bits of slot number `n` that are set in `bits`: over clear bits, writes them.
    #[inline(always)]
    fn flip(&mut self, n: usize, slot: SlotShape, bits: u64) {
        let bit = LINE_BITS - (n + 1) * slot.bits();
        let byte = (bit >> 3).min(LINE_BYTES - 8);
        let place = &mut self.0[byte..byte + 8];
        let mut eight = [0; 8];
        eight.copy_from_slice(place);
        let eight = u64::from_le_bytes(eight) ^ bits << (bit - 8 * byte);
        place.copy_from_slice(&eight.to_le_bytes());
    }

    /// Overwrites slot number `n`.
    #[inline(always)]
    pub fn replace_slot(&mut self, n: usize, slot: SlotShape, value: u64) {
        self.flip(n, slot, self.slot(n, slot) ^ value);
    }

    /// Appends a slot.
    #[inline(always)]
    pub fn push_slot(&mut self, slot: SlotShape, value: u64) {
        self.flip(self.held(), slot, value);
        self.0[0] += 1;
    }

    /// Removes the last slot.
    #[inline(always)]
    pub fn pop_slot(&mut self, slot: SlotShape) -> u64 {
        let last = self.held() - 1;
        let value = self.slot(last, slot);
        self.replace_slot(last, slot, 0);
        self.set_held(last);
        value
    }

    /// Inserts `value` as slot `n`, for an entry of the bucket `run` or, if `None`, of an earlier
    /// line. There are enough free bits.
    #[inline(always)]
    pub fn insert<I: Instructions>(
        &mut self,
        instructions: I,
        run: Option<Run>,
        n: usize,
        slot: SlotShape,
        value: u64,
    ) {
        let spilled = if run.is_some() { 0 } else { SPILLED };
        let shift = Shift::of(run, self.held() + 1, n, slot);
        instructions.insert(&mut self.0, shift, value, HELD + spilled);
    }

    /// The same, but removes and returns the last slot to make room; there is a free bit for the
    /// bucket.
    #[inline(always)]
    pub fn insert_and_pop<I: Instructions>(
        &mut self,
        instructions: I,
        run: Option<Run>,
        n: usize,
        slot: SlotShape,
        value: u64,
    ) -> u64 {
        let spilled = if run.is_some() { 0 } else { SPILLED };
        let held = self.held();
        let popped = self.slot(held - 1, slot);
        instructions.insert(&mut self.0, Shift::of(run, held, n, slot), value, spilled);
        popped
    }

    /// Removes slot `n`, of an entry of the bucket `run` or, if `None`, of an earlier line.
    #[inline(always)]
    pub fn remove<I: Instructions>(
        &mut self,
        instructions: I,
        run: Option<Run>,
        n: usize,
        slot: SlotShape,
    ) -> u64 {
        let spilled = if run.is_some() { 0 } else { SPILLED };
        let value = self.slot(n, slot);
        let shift = Shift::of(run, self.held(), n, slot);
        instructions.remove(&mut self.0, shift, 0u64.wrapping_sub(HELD + spilled));
        value
    }

    /// Whether at least `bits` bits are free: usually one comparison. Counting them takes a loop of
    /// unpredictable length.
    #[inline(always)]
    pub fn has_free(&self, bits: usize, slot: SlotShape) -> bool {
        let window = self.window_below(LINE_BITS - self.held() * slot.bits());
        if bits <= WINDOW_BITS {
            return window.leading_zeros() as usize >= bits;
        }
        self.free_bits(slot) >= bits
    }

    /// The number of bits used by neither unary part nor slots: those between the last slot and the
    /// one that ends the last bucket.
    #[inline(always)]
    pub fn free_bits(&self, slot: SlotShape) -> usize {
        let slots = LINE_BITS - self.held() * slot.bits();
        let mut end = slots;
        loop {
            let window = self.window_below(end);
            if window != 0 || end < WINDOW_BITS {
                return slots - end + window.leading_zeros() as usize;
            }
            end -= WINDOW_BITS;
        }
    }

    /// Counts one more entry in the bucket of `run`, whose slot is in a later line; there is a free
    /// bit.
    #[inline(always)]
    pub fn grow_run(&mut self, run: Run, slot: SlotShape) {
        let end = self.end_of_slots(slot);
        shift::open(&mut self.0, run.start, end);
    }

    /// Counts one entry less in the bucket of `run`, whose slot was in a later line.
    #[inline(always)]
    pub fn shrink_run(&mut self, run: Run, slot: SlotShape) {
        let end = self.end_of_slots(slot);
        shift::close(&mut self.0, run.start, end);
    }

    fn end_of_slots(&self, slot: SlotShape) -> usize {
        LINE_BITS - self.held() * slot.bits()
    }

    /// Writes the unary part, `len` bits, into a line of zeros. `buckets` are the buckets of the
    /// entries, in order.
    #[inline]
    pub fn write_unary(&mut self, buckets: impl Iterator<Item = usize>, len: usize) {
        let mut words = [0; 8];
        for (n, word) in words.iter_mut().enumerate() {
            *word = from(UNARY - 1, n) & !from(UNARY + len, n);
        }
        // The zeros of a word are collected before it is written.
        let (mut word, mut zeros) = (0, 0);
        for (entry, bucket) in buckets.enumerate() {
            let bit = UNARY + entry + bucket;
            if bit / 64 != word {
                words[word & 7] ^= zeros;
                (word, zeros) = (bit / 64, 0);
            }
            zeros |= 1 << (bit % 64);
        }
        words[word & 7] ^= zeros;
        *self = Self::of_words(words);
    }

    /// `len` bits (at most 57) of the unary part from `first` on.
    pub fn unary(&self, first: usize, len: usize) -> u64 {
        let bits = self.window_below(UNARY + first + len);
        bits.checked_shr(64 - len as u32).unwrap_or(0)
    }

    /// Calls `each` with the bucket of each of the `own` entries of the line's buckets, in order.
    #[inline]
    pub fn read_unary(&self, own: usize, mut each: impl FnMut(usize)) {
        let mut entry = 0;
        for word in 0..8 {
            let mut zeros = !self.word(word) & from(UNARY, word);
            while zeros != 0 && entry < own {
                let bit = 64 * word + zeros.trailing_zeros() as usize;
                each(bit - UNARY - entry);
                entry += 1;
                zeros &= zeros - 1;
            }
        }
    }

    /// Writes the slots of a line that has none, from its end. Each word is written once: reading a
    /// slot back across words that were just written would cost more than everything else.
    #[inline]
    pub fn write_slots(&mut self, slot: SlotShape, values: impl Iterator<Item = u64>) {
        let bits = slot.bits();
        let (mut word, mut pending, mut free, mut held) = (7, 0, 64, 0);
        values.for_each(|value| {
            if bits <= free {
                free -= bits;
                pending |= value << free;
            } else {
                let over = bits - free;
                self.set_word(word, pending | value >> over);
                (word, free) = (word - 1, 64 - over);
                pending = value << free;
            }
            held += 1;
        });
        self.set_word(word, self.word(word) | pending);
        self.set_held(held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_more_bits_are_free_than_are_counted(
            words in any::<[u64; LINE_WORDS]>(),
            masks in any::<[u64; LINE_WORDS]>(),
            fingerprint_bits in 1..=WINDOW_BITS as u8,
            held in any::<prop::sample::Index>(),
        ) {
            let slot = SlotShape { fingerprint_bits, payload_bits: 0 };
            let held = held.index((BODY_BITS / slot.bits()).min(255) + 1);
            let masked = std::array::from_fn(|n| words[n] & masks[n] & masks[7 - n].reverse_bits());
            // Few bits are free, some, most, and all.
            let outer = [words[0], 0, 0, 0, 0, 0, 0, words[7]];
            for mut words in [words, masked, outer, [0; LINE_WORDS]] {
                words[0] |= Line::header(0, 0);
                let mut line = Line::of_words(words);
                line.set_held(held);
                let free = line.free_bits(slot);
                for bits in 1..=LINE_BITS {
                    prop_assert_eq!(line.has_free(bits, slot), bits <= free, "{}", bits);
                }
            }
        }
    }
}
