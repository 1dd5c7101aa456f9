//! One sub-filter of RedisBloom's: an undivided Bloom filter, which is read and never written.

use super::pieces::{by_segments, by_words};
use super::probes::{all_set, Pair, Probe, ROUND};
use crate::bloom::shape::MAX_BITS;
use crate::bytes::{within, Reader, Sink};
use crate::error::{AddError, DecodeError};
use crate::hash::multiply_high;
use crate::math::power;
use crate::storage::segments::Segments;
use crate::storage::{LINE_WORDS, SEGMENT_WORDS};
use splitbloom_foundation::prefetch::prefetch;

/// The layout kind of an undivided Bloom filter under MurmurHash2.
const LAYOUT: u8 = 2;
/// Hashes at the smallest error rate that a double can be, 2^-1074. RedisBloom computes
/// ceil(LN_2 * bpe) from bpe = 1074 * ln 2 / 0.480453013918201, whose product is a hair above 1074:
/// 1075. valkey-bloom gives its one item ceil(1549.4 / 8) bytes, 1552 bits, and rounds
/// 1552 * ln 2 = 1075.8 to 1076; more items share the rounding.
pub(super) const MAX_HASHES: u32 = 1076;
/// ln 2 as RedisBloom has it: where a product with it is nearly whole, a digit more would give
/// another number of hashes.
#[allow(clippy::approx_constant, reason = "the last digit is missing there, too")]
pub(super) const LN_2: f64 = 0.693_147_180_559_945;
/// Words of the largest array that is one block, see [`Segments`]. What is larger is kept in whole
/// lines, so that even its last segment is not much shorter than what stores it.
const BLOCK_WORDS: u64 = 512;

/// Bits of the array of a sub-filter that RedisBloom describes by `bits` and `n2`. Before version
/// 2.2 it stored 0 bits, and its arrays have 2^n2.
pub(super) fn array_bits(bits: u64, n2: u8) -> u64 {
    match bits {
        0 => 1u64.checked_shl(n2.into()).unwrap_or(0),
        bits => bits,
    }
}

/// What RedisBloom stores of a sub-filter besides its bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Description {
    /// Items that it was made for.
    pub entries: u64,
    /// The false-positive rate with `entries` items.
    pub error_rate: f64,
    /// Bits that an item sets.
    pub hashes: u32,
    /// Bits for each entry.
    pub bits_per_item: f64,
    /// Bits of the array.
    pub bits: u64,
    /// If it is not 0, only the first 2^n2 bits are used.
    pub n2: u8,
    /// Items that it has.
    pub items: u64,
}

impl Description {
    /// Checks each field against its range and against the others.
    ///
    /// # Errors
    /// The `Field` that does not fit.
    pub fn check(&self) -> Result<(), DecodeError> {
        let rate = self.error_rate;
        within("entries", self.entries > 0)?;
        within("error rate of a layer", rate > 0.0 && rate < 1.0)?;
        within("number of bits", (1..=MAX_BITS).contains(&self.bits))?;
        let used = 1u64.checked_shl(self.n2.into()).unwrap_or(u64::MAX);
        within("n2", self.n2 == 0 || used <= self.bits)?;
        let hashes = (LN_2 * self.bits_per_item).ceil();
        within("bits per item", self.bits_per_item > 0.0)?;
        within(
            "number of hashes",
            f64::from(self.hashes) == hashes && (1..=MAX_HASHES).contains(&self.hashes),
        )
    }
}

/// A sub-filter.
pub struct Layer {
    /// What is stored besides the bits.
    pub(super) about: Description,
    /// Bits that items can set.
    used_bits: u64,
    /// floor((2^64 - 1) / used bits), which makes a division a multiplication.
    reciprocal: u64,
    segments: Segments,
}

/// The memory bound of [`crate::codec`] for hostile bytes depends on this size.
const _: () = assert!(size_of::<Layer>() <= 96);

impl Layer {
    /// A layer without set bits. Allocates nothing.
    ///
    /// # Errors
    /// The `Field` that does not fit, see [`Description::check`].
    pub fn new(description: Description) -> Result<Self, DecodeError> {
        description.check()?;
        let words = description.bits.div_ceil(64);
        let words = match words {
            0..=BLOCK_WORDS => words,
            more => more.next_multiple_of(LINE_WORDS as u64),
        };
        let used_bits = match description.n2 {
            0 => description.bits,
            n2 => 1 << n2,
        };
        Ok(Self {
            about: description,
            used_bits,
            reciprocal: u64::MAX / used_bits,
            segments: Segments::new(words, SEGMENT_WORDS),
        })
    }

    /// What is stored besides the bits.
    pub fn description(&self) -> Description {
        self.about
    }

    /// Bits of the array.
    pub fn num_bits(&self) -> u64 {
        self.about.bits
    }

    /// Number of set bits, counted when they came.
    pub fn set_bits(&self) -> u64 {
        self.segments.set_bits()
    }

    /// The storage, for reading.
    pub fn segments(&self) -> &Segments {
        &self.segments
    }

    /// The share of set bits among those that items can set.
    pub fn fill_ratio(&self) -> f64 {
        (self.set_bits() as f64 / self.used_bits as f64).min(1.0)
    }

    /// The estimated number of items, from the set bits: -m/k * ln(1 - X/m).
    pub fn estimated_items(&self) -> f64 {
        // With every bit set the estimate would be infinite, so half a bit counts as clear.
        let bits = self.num_bits() as f64;
        let fill = self.fill_ratio().min(1.0 - 0.5 / bits);
        -bits / f64::from(self.hashes()) * (-fill).ln_1p()
    }

    /// The false-positive rate of the bits received so far: all probes of an absent item are
    /// independent, so it is exact but for the few pairs of hashes whose probes coincide.
    pub fn false_positive_rate(&self) -> f64 {
        power(self.fill_ratio(), self.about.hashes.into())
    }

    /// The false-positive rate at its number of items, even if their bits are still to come.
    pub fn rate_of_items(&self) -> f64 {
        let used = self.used_bits as f64;
        let probes = self.about.items.saturating_mul(self.about.hashes.into());
        let clear = power(1.0 - 1.0 / used, probes);
        power(1.0 - clear, self.about.hashes.into())
    }

    /// Whether the item is (probably) present. Its cache misses overlap, a round at a time.
    #[inline]
    pub fn contains(&self, pair: Pair) -> bool {
        let hashes = self.about.hashes as usize;
        (0..hashes).step_by(ROUND).all(|from| {
            let mut probes = [Probe::NONE; ROUND];
            let probes = &mut probes[..ROUND.min(hashes - from)];
            self.fetch_all(pair, from, probes);
            all_set(probes)
        })
    }

    /// Fills `probes` with those of the item from number `from` on, and prefetches their lines.
    #[inline]
    pub(super) fn fetch_all<'a>(&'a self, pair: Pair, from: usize, probes: &mut [Probe<'a>]) {
        for (probe, x) in probes.iter_mut().zip(pair.numbers(from)) {
            *probe = self.probe(x);
            prefetch(probe.word);
        }
    }

    /// Bits that an item sets.
    #[inline]
    pub(super) fn hashes(&self) -> u32 {
        self.about.hashes
    }

    /// The bit that the number `x` of an item chooses.
    #[inline]
    fn probe(&self, x: u64) -> Probe<'_> {
        let bit = self.remainder(x);
        let word = bit / 64;
        let segment = self.segments.get(word / SEGMENT_WORDS as u64);
        let words = segment.unwrap_or_default();
        Probe { word: words.get((word % SEGMENT_WORDS as u64) as usize).unwrap_or(&0), bit }
    }

    /// `x` modulo the bits in use. `reciprocal` is less than 2^64 / used bits, by at most 1, so the
    /// product with `x` is too small by less than 2^64 and the quotient by at most 1: it is right,
    /// or one too low. Where nothing is left over a subtraction wraps round to a large number.
    #[inline]
    fn remainder(&self, x: u64) -> u64 {
        let rest = x - multiply_high(x, self.reciprocal) * self.used_bits;
        rest.min(rest.wrapping_sub(self.used_bits))
    }

    /// Bytes of the array in headers and pieces.
    pub(super) fn num_bytes(&self) -> u64 {
        self.about.bits.div_ceil(8)
    }

    /// Sets the bits that are set in `bytes`, which begin at byte `at` of the array and end in it.
    ///
    /// # Errors
    /// `OutOfMemory`, and no bit has changed.
    pub(super) fn take(&mut self, at: u64, bytes: &[u8]) -> Result<(), DecodeError> {
        // A segment without a set bit would waste memory.
        let pieces = by_segments(at, bytes);
        let with_bits = pieces.filter(|(_, _, bytes)| bytes.iter().any(|byte| *byte != 0));
        for (segment, _, _) in with_bits {
            self.segments.allocate(segment)?;
        }
        for (segment, place, bytes) in by_segments(at, bytes) {
            if let Some(words) = self.segments.get_mut(segment) {
                let new_bits = merge_bytes(words, place, bytes);
                self.segments.count_set_bits(new_bits.into());
            }
        }
        Ok(())
    }
}

/// Sets the bits that are set in `bytes`, from byte `place` of the words on. Returns how many are
/// new.
fn merge_bytes(words: &mut [u64], place: usize, bytes: &[u8]) -> u32 {
    let mut new_bits = 0;
    for (number, _, bits) in by_words(place, bytes) {
        if let Some(word) = words.get_mut(number) {
            new_bits += (bits & !*word).count_ones();
            *word |= bits;
        }
    }
    new_bits
}

impl Layer {
    /// Writes the header: the layout kind, and the description.
    pub(crate) fn write_header(&self, to: &mut impl Sink) {
        to.u8(LAYOUT);
        to.u64(self.about.entries);
        to.f64(self.about.error_rate);
        to.u32(self.about.hashes);
        to.f64(self.about.bits_per_item);
        to.u64(self.about.bits);
        to.u8(self.about.n2);
        to.u64(self.about.items);
    }

    /// A layer of this header without set bits. It allocates nothing.
    ///
    /// # Errors
    /// `Length`; `Layout` if it is of another kind; a `Field` out of range.
    pub(crate) fn read_header(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        reader.layout(LAYOUT)?;
        Self::new(Description {
            entries: reader.u64()?,
            error_rate: reader.f64()?,
            hashes: reader.u32()?,
            bits_per_item: reader.f64()?,
            bits: reader.u64()?,
            n2: reader.u8()?,
            items: reader.u64()?,
        })
    }

    /// The storage, to allocate, move and fill.
    pub(crate) fn segments_mut(&mut self) -> &mut Segments {
        &mut self.segments
    }

    /// Sets the bits that are set in `words`, for which there is room.
    pub(crate) fn merge(&mut self, segment: u64, words: &[u8]) {
        if let Some(to) = self.segments.get_mut(segment) {
            let new_bits = merge_bytes(to, 0, words);
            self.segments.count_set_bits(new_bits.into());
        }
    }

    /// A copy: see [`Segments::try_clone`].
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub(crate) fn try_clone(&mut self) -> Result<Self, AddError> {
        Ok(Self { segments: self.segments.try_clone()?, ..*self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn layer(bits: u64, n2: u8) -> Layer {
        let description = Description {
            entries: 1,
            error_rate: 0.5,
            hashes: 1,
            bits_per_item: 1.0,
            bits,
            n2,
            items: 0,
        };
        Layer::new(description).unwrap()
    }

    proptest! {
        #[test]
        fn the_remainder_is_that_of_a_division(
            bits in prop_oneof![1..200u64, 1..=MAX_BITS, (0..48u32).prop_map(|n| 1 << n)],
            factor in any::<u64>(),
            x in any::<u64>(),
        ) {
            let layer = layer(bits, 0);
            let multiple = factor / bits * bits;
            let edges = [0, 1, bits - 1, bits, u64::MAX, multiple, multiple.wrapping_sub(1), x];
            for x in edges {
                prop_assert_eq!(layer.remainder(x), x % bits);
            }
        }
    }

    #[test]
    fn only_the_first_bits_count_where_a_power_says_so() {
        assert_eq!(layer(1 << 10, 3).remainder(u64::MAX), 7);
        assert_eq!(layer(1 << 10, 10).remainder(u64::MAX), 1023);
    }
}
