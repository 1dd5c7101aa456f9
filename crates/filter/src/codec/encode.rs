//! Encodes a filter as chunks. A chunk is outlined first, so that its length and its successor are
//! known, and then written, so a writer needs one buffer of a known size, or none.

use super::format::{
    identity, Short, CHECKSUM_BYTES, END, END_BYTES, END_OF_FILTER, END_OF_TABLE, FILLER,
    HEAD_BYTES, MAGIC, MAX_CHUNK_BYTES, PAGE, PAGE_HEAD_BYTES, SEGMENT, SEGMENT_HEAD_BYTES,
    SPARSE_SEGMENT, SUB_FILTER, TABLE, TABLE_START, VERSION,
};
use crate::bytes::{Buffer, Sink};
use crate::error::AddError;
use crate::filter::window::PATH_SHIFT;
use crate::filter::{Filter, Loading, SubFilter};
use crate::storage::data::Outgoing;
use crate::table::{Cut, PageRecord};
use splitbloom_foundation::alloc::try_vec;
use std::iter::successors;

/// A chunk of an encoded filter, ready to be sent.
pub struct Encoded {
    /// The iterator of the next chunk; [`END`] after the last one.
    pub next: u64,
    /// The chunk.
    pub bytes: Vec<u8>,
}

/// A chunk that has yet to be written.
pub struct Outline<'a> {
    filter: &'a Filter,
    start: u64,
    next: u64,
    num_bytes: usize,
    cut: Cut,
}

/// The chunks of a filter, first to last.
///
/// Cost: for each chunk a step over each sub-filter before it, and each segment or page in it;
/// writing it costs its bytes.
pub fn chunks(filter: &Filter) -> impl Iterator<Item = Outline<'_>> {
    let at = move |iterator| Outline::new(filter, iterator, Cut::default());
    successors(at(0), move |before| at(before.next))
}

/// The chunk at `iterator`: 0 for the first, then what the chunk before returned as `next`. Returns
/// `None` at or after the end. The filter may have changed since the chunk before.
///
/// # Errors
/// `OutOfMemory`.
pub fn encode_chunk(filter: &Filter, iterator: u64) -> Result<Option<Encoded>, AddError> {
    let table = filter.table();
    let path = iterator.checked_sub(TABLE_START).map(|path| path << PATH_SHIFT);
    let cut = match table.zip(path).filter(|_| iterator < END) {
        Some((table, path)) => table.cut(path, filter.newest_payload())?,
        None => Cut::default(),
    };
    Outline::new(filter, iterator, cut).map(|outline| outline.encode()).transpose()
}

impl<'a> Outline<'a> {
    /// Fills a chunk with records up to its largest size.
    fn new(filter: &'a Filter, start: u64, cut: Cut) -> Option<Self> {
        if !is_within(filter, start) {
            return None;
        }
        let (mut next, mut records_end) = (END, HEAD_BYTES);
        // A sub-filter record and segment 0 share a place, and so do the table's record, the state
        // and its first page, and its last page and its end: the chunk ends before all or none.
        let mut last_place = (start, records_end);
        for (place, record) in records(filter, start, &cut) {
            if place != last_place.0 {
                last_place = (place, records_end);
            }
            records_end += record.num_bytes();
            if records_end + END_BYTES + CHECKSUM_BYTES > MAX_CHUNK_BYTES {
                (next, records_end) = last_place;
                break;
            }
        }
        let end = if next == END { END_BYTES } else { 0 };
        Some(Self { filter, start, next, num_bytes: records_end + end + CHECKSUM_BYTES, cut })
    }

    /// The iterator of the chunk after it; [`END`] if it is the last.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Its length, at most [`MAX_CHUNK_BYTES`].
    pub fn num_bytes(&self) -> usize {
        self.num_bytes
    }

    /// Writes it without allocating, and returns the part of the buffer that it takes.
    pub fn write_into<'b>(&self, buffer: &'b mut [u8; MAX_CHUNK_BYTES]) -> &'b [u8] {
        let chunk = &mut buffer[..self.num_bytes];
        self.write(&mut Buffer::new(chunk));
        chunk
    }

    /// Writes it into a buffer of its own.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn encode(&self) -> Result<Encoded, AddError> {
        let mut bytes = try_vec(self.num_bytes)?;
        self.write(&mut bytes);
        Ok(Encoded { next: self.next, bytes })
    }

    pub(crate) fn write(&self, to: &mut impl Sink) {
        to.bytes(&MAGIC);
        to.u8(VERSION);
        to.u64(self.start);
        to.u64(self.next);
        to.bytes(&FILLER);
        to.u64(identity(self.filter));
        records(self.filter, self.start, &self.cut)
            .take_while(|(place, _)| *place < self.next)
            .for_each(|(_, record)| record.write(to));
        if self.next == END {
            let loading = self.filter.loading();
            to.u8(END_OF_FILTER);
            to.u64(loading.map_or(0, Loading::next));
            to.u32(loading.map_or(0, |loading| loading.sub_filters() as u32));
        }
        to.u64(to.checksum());
    }
}

/// Whether a chunk may begin at this iterator.
fn is_within(filter: &Filter, iterator: u64) -> bool {
    match iterator.checked_sub(TABLE_START) {
        None => iterator <= filter.reserved_segments(),
        Some(_) => iterator < END && filter.table().is_some(),
    }
}

enum Record<'a> {
    Short(Short),
    Segment { sub_filter: u32, number: u64, bits: Outgoing<'a> },
    Page(PageRecord<'a>),
}

/// The records of the chunk at `start` and of all later ones, but for the end record, each with its
/// place: the iterator of a chunk that begins with it.
fn records<'a>(
    filter: &'a Filter,
    start: u64,
    cut: &'a Cut,
) -> impl Iterator<Item = (u64, Record<'a>)> {
    let head = (start == 0).then(|| (0, Record::Short(Short::head(filter))));
    let from = start.saturating_sub(1);
    let mut end = 0;
    let sub_filters = filter.sub_filters().zip(0..);
    let sub_filters = sub_filters.filter_map(move |(sub_filter, index)| {
        let first = end;
        end += sub_filter.segments().reserved();
        (from < end).then(|| records_of(index, sub_filter, first, from.saturating_sub(first)))
    });
    let records = head.into_iter().chain(sub_filters.flatten());
    records.chain(records_of_table(filter, start, cut))
}

/// The records of the table, if there is one, from the page of the iterator `start` on.
fn records_of_table<'a>(
    filter: &'a Filter,
    start: u64,
    cut: &'a Cut,
) -> impl Iterator<Item = (u64, Record<'a>)> {
    let table = filter.table();
    let head = (table.is_some() && start <= TABLE_START).then(|| {
        let head = Short::written(|to| {
            to.u8(TABLE);
            to.f64(filter.table_error_rate().unwrap_or_default());
            to.u8(filter.payload_bits());
        });
        (TABLE_START, Record::Short(head))
    });
    let state = table.and_then(|_| Short::state(filter));
    let state = state.map(|state| (start.max(TABLE_START), Record::Short(state)));
    let from = start.saturating_sub(TABLE_START) << PATH_SHIFT;
    let pages = table.into_iter().flat_map(move |table| {
        let whole = move |from| (from, table.page_record(from));
        let first = cut.records().map(|page| (page.start(), page));
        let after = cut.records().last().map_or(Some(from), |last| last.next());
        let pages = successors(after.map(whole), move |(_, page)| page.next().map(whole));
        let pages = first.chain(pages);
        pages.flat_map(|(from, page)| {
            let place = TABLE_START + (from >> PATH_SHIFT);
            let end = page.next().is_none().then(|| {
                let end = Short::written(|to| {
                    to.u8(END_OF_TABLE);
                    to.u64(table.len());
                    to.u64(filter.removed());
                });
                (place, Record::Short(end))
            });
            std::iter::once((place, Record::Page(page))).chain(end)
        })
    });
    head.into_iter().chain(state).chain(pages)
}

/// The records of a sub-filter whose segment 0 is segment `first` of the filter: from the header on
/// if `from` is 0, else from segment `from` on.
fn records_of(
    index: u32,
    sub_filter: SubFilter<'_>,
    first: u64,
    from: u64,
) -> impl Iterator<Item = (u64, Record<'_>)> {
    let header = (from == 0).then(|| {
        let header = Short::written(|to| {
            to.u8(SUB_FILTER);
            to.u32(index);
            sub_filter.write_header(to);
        });
        (first + 1, Record::Short(header))
    });
    let segments = sub_filter.segments();
    let units = segments.units();
    // Segments without set bits are left out, allocated or not.
    let records = segments.views(from).filter_map(move |(number, view)| {
        let bits = Outgoing::of(view, units)?;
        Some((first + number + 1, Record::Segment { sub_filter: index, number, bits }))
    });
    header.into_iter().chain(records)
}

impl Record<'_> {
    fn num_bytes(&self) -> usize {
        match self {
            Self::Short(record) => record.bytes().len(),
            Self::Segment { bits, .. } => SEGMENT_HEAD_BYTES + bits.num_bytes(),
            Self::Page(page) => PAGE_HEAD_BYTES + page.num_bytes(),
        }
    }

    fn write(&self, to: &mut impl Sink) {
        match self {
            Self::Short(record) => to.bytes(record.bytes()),
            Self::Segment { sub_filter, number, bits } => {
                to.u8(if bits.is_sparse() { SPARSE_SEGMENT } else { SEGMENT });
                to.u32(*sub_filter);
                to.u64(*number);
                to.u32(bits.num_bytes() as u32);
                bits.write(to);
            }
            Self::Page(page) => {
                to.u8(PAGE);
                to.u16(page.num_bytes() as u16);
                page.write(&mut |bytes| to.bytes(bytes));
            }
        }
    }
}
