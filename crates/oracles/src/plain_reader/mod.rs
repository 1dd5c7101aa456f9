//! A second reader of the format, written from docs/format.md alone, and a writer: slow,
//! independent of all other code, and plain enough to be checked by reading.

mod file;
mod head;
mod page;
mod state;
mod table;

pub use file::chunks_of_file;
pub use head::Head;

use super::cuckoo::Slots;
use super::layers::Description;
use super::stream::Stream;
use super::{must, written};
use page::Page;
use state::State;
use std::collections::BTreeMap;
use std::ops::Range;
use table::{Run, Table};
use xxhash_rust::xxh3::{xxh3_128_with_seed, xxh3_64};

const CHECKSUM_BYTES: usize = 8;
const FILLER_BYTES: usize = 108;
const MAGIC: &[u8] = b"SBF";
const VERSION: u8 = 1;
const END: u64 = 1 << 52;
/// The iterator at which tables begin, and by how many bits paths are longer than those beyond.
const TABLE: u64 = 1 << 51;
const PATH_SHIFT: u32 = 13;

const MAX_CHUNK_BYTES: usize = 1_048_576;
const SEGMENT_BYTES: u64 = 65_536;

/// ln 2, to as many digits as the format says.
#[allow(clippy::approx_constant, reason = "the last digit is missing there, too")]
pub const LN_2: f64 = 0.693_147_180_559_945;

/// Whether a chunk may begin with `bytes`.
pub fn is_start(bytes: &[u8]) -> bool {
    matches!(bytes, [b'S', b'B', b'F', VERSION, ..])
}

/// The ranges of the filter hash in a chunk and of the head record in a first chunk.
pub fn head_places(chunk: &[u8]) -> (Range<usize>, Range<usize>) {
    let hash = 128;
    let record = hash + 8;
    let kind = chunk.get(record).copied().unwrap_or(0);
    let rest = chunk.get(record..).unwrap_or_default();
    let bytes = Head::of_kind(kind).map_or(0, |head| head.num_bytes(rest));
    (hash..record, record..record + bytes)
}

/// A chunk whose checksum is right.
struct Frame<'a> {
    start: u64,
    next: u64,
    /// The hash of the head record.
    identity: u64,
    records: Stream<'a>,
}

impl<'a> Frame<'a> {
    fn read(chunk: &'a [u8]) -> Option<Self> {
        must(chunk.len() <= MAX_CHUNK_BYTES)?;
        let (body, checksum) = chunk.split_last_chunk::<CHECKSUM_BYTES>()?;
        let mut rest = Stream(body);
        let (magic, version) = (rest.take(3)?, rest.number(1)?);
        let (start, next) = (rest.number(8)?, rest.number(8)?);
        must(version == VERSION.into() && rest.take(FILLER_BYTES)? == filler())?;
        must(magic == MAGIC && *checksum == xxh3_64(body).to_le_bytes())?;
        Some(Self { start, next, identity: rest.number(8)?, records: rest })
    }
}

/// The contents of the chunks of a chain so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chain {
    /// The kind of the filter.
    kind: Head,
    /// The head record; empty before the first chunk.
    pub head: Vec<u8>,
    pub sub_filters: Vec<SubFilter>,
    table: Option<Table>,
    /// Items removed or forgotten.
    removed: u64,
    state: Option<State>,
    /// The iterator of the chunk that is due and the number of sub-filters so far; `None` if the
    /// filter is complete.
    pub loading: Option<(u64, usize)>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SubFilter {
    /// The record after the index, from the layout kind on.
    pub header: Vec<u8>,
    /// The segments with a set bit.
    pub segments: BTreeMap<u64, Vec<u8>>,
}

impl SubFilter {
    fn num_bytes(&self) -> u64 {
        if let Some(slots) = self.slots() {
            return slots.number().next_multiple_of(8);
        }
        if self.header[0] == 2 {
            let [bits] = Stream(&self.header[29..]).numbers([8]);
            // Arrays of more than a page are kept in whole lines.
            return match bits {
                0..=32_768 => bits.next_multiple_of(64) / 8,
                _ => bits.next_multiple_of(512) / 8,
            };
        }
        let [_, sub_bitmap_bits, _, num_sub_bitmaps] = Stream(&self.header).numbers([1, 4, 4, 8]);
        sub_bitmap_bits * num_sub_bitmaps / 8
    }

    /// The numbers of its slots, if it is the series of a cuckoo filter.
    fn slots(&self) -> Option<Slots> {
        Slots::of_record(&self.header)
    }

    fn slot(&self, number: u64) -> u8 {
        let segment = self.segments.get(&(number / SEGMENT_BYTES));
        segment.map_or(0, |segment| segment[(number % SEGMENT_BYTES) as usize])
    }

    /// The length of a sub-bitmap in bytes, if there are several.
    fn sub_bitmap_bytes(&self) -> Option<usize> {
        let mut fields = Stream(&self.header);
        let [layout, bits, _, sub_bitmaps] =
            [1, 4, 4, 8].map(|width| fields.number(width).unwrap_or(0));
        (layout == 1 && sub_bitmaps > 1).then_some(bits as usize / 8)
    }

    /// The data of a whole segment of `len` bytes from that of a sparse one.
    fn whole(&self, mut sparse: Stream<'_>, len: usize) -> Option<Vec<u8>> {
        let sub_bitmap = self.sub_bitmap_bytes()?;
        let (mut whole, mut first) = (vec![0; len], 0);
        while !sparse.0.is_empty() {
            let at = sparse.number(2)? as usize;
            let data = sparse.take(sub_bitmap)?;
            must(at >= first)?;
            whole.get_mut(at * sub_bitmap..)?.get_mut(..sub_bitmap)?.copy_from_slice(data);
            first = at + 1;
        }
        Some(whole)
    }

    /// The record of a segment of this sub-filter, which has the index `index`.
    fn segment_record(&self, index: usize, segment: u64, data: &[u8]) -> Vec<u8> {
        let sub_bitmap = self.sub_bitmap_bytes().unwrap_or(data.len());
        let sub_bitmaps = (0u16..).zip(data.chunks(sub_bitmap));
        let touched = sub_bitmaps.filter(|(_, bytes)| bytes.iter().any(|byte| *byte != 0));
        let touched: Vec<(u16, &[u8])> = touched.collect();
        let is_dense = touched.get(63).is_some_and(|(number, _)| *number == 63);
        let is_sparse = !is_dense && touched.len() * (2 + sub_bitmap) < data.len();
        let sparse = touched.iter().flat_map(|(at, bytes)| [&at.to_le_bytes(), *bytes].concat());
        let data = if is_sparse { sparse.collect() } else { data.to_vec() };
        let kind = if is_sparse { 12 } else { 3 };
        let head = [kind, index as u64, segment, data.len() as u64];
        [written([1, 4, 8, 4], head), data].concat()
    }

    /// Takes a segment. Bits are set where they were clear; slots replace those that were there. A
    /// segment of zeros changes nothing.
    fn take(&mut self, segment: u64, data: &[u8]) {
        if data.iter().all(|byte| *byte == 0) {
            return;
        }
        let slots = self.slots();
        let to = self.segments.entry(segment);
        let to = to.or_insert_with(|| vec![0; data.len()]);
        match slots {
            None => to.iter_mut().zip(data).for_each(|(to, from)| *to |= from),
            Some(slots) => {
                let number = slots.number() - segment * SEGMENT_BYTES;
                let data = &data[..data.len().min(number as usize)];
                to[..data.len()].copy_from_slice(data);
            }
        }
        if to.iter().all(|byte| *byte == 0) {
            self.segments.remove(&segment);
        }
    }

    pub fn num_segments(&self) -> u64 {
        self.num_bytes().div_ceil(SEGMENT_BYTES)
    }

    /// Length of a segment in bytes, if it exists.
    fn segment_bytes(&self, segment: u64) -> Option<u64> {
        (segment < self.num_segments())
            .then(|| (self.num_bytes() - segment * SEGMENT_BYTES).min(SEGMENT_BYTES))
    }
}

impl Chain {
    /// Before the first chunk.
    pub fn of(kind: Head) -> Self {
        Self { kind, ..Self::default() }
    }

    /// Takes the next chunk, if it is valid and due. Returns whether it was.
    pub fn take(&mut self, chunk: &[u8]) -> bool {
        self.clone().with(chunk).map(|chain| *self = chain).is_some()
    }

    fn with(mut self, chunk: &[u8]) -> Option<Self> {
        let Frame { start, next, identity, records: mut rest } = Frame::read(chunk)?;
        if self.head.is_empty() {
            let len = self.kind.num_bytes(rest.0);
            self.head = rest.take(len)?.to_vec();
            must(start == 0 && self.kind.is_good(&self.head))?;
        } else {
            must(start != 0 && self.loading.is_some_and(|(due, _)| due == start))?;
        }
        must(identity == xxh3_64(&self.head))?;

        let came_before = self.loading.map_or(0, |(_, sub_filters)| sub_filters);
        let mut came = came_before;
        // Sub-filters that the filter has added meanwhile: a chunk cannot refer to them.
        let grown = self.sub_filters.split_off(came_before);
        let (mut last_segment, mut end, mut state) = (None, None, None);
        let first_path = start.saturating_sub(TABLE) << PATH_SHIFT;
        let (mut run, mut end_of_table) = (Run::default(), None);
        while !rest.0.is_empty() {
            must(end.is_none())?;
            match (rest.number(1)?, &mut self.table) {
                (2, None) if came < self.kind.most_sub_filters() => {
                    let len = self.kind.sub_filter_bytes();
                    must(rest.number(4)? == came as u64)?;
                    let header = rest.take(len)?.to_vec();
                    must(match self.kind {
                        Head::Filter => is_good_sub_filter(&header),
                        Head::Foreign => is_good_layer(&header),
                        Head::WindowedFilter => false,
                        Head::CountingFilter => Slots::of_record(&header)?.is_good(),
                    })?;
                    came += 1;
                    self.sub_filters.push(SubFilter { header, segments: BTreeMap::new() });
                }
                (kind @ (3 | 12), None) => {
                    let (index, segment) = (rest.number(4)?, rest.number(8)?);
                    let len = rest.number(4)?;
                    let data = rest.take(len as usize)?;
                    let sub_filter = self.sub_filters.get_mut(index as usize)?;
                    let segment_bytes = sub_filter.segment_bytes(segment)? as usize;
                    let whole = match kind {
                        3 => data.to_vec(),
                        _ => sub_filter.whole(Stream(data), segment_bytes)?,
                    };
                    must(whole.len() == segment_bytes && last_segment < Some((index, segment)))?;
                    last_segment = Some((index, segment));
                    sub_filter.take(segment, &whole);
                }
                (5, None) if grown.is_empty() => {
                    let error_rate = f64::from_bits(rest.number(8)?);
                    let payload_bits = self.kind.payload_bits(&self.head);
                    must(self.kind.is_table_rate(&self.head, came, error_rate))?;
                    must(rest.number(1)? == payload_bits)?;
                    self.table = Some(Table::new(error_rate, payload_bits));
                }
                (11, Some(_)) if run.is_empty() && state.is_none() => {
                    let window = self.kind.window(&self.head)?;
                    let payload_bits = self.kind.payload_bits(&self.head);
                    state = Some(State::read(&mut rest, window, payload_bits)?);
                }
                (6, Some(table)) => {
                    let len = rest.number(2)?;
                    let page = Page::read(rest.take(len as usize)?, table.payload_bits)?;
                    run.push(run.next(first_path)?, page)?;
                }
                (7, Some(_)) if end_of_table.is_none() => {
                    end_of_table = Some(rest.number(8)?);
                    self.removed = rest.number(8)?;
                    must(self.removed == 0 || !matches!(self.kind, Head::Filter | Head::Foreign))?;
                }
                (4, _) => end = Some((rest.number(8)?, rest.number(4)? as usize)),
                _ => return None,
            }
        }
        let table_next = run.next(first_path);
        match &mut self.table {
            None if next <= TABLE || next == END => {}
            Some(table) if !run.is_empty() => {
                let due = table_next.map_or(END, |path| TABLE + (path >> PATH_SHIFT));
                must(next == due && end_of_table.is_some() == (due == END))?;
                let came = run.payloads();
                must(state.as_ref().is_none_or(|said| said.is_swept(&run)))?;
                table.take(run, end_of_table)?;
                must(state.is_some() == (self.kind == Head::WindowedFilter))?;
                if let Some(said) = state.take() {
                    let state = said.after(self.state.as_ref(), &came, table, end_of_table)?;
                    table.items = state.items();
                    self.state = Some(state);
                }
            }
            _ => return None,
        }
        let is_of_table = |iterator| (iterator > TABLE) == self.table.is_some();
        let is_whole = self.kind != Head::CountingFilter || self.table.is_some();
        self.loading = match end {
            Some((0, 0)) if next == END && is_whole => None,
            Some((due, loaded))
                if next == END && (1..END).contains(&due) && is_of_table(due) && loaded <= came =>
            {
                Some((due, loaded))
            }
            None if next > start && next < END => Some((next, came)),
            _ => return None,
        };
        self.sub_filters.extend(grown);
        let segments: u64 = self.sub_filters.iter().map(SubFilter::num_segments).sum();
        let has_parts = !self.sub_filters.is_empty() || self.table.is_some();
        (has_parts && segments <= 1 << 44).then_some(self)
    }

    /// The chain as one chunk, of any length.
    pub fn as_one_chunk(&self) -> Vec<u8> {
        self.in_chunks_of(usize::MAX).concat()
    }

    /// The chain in short chunks: each ends after the first segment or page at which it has `least`
    /// bytes of records.
    pub fn in_chunks_of(&self, least: usize) -> Vec<Vec<u8>> {
        let identity = xxh3_64(&self.head);
        let (mut chunks, mut records, mut start) = (Vec::new(), self.head.clone(), 0);
        let mut end_chunk = |records: &mut Vec<u8>, next| {
            chunks.push(chunk(start, next, identity, records));
            records.clear();
            start = next;
        };
        let mut segments_before = 0;
        for (index, sub_filter) in self.sub_filters.iter().enumerate() {
            records.extend(written([1, 4], [2, index as u64]));
            records.extend(&sub_filter.header);
            for (segment, data) in &sub_filter.segments {
                records.extend(sub_filter.segment_record(index, *segment, data));
                if records.len() >= least {
                    end_chunk(&mut records, 1 + segments_before + segment + 1);
                }
            }
            segments_before += sub_filter.num_segments();
        }
        for (next, record) in self.table_records() {
            if records.is_empty() && record[0] == 6 {
                records.extend(self.state.iter().flat_map(State::record));
            }
            records.extend(record);
            if let Some(next) = next.filter(|_| records.len() >= least) {
                end_chunk(&mut records, next);
            }
        }
        records.extend(self.end_record());
        end_chunk(&mut records, END);
        chunks
    }

    /// The records of the table, page by page: the first begin with the table record, the last end
    /// with the end-of-table record. Each comes with the iterator of the next.
    fn table_records(&self) -> Vec<(Option<u64>, Vec<u8>)> {
        let Some(table) = &self.table else {
            return Vec::new();
        };
        let payload_bits = self.kind.payload_bits(&self.head);
        let mut record = written([1, 8, 1], [5, table.error_rate.to_bits(), payload_bits]);
        record.extend(self.state.iter().flat_map(State::record));
        let mut records = Vec::new();
        let nexts = table.pages.keys().skip(1);
        let nexts = nexts.map(|path| Some(TABLE + (path >> PATH_SHIFT)));
        for (page, next) in table.pages.values().zip(nexts.chain([None])) {
            record.extend(written([1, 2], [6, page.bytes.len() as u64]));
            record.extend(&page.bytes);
            if next.is_none() {
                record.extend(written([1, 8, 8], [7, table.items, self.removed]));
            }
            records.push((next, std::mem::take(&mut record)));
        }
        records
    }

    /// How many copies of an item are in the table and the slots, without those of dead payloads;
    /// `None` if there are too many slots to look at.
    pub fn count(&self, item: &[u8]) -> Option<u64> {
        let path = path_of(item, self.kind.seed(&self.head));
        let table = self.table.as_ref();
        let dead = self.state.as_ref().map_or(0, |state| state.dead);
        let mut count = table.map_or(0, |table| table.page(path).1.count(path, dead));
        for sub_filter in &self.sub_filters {
            if let Some(slots) = sub_filter.slots() {
                let (places, fingerprint) = slots.is_quick().then(|| slots.places(item))?;
                let places = places.into_iter().map(|slot| sub_filter.slot(slot));
                count += places.filter(|slot| *slot == fingerprint).count() as u64;
            }
        }
        Some(count)
    }

    fn end_record(&self) -> Vec<u8> {
        let (due, loaded) = self.loading.unwrap_or_default();
        written([1, 8, 4], [4, due, loaded as u64])
    }
}

/// The bits that lead to an item's page and fingerprints.
pub fn path_of(item: &[u8], seed: u64) -> u64 {
    let hash = xxh3_128_with_seed(item, seed);
    let (place, probes) = (hash as u64, (hash >> 64) as u64);
    let (mut cell, mut end) = (0, 0);
    for share in [23, 25, 28, 30, 33, 36, 39] {
        end += share;
        cell += u64::from(place >> 56 >= end);
    }
    cell << 61 | probes >> 3
}

/// What comes before the hash of the head record.
pub fn start_of_chunk(start: u64, next: u64) -> Vec<u8> {
    [MAGIC, &written([1, 8, 8], [VERSION.into(), start, next]), &filler()].concat()
}

fn chunk(start: u64, next: u64, identity: u64, records: &[u8]) -> Vec<u8> {
    let start = start_of_chunk(start, next);
    sealed(&[start.as_slice(), &identity.to_le_bytes(), records, &[0; CHECKSUM_BYTES]].concat())
}

/// The first powers of G that fill the filler.
fn filler() -> Vec<u8> {
    const G: u64 = 0x9E37_79B9_7F4A_7C15;
    let powers = std::iter::successors(Some(G), |power| Some(power.wrapping_mul(G)));
    powers.flat_map(u64::to_le_bytes).take(FILLER_BYTES).collect()
}

/// The chunk with its last bytes replaced by a correct checksum.
pub fn sealed(chunk: &[u8]) -> Vec<u8> {
    let mut sealed = chunk.to_vec();
    if let Some((body, checksum)) = sealed.split_last_chunk_mut::<CHECKSUM_BYTES>() {
        *checksum = xxh3_64(body).to_le_bytes();
    }
    sealed
}

fn is_good_sub_filter(header: &[u8]) -> bool {
    let [layout, bits, hashes, number_of_sub_bitmaps, capacity, error_rate, guard_limit, items] =
        Stream(header).numbers([1, 4, 4, 8, 8, 8, 8, 8]);
    let error_rate = f64::from_bits(error_rate);
    let one = number_of_sub_bitmaps == 1 && bits % 64 == 0 && (64..=524_288).contains(&bits);
    let many = bits.is_power_of_two()
        && (512..=32_768).contains(&bits)
        && number_of_sub_bitmaps >= 1
        && bits.checked_mul(number_of_sub_bitmaps).is_some_and(|all| all <= 1 << 47);
    layout == 1
        && (one || many)
        && (1..=64).contains(&hashes)
        && (1..=1 << 40).contains(&capacity)
        && (0.0..1.0).contains(&error_rate)
        && (1..=number_of_sub_bitmaps << 21).contains(&guard_limit)
        && items <= capacity
}

fn is_good_layer(header: &[u8]) -> bool {
    let [layout, entries, error_rate, hashes, bits_per_item, bits, n2, items] =
        Stream(header).numbers([1, 8, 8, 4, 8, 8, 1, 8]);
    let [error_rate, bits_per_item] = [error_rate, bits_per_item].map(f64::from_bits);
    let layer = Description { entries, error_rate, hashes, bits_per_item, bits, n2, items };
    layout == 2 && layer.is_good()
}
