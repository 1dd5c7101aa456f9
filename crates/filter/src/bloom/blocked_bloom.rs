//! One sub-filter: a Bloom filter of fixed capacity whose bits are split into sub-bitmaps.
//!
//! ```text
//!   item ─XXH3─► place ──► sub-bitmap number ──► segment, first word
//!                probes ─► k bits, all inside those words
//! ```
//!
//! So an item costs one cache line (or a few), one page, and one page copied during a snapshot.

use crate::bloom::fill::Fill;
use crate::bloom::guard::{self, Scale, UNIT};
use crate::bloom::shape::Shape;
use crate::bloom::sizing::{shape_for, MAX_CAPACITY};
use crate::bloom::sub_bitmap::{self, Inserted, Kernel};
use crate::bytes::{within, Reader, Sink};
use crate::error::{AddError, DecodeError};
use crate::hash::{multiply_high, ItemHash, GROUP};
use crate::storage::segments::Segments;
use crate::storage::SEGMENT_WORDS;
use splitbloom_foundation::prefetch;

/// The layout kind of a blocked Bloom filter.
const LAYOUT: u8 = 1;

/// All that is stored of a sub-filter besides its bits: what decides where they lie and when it is
/// full.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Header {
    /// Its geometry.
    pub shape: Shape,
    /// The capacity, in items.
    pub capacity: u64,
    /// The error rate, that is the false-positive rate at capacity.
    pub error_rate: f64,
    /// The weight at which it is full, see [`guard::limit`].
    pub guard_limit: u64,
    /// Number of items that were new.
    pub items: u64,
}

impl Header {
    /// Writes the layout kind and all fields.
    pub(crate) fn write(&self, to: &mut impl Sink) {
        to.u8(LAYOUT);
        to.u32(self.shape.sub_bitmap_bits);
        to.u32(self.shape.num_hashes);
        to.u64(self.shape.num_sub_bitmaps);
        to.u64(self.capacity);
        to.f64(self.error_rate);
        to.u64(self.guard_limit);
        to.u64(self.items);
    }

    /// The header that was written.
    ///
    /// # Errors
    /// `Length`; `Layout` if it is another kind; a `Field` out of range.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        reader.layout(LAYOUT)?;
        let shape = Shape::read(reader)?;
        let capacity = reader.u64()?;
        within("capacity", (1..=MAX_CAPACITY).contains(&capacity))?;
        let error_rate = reader.f64()?;
        // It is 0 if it is too small for a double.
        let is_rate = (0.0..1.0).contains(&error_rate);
        within("error rate of a sub-filter", is_rate)?;
        let (guard_limit, items) = (reader.u64()?, reader.u64()?);
        // No limit that sizing makes is higher.
        let most = 2 * UNIT * shape.num_sub_bitmaps;
        within("guard limit", (1..=most).contains(&guard_limit))?;
        within("items", items <= capacity)?;
        Ok(Self { shape, capacity, error_rate, guard_limit, items })
    }
}

/// One sub-filter. It is small: a server may hold millions of filters of a few items.
pub struct BlockedBloom {
    num_sub_bitmaps: u64,
    sub_bitmap_bits: u32,
    num_hashes: u8,
    kernel: Kernel,
    error_rate: f64,
    fill: Fill,
    segments: Segments,
}

/// The location of a sub-bitmap: its segment, its first word there, and its number of words.
#[derive(Clone, Copy)]
struct Address {
    segment: u64,
    word: usize,
    len: usize,
}

/// The counts of a sub-filter, kept in registers while items are inserted.
struct Tally {
    scale: Scale,
    fill: Fill,
    new_bits: u64,
}

impl Tally {
    #[inline(always)]
    fn count(&mut self, inserted: Inserted) {
        self.new_bits += u64::from(inserted.new_bits());
        self.fill.count(inserted, self.scale);
    }
}

impl BlockedBloom {
    /// An empty sub-filter for `capacity` items at `error_rate`. Allocates nothing; the sizing
    /// takes time.
    pub fn new(capacity: u64, error_rate: f64) -> Self {
        let shape = shape_for(capacity, error_rate);
        Self::from_header(Header {
            shape,
            capacity,
            error_rate,
            guard_limit: guard::limit(&shape, capacity, error_rate),
            items: 0,
        })
    }

    /// A sub-filter without set bits. Allocates nothing.
    ///
    /// An item sets at most 255 bits, more than sizing chooses or the codec accepts.
    pub fn from_header(header: Header) -> Self {
        let shape = header.shape;
        Self {
            num_sub_bitmaps: shape.num_sub_bitmaps,
            sub_bitmap_bits: shape.sub_bitmap_bits,
            num_hashes: shape.num_hashes.min(u32::from(u8::MAX)) as u8,
            kernel: Kernel::for_sub_bitmaps(shape.sub_bitmap_bits, shape.num_hashes),
            error_rate: header.error_rate,
            fill: Fill::new(header.capacity, header.guard_limit, header.items),
            segments: Segments::new(shape.num_bits() / 64, shape.sub_bitmap_bits as usize / 64),
        }
    }

    /// The header as it is stored.
    pub fn header(&self) -> Header {
        Header {
            shape: self.shape(),
            capacity: self.fill.capacity(),
            error_rate: self.error_rate,
            guard_limit: self.fill.limit(),
            items: self.fill.items(),
        }
    }

    #[inline(always)]
    fn shape(&self) -> Shape {
        Shape {
            sub_bitmap_bits: self.sub_bitmap_bits,
            num_hashes: u32::from(self.num_hashes),
            num_sub_bitmaps: self.num_sub_bitmaps,
        }
    }

    /// The number of bits, set or not, allocated or not.
    pub fn num_bits(&self) -> u64 {
        self.shape().num_bits()
    }

    /// Its items and weight.
    #[inline]
    pub fn fill(&self) -> &Fill {
        &self.fill
    }

    /// The number of set bits.
    pub fn set_bits(&self) -> u64 {
        self.segments.set_bits()
    }

    /// The storage, for reading.
    pub fn segments(&self) -> &Segments {
        &self.segments
    }

    /// Whether the fill guard closed it early, because of chosen items or by chance, which
    /// [`guard::limit`] keeps rare.
    ///
    /// False positives among the added items are not counted, so a filter of honest items may close
    /// up to `error_rate * capacity` items below its capacity, and earlier if its sub-bitmaps are
    /// not evenly full.
    pub fn is_closed_by_guard(&self) -> bool {
        let fair = self.fill.capacity() as f64 * (1.0 - self.error_rate);
        !self.is_uneven() && self.fill.is_closed() && (self.fill.items() as f64) < fair
    }

    /// Whether its sub-bitmaps are not evenly full: see [`guard::limit_of_uneven`].
    pub(super) fn is_uneven(&self) -> bool {
        self.fill.limit() == guard::limit_of_uneven(&self.shape())
    }

    /// Prefetches the item's sub-bitmap, so that the cache misses of a group of items overlap.
    #[inline]
    pub fn prefetch(&self, hash: ItemHash) {
        if self.kernel.is_for_lines() {
            match self.segments.line(self.sub_bitmap_of(hash)) {
                Some(line) => prefetch::prefetch(&line[0]),
                None => self.segments.prefetch(self.sub_bitmap_of(hash)),
            }
        } else if let Some(words) = self.words(hash) {
            sub_bitmap::prefetch(words, hash.probes, u32::from(self.num_hashes));
        } else {
            self.segments.prefetch(self.sub_bitmap_of(hash));
        }
    }

    /// The maximum number of lines that [`BlockedBloom::prefetch`] prefetches.
    pub fn prefetched_lines(&self) -> usize {
        sub_bitmap::prefetched_lines(self.sub_bitmap_words())
    }

    /// Whether the item is (probably) present.
    #[inline]
    pub fn contains(&self, hash: ItemHash) -> bool {
        let num_hashes = u32::from(self.num_hashes);
        let found = if self.kernel.is_for_lines() {
            let line = self.segments.line(self.sub_bitmap_of(hash));
            line.map(|line| self.kernel.contains(line, hash.probes, num_hashes))
        } else {
            let words = self.words(hash);
            words.map(|words| sub_bitmap::contains(words, hash.probes, num_hashes))
        };
        found.unwrap_or_else(|| self.contains_among_few(hash))
    }

    /// The same where the segment is not allocated whole.
    #[cold]
    fn contains_among_few(&self, hash: ItemHash) -> bool {
        let words = self.segments.unit(self.sub_bitmap_of(hash));
        words.is_some_and(|words| {
            sub_bitmap::contains(words, hash.probes, u32::from(self.num_hashes))
        })
    }

    /// Sets the item's bits and counts it if it was new. Returns whether it was. The caller checks
    /// whether the sub-filter is full.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing has changed.
    #[inline(always)]
    pub fn insert(&mut self, hash: ItemHash) -> Result<bool, AddError> {
        let inserted = self.set_bits_of(hash)?;
        self.segments.count_set_bits(inserted.new_bits().into());
        self.fill.count(inserted, self.scale());
        Ok(inserted.is_new())
    }

    /// Whether any `items` more items fit, so that it is not full before the last of them is added.
    #[inline]
    pub fn has_room_for(&self, items: u64) -> bool {
        self.fill.has_room_for(items, self.scale())
    }

    /// Inserts up to 16 items, and calls `answer` for each in order with whether it was new. The
    /// caller checks whether there is [room](BlockedBloom::has_room_for).
    ///
    /// # Errors
    /// `OutOfMemory`; the items before the one that needed memory are inserted.
    #[inline(always)]
    pub fn insert_group(
        &mut self,
        hashes: &[ItemHash],
        answer: impl FnMut(ItemHash, bool),
    ) -> Result<(), AddError> {
        let mut tally = self.tally();
        let end = self.insert_and_count(hashes, &mut tally, answer);
        self.keep(tally);
        end
    }

    /// Inserts items, full or not. The cache misses of 16 overlap.
    ///
    /// The items are counted together at the end: where threads fill parts of one filter, each
    /// thread's counts share a cache line with fields that the others read for every item.
    ///
    /// # Errors
    /// `OutOfMemory`, and some items were not inserted.
    pub(crate) fn insert_all(&mut self, hashes: &[ItemHash]) -> Result<(), AddError> {
        let mut tally = self.tally();
        let mut insert = || {
            let mut ahead = hashes.chunks(GROUP);
            self.prefetch_all(ahead.next());
            for group in hashes.chunks(GROUP) {
                self.prefetch_all(ahead.next());
                self.insert_and_count(group, &mut tally, |_, _| ())?;
            }
            Ok(())
        };
        let end = insert();
        self.keep(tally);
        // The header of a partial copy counts items whose segments come later.
        self.fill.set_items(self.fill.items());
        end
    }

    /// Inserts up to 16 items, and weighs them once the bits of all are set: instructions that wait
    /// for the sub-bitmap of one item occupy the reorder buffer that the next items need.
    #[inline(always)]
    fn insert_and_count(
        &mut self,
        hashes: &[ItemHash],
        tally: &mut Tally,
        mut answer: impl FnMut(ItemHash, bool),
    ) -> Result<(), AddError> {
        debug_assert!(hashes.len() <= GROUP);
        let mut group = [Inserted::NOTHING; GROUP];
        let mut len = 0;
        let mut set_bits = || {
            for (inserted, hash) in group.iter_mut().zip(hashes) {
                *inserted = self.set_bits_of(*hash)?;
                len += 1;
            }
            Ok(())
        };
        let end = set_bits();
        for (inserted, hash) in group[..len].iter().zip(hashes) {
            tally.count(*inserted);
            answer(*hash, inserted.is_new());
        }
        end
    }

    #[inline(always)]
    fn tally(&self) -> Tally {
        Tally { scale: self.scale(), fill: self.fill, new_bits: 0 }
    }

    #[inline(always)]
    fn keep(&mut self, tally: Tally) {
        self.fill = tally.fill;
        self.segments.count_set_bits(tally.new_bits);
    }

    #[inline]
    fn prefetch_all(&self, group: Option<&[ItemHash]>) {
        for hash in group.unwrap_or_default() {
            self.prefetch(*hash);
        }
    }

    /// Sets the item's bits without counting it.
    #[inline(always)]
    fn set_bits_of(&mut self, hash: ItemHash) -> Result<Inserted, AddError> {
        let num_hashes = u32::from(self.num_hashes);
        let number = self.sub_bitmap_of(hash);
        let at_hand = if self.kernel.is_for_lines() {
            let line = self.segments.line_mut(number);
            line.map(|line| self.kernel.insert(line, hash.probes, num_hashes))
        } else {
            let at = self.address(number);
            let words = self.segments.get_mut(at.segment);
            let sub_bitmap = words.and_then(|words| words.get_mut(at.word..at.word + at.len));
            sub_bitmap.map(|words| sub_bitmap::insert(words, hash.probes, num_hashes))
        };
        match at_hand {
            Some(inserted) => Ok(inserted),
            None => self.allocate_and_insert(hash),
        }
    }

    /// Inserts where the segment is not allocated whole, or is shared with a copy.
    #[cold]
    fn allocate_and_insert(&mut self, hash: ItemHash) -> Result<Inserted, AddError> {
        if self.segments.is_shared() && self.contains(hash) {
            return Ok(Inserted::NOTHING); // what is shared can stay shared
        }
        let number = self.sub_bitmap_of(hash);
        let num_hashes = u32::from(self.num_hashes);
        let sub_bitmap = self.segments.allocate(number)?;
        Ok(sub_bitmap::insert(sub_bitmap, hash.probes, num_hashes))
    }

    /// Sets the item's bits in sub-bitmap `number`, and weighs them.
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing has changed.
    pub(super) fn insert_in(&mut self, number: u64, hash: ItemHash) -> Result<(), AddError> {
        let sub_bitmap = self.segments.allocate(number)?;
        let inserted = sub_bitmap::insert(sub_bitmap, hash.probes, u32::from(self.num_hashes));
        self.segments.count_set_bits(inserted.new_bits().into());
        self.fill.count(inserted, self.scale());
        Ok(())
    }

    /// Moves the bits and counts of `other` into this sub-filter, which has the same header and
    /// none of its segments.
    ///
    /// # Errors
    /// `OutOfMemory`, and bits are lost.
    pub(crate) fn absorb(&mut self, other: Self) -> Result<(), AddError> {
        self.fill.count_all(&other.fill);
        self.segments.absorb(other.segments)
    }

    /// Makes the guard close it at its error rate: see [`guard::limit_of_uneven`].
    pub(super) fn close_at_its_rate(&mut self) {
        self.fill.limit_to(guard::limit_of_uneven(&self.header().shape));
    }

    /// Sets the number of items counted, or the capacity if that is less.
    pub(crate) fn set_items(&mut self, items: u64) {
        self.fill.set_items(items);
    }

    /// Sets the bits of `words`, which begin with a sub-bitmap, at word `place` of the segment,
    /// which is allocated, and weighs the changes.
    pub(crate) fn set<W: ExactSizeIterator<Item = u64>>(
        &mut self,
        segment: u64,
        place: usize,
        mut words: W,
    ) {
        let (len, scale) = (self.sub_bitmap_words(), self.scale());
        let (mut new_bits, fill) = (0, &mut self.fill);
        let mut unite = |to: &mut [u64], words: &mut W| {
            let before = sub_bitmap::count_ones(to);
            for (to, from) in to.iter_mut().zip(words) {
                *to |= from;
            }
            let after = sub_bitmap::count_ones(to);
            new_bits += after - before;
            fill.count_bits(before, after, scale);
        };
        let sub_bitmaps = words.len().div_ceil(len);
        if let Some(whole) = self.segments.get_mut(segment) {
            let to = whole.get_mut(place..).unwrap_or_default();
            for to in to.chunks_mut(len).take(sub_bitmaps) {
                unite(to, &mut words);
            }
        } else {
            let first = (segment * SEGMENT_WORDS as u64 + place as u64) / len as u64;
            for number in (first..).take(sub_bitmaps) {
                match self.segments.unit_mut(number) {
                    Some(to) => unite(to, &mut words),
                    None => words.by_ref().take(len).for_each(drop),
                }
            }
        }
        self.segments.count_set_bits(new_bits.into());
    }

    /// Sets the bits of a sub-bitmap, which is allocated, and weighs the changes.
    pub(super) fn set_sub_bitmap(&mut self, number: u64, words: &[u64]) {
        let at = self.address(number);
        self.set(at.segment, at.word, words.iter().copied());
    }

    #[inline(always)]
    pub(super) fn scale(&self) -> Scale {
        Scale::new(self.shape(), self.error_rate)
    }

    pub(crate) fn num_sub_bitmaps(&self) -> u64 {
        self.num_sub_bitmaps
    }

    #[inline]
    pub(super) fn sub_bitmap_words(&self) -> usize {
        self.sub_bitmap_bits as usize / 64
    }

    /// The number of the item's sub-bitmap.
    #[inline]
    fn sub_bitmap_of(&self, hash: ItemHash) -> u64 {
        multiply_high(hash.place, self.num_sub_bitmaps)
    }

    #[inline]
    fn address(&self, number: u64) -> Address {
        let len = self.sub_bitmap_words();
        let word = number * len as u64;
        Address {
            segment: word / SEGMENT_WORDS as u64,
            word: (word % SEGMENT_WORDS as u64) as usize,
            len,
        }
    }

    /// The words of the item's sub-bitmap, if its segment is allocated whole.
    #[inline]
    fn words(&self, hash: ItemHash) -> Option<&[u64]> {
        let at = self.address(self.sub_bitmap_of(hash));
        let words = self.segments.get(at.segment)?;
        words.get(at.word..at.word + at.len)
    }

    /// The storage, to allocate, move and fill.
    pub(crate) fn segments_mut(&mut self) -> &mut Segments {
        &mut self.segments
    }

    /// Sets the bits that are set in `words` (little-endian bytes), which begin with a sub-bitmap,
    /// at word `place` of the segment, for which there is [room](Segments::make_room), and counts
    /// them.
    pub(crate) fn merge(&mut self, segment: u64, place: usize, words: &[u8]) {
        let words = words.as_chunks::<8>().0.iter();
        self.set(segment, place, words.map(|word| u64::from_le_bytes(*word)));
    }

    /// A copy: see [`Segments::try_clone`].
    ///
    /// # Errors
    /// `OutOfMemory`, and nothing visible has changed.
    pub fn try_clone(&mut self) -> Result<Self, AddError> {
        Ok(Self { segments: self.segments.try_clone()?, ..*self })
    }
}

#[cfg(test)]
mod tests;
