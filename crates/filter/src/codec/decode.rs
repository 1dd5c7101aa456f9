//! Decodes chunks. Everything in a chunk is read and checked before the filter changes.

use super::format::{
    identity, CHECKSUM_BYTES, END, END_OF_FILTER, END_OF_TABLE, FILLER, HEAD_BYTES, MAGIC,
    MAX_CHUNK_BYTES, PAGE, SEGMENT, SPARSE_SEGMENT, STATE, SUB_FILTER, TABLE, TABLE_START, VERSION,
};
use crate::bytes::{within, Reader};
use crate::error::{ensure, DecodeError};
use crate::filter::window::{Slices, PATH_SHIFT};
use crate::filter::{kind_of_record, Arrivals, ArrivingSegment, Filter, Kind, Loading, SizeLimit};
use crate::storage::data::Incoming;
use crate::table::{Pages, Table};
use splitbloom_foundation::alloc::try_push;
use xxhash_rust::xxh3::xxh3_64;

/// Whether `bytes` are a chunk, intact or damaged: all bytes before the hash of its head record are
/// known, except for two iterators.
pub fn is_chunk(bytes: &[u8]) -> bool {
    read_public(&mut Reader(bytes)).is_ok()
}

/// Reads what comes before the hash of the head record: the iterator of a chunk, and the next one.
fn read_public(reader: &mut Reader<'_>) -> Result<(u64, u64), DecodeError> {
    let is_known = reader.take(MAGIC.len())? == MAGIC && reader.u8()? == VERSION;
    ensure(is_known, DecodeError::Format)?;
    let iterators = (reader.u64()?, reader.u64()?);
    ensure(reader.take(FILLER.len())? == FILLER, DecodeError::Format)?;
    Ok(iterators)
}

/// A chunk whose frame is sound: its version is known and its checksum right. Its records are
/// still to be read.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'a> {
    /// The iterator that requests this chunk.
    pub start: u64,
    /// The iterator that comes after it.
    pub next: u64,
    identity: u64,
    records: &'a [u8],
}

impl<'a> Chunk<'a> {
    /// Checks the frame of a chunk.
    ///
    /// # Errors
    /// `Length`, `Format`, `Checksum`.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        ensure(bytes.len() <= MAX_CHUNK_BYTES, DecodeError::Length)?;
        let (body, checksum) =
            bytes.split_last_chunk::<CHECKSUM_BYTES>().ok_or(DecodeError::Length)?;
        let mut reader = Reader(body);
        let (start, next) = read_public(&mut reader)?;
        ensure(body.len() >= HEAD_BYTES, DecodeError::Length)?;
        ensure(xxh3_64(body) == u64::from_le_bytes(*checksum), DecodeError::Checksum)?;
        Ok(Self { start, next, identity: reader.u64()?, records: reader.0 })
    }

    /// The kind of the filter if this is its first chunk; otherwise `None`.
    pub fn begins(&self) -> Option<Kind> {
        let record = self.records.first().filter(|_| self.start == 0)?;
        kind_of_record(*record)
    }

    /// Whether it is the last of its chain.
    pub fn is_last(&self) -> bool {
        self.next == END
    }

    /// Whether it is the last chunk of a filter that was whole when it was written. (The end record
    /// of a filter that was itself being loaded says so.)
    pub fn ends_whole(&self) -> bool {
        const OF_WHOLE: [u8; 13] = [END_OF_FILTER, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        self.is_last() && self.records.ends_with(&OF_WHOLE)
    }

    /// Reads all records of this chunk, which must continue `filter` in its present state.
    fn arrivals(
        &self,
        mut reader: Reader<'a>,
        filter: &Filter,
    ) -> Result<Arrivals<'a>, DecodeError> {
        let present = filter.loading().map_or(0, |loading| loading.sub_filters());
        let (mut series, mut segments) = (filter.series_to_come(), Vec::new());
        let mut tables = Tables::new(filter.table(), self.start);
        let (mut end, mut slices) = (None, None);
        while !reader.is_at_end() {
            ensure(end.is_none(), DecodeError::Length)?;
            let count = present + series.len();
            match reader.u8()? {
                SUB_FILTER if filter.may_get_sub_filter(count) && !tables.has_begun() => {
                    ensure(reader.u32()? as usize == count, DecodeError::Order)?;
                    series.read_next(filter.kind(), &mut reader)?;
                }
                kind @ (SEGMENT | SPARSE_SEGMENT) if !tables.has_begun() => {
                    let segment = read_segment(&mut reader, kind == SPARSE_SEGMENT)?;
                    ensure(segment.sub_filter < count, DecodeError::Order)?;
                    try_push(&mut segments, segment)?;
                }
                // A table after sub-filters that are still to come would have another rate.
                TABLE if !tables.has_begun() && filter.num_sub_filters() <= present => {
                    let rate = reader.f64()?;
                    let field = "error rate of the table";
                    within(field, filter.may_have_table(count, rate))?;
                    tables.begin(&mut reader, filter, count, rate)?;
                }
                STATE if slices.is_none() && tables.is_due() => {
                    let clock = filter.clock().ok_or(DecodeError::Order)?;
                    slices = Some(Slices::read(&clock.window, &mut reader)?);
                }
                PAGE => tables.page(&mut reader)?,
                END_OF_TABLE if tables.has_begun() => tables.end(&mut reader)?,
                END_OF_FILTER => end = Some((reader.u64()?, reader.u32()? as usize)),
                SUB_FILTER | SEGMENT | SPARSE_SEGMENT | TABLE | STATE | END_OF_TABLE => {
                    return Err(DecodeError::Order);
                }
                _ => return Err(DecodeError::Format),
            }
        }
        tables.check_end(self.next)?;
        // A filter that forgets says its state with each run of pages.
        let is_due = filter.clock().is_some() && tables.has_begun();
        ensure(slices.is_some() == is_due, DecodeError::Order)?;
        let count = present + series.len();
        ensure(count > 0 || tables.has_begun(), DecodeError::Order)?;
        // What is added to a counting filter goes into its table, so it is not whole without one.
        let is_whole = tables.has_begun() || filter.kind() != Kind::Counting;
        let to_come = match (self.next, end) {
            (END, Some((0, 0))) if is_whole => None,
            // The filter that was encoded was itself being loaded.
            (END, Some((next @ 1..END, sub_filters)))
                if sub_filters <= count && tables.has_begun() == (next > TABLE_START) =>
            {
                Some(Loading::new(next, sub_filters))
            }
            (next @ 1..END, None) if next > self.start => Some(Loading::new(next, count)),
            _ => return Err(DecodeError::Order),
        };
        Ok(Arrivals {
            series,
            segments,
            table: tables.new,
            pages: tables.pages,
            slices,
            counts: tables.counts,
            loading: to_come.map(|loading| loading.ok_or(DecodeError::Order)).transpose()?,
        })
    }
}

/// A segment record, after its kind.
fn read_segment<'a>(
    reader: &mut Reader<'a>,
    is_sparse: bool,
) -> Result<ArrivingSegment<'a>, DecodeError> {
    let (sub_filter, number) = (reader.u32()? as usize, reader.u64()?);
    let len = reader.u32()? as usize;
    let bits = Incoming { bytes: reader.take(len)?, is_sparse };
    Ok(ArrivingSegment { sub_filter, number, bits })
}

/// The table of a filter while a chunk is read.
struct Tables<'t> {
    /// The table that earlier chunks have begun.
    old: Option<&'t Table>,
    /// The table that begins in this chunk, and its error rate.
    new: Option<(Table, f64)>,
    /// The path at which the first page of this chunk begins.
    from: u64,
    pages: Option<Pages>,
    /// Items now, and items removed.
    counts: Option<(u64, u64)>,
}

impl<'t> Tables<'t> {
    fn new(old: Option<&'t Table>, start: u64) -> Self {
        Self {
            old,
            new: None,
            from: start.saturating_sub(TABLE_START) << PATH_SHIFT,
            pages: None,
            counts: None,
        }
    }

    fn has_begun(&self) -> bool {
        self.old.is_some() || self.new.is_some()
    }

    /// Whether the first pages of the chunk come next.
    fn is_due(&self) -> bool {
        self.has_begun() && self.pages.is_none()
    }

    /// A table record, after its error rate.
    fn begin(
        &mut self,
        reader: &mut Reader<'_>,
        filter: &Filter,
        sub_filters: usize,
        rate: f64,
    ) -> Result<(), DecodeError> {
        within("bits of payload", reader.u8()? == filter.payload_bits())?;
        let table = match sub_filters {
            0 => filter.first_table(),
            _ => Table::new(rate, 0),
        };
        self.new = Some((table, rate));
        self.from = 0;
        Ok(())
    }

    /// A page record, after its kind.
    fn page(&mut self, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
        let new = self.new.as_ref().map(|(table, _)| table);
        let table = new.or(self.old).ok_or(DecodeError::Order)?;
        let len = reader.u16()?.into();
        let bytes = reader.take(len)?;
        let pages = self.pages.get_or_insert_with(|| Pages::starting_at(self.from));
        ensure(pages.push(table, bytes)?.is_empty(), DecodeError::Length)
    }

    /// An end-of-table record, after its kind.
    fn end(&mut self, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
        let before = self.counts.replace((reader.u64()?, reader.u64()?));
        ensure(before.is_none(), DecodeError::Order)
    }

    /// Checks that the chunk ends where the chunk `next` begins.
    fn check_end(&self, next: u64) -> Result<(), DecodeError> {
        let due = match (&self.pages, self.has_begun()) {
            (Some(pages), _) => pages.next().map_or(END, |path| TABLE_START + (path >> PATH_SHIFT)),
            // A table has pages, and so has every chunk of it.
            (None, true) => return Err(DecodeError::Order),
            (None, false) if next <= TABLE_START => next,
            (None, false) => END,
        };
        let is_complete = self.has_begun() && due == END;
        ensure(due == next && is_complete == self.counts.is_some(), DecodeError::Order)
    }
}

/// Loads a chunk: the first of a chain where there is no `filter` yet, else the one that `filter`
/// waits for. Returns the filter that a first chunk begins. If more chunks come, it works already,
/// with the items that the chunks so far hold, and [`Filter::loading`](crate::Filter::loading)
/// tells which chunk is next.
///
/// ```
/// use splitbloom_filter::codec::{chunks, load_chunk, Chunk};
/// use splitbloom_filter::{Filter, Growth, Parameters, Seed, SizeLimit};
///
/// let parameters = Parameters {
///     error_rate: 0.01,
///     capacity: 1_000_000,
///     growth: Growth::Fixed,
///     seed: Seed(7),
/// };
/// let mut filter = Filter::new(parameters, SizeLimit::Unlimited).unwrap();
/// filter.add(b"item").unwrap();
///
/// let mut loaded: Option<Filter> = None;
/// for chunk in chunks(&filter) {
///     let bytes = chunk.encode().unwrap().bytes;
///     let chunk = Chunk::parse(&bytes).unwrap();
///     let begun = load_chunk(loaded.as_mut(), &chunk, SizeLimit::Unlimited).unwrap();
///     loaded = begun.or(loaded);
/// }
/// assert!(loaded.unwrap().contains(b"item"));
/// ```
///
/// # Errors
/// Any [`DecodeError`]; `Order` if another chunk, or none, is due. The filter is as it was.
pub fn load_chunk(
    filter: Option<&mut Filter>,
    chunk: &Chunk<'_>,
    limit: SizeLimit,
) -> Result<Option<Filter>, DecodeError> {
    let (mut reader, mut begun) = (Reader(chunk.records), None);
    let due = filter.as_ref().map_or(Some(0), |filter| filter.loading().map(Loading::next));
    ensure(due == Some(chunk.start), DecodeError::Order)?;
    let filter = match filter {
        Some(filter) => filter,
        None => begun.insert(Filter::read_head(&mut reader)?),
    };
    ensure(chunk.identity == identity(filter), DecodeError::Order)?;
    let arrivals = chunk.arrivals(reader, filter)?;
    filter.accept(arrivals, chunk.start == 0, limit)?;
    Ok(begun)
}
