//! The slots of a cuckoo filter.

use super::shape::{Hashing, Place, Shape};
use crate::bytes::{Reader, Sink};
use crate::error::{AddError, DecodeError};
use crate::foreign::pieces::{by_segments, by_words};
use crate::storage::segments::Segments;
use crate::storage::SEGMENT_WORDS;
use std::ops::Range;

/// The layout kinds that say how items map to these bytes.
const LAYOUT_OF_WIDE: u8 = 3;
const LAYOUT_OF_NARROW: u8 = 4;
/// Slots of a full segment: a slot is a byte.
const SEGMENT_SLOTS: u64 = SEGMENT_WORDS as u64 * WORD_SLOTS;
/// Slots of a word.
const WORD_SLOTS: u64 = 8;

/// The layers of a cuckoo filter that RedisBloom wrote.
///
/// All slots, layer after layer from the oldest on, are one array of bytes, which is stored in
/// segments as the bits of a sub-filter are. Slots that are all empty need not be allocated.
pub struct CuckooSeries {
    shape: Shape,
    /// The sum over its layers.
    slots: u64,
    segments: Segments,
    occupied: u64,
    /// The sum of the weights of the layers of all occupied slots. At most 2^60: in each of at most
    /// 2^16 layers it is at most the 2^44 slots of the newest.
    weight: u64,
}

impl CuckooSeries {
    /// Empty slots, which take no memory. The shape must have been checked.
    pub(crate) fn new(shape: Shape) -> Self {
        let slots = shape.slots();
        Self {
            shape,
            slots,
            segments: Segments::new(slots.div_ceil(WORD_SLOTS), SEGMENT_WORDS),
            occupied: 0,
            weight: 0,
        }
    }

    /// What it is made of.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Slots of all layers, in use or not.
    pub fn slots(&self) -> u64 {
        self.slots
    }

    /// Copies of items: slots in use. They are counted here, because the number that RedisBloom
    /// writes can be wrong: items may be added between a header and its pieces.
    pub fn items(&self) -> u64 {
        self.occupied
    }

    /// The false-positive rate. An absent item's fingerprint is compared with all slots of two
    /// buckets in each layer.
    pub fn false_positive_rate(&self) -> f64 {
        let newest = self.shape.layer(self.shape.layers - 1);
        let newest_slots = self.shape.slots_of(newest) as f64;
        let compared = 2.0 * f64::from(self.shape.bucket_size);
        (self.weight as f64 / newest_slots * compared * self.shape.hashing.collision_rate())
            .min(1.0)
    }

    /// Whether the item is (probably) present: what RedisBloom's CF.EXISTS returns.
    pub fn contains(&self, item: &[u8]) -> bool {
        self.slots_with(item).next().is_some()
    }

    /// The number of slots with the item's fingerprint: what RedisBloom's CF.COUNT returns. Where
    /// both buckets of an item are the same one, each of its slots counts twice since 2.2.
    pub fn count(&self, item: &[u8]) -> u64 {
        self.slots_with(item).count() as u64
    }

    /// Empties a slot that has the item, in the newest layer that does. Returns whether there was
    /// one.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub fn remove(&mut self, item: &[u8]) -> Result<bool, AddError> {
        let Some(slot) = self.slots_with(item).next() else {
            return Ok(false);
        };
        self.segments.allocate(slot / SEGMENT_SLOTS)?;
        self.write(slot, &[0]);
        Ok(true)
    }

    /// The slots that have the fingerprint of the item.
    fn slots_with(&self, item: &[u8]) -> impl Iterator<Item = u64> + use<'_> {
        let place = Place::of(item, self.shape.hashing);
        let len = u64::from(self.shape.bucket_size);
        let layers = self.shape.layers_from_newest();
        let buckets = layers.flat_map(move |layer| place.buckets(layer, len));
        let runs = buckets.flat_map(move |start| self.runs(start..start + len));
        runs.flat_map(move |(words, slots)| {
            slots.filter(move |slot| slot_of(words, *slot) == Some(place.fingerprint))
        })
    }

    /// These slots, divided by segments: the words of each that is allocated, and the slots in it.
    fn runs(&self, slots: Range<u64>) -> impl Iterator<Item = (&[u64], Range<u64>)> {
        let segments = slots.start / SEGMENT_SLOTS..slots.end.div_ceil(SEGMENT_SLOTS);
        segments.filter_map(move |segment| {
            let words = self.segments.get(segment)?;
            let first = segment * SEGMENT_SLOTS;
            Some((words, slots.start.max(first)..slots.end.min(first + SEGMENT_SLOTS)))
        })
    }

    /// Writes slots from `start` on.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub(super) fn fill(&mut self, start: u64, bytes: &[u8]) -> Result<(), DecodeError> {
        for (segment, _, bytes) in by_segments(start, bytes) {
            let is_there = self.segments.get(segment).is_some();
            if is_there || bytes.iter().any(|byte| *byte != 0) {
                self.segments.allocate(segment)?;
            }
        }
        self.write(start, bytes);
        Ok(())
    }

    /// Writes slots from `start` on, in segments that are ready, and counts what changes. Slots of
    /// other segments, and bytes after the last slot, are skipped.
    fn write(&mut self, start: u64, bytes: &[u8]) {
        let slots = self.slots();
        let (mut start, mut rest) = (start, bytes);
        while !rest.is_empty() && start < slots {
            let (layer, end_of_layer) = self.shape.layer_of(start);
            let end_of_segment = (start / SEGMENT_SLOTS + 1) * SEGMENT_SLOTS;
            let len = end_of_layer.min(end_of_segment) - start;
            let (run, after) = rest.split_at(len.min(rest.len() as u64) as usize);
            if let Some(words) = self.segments.get_mut(start / SEGMENT_SLOTS) {
                let (before, now) = write_slots(words, (start % SEGMENT_SLOTS) as usize, run);
                self.occupied = self.occupied + now - before;
                self.weight = self.weight + now * layer.weight - before * layer.weight;
            }
            start += len;
            rest = after;
        }
    }

    /// Writes the header: the layout kind, and the shape.
    pub(crate) fn write_header(&self, to: &mut impl Sink) {
        to.u8(match self.shape.hashing {
            Hashing::Wide => LAYOUT_OF_WIDE,
            Hashing::Narrow => LAYOUT_OF_NARROW,
        });
        to.u64(self.shape.buckets);
        to.u16(self.shape.bucket_size);
        to.u16(self.shape.expansion);
        to.u16(self.shape.layers);
    }

    /// A series of this header whose slots are empty. It allocates nothing.
    ///
    /// # Errors
    /// `Length`; `Layout` if it is of another kind; a `Field` out of range.
    pub(crate) fn read_header(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let hashing = match reader.u8()? {
            LAYOUT_OF_WIDE => Hashing::Wide,
            LAYOUT_OF_NARROW => Hashing::Narrow,
            unknown => return Err(DecodeError::Layout(unknown)),
        };
        let shape = Shape {
            buckets: reader.u64()?,
            bucket_size: reader.u16()?,
            expansion: reader.u16()?,
            layers: reader.u16()?,
            hashing,
        };
        shape.checked().map(Self::new)
    }

    /// The storage, for reading.
    pub fn segments(&self) -> &Segments {
        &self.segments
    }

    /// The storage, to allocate, move and fill.
    pub(crate) fn segments_mut(&mut self) -> &mut Segments {
        &mut self.segments
    }

    /// Slots do not merge: a segment comes once, and replaces what is there.
    pub(crate) fn merge(&mut self, segment: u64, words: &[u8]) {
        self.write(segment * SEGMENT_SLOTS, words);
    }

    /// A copy: see [`Segments::try_clone`].
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub(crate) fn try_clone(&mut self) -> Result<Self, AddError> {
        Ok(Self { segments: self.segments.try_clone()?, ..*self })
    }
}

/// The slot of that number, in the words of its segment.
fn slot_of(words: &[u64], slot: u64) -> Option<u8> {
    let word = words.get((slot % SEGMENT_SLOTS / WORD_SLOTS) as usize)?;
    Some((word >> (slot % WORD_SLOTS * 8)) as u8)
}

/// Writes bytes to the slots from `at` on. Returns how many of these were occupied before, and how
/// many are now.
fn write_slots(words: &mut [u64], at: usize, bytes: &[u8]) -> (u64, u64) {
    let (mut before, mut now) = (0, 0);
    for (number, mask, new) in by_words(at, bytes) {
        if let Some(word) = words.get_mut(number) {
            before += num_occupied(*word & mask);
            now += num_occupied(new);
            *word = *word & !mask | new;
        }
    }
    (before, now)
}

/// How many bytes of a word are not 0.
fn num_occupied(word: u64) -> u64 {
    const LOW_BITS: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    // The high bit of each byte: set by a carry out of the low ones, or set before.
    let occupied = (((word & LOW_BITS) + LOW_BITS) | word) & !LOW_BITS;
    occupied.count_ones().into()
}
