//! A second reader of the format, written from docs/format.md alone, and a writer: slow, trusting no other code, and plain enough to be
//! seen right. The decoder must accept what it accepts, refuse what it refuses, and find the same bits.

use std::collections::BTreeMap;
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64;

const CHECKSUM_BYTES: usize = 8;
/// Where in the head the hash of the filter record lies.
pub const IDENTITY: Range<usize> = 20..28;
/// Where in a first piece that record lies.
pub const FILTER_RECORD: Range<usize> = 28..57;
pub const MAGIC: &[u8] = b"SBF\x01";
const END: u64 = 1 << 52;

const PIECE_BYTES: usize = 1_048_576;
const SEGMENT_BYTES: u64 = 65_536;

/// What the pieces of a chain have brought so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chain {
    /// The filter record; empty before the first piece.
    pub filter: Vec<u8>,
    pub sub_filters: Vec<SubFilter>,
    /// The iterator of the piece that is due, and how many sub-filters came so far; nothing where the filter is complete.
    pub loading: Option<(u64, usize)>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SubFilter {
    /// The record behind the index, from the layout kind on.
    pub description: Vec<u8>,
    /// Those in which a bit is set.
    pub segments: BTreeMap<u64, Vec<u8>>,
}

impl SubFilter {
    fn num_bits(&self) -> u64 {
        let mut fields = self.description.as_slice();
        let [_, sub_bitmap_bits, _, num_sub_bitmaps] =
            [1, 4, 4, 8].map(|width| number(&mut fields, width).unwrap());
        sub_bitmap_bits * num_sub_bitmaps
    }

    pub fn num_segments(&self) -> u64 {
        (self.num_bits() / 8).div_ceil(SEGMENT_BYTES)
    }

    /// Bytes of a segment, if there is one of that number.
    fn segment_bytes(&self, segment: u64) -> Option<u64> {
        (segment < self.num_segments())
            .then(|| (self.num_bits() / 8 - segment * SEGMENT_BYTES).min(SEGMENT_BYTES))
    }
}

impl Chain {
    /// Takes in the next piece, if it is good and due.
    pub fn take(&mut self, piece: &[u8]) -> bool {
        match self.clone().with(piece) {
            Some(chain) => {
                *self = chain;
                true
            }
            None => false,
        }
    }

    fn with(mut self, piece: &[u8]) -> Option<Self> {
        if piece.len() > PIECE_BYTES {
            return None;
        }
        let (body, checksum) = piece.split_at_checked(piece.len().checked_sub(CHECKSUM_BYTES)?)?;
        let mut rest = body;
        let (magic, start, next, identity) = (
            bytes(&mut rest, 4)?,
            number(&mut rest, 8)?,
            number(&mut rest, 8)?,
            number(&mut rest, 8)?,
        );
        if magic != MAGIC || checksum != xxh3_64(body).to_le_bytes() {
            return None;
        }
        if self.filter.is_empty() {
            self.filter = bytes(&mut rest, FILTER_RECORD.len())?.to_vec();
            if start != 0 || !is_good_filter(&self.filter) {
                return None;
            }
        } else if start == 0 || self.loading.map(|(due, _)| due) != Some(start) {
            return None;
        }
        if identity != xxh3_64(&self.filter) {
            return None;
        }

        let came_before = self.loading.map_or(0, |(_, sub_filters)| sub_filters);
        let mut came = came_before;
        // Those that the filter has grown by meanwhile: a piece cannot speak of them.
        let grown = self.sub_filters.split_off(came_before);
        let (mut last_segment, mut end) = (None, None);
        while !rest.is_empty() {
            if end.is_some() {
                return None;
            }
            match number(&mut rest, 1)? {
                2 => {
                    if number(&mut rest, 4)? != came as u64 {
                        return None;
                    }
                    let description = bytes(&mut rest, 49)?.to_vec();
                    if !is_good_sub_filter(&description) {
                        return None;
                    }
                    came += 1;
                    self.sub_filters.push(SubFilter {
                        description,
                        segments: BTreeMap::new(),
                    });
                }
                3 => {
                    let (index, segment) = (number(&mut rest, 4)?, number(&mut rest, 8)?);
                    let len = number(&mut rest, 4)?;
                    let data = bytes(&mut rest, len as usize)?;
                    let sub_filter = self.sub_filters.get_mut(index as usize)?;
                    if sub_filter.segment_bytes(segment) != Some(len)
                        || last_segment >= Some((index, segment))
                    {
                        return None;
                    }
                    last_segment = Some((index, segment));
                    if data.iter().any(|byte| *byte != 0) {
                        let to = sub_filter
                            .segments
                            .entry(segment)
                            .or_insert_with(|| vec![0; data.len()]);
                        to.iter_mut().zip(data).for_each(|(to, from)| *to |= from);
                    }
                }
                4 => end = Some((number(&mut rest, 8)?, number(&mut rest, 4)? as usize)),
                _ => return None,
            }
        }
        self.loading = match end {
            Some((0, 0)) if next == END => None,
            Some((due, loaded))
                if next == END && (1..END).contains(&due) && (1..=came).contains(&loaded) =>
            {
                Some((due, loaded))
            }
            None if next > start && next < END => Some((next, came)),
            _ => return None,
        };
        self.sub_filters.extend(grown);
        let segments: u64 = self.sub_filters.iter().map(SubFilter::num_segments).sum();
        (!self.sub_filters.is_empty() && segments <= 1 << 44).then_some(self)
    }

    /// The chain as one piece, however long.
    pub fn as_one_piece(&self) -> Vec<u8> {
        let mut records = self.filter.clone();
        for (index, sub_filter) in self.sub_filters.iter().enumerate() {
            records.push(2);
            records.extend((index as u32).to_le_bytes());
            records.extend(&sub_filter.description);
            for (segment, data) in &sub_filter.segments {
                records.extend(segment_record(index, *segment, data));
            }
        }
        records.extend(self.end_record());
        piece(0, END, xxh3_64(&self.filter), &records)
    }

    /// The chain in short pieces: each ends behind the first segment with which it has `least` bytes of records.
    pub fn in_pieces_of(&self, least: usize) -> Vec<Vec<u8>> {
        let identity = xxh3_64(&self.filter);
        let (mut pieces, mut records, mut start) = (Vec::new(), self.filter.clone(), 0);
        let mut segments_before = 0;
        for (index, sub_filter) in self.sub_filters.iter().enumerate() {
            records.push(2);
            records.extend((index as u32).to_le_bytes());
            records.extend(&sub_filter.description);
            for (segment, data) in &sub_filter.segments {
                records.extend(segment_record(index, *segment, data));
                let next = 1 + segments_before + segment + 1;
                if records.len() >= least {
                    pieces.push(piece(start, next, identity, &records));
                    records.clear();
                    start = next;
                }
            }
            segments_before += sub_filter.num_segments();
        }
        records.extend(self.end_record());
        pieces.push(piece(start, END, identity, &records));
        pieces
    }

    fn end_record(&self) -> Vec<u8> {
        let (due, loaded) = self.loading.unwrap_or_default();
        let mut record = vec![4];
        record.extend(due.to_le_bytes());
        record.extend((loaded as u32).to_le_bytes());
        record
    }
}

fn segment_record(index: usize, segment: u64, data: &[u8]) -> Vec<u8> {
    let mut record = vec![3];
    record.extend((index as u32).to_le_bytes());
    record.extend(segment.to_le_bytes());
    record.extend((data.len() as u32).to_le_bytes());
    record.extend(data);
    record
}

fn piece(start: u64, next: u64, identity: u64, records: &[u8]) -> Vec<u8> {
    let mut piece = MAGIC.to_vec();
    for number in [start, next, identity] {
        piece.extend(number.to_le_bytes());
    }
    piece.extend(records);
    piece.extend([0; CHECKSUM_BYTES]);
    sealed(&piece)
}

/// The piece with a checksum that fits, in the place of its last bytes.
pub fn sealed(piece: &[u8]) -> Vec<u8> {
    let mut sealed = piece.to_vec();
    if let Some((body, checksum)) = sealed.split_last_chunk_mut::<CHECKSUM_BYTES>() {
        *checksum = xxh3_64(body).to_le_bytes();
    }
    sealed
}

fn is_good_filter(record: &[u8]) -> bool {
    let mut rest = record;
    let [kind, _seed, error_rate, capacity, expansion] =
        [1, 8, 8, 8, 4].map(|width| number(&mut rest, width).unwrap());
    let error_rate = f64::from_bits(error_rate);
    kind == 1
        && error_rate > 0.0
        && error_rate < 1.0
        && (1..=1 << 40).contains(&capacity)
        && expansion <= 32_768
}

fn is_good_sub_filter(description: &[u8]) -> bool {
    let mut rest = description;
    let [layout, bits, hashes, number_of_sub_bitmaps, capacity, error_rate, fill_limit, items] =
        [1, 4, 4, 8, 8, 8, 8, 8].map(|width| number(&mut rest, width).unwrap());
    let error_rate = f64::from_bits(error_rate);
    let one = number_of_sub_bitmaps == 1 && bits % 64 == 0 && (64..=524_288).contains(&bits);
    let many = bits.is_power_of_two()
        && (512..=32_768).contains(&bits)
        && number_of_sub_bitmaps >= 1
        && bits
            .checked_mul(number_of_sub_bitmaps)
            .is_some_and(|all| all <= 1 << 47);
    layout == 1
        && (one || many)
        && (1..=64).contains(&hashes)
        && (1..=1 << 40).contains(&capacity)
        && (0.0..1.0).contains(&error_rate)
        && (1..=bits * number_of_sub_bitmaps).contains(&fill_limit)
        && items <= capacity
}

fn bytes<'a>(rest: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (bytes, after) = rest.split_at_checked(len)?;
    *rest = after;
    Some(bytes)
}

/// A little-endian number of `width` bytes.
fn number(rest: &mut &[u8], width: usize) -> Option<u64> {
    let bytes = bytes(rest, width)?;
    Some(
        bytes
            .iter()
            .rev()
            .fold(0, |number, byte| number << 8 | u64::from(*byte)),
    )
}
