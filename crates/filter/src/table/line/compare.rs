//! Compares the slots of a bucket with a value, all at once and without a branch for each.
//!
//! The slots are read as one word, and compared as a vector of numbers in it: see Hacker's Delight,
//! chapter 2.

use super::{Line, LINE_BITS};
use crate::table::fingerprint::{SlotShape, WINDOW_BITS};

/// The lowest bit of each slot in a window, indexed by the bits of a slot: slots begin at the top,
/// and there are as many as one read returns whole.
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

/// How a value compares with the slots of its bucket, which are sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rank {
    /// The number of slots that are smaller.
    pub smaller: usize,
    /// The number of slots that are equal.
    pub equal: usize,
    /// The number of slots with the same fingerprint, whatever their payload.
    pub same_fingerprint: usize,
}

impl Line {
    /// Whether one of the `len` slots from `first` on, all of them in this line, has a fingerprint
    /// that `wanted` begins with.
    ///
    /// One read returns five slots of 11 bits, or as many as fit, which are compared together. 999
    /// of 1 000 buckets have no more, and a branch for each slot would cost more than the
    /// comparison.
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

    /// The same for slots that one read returns. About one lookup in a hundred of those that find
    /// an entry finds two in its bucket; the branch is predictable otherwise.
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
            // Without a match this is some bit of the payloads, which `found` below rules out.
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

    /// The same for slots that one read returns.
    #[inline(always)]
    fn some_match(&self, first: usize, len: usize, slot: SlotShape, wanted: u64) -> bool {
        self.matching(first, len, slot, wanted).0 != 0
    }

    /// The number of slots that match, of those that one read returns.
    #[inline(always)]
    pub fn count_matches(&self, first: usize, len: usize, slot: SlotShape, wanted: u64) -> usize {
        self.matching(first, len, slot, wanted).0.count_ones() as usize
    }

    /// The highest bit of each slot that matches, and the slots, from the top on.
    #[inline(always)]
    fn matching(&self, first: usize, len: usize, slot: SlotShape, wanted: u64) -> (u64, u64) {
        let bits = slot.bits();
        // The slots, from the top; all other bits are set, so that every slot has a delimiter and
        // none borrows from the next lower one.
        let others = u64::MAX >> (len * bits);
        let slots = self.window_below(LINE_BITS - first * bits) | others;
        // The lowest bit of each slot, of its fingerprint, and its highest bit.
        let lowest = LOWEST_BITS[bits & 63];
        let unit = lowest << slot.payload_bits;
        let highest = lowest << (bits - 1);
        let e = slots & !(unit - lowest);
        let wanted = lowest.wrapping_mul(wanted << slot.payload_bits);
        // As in `SlotShape::matches`: the bits that differ above the delimiter.
        let different = (e ^ wanted) & !(e ^ (e - unit));
        // Adding all but the highest bit carries into it unless a slot has no difference.
        let body = highest - lowest;
        let is_different = ((different & body) + body) | different;
        (!is_different & highest & !others, slots)
    }

    /// How a value compares with the `len` slots from `first` on, which are in this line and which
    /// one read returns.
    #[inline(always)]
    pub fn rank(&self, first: usize, len: usize, slot: SlotShape, value: u64) -> Rank {
        let bits = slot.bits();
        let others = u64::MAX >> (len * bits);
        let slots = self.window_below(LINE_BITS - first * bits) & !others;
        let lowest = LOWEST_BITS[bits & 63];
        let highest = lowest << (bits - 1);
        let compared = highest & !others;
        let values = lowest.wrapping_mul(value);
        let different = slots ^ values;
        // Without their highest bits no slot borrows from the next.
        let difference = (slots | highest) - (values & !highest);
        let is_smaller = !slots & values | !different & !difference;
        // Adding all but the highest bit carries into it unless there is no difference.
        let body = highest - lowest;
        let is_different = ((different & body) + body) | different;
        let different = different & !lowest.wrapping_mul(slot.payload_mask());
        let is_other_fingerprint = ((different & body) + body) | different;
        Rank {
            smaller: (is_smaller & compared).count_ones() as usize,
            equal: (!is_different & compared).count_ones() as usize,
            same_fingerprint: (!is_other_fingerprint & compared).count_ones() as usize,
        }
    }

    /// The index and value of the last slot with the longest fingerprint, of the `len` slots from
    /// `first` on that match and have one of the payloads `alive`. They are in this line, and one
    /// read returns them.
    #[inline(always)]
    pub fn longest_match(
        &self,
        first: usize,
        len: usize,
        slot: SlotShape,
        wanted: u64,
        alive: u16,
    ) -> Option<(usize, u64)> {
        let (mut found, slots) = self.matching(first, len, slot, wanted);
        let highest = LOWEST_BITS[slot.bits() & 63] << (slot.bits() - 1);
        let mut longest = None;
        while found != 0 {
            let top = found.leading_zeros();
            found ^= 1 << 63 >> top;
            let value = slots << top >> (64 - slot.bits());
            let is_alive = alive >> slot.payload(value) & 1 == 1;
            let delimiter = slot.delimiter(value);
            if is_alive && longest.is_none_or(|(_, _, least)| delimiter <= least) {
                let before = highest & !(u64::MAX >> top);
                longest = Some((first + before.count_ones() as usize, value, delimiter));
            }
        }
        longest.map(|(n, value, _)| (n, value))
    }
}
