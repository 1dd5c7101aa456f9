//! How a page is cut: bits into buckets and slots, buckets into lines.

use crate::table::fingerprint::{Fingerprint, SlotShape};
use crate::table::line::{Line, BODY_BITS, LINE_BYTES, MAX_SPILLED};

/// Lines of the largest page: 8 KiB.
pub const MAX_LINES: usize = 128;

/// How the bits of a fingerprint are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub bucket_bits: u8,
    pub slot: SlotShape,
}

impl Shape {
    /// The length of the longest fingerprint that a slot holds.
    #[inline]
    pub fn longest(self) -> u8 {
        self.bucket_bits + self.slot.fingerprint_bits - 1
    }

    /// The bits that a slot is compared with.
    #[inline(always)]
    pub fn wanted(self, below: u64) -> u64 {
        (below << self.bucket_bits) >> (64 - self.slot.fingerprint_bits)
    }

    /// The slot of a fingerprint that is at least as long as the bucket's number.
    pub fn value(self, fingerprint: Fingerprint) -> u64 {
        let bits = self.slot.payload_bits;
        let payload = u64::from(fingerprint.payload()) & self.slot.payload_mask();
        self.wanted(fingerprint.without_payload()) << bits | payload
    }

    /// The part of a fingerprint that the bucket determines.
    #[inline(always)]
    pub fn of_bucket(self, bucket: usize) -> Fingerprint {
        Fingerprint::of_parts((bucket as u64) << (64 - self.bucket_bits), 0)
    }

    /// The part of a fingerprint that the slot holds.
    #[inline(always)]
    pub fn remainder(self, value: u64) -> Fingerprint {
        let SlotShape { fingerprint_bits, payload_bits } = self.slot;
        let remainder = (value >> payload_bits << (64 - fingerprint_bits)) >> self.bucket_bits;
        Fingerprint::of_parts(remainder, (value & ((1 << payload_bits) - 1)) as u8)
    }

    /// The length of the fingerprint in a slot, in bits of path below the page's depth.
    #[inline]
    pub fn length(self, value: u64) -> u8 {
        self.longest() - self.slot.delimiter(value).trailing_zeros() as u8
    }

    /// The fingerprint in a slot of a bucket; `None` if the slot has no delimiter.
    pub fn fingerprint(self, bucket: usize, value: u64) -> Option<Fingerprint> {
        let has_delimiter = value >> self.slot.payload_bits != 0;
        has_delimiter.then(|| self.of_bucket(bucket).or(self.remainder(value)))
    }
}

/// 2^40 / n, rounded up.
const RECIPROCALS: [u64; 256] = {
    let mut reciprocals = [0; 256];
    let mut n = 1;
    while n < 256 {
        reciprocals[n] = (1 << 40) / n as u64 + 1;
        n += 1;
    }
    reciprocals
};

/// `x / n`, for x below 2^20 and n up to 128: the error of the reciprocal is below 2^-20, and `x /
/// n` at least 1/128 below the next integer.
#[inline(always)]
fn divided(x: usize, n: usize) -> usize {
    ((x as u64 * RECIPROCALS[n & 0xff]) >> 40) as usize
}

/// The number of entries of each line's buckets.
pub type Owned = [u16; MAX_LINES];

/// The cut of buckets into lines, and of entries into slots.
#[derive(Clone, Copy)]
pub struct Grid {
    pub shape: Shape,
    pub lines: usize,
}

impl Grid {
    #[inline]
    pub fn next(self, line: usize) -> usize {
        if line + 1 == self.lines {
            0
        } else {
            line + 1
        }
    }

    #[inline(always)]
    pub fn bucket(self, below: u64) -> usize {
        (below >> (64 - self.shape.bucket_bits)) as usize
    }

    #[inline(always)]
    pub fn line_of(self, bucket: usize) -> usize {
        (bucket * self.lines) >> self.shape.bucket_bits
    }

    /// The line a quarter of a line after this bucket; past the last line for the last buckets.
    #[inline(always)]
    pub fn line_beyond(self, bucket: usize) -> usize {
        (bucket * self.lines + (1 << self.shape.bucket_bits >> 2)) >> self.shape.bucket_bits
    }

    /// The number of buckets of its line before this one.
    #[inline(always)]
    pub fn bucket_in_line(self, bucket: usize) -> usize {
        let rest = (bucket * self.lines) & ((1 << self.shape.bucket_bits) - 1);
        divided(rest, self.lines)
    }

    /// The first bucket of a line.
    fn first_bucket(self, line: usize) -> usize {
        divided((line << self.shape.bucket_bits) + self.lines - 1, self.lines)
    }

    pub fn buckets_in(self, line: usize) -> usize {
        self.first_bucket(line + 1) - self.first_bucket(line)
    }

    /// The number of entries of each line's buckets.
    pub fn owned(self, fingerprints: &[Fingerprint]) -> Owned {
        let mut owned = [0; MAX_LINES];
        let mut before = 0;
        for (line, owned) in owned.iter_mut().enumerate().take(self.lines) {
            let end = self.first_bucket(line + 1);
            let bits = self.shape.bucket_bits;
            let count = fingerprints[before..]
                .partition_point(|fingerprint| fingerprint.bucket(bits) < end);
            *owned = count as u16;
            before += count;
        }
        owned
    }

    /// The number of slots that line `line` can hold if `owned` entries belong to it.
    pub fn room(self, line: usize, owned: u16) -> usize {
        let bits = BODY_BITS - self.buckets_in(line) - usize::from(owned);
        divided(bits, self.shape.slot.bits()).min(255)
    }

    /// The number of entries that spill from the last line into the first; `None` if the page is
    /// too small, or a line cannot count what spills into it.
    pub fn spilled(self, owned: &Owned) -> Option<usize> {
        let mut lines = owned.iter().enumerate().take(self.lines);
        if lines.any(|(line, owned)| self.buckets_in(line) + usize::from(*owned) > BODY_BITS) {
            return None;
        }
        let around = |mut spilled: usize| {
            for (line, owned) in owned.iter().enumerate().take(self.lines) {
                if spilled > MAX_SPILLED {
                    return None;
                }
                let all = spilled + usize::from(*owned);
                spilled = all - all.min(self.room(line, *owned));
            }
            (spilled <= MAX_SPILLED).then_some(spilled)
        };
        let first = around(0)?;
        (first == 0 || self.lines > 1 && around(first)? == first).then_some(first)
    }

    /// Writes the lines; `first_spilled` comes from [`Grid::spilled`].
    pub fn write(
        self,
        fingerprints: &[Fingerprint],
        owned: &Owned,
        first_spilled: usize,
        lines: &mut Vec<Line>,
    ) {
        let (mut spilled, mut before) = (first_spilled, 0);
        for (number, owned) in owned.iter().enumerate().take(self.lines) {
            let owned = usize::from(*owned);
            let all = spilled + owned;
            let held = all.min(self.room(number, owned as u16));
            let mut line = Line([0; LINE_BYTES]);
            let first = self.first_bucket(number);
            let buckets = fingerprints[before..before + owned]
                .iter()
                .map(|m| m.bucket(self.shape.bucket_bits) - first);
            line.write_unary(buckets, owned + self.buckets_in(number));
            // The stream is circular: entries that spill from the last line to the first ones are
            // at its end.
            let start = before + fingerprints.len() - spilled;
            let wrapped = fingerprints.get(start..).unwrap_or_default();
            let wrapped = &wrapped[..held.min(wrapped.len())];
            let start = start.saturating_sub(fingerprints.len());
            let straight = &fingerprints[start..start + held - wrapped.len()];
            let held =
                wrapped.iter().chain(straight).map(|fingerprint| self.shape.value(*fingerprint));
            line.write_slots(self.shape.slot, held);
            line.set_spilled(spilled);
            spilled = all - line.held();
            before += owned;
            lines.push(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quotient_by_a_reciprocal_is_exact() {
        for n in 1..=MAX_LINES {
            for q in 0..(1 << 20) / n {
                let (first, last) = (q * n, q * n + n - 1);
                assert_eq!((divided(first, n), divided(last, n)), (q, q), "{n}");
            }
        }
    }
}
