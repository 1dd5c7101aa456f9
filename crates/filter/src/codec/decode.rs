//! Chunks into a filter. Everything in a chunk is read and checked before the filter changes.

use super::format::{
    identity, Version, CHECKSUM_BYTES, END, END_OF_FILTER, FILTER, MAGIC, MAX_CHUNK_BYTES, SEGMENT,
    SUB_FILTER,
};
use super::reader::Reader;
use crate::bloom::blocked_bloom::BlockedBloom;
use crate::error::DecodeError;
use crate::filter::{Arrivals, Filter, Loading, SizeLimit};
use xxhash_rust::xxh3::xxh3_64;

/// A chunk whose frame is sound: its version is known and its checksum right. Its records are
/// still to be read.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'a> {
    /// The iterator it was asked for with.
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
        if bytes.len() > MAX_CHUNK_BYTES {
            return Err(DecodeError::Length);
        }
        let (body, checksum) = bytes
            .split_last_chunk::<CHECKSUM_BYTES>()
            .ok_or(DecodeError::Length)?;
        let mut reader = Reader(body);
        if reader.take(MAGIC.len())? != MAGIC {
            return Err(DecodeError::Format);
        }
        let version = Version::from_byte(reader.u8()?).ok_or(DecodeError::Format)?;
        if body.len() < version.head_bytes() {
            return Err(DecodeError::Length);
        }
        if xxh3_64(body) != u64::from_le_bytes(*checksum) {
            return Err(DecodeError::Checksum);
        }
        let (start, next) = (reader.u64()?, reader.u64()?);
        reader.take(version.filler().len())?;
        Ok(Self {
            start,
            next,
            identity: reader.u64()?,
            records: reader.0,
        })
    }

    /// Whether it is the last of its chain.
    pub fn is_last(&self) -> bool {
        self.next == END
    }

    /// Reads the records up to the end, of a chunk that follows `present` sub-filters.
    fn arrivals(
        &self,
        mut reader: Reader<'a>,
        present: usize,
    ) -> Result<Arrivals<'a>, DecodeError> {
        let (mut sub_filters, mut segments) = (Vec::new(), Vec::new());
        let mut end = None;
        while !reader.is_at_end() {
            if end.is_some() {
                return Err(DecodeError::Length);
            }
            let count = present + sub_filters.len();
            match reader.u8()? {
                SUB_FILTER => {
                    if reader.u32()? as usize != count {
                        return Err(DecodeError::Order);
                    }
                    let sub_filter = BlockedBloom::from_header(reader.header()?);
                    push(&mut sub_filters, sub_filter)?;
                }
                SEGMENT => {
                    let segment = reader.segment()?;
                    if segment.sub_filter >= count {
                        return Err(DecodeError::Order);
                    }
                    push(&mut segments, segment)?;
                }
                END_OF_FILTER => end = Some((reader.u64()?, reader.u32()? as usize)),
                _ => return Err(DecodeError::Format),
            }
        }
        let count = present + sub_filters.len();
        let loading = match (self.next, end) {
            (END, Some((0, 0))) => None,
            // The filter that was encoded was itself being loaded.
            (END, Some((next @ 1..END, loaded))) if (1..=count).contains(&loaded) => {
                let sub_filters = loaded;
                Some(Loading { next, sub_filters })
            }
            (next @ 1..END, None) if next > self.start => {
                let sub_filters = count;
                Some(Loading { next, sub_filters })
            }
            _ => return Err(DecodeError::Order),
        };
        Ok(Arrivals {
            sub_filters,
            segments,
            loading,
        })
    }
}

/// Loads a chunk: the first of a chain where there is no `filter` yet, else the one that `filter`
/// waits for. Returns the filter that a first chunk begins. If more chunks come, it works already,
/// with the items that the chunks so far hold, and [`Filter::loading`] tells which chunk is next.
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
/// filter.add(b"item", SizeLimit::Unlimited).unwrap();
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
    let mut reader = Reader(chunk.records);
    let Some(filter) = filter else {
        if chunk.start != 0 || reader.u8()? != FILTER {
            return Err(DecodeError::Order);
        }
        let parameters = reader.parameters()?;
        if chunk.identity != identity(&parameters) {
            return Err(DecodeError::Order);
        }
        let arrivals = chunk.arrivals(reader, 0)?;
        return Filter::begin(parameters, arrivals, limit).map(Some);
    };
    let Some(loading) = filter
        .loading()
        .filter(|loading| loading.next == chunk.start)
    else {
        return Err(DecodeError::Order);
    };
    if chunk.identity != identity(filter.parameters()) {
        return Err(DecodeError::Order);
    }
    let arrivals = chunk.arrivals(reader, loading.sub_filters)?;
    filter.take_in(arrivals, limit).map(|()| None)
}

/// Appends if there is memory: the records of a chunk of 1 MiB may take several.
fn push<T>(to: &mut Vec<T>, value: T) -> Result<(), DecodeError> {
    to.try_reserve(1).map_err(|_| DecodeError::OutOfMemory)?;
    to.push(value);
    Ok(())
}
