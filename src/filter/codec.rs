//! Filters as bytes: one format for RDB files, DUMP, AOF, SCANDUMP and LOADCHUNK.
//!
//! A filter is written as a chain of pieces of at most 1 MiB, each whole in itself:
//!
//! ```text
//!   piece    "SBF" version:1 | start:8 next:8 filter:8 | record… | XXH3-64 of all before:8
//!   record   1  filter       seed:8 error_rate:f64 capacity:8 expansion:4
//!            2  sub-filter   index:4 layout:1 sub_bitmap_bits:4 num_hashes:4 num_sub_bitmaps:8
//!                            capacity:8 error_rate:f64 guard_limit:8 items:8
//!            3  segment      index of the sub-filter:4 segment:8 length:4 bytes
//!            4  end          loading:8 loaded:4
//! ```
//!
//! All numbers are little-endian. `start` is the iterator the piece was asked for with and `next` the one that comes after it:
//! 0 at the start, then 1 + the number of segments, over all sub-filters, that lie before; [`END`] after the last piece.
//! The end record of a filter that is itself part loaded has the iterator of the piece it waits for and the number of sub-filters
//! that came so far; both are 0 otherwise. `filter` is a hash of the filter record, the same in all pieces of a chain: a piece of another filter does not fit.
//! Segments without a set bit are skipped. So a piece can be made from the filter alone, at any time, in bounded time, and
//! a chain can be interrupted, stored and continued.
//!
//! # The decoder is total
//! Its input may come from anyone. It takes no length on trust, allocates at most eighteen times the bytes it is given (54 that describe a
//! sub-filter and 81 with its only line: 17.5), checks every field before a bit is changed, and counts the set bits itself. What it accepts is a
//! filter that works in every respect; whether the bits are those of the items somebody meant is beyond it.
//!
//! # Versions
//! The version byte changes when an old reader would misread a piece. A layout kind of its own names how items map to bits in
//! a sub-filter: 1 is this module's; 0 and 2 to 255 are reserved, for filters that come from elsewhere too.

use super::error::DecodeError;
use super::fill_guard::UNIT;
use super::hash::Seed;
use super::scalable::{Filter, Growth, Loading, Parameters, SizeLimit, MAX_EXPANSION};
use super::segments::Segments;
use super::sizing::{Shape, LINE_BITS, MAX_CAPACITY, PAGE_BITS, SEGMENT_BITS};
use super::split_bloom::{Description, SplitBloom};
use super::sub_bitmap::bits;
use xxhash_rust::xxh3::xxh3_64;

/// The most bytes of a piece: what a server can copy, send or check in some hundred microseconds.
pub const PIECE_BYTES: usize = 1 << 20;
/// The iterator after the last piece. Below 2^53, so that it survives a client whose numbers are doubles.
pub const END: u64 = 1 << 52;

const MAGIC: [u8; 4] = *b"SBF\x01";
const SPLIT_LAYOUT: u8 = 1;
/// Bits of the largest sub-filter: 2^40 items at the smallest error rate take 2^46.4.
const MAX_BITS: u64 = 1 << 47;
/// Probes that the smallest error rate asks for are 50; 64 is the roundest number above.
const MAX_HASHES: u32 = 64;

const FILTER: u8 = 1;
const SUB_FILTER: u8 = 2;
const SEGMENT: u8 = 3;
const END_OF_FILTER: u8 = 4;

const HEAD_BYTES: usize = 4 + 8 + 8 + 8;
const CHECKSUM_BYTES: usize = 8;
const FILTER_BYTES: usize = 1 + 8 + 8 + 8 + 4;
const SUB_FILTER_BYTES: usize = 1 + 4 + 1 + 4 + 4 + 8 + 8 + 8 + 8 + 8;
const SEGMENT_HEAD_BYTES: usize = 1 + 4 + 8 + 4;
const END_BYTES: usize = 1 + 8 + 4;

// ---------------------------------------------------------------------------------------------------------------------
// Encoding

/// A piece of an encoded filter, ready to be sent.
pub struct Encoded {
    /// The iterator to ask for the next piece with; [`END`] if there is none.
    pub next: u64,
    pub bytes: Vec<u8>,
}

/// The piece at `iterator`: 0 for the first, then what the piece before answered as `next`. Nothing at or after the end.
///
/// Cost: the bytes, at most [`PIECE_BYTES`], and a step over each sub-filter before.
pub fn encode_piece(filter: &Filter, iterator: u64) -> Option<Encoded> {
    let mut writer = Writer::default();
    writer.bytes(&MAGIC);
    writer.u64(iterator);
    writer.u64(0); // `next`, once it is known
    writer.u64(identity(filter.parameters()));
    let mut position = match iterator {
        0 => {
            writer.bytes(&filter_record(filter.parameters()));
            0
        }
        _ if iterator > filter.reserved_segments() => return None,
        _ => iterator - 1,
    };

    let mut first = 0; // the segment, counted over all sub-filters, that the sub-filter begins with
    let mut cut = None;
    for (index, sub_filter) in filter.sub_filters().iter().enumerate() {
        let end = first + sub_filter.segments().reserved();
        if position < end {
            if let Some(segment) =
                writer.sub_filter_from(index as u32, sub_filter, position - first)
            {
                cut = Some(first + segment);
                break;
            }
            position = end;
        }
        first = end;
    }

    let next = match cut {
        Some(segment) => segment + 1,
        None => {
            writer.end(filter.loading());
            END
        }
    };
    Some(Encoded {
        next,
        bytes: writer.finish(next),
    })
}

/// What all pieces of one filter have in common and those of others have not.
fn identity(parameters: &Parameters) -> u64 {
    xxh3_64(&filter_record(parameters))
}

/// Without a heap: a piece is checked where memory may be short.
fn filter_record(parameters: &Parameters) -> [u8; FILTER_BYTES] {
    let mut record = [0; FILTER_BYTES];
    record[0] = FILTER;
    record[1..9].copy_from_slice(&parameters.seed.0.to_le_bytes());
    record[9..17].copy_from_slice(&parameters.error_rate.to_bits().to_le_bytes());
    record[17..25].copy_from_slice(&parameters.capacity.to_le_bytes());
    record[25..].copy_from_slice(&parameters.growth.factor().to_le_bytes());
    record
}

/// The first segment at or after `from` in which a bit is set: whether a clear one is there makes no difference to anyone.
fn next_with_bits(segments: &Segments, from: u64) -> Option<(u64, &[u64])> {
    let mut next = segments.next_allocated(from);
    while let Some(number) = next {
        if let Some(words) = segments.get(number).filter(|words| bits(words).any()) {
            return Some((number, words));
        }
        next = segments.next_allocated(number + 1);
    }
    None
}

#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    fn u32(&mut self, value: u32) {
        self.bytes(&value.to_le_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.bytes(&value.to_le_bytes());
    }

    fn f64(&mut self, value: f64) {
        self.u64(value.to_bits());
    }

    fn words(&mut self, words: &[u64]) {
        let start = self.0.len();
        self.0.resize(start + words.len() * 8, 0);
        for (bytes, word) in self.0[start..].as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *bytes = word.to_le_bytes();
        }
    }

    fn sub_filter(&mut self, index: u32, description: &Description) {
        self.u8(SUB_FILTER);
        self.u32(index);
        self.u8(SPLIT_LAYOUT);
        self.u32(description.shape.sub_bitmap_bits);
        self.u32(description.shape.num_hashes);
        self.u64(description.shape.num_sub_bitmaps);
        self.u64(description.capacity);
        self.f64(description.error_rate);
        self.u64(description.guard_limit);
        self.u64(description.items);
    }

    fn segment(&mut self, sub_filter: u32, segment: u64, words: &[u64]) {
        self.u8(SEGMENT);
        self.u32(sub_filter);
        self.u64(segment);
        self.u32(words.len() as u32 * 8);
        self.words(words);
    }

    fn end(&mut self, loading: Option<Loading>) {
        self.u8(END_OF_FILTER);
        self.u64(loading.map_or(0, |loading| loading.next));
        self.u32(loading.map_or(0, |loading| loading.sub_filters as u32));
    }

    /// Writes a sub-filter from segment `from` on, described first if that is its first one, as far as there is room.
    /// Answers the segment to go on with, if there was not enough.
    fn sub_filter_from(&mut self, index: u32, sub_filter: &SplitBloom, from: u64) -> Option<u64> {
        if from == 0 {
            if !self.has_room(SUB_FILTER_BYTES) {
                return Some(0);
            }
            self.sub_filter(index, &sub_filter.description());
        }
        let segments = sub_filter.segments();
        let mut next = next_with_bits(segments, from);
        while let Some((number, words)) = next {
            let words = &words[..segments.len_of(number)];
            if !self.has_room(SEGMENT_HEAD_BYTES + words.len() * 8) {
                // A description and the first segment go together: `from == 0` means that neither has been written.
                if number == 0 {
                    self.0.truncate(self.0.len() - SUB_FILTER_BYTES);
                }
                return Some(number);
            }
            self.segment(index, number, words);
            next = next_with_bits(segments, number + 1);
        }
        None
    }

    fn has_room(&self, bytes: usize) -> bool {
        self.0.len() + bytes + END_BYTES + CHECKSUM_BYTES <= PIECE_BYTES
    }

    fn finish(mut self, next: u64) -> Vec<u8> {
        self.0[12..20].copy_from_slice(&next.to_le_bytes());
        let checksum = xxh3_64(&self.0);
        self.u64(checksum);
        self.0
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Decoding

/// A piece whose frame is sound: its format is known and its checksum right. Its records are not looked at yet.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    /// The iterator it was asked for with.
    pub start: u64,
    /// The iterator that comes after it.
    pub next: u64,
    identity: u64,
    records: &'a [u8],
}

impl<'a> Piece<'a> {
    /// Checks the frame of a piece.
    ///
    /// # Errors
    /// `Length`, `Format`, `Checksum`.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        if bytes.len() > PIECE_BYTES {
            return Err(DecodeError::Length);
        }
        let (body, checksum) = bytes
            .split_last_chunk::<CHECKSUM_BYTES>()
            .filter(|(body, _)| body.len() >= HEAD_BYTES)
            .ok_or(DecodeError::Length)?;
        let mut reader = Reader(body);
        if reader.take(MAGIC.len())? != MAGIC {
            return Err(DecodeError::Format);
        }
        if xxh3_64(body) != u64::from_le_bytes(*checksum) {
            return Err(DecodeError::Checksum);
        }
        Ok(Self {
            start: reader.u64()?,
            next: reader.u64()?,
            identity: reader.u64()?,
            records: reader.0,
        })
    }

    /// Whether it is the last of its chain.
    pub fn is_last(&self) -> bool {
        self.next == END
    }
}

impl Filter {
    /// The filter that the first piece of a chain begins. If more pieces come, it works already, with the items that the
    /// pieces so far hold, and `loading` says which piece comes next.
    ///
    /// # Errors
    /// Any [`DecodeError`].
    pub fn from_first_piece(piece: &Piece<'_>, limit: SizeLimit) -> Result<Self, DecodeError> {
        let mut reader = Reader(piece.records);
        if piece.start != 0 || reader.u8()? != FILTER {
            return Err(DecodeError::Order);
        }
        let mut filter = Self::without_sub_filters(reader.parameters()?);
        if piece.identity != identity(filter.parameters()) {
            return Err(DecodeError::Order);
        }
        filter.load(reader, piece, limit)?;
        if filter.sub_filters().is_empty() {
            return Err(DecodeError::Order);
        }
        Ok(filter)
    }

    /// Takes in the next piece of the chain.
    ///
    /// # Errors
    /// Any [`DecodeError`]; `Order` if another piece, or none, is due. The filter is as it was.
    pub fn load_piece(&mut self, piece: &Piece<'_>, limit: SizeLimit) -> Result<(), DecodeError> {
        let due = self.loading().map(|loading| loading.next);
        let is_due = piece.start != 0 && due == Some(piece.start);
        if !is_due || piece.identity != identity(self.parameters()) {
            return Err(DecodeError::Order);
        }
        self.load(Reader(piece.records), piece, limit)
    }

    /// Reads records to the end. New sub-filters are built aside and bits are kept as slices of the input until everything has
    /// proved good and has its memory; then nothing can fail any more.
    fn load(
        &mut self,
        mut reader: Reader<'_>,
        piece: &Piece<'_>,
        limit: SizeLimit,
    ) -> Result<(), DecodeError> {
        let present = self.loading().map_or(0, |loading| loading.sub_filters);
        let mut added: Vec<SplitBloom> = Vec::new();
        let mut segments: Vec<SegmentRecord<'_>> = Vec::new();
        let mut end = None;
        while !reader.0.is_empty() {
            if end.is_some() {
                return Err(DecodeError::Length);
            }
            match reader.u8()? {
                SUB_FILTER => {
                    if reader.u32()? as usize != present + added.len() {
                        return Err(DecodeError::Order);
                    }
                    let new = SplitBloom::from_description(reader.description()?);
                    push(&mut added, new)?;
                }
                SEGMENT => {
                    let record = reader.segment()?;
                    let sub_filter = match record.sub_filter.checked_sub(present) {
                        Some(new) => added.get(new),
                        None => self.sub_filters().get(record.sub_filter),
                    };
                    record.fits(sub_filter.ok_or(DecodeError::Order)?)?;
                    if segments.last().is_some_and(|last| !last.is_before(&record)) {
                        return Err(DecodeError::Order);
                    }
                    push(&mut segments, record)?;
                }
                END_OF_FILTER => end = Some((reader.u64()?, reader.u32()? as usize)),
                _ => return Err(DecodeError::Format),
            }
        }
        let came = present + added.len();
        let loading = match (piece.next, end) {
            (END, Some((0, 0))) => None,
            // The filter that was encoded was itself being loaded.
            (END, Some((next @ 1..END, sub_filters))) if (1..=came).contains(&sub_filters) => {
                Some(Loading { next, sub_filters })
            }
            (next @ 1..END, None) if next > piece.start => Some(Loading {
                next,
                sub_filters: came,
            }),
            _ => return Err(DecodeError::Order),
        };
        self.check_size(&added, limit)
            .map_err(|_| DecodeError::OverLimit)?;

        // A segment without a set bit would be memory for nothing.
        segments.retain(|record| record.bytes.iter().any(|byte| *byte != 0));
        for record in &segments {
            let sub_filter = match record.sub_filter.checked_sub(present) {
                Some(new) => &mut added[new],
                None => &mut self.sub_filters_mut()[record.sub_filter],
            };
            sub_filter
                .allocate(record.segment)
                .map_err(|_| DecodeError::OutOfMemory)?;
        }
        self.insert_sub_filters(present, added, limit)
            .map_err(|_| DecodeError::OutOfMemory)?;
        for record in segments {
            self.sub_filters_mut()[record.sub_filter].merge(record.segment, record.bytes);
        }
        self.set_loading(loading);
        Ok(())
    }
}

/// A segment record: the words of one segment, in bytes.
struct SegmentRecord<'a> {
    sub_filter: usize,
    segment: u64,
    bytes: &'a [u8],
}

impl SegmentRecord<'_> {
    /// Whether the sub-filter has such a segment.
    fn fits(&self, sub_filter: &SplitBloom) -> Result<(), DecodeError> {
        let segments = sub_filter.segments();
        within(
            "segment",
            self.segment < segments.reserved()
                && self.bytes.len() == segments.len_of(self.segment) * 8,
        )
    }

    fn is_before(&self, other: &Self) -> bool {
        (self.sub_filter, self.segment) < (other.sub_filter, other.segment)
    }
}

/// The bytes not yet read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(DecodeError::Length)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(DecodeError::Length)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn u8(&mut self) -> Result<u8, DecodeError> {
        self.array().map(u8::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, DecodeError> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, DecodeError> {
        self.array().map(u64::from_le_bytes)
    }

    fn segment(&mut self) -> Result<SegmentRecord<'a>, DecodeError> {
        let (sub_filter, segment) = (self.u32()? as usize, self.u64()?);
        let len = self.u32()? as usize;
        Ok(SegmentRecord {
            sub_filter,
            segment,
            bytes: self.take(len)?,
        })
    }

    fn error_rate(&mut self) -> Result<f64, DecodeError> {
        let rate = f64::from_bits(self.u64()?);
        within("error rate", rate > 0.0 && rate < 1.0).map(|()| rate)
    }

    fn capacity(&mut self) -> Result<u64, DecodeError> {
        let capacity = self.u64()?;
        within("capacity", (1..=MAX_CAPACITY).contains(&capacity)).map(|()| capacity)
    }

    fn parameters(&mut self) -> Result<Parameters, DecodeError> {
        let (seed, error_rate) = (Seed(self.u64()?), self.error_rate()?);
        let (capacity, expansion) = (self.capacity()?, self.u32()?);
        within("expansion", expansion <= MAX_EXPANSION)?;
        Ok(Parameters {
            error_rate,
            capacity,
            growth: Growth::from_factor(expansion),
            seed,
        })
    }

    fn description(&mut self) -> Result<Description, DecodeError> {
        match self.u8()? {
            SPLIT_LAYOUT => {}
            unknown => return Err(DecodeError::Layout(unknown)),
        }
        let shape = self.shape()?;
        let capacity = self.capacity()?;
        let error_rate = self.smallest_error_rate()?;
        let (guard_limit, items) = (self.u64()?, self.u64()?);
        // No looser than any that sizing makes.
        let most = 2 * UNIT * shape.num_sub_bitmaps;
        within("guard limit", (1..=most).contains(&guard_limit))?;
        within("items", items <= capacity)?;
        Ok(Description {
            shape,
            capacity,
            error_rate,
            guard_limit,
            items,
        })
    }

    /// The error rate of a sub-filter, which is 0 where that of a ten-thousandth sub-filter underflows.
    fn smallest_error_rate(&mut self) -> Result<f64, DecodeError> {
        let rate = f64::from_bits(self.u64()?);
        within("error rate of a sub-filter", (0.0..1.0).contains(&rate)).map(|()| rate)
    }

    fn shape(&mut self) -> Result<Shape, DecodeError> {
        let (sub_bitmap_bits, num_hashes) = (self.u32()?, self.u32()?);
        let num_sub_bitmaps = self.u64()?;
        let one = num_sub_bitmaps == 1
            && sub_bitmap_bits.is_multiple_of(64)
            && (64..=SEGMENT_BITS).contains(&sub_bitmap_bits);
        let many = sub_bitmap_bits.is_power_of_two()
            && (LINE_BITS..=PAGE_BITS).contains(&sub_bitmap_bits)
            && (1..=MAX_BITS / u64::from(sub_bitmap_bits)).contains(&num_sub_bitmaps);
        within("sub-bitmap", one || many)?;
        within("number of hashes", (1..=MAX_HASHES).contains(&num_hashes))?;
        Ok(Shape {
            sub_bitmap_bits,
            num_hashes,
            num_sub_bitmaps,
        })
    }
}

/// Appends where there is memory: a piece of a mebibyte may hold records that take two.
fn push<T>(to: &mut Vec<T>, value: T) -> Result<(), DecodeError> {
    to.try_reserve(1).map_err(|_| DecodeError::OutOfMemory)?;
    to.push(value);
    Ok(())
}

fn within(field: &'static str, holds: bool) -> Result<(), DecodeError> {
    if holds {
        Ok(())
    } else {
        Err(DecodeError::Field(field))
    }
}

#[cfg(test)]
mod tests;
