//! One line of a page: 64 bytes that hold the entries of some neighbouring buckets.
//!
//! ```text
//!   bit 0        8         15 16                                              512
//!     | held     | spilled |1| unary: a 0 an entry, a 1 a bucket |  free  | ... slot 1 | slot 0 |
//! ```
//!
//! - `held`: how many slots stand in this line. The first `spilled` of them belong to lines before.
//! - Unary: each bucket of the line is as many zeros as it has entries, then a one. The one at bit
//!   15 ends a bucket before the first, so that bucket q begins after the q-th one (counted from
//!   0).
//! - Slots grow from the end of the line towards the unary part. Free bits are clear.
//!
//! The entries of the line's own buckets that find no room stand at the front of the next line, and
//! only there is it written how many they are: `own = held - spilled + spilled of the next line`.

use crate::growing::instructions::{select, Instructions};
use std::hint::select_unpredictable;

/// Bytes of a line.
pub const LINE_BYTES: usize = 64;
pub const LINE_WORDS: usize = LINE_BYTES / 8;
/// Bits of a line.
pub const LINE_BITS: usize = LINE_BYTES * 8;
/// Where the unary part begins.
pub const UNARY: usize = 16;
/// Bits of a line for unary part and slots.
pub const BODY_BITS: usize = LINE_BITS - UNARY;
/// The most slots that lines before may leave in a line: what 7 bits hold, less the two that one
/// insert may add.
pub const MOST_SPILLED: usize = 125;

/// Bits that one read of eight bytes at any bit gives at least.
const WINDOW_BITS: usize = 57;

/// The lowest bit of each slot in a word, by the bits of a slot: slots begin at the top, and there
/// are as many as one read gives.
const LOWEST_BITS: [u64; 64] = {
    let mut lowest = [0; 64];
    let mut bits = 1;
    while bits <= WINDOW_BITS {
        let mut end = bits;
        while end <= WINDOW_BITS {
            lowest[bits] |= 1 << (64 - end);
            end += bits;
        }
        bits += 1;
    }
    lowest
};

/// A cache line.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Line([u8; LINE_BYTES]);

/// A bucket in its line: the bit where its unary part begins, its first entry counted over the
/// line's own, and its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub start: usize,
    pub first: usize,
    pub len: usize,
}

/// The bits of word `word` from bit `bit` of the line on.
#[inline]
fn from(bit: usize, word: usize) -> u64 {
    match bit.saturating_sub(64 * word) {
        bit @ 0..=63 => u64::MAX << bit,
        _ => 0,
    }
}

/// Shifted up, to nothing by 64 bits or more.
#[inline(always)]
fn shifted_up(word: u64, by: u64) -> u64 {
    if by < 64 {
        word << by
    } else {
        0
    }
}

/// Shifted down, to nothing by 64 bits or more.
#[inline(always)]
fn shifted_down(word: u64, by: u64) -> u64 {
    if by < 64 {
        word >> by
    } else {
        0
    }
}

impl Line {
    /// A line of these bytes: all clear before it is written, or what pages keep their counters in.
    pub fn of_bytes(bytes: [u8; LINE_BYTES]) -> Self {
        Self(bytes)
    }

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

    /// What stands before the unary part.
    pub fn header(held: usize, spilled: usize) -> u64 {
        1 << (UNARY - 1) | (spilled << 8 | held) as u64
    }

    pub fn bytes(&self) -> &[u8; LINE_BYTES] {
        &self.0
    }

    pub fn bytes_mut(&mut self) -> &mut [u8; LINE_BYTES] {
        &mut self.0
    }

    /// Slots that stand in this line.
    #[inline]
    pub fn held(&self) -> usize {
        usize::from(self.0[0])
    }

    /// Those of them that belong to lines before.
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

    /// The position of one number `n` at or after the one that stands before the first bucket.
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
    pub fn run<I: Instructions>(&self, q: usize) -> Run {
        let (first, second) = (self.word(0) & from(UNARY - 1, 0), self.word(1));
        // Half of all buckets begin in the second word: no branch for that.
        let ones = first.count_ones() as usize;
        let is_second = q >= ones;
        let left = q - select_unpredictable(is_second, ones, 0);
        let bits = select_unpredictable(is_second, second, first);
        // The one before the bucket, and those from its end on.
        let before = I::nth_one(bits, left as u32);
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

    /// The same where it begins in one word and ends in the next, or beyond the first two: one of
    /// 30 buckets.
    #[cold]
    fn run_across_words(&self, q: usize) -> Run {
        let start = self.position_of_one(q) + 1;
        Run {
            start,
            first: start - UNARY - q,
            len: self.position_of_one(q + 1) - start,
        }
    }

    /// Whether one of the `len` slots from `first` on, all of them in this line, has a fingerprint
    /// that `wanted` begins with.
    ///
    /// One read gives five slots of 11 bits, or as many as fit, which are compared together: 999 of
    /// 1 000 buckets have no more, and a branch for each slot would cost more than the comparison.
    #[inline(always)]
    pub fn any_matches(&self, first: usize, len: usize, slot: SlotShape, wanted: u64) -> bool {
        let bits = slot.bits();
        if len * bits <= WINDOW_BITS {
            return self.some_match(first, len, slot, wanted);
        }
        let step = WINDOW_BITS / bits;
        (0..len).step_by(step).any(|n| {
            let len = step.min(len - n);
            self.some_match(first + n, len, slot, wanted)
        })
    }

    /// The same for slots whose payload is one of these.
    #[inline(always)]
    pub fn any_matches_among(
        &self,
        first: usize,
        len: usize,
        slot: SlotShape,
        wanted: u64,
        payloads: u16,
    ) -> bool {
        let bits = slot.bits();
        if len * bits <= WINDOW_BITS {
            return self.some_match_among(first, len, slot, wanted, payloads);
        }
        let step = WINDOW_BITS / bits;
        (0..len).step_by(step).any(|n| {
            let len = step.min(len - n);
            self.some_match_among(first + n, len, slot, wanted, payloads)
        })
    }

    /// The same for as many as one read gives. Of all lookups that find an entry, one in a hundred
    /// or so finds two in a bucket: only then there is a branch to foretell.
    #[inline(always)]
    fn some_match_among(
        &self,
        first: usize,
        len: usize,
        slot: SlotShape,
        wanted: u64,
        payloads: u16,
    ) -> bool {
        let (mut found, slots) = self.matching(first, len, slot, wanted);
        loop {
            // Without a match this is some bit of the payloads, which does not count.
            let end = found.trailing_zeros() + 1;
            let payload = slots.wrapping_shr(end.wrapping_sub(slot.bits() as u32));
            let payload = payload & ((1 << slot.payload_bits) - 1);
            let is_one = payloads.wrapping_shr(payload as u32) & u16::from(found != 0) == 1;
            found &= found.wrapping_sub(1);
            if is_one | (found == 0) {
                return is_one;
            }
        }
    }

    /// The same for as many as one read gives.
    #[inline(always)]
    fn some_match(&self, first: usize, len: usize, slot: SlotShape, wanted: u64) -> bool {
        self.matching(first, len, slot, wanted).0 != 0
    }

    /// The highest bit of each slot that matches, and the slots, from the top on.
    #[inline(always)]
    fn matching(&self, first: usize, len: usize, slot: SlotShape, wanted: u64) -> (u64, u64) {
        let bits = slot.bits();
        // What is compared, from the top on; all other bits are set, so that every slot has a
        // delimiter and none borrows from the next below.
        let others = u64::MAX >> (len * bits);
        let slots = self.window_below(LINE_BITS - first * bits) | others;
        // The lowest bit of each slot, of its fingerprint, and the highest.
        let lowest = LOWEST_BITS[bits & 63];
        let unit = lowest << slot.payload_bits;
        let highest = lowest << (bits - 1);
        let e = slots & !(unit - lowest);
        let wanted = lowest.wrapping_mul(wanted << slot.payload_bits);
        // As in `SlotShape::matches`: what differs above the delimiter.
        let different = (e ^ wanted) & !(e ^ (e - unit));
        // Adding all but the highest bit carries into that one unless a slot has no difference.
        let body = highest - lowest;
        let is_different = ((different & body) + body) | different;
        (!is_different & highest & !others, slots)
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

    /// Writes a slot over clear bits.
    #[inline(always)]
    fn put(&mut self, n: usize, slot: SlotShape, value: u64) {
        let bit = LINE_BITS - (n + 1) * slot.bits();
        let byte = (bit >> 3).min(LINE_BYTES - 8);
        let place = &mut self.0[byte..byte + 8];
        let mut eight = [0; 8];
        eight.copy_from_slice(place);
        let eight = u64::from_le_bytes(eight) | value << (bit - 8 * byte);
        place.copy_from_slice(&eight.to_le_bytes());
    }

    /// Writes over slot number `n`.
    #[inline(always)]
    pub fn replace_slot(&mut self, n: usize, slot: SlotShape, value: u64) {
        let old = self.slot(n, slot);
        let bit = LINE_BITS - (n + 1) * slot.bits();
        let byte = (bit >> 3).min(LINE_BYTES - 8);
        let place = &mut self.0[byte..byte + 8];
        let mut eight = [0; 8];
        eight.copy_from_slice(place);
        let eight = u64::from_le_bytes(eight) ^ (old ^ value) << (bit - 8 * byte);
        place.copy_from_slice(&eight.to_le_bytes());
    }

    /// Adds a slot at the end.
    #[inline(always)]
    pub fn push_slot(&mut self, slot: SlotShape, value: u64) {
        self.put(self.held(), slot, value);
        self.0[0] += 1;
    }

    /// Takes the last slot off.
    #[inline(always)]
    pub fn pop_slot(&mut self, slot: SlotShape) -> u64 {
        let last = self.held() - 1;
        let value = self.slot(last, slot);
        self.replace_slot(last, slot, 0);
        self.set_held(last);
        value
    }

    /// Puts a slot in at place `n`, for which there is room.
    #[inline(always)]
    pub fn insert_slot<I: Instructions>(&mut self, n: usize, slot: SlotShape, value: u64) {
        let held = self.held();
        self.shift_slots::<I>(n, held, slot, value);
        self.set_held(held + 1);
    }

    /// Puts a slot in at place `n`, before the last one, which comes out for it.
    #[inline(always)]
    pub fn insert_and_pop<I: Instructions>(
        &mut self,
        n: usize,
        slot: SlotShape,
        value: u64,
    ) -> u64 {
        let last = self.held() - 1;
        let popped = self.slot(last, slot);
        self.shift_slots::<I>(n, last, slot, value);
        popped
    }

    /// Moves the slots from number `n` up to `end` on by one, over what stands there, and puts one in
    /// front of them.
    #[inline(always)]
    fn shift_slots<I: Instructions>(&mut self, n: usize, end: usize, slot: SlotShape, value: u64) {
        let bits = slot.bits();
        let (low, high) = (LINE_BITS - end * bits, LINE_BITS - n * bits);
        if I::HAS_VECTORS {
            self.shift_all_words(low, high, bits, value);
        } else {
            self.shift_some_words(low, high, bits, value);
        }
    }

    /// Moves the bits from `low` to `high` down by so many, over what stands there, and puts `value`
    /// above them: in all words at once, without a branch.
    #[inline(always)]
    fn shift_all_words(&mut self, low: usize, high: usize, bits: usize, value: u64) {
        let (words, mut next) = (self.words(), [0; LINE_WORDS]);
        next[..LINE_WORDS - 1].copy_from_slice(&words[1..]);
        let (bottom, top) = ((low - bits) as u64, (high - bits) as u64);
        let mut new = [0; LINE_WORDS];
        for word in 0..LINE_WORDS {
            let first = 64 * word as u64;
            let from =
                |bit: u64| shifted_up(u64::MAX, (bit.wrapping_sub(first) as i64).max(0) as u64);
            let moved = words[word] >> bits | next[word] << (64 - bits);
            let moved = moved & from(bottom) & !from(top);
            let stays = words[word] & (from(high as u64) | !from(bottom));
            let above = shifted_up(value, top.wrapping_sub(first));
            let across = shifted_down(value, first.wrapping_sub(top));
            new[word] = moved | stays | above | across;
        }
        *self = Self::of_words(new);
    }

    /// The same in the words that change, one by one.
    #[inline(always)]
    fn shift_some_words(&mut self, low: usize, high: usize, bits: usize, value: u64) {
        // The words that change, and what stays in the lowest and the highest of them.
        let (first, last) = ((low - bits) / 64, (high - 1) / 64);
        let is_moved = from(low - bits, first);
        let stays_low = self.word(first) & !is_moved;
        let stays_high = self.word(last) & from(high, last);
        // The value stands above what moves and moves with it.
        let value = u128::from(value) << (high - 64 * last);
        let mut here = self.word(last) ^ stays_high | value as u64;
        let mut moved = here >> bits | ((value >> 64) as u64) << (64 - bits) | stays_high;
        for word in (first..last).rev() {
            self.set_word(word + 1, moved);
            let below = self.word(word);
            moved = below >> bits | here << (64 - bits);
            here = below;
        }
        self.set_word(first, moved & is_moved | stays_low);
    }

    /// Takes slot number `n` out.
    #[inline(always)]
    pub fn remove_slot(&mut self, n: usize, slot: SlotShape) -> u64 {
        let (held, bits) = (self.held(), slot.bits());
        let value = self.slot(n, slot);
        self.replace_slot(n, slot, 0);
        let end = LINE_BITS;
        self.slide_up(end - held * bits, end - (n + 1) * bits, bits as u32);
        self.set_held(held - 1);
        value
    }

    /// Bits that neither unary part nor slots use: those between the last slot and the one that ends
    /// the last bucket.
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

    /// Marks one more entry in the bucket of `run`; there is a free bit.
    #[inline(always)]
    pub fn grow_run(&mut self, run: Run, slot: SlotShape) {
        // Free bits move too, all but the last one.
        self.slide_up(run.start, LINE_BITS - self.held() * slot.bits() - 1, 1);
    }

    /// Marks one entry less in the bucket of `run`.
    #[inline(always)]
    pub fn shrink_run(&mut self, run: Run, slot: SlotShape) {
        self.slide_down(run.start + 1, LINE_BITS - self.held() * slot.bits(), 1);
    }

    /// Writes the unary part of `len` bits into a line that is all clear, for entries of these
    /// buckets, in order.
    #[inline]
    pub fn write_unary(&mut self, buckets: impl Iterator<Item = usize>, len: usize) {
        let mut words = [0; 8];
        for (n, word) in words.iter_mut().enumerate() {
            *word = from(UNARY - 1, n) & !from(UNARY + len, n);
        }
        for (entry, bucket) in buckets.enumerate() {
            let bit = UNARY + entry + bucket;
            words[bit / 64 % 8] ^= 1 << (bit % 64);
        }
        for (n, word) in words.into_iter().enumerate() {
            self.set_word(n, word);
        }
    }

    /// `len` bits (at most 57) of the unary part from `first` on.
    pub fn unary(&self, first: usize, len: usize) -> u64 {
        let bits = self.window_below(UNARY + first + len);
        bits.checked_shr(64 - len as u32).unwrap_or(0)
    }

    /// Calls `each` with the bucket of each of the line's `own` entries, in order.
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

    /// Writes the slots of a line that has none, from its end. Whole words are written once:
    /// reading back what was just written across their borders would cost more than all the rest.
    #[inline]
    pub fn write_slots(&mut self, slot: SlotShape, values: impl Iterator<Item = u64>) {
        let bits = slot.bits();
        let (mut word, mut pending, mut free, mut held) = (7, 0, 64, 0);
        for value in values {
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
        }
        self.set_word(word, self.word(word) | pending);
        self.set_held(held);
    }

    /// Moves the bits from `low` to `high` up, over one clear stretch of `by` bits (1 to 57) or,
    /// for the unary part, into free bits.
    #[inline(always)]
    fn slide_up(&mut self, low: usize, high: usize, by: u32) {
        let mut below = 0;
        let last = (high + by as usize - 1) / 64;
        for word in low / 64..=last.min(7) {
            let (bits, mask) = (self.word(word), from(low, word) & !from(high, word));
            let moving = bits & mask;
            self.set_word(word, bits & !mask | moving << by | below);
            below = moving >> (64 - by);
        }
    }

    /// Moves the bits from `low` to `high` down, over `by` bits below that are clear or given up.
    /// Only the first and the last word have bits that stay.
    #[inline(always)]
    fn slide_down(&mut self, low: usize, high: usize, by: u32) {
        let Some(last) = high.checked_sub(1).filter(|last| *last >= low) else {
            return self.clear(low - by as usize, low);
        };
        let given_up = low - by as usize;
        let (first, last) = (given_up / 64, (last / 64).min(7));
        let stays = self.word(last) & from(high, last);
        let (mut bits, mut above) = (self.word(last) ^ stays, stays);
        for word in (first + 1..=last).rev() {
            let next = self.word(word - 1);
            self.set_word(word, bits >> by | above);
            (bits, above) = (next, bits << (64 - by));
        }
        let moved = from(given_up, first);
        let stays = self.word(first) & !moved | above & from(high, first);
        self.set_word(first, (bits >> by | above) & moved | stays);
    }

    /// Clears the bits from `low` to `high`.
    fn clear(&mut self, low: usize, high: usize) {
        for word in low / 64..=(high / 64).min(7) {
            let cleared = from(low, word) & !from(high, word);
            self.set_word(word, self.word(word) & !cleared);
        }
    }
}

/// The slots of a page: `[remainder | 1 | 0 ... | payload]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotShape {
    /// Bits of remainder and delimiter.
    pub fingerprint_bits: u8,
    pub payload_bits: u8,
}

/// What one read of eight bytes at any bit gives.
pub const MAX_SLOT_BITS: usize = WINDOW_BITS;

impl SlotShape {
    #[inline]
    pub fn bits(self) -> usize {
        usize::from(self.fingerprint_bits) + usize::from(self.payload_bits)
    }

    #[inline]
    fn mask(self) -> u64 {
        (1 << self.bits()) - 1
    }

    #[inline]
    pub fn payload_mask(self) -> u64 {
        (1 << self.payload_bits) - 1
    }

    /// The payload in a slot.
    #[inline]
    pub fn payload(self, value: u64) -> u8 {
        (value & self.payload_mask()) as u8
    }

    /// Whether the fingerprint in a slot is a prefix of the `fingerprint_bits` bits of `wanted`.
    /// Compared are the bits above the delimiter, which is the lowest bit set: `e ^ (e - 1)` masks
    /// it and all below.
    #[inline]
    pub fn matches(self, value: u64, wanted: u64) -> bool {
        let e = value >> self.payload_bits;
        e ^ wanted <= e ^ e.wrapping_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::growing::instructions::Portable;
    use proptest::prelude::*;

    fn bits(line: &Line) -> Vec<bool> {
        let bit = |n: usize| line.0[n / 8] >> (n % 8) & 1 == 1;
        (0..LINE_BITS).map(bit).collect()
    }

    proptest! {
        #[test]
        fn bits_slide_as_they_do_one_by_one(
            bytes in prop::collection::vec(any::<u8>(), LINE_BYTES),
            ends in [0..=512usize, 0..=512], by in 1..=57u32,
        ) {
            let mut line = Line([0; LINE_BYTES]);
            line.0.copy_from_slice(&bytes);
            let step = by as usize;
            let (low, high) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
            if low >= step {
                let (mut down, mut expected) = (line, bits(&line));
                down.slide_down(low, high, by);
                expected[low - step..low].fill(false);
                expected.copy_within(low..high, low - step);
                if high > low {
                    expected[(high - step).max(low - step)..high].fill(false);
                }
                prop_assert_eq!(bits(&down), expected);
            }
            if high + step <= 512 {
                line.clear(high, high + step);
                let (mut up, mut expected) = (line, bits(&line));
                up.slide_up(low, high, by);
                expected.copy_within(low..high, low + step);
                expected[low..(low + step).min(high + step)].fill(false);
                prop_assert_eq!(bits(&up), expected);
            }
        }

        #[test]
        fn slots_shift_as_they_do_one_by_one(
            slots in prop::collection::vec(any::<u64>(), 1..60), bits in 2..=57u8,
            place in any::<prop::sample::Index>(), value in any::<u64>(),
        ) {
            let slot = SlotShape { fingerprint_bits: bits, payload_bits: 0 };
            let most = (BODY_BITS - 1) / slot.bits();
            let mut slots: Vec<u64> = slots.iter().map(|value| value & slot.mask()).collect();
            slots.truncate(most - 1);
            let (n, value) = (place.index(slots.len() + 1), value & slot.mask());
            let line = |slots: &[u64]| {
                let mut line = Line([0; LINE_BYTES]);
                line.set_word(0, Line::header(0, 0));
                line.write_slots(slot, slots.iter().copied());
                line
            };
            let (low, high) = (LINE_BITS - slots.len() * slot.bits(), LINE_BITS - n * slot.bits());
            let before = line(&slots);
            slots.insert(n, value);
            let mut expected = line(&slots);
            expected.set_held(slots.len() - 1);
            for shift in [Line::shift_all_words, Line::shift_some_words] {
                let mut after = before;
                shift(&mut after, low, high, slot.bits(), value);
                prop_assert!(after == expected);
            }
            if n + 1 < slots.len() {
                slots.pop();
                let mut after = before;
                let last = after.insert_and_pop::<Portable>(n, slot, value);
                prop_assert!(after == line(&slots));
                prop_assert_eq!(last, before.slot(slots.len() - 1, slot));
            }
        }
    }
}
