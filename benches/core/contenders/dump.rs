//! A large splitbloom filter assembled from the segments of a small one.
//!
//! The API offers no way to set bits other than adding items, but a filter can be loaded. So this
//! encodes one as docs/format.md specifies: a header chunk, then one chunk per segment.

use splitbloom_filter::bloom::guard::UNIT;
use splitbloom_filter::codec::{chunks, load_chunk, Chunk, END};
use splitbloom_filter::error::DecodeError;
use splitbloom_filter::filter::{Filter, SizeLimit};
use splitbloom_filter::storage::segments::Segments;
use splitbloom_filter::storage::SEGMENT_WORDS;
use splitbloom_rig::Outcome;
use xxhash_rust::xxh3::xxh3_64;

/// Offsets in a chunk: its own iterator and the next one, its identity, and its records.
const ITERATORS: usize = 4;
const IDENTITY: usize = 128;
const RECORDS: usize = 136;
const FILTER_BYTES: usize = 29;
/// Offsets in the record of a sub-filter: the guard limit, then the items.
const GUARD_LIMIT: usize = 38;
const ITEMS: usize = 46;
const SUB_FILTER_BYTES: usize = 54;
/// The record that ends a completely loaded filter.
const END_RECORD: [u8; 13] = [4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// A filter like `empty` that repeats the segments of `tile` and counts as holding `items` items.
///
/// # Errors
/// `tile` lacks a segment; out of memory.
pub fn filter_of_copies(tile: &Filter, empty: &Filter, items: u64) -> Outcome<Filter> {
    let (Some(from), Some(to)) = (tile.bloom(), empty.bloom()) else {
        return Err("expected filters with one sub-filter each".into());
    };
    let max_limit = 2 * UNIT * to.header().shape.num_sub_bitmaps;
    let model = chunks(empty).next().ok_or("an empty filter has a chunk")?.encode()?.bytes;
    let header = header_records(&model, max_limit, items);
    let identity = xxh3_64(&header[..FILTER_BYTES]);
    let (from, to) = (from.segments(), to.segments());
    let load = |error: DecodeError| error.to_string();

    let first = frame(&model, 0, 1, identity, &header);
    let first = Chunk::parse(&first).map_err(load)?;
    let begun = load_chunk(None, &first, SizeLimit::Unlimited).map_err(load)?;
    let mut filter = begun.ok_or("a first chunk begins a filter")?;
    for number in 0..to.reserved() {
        let mut records = segment_record(number, copied_words(from, to, number)?);
        let mut next = number + 2; // the iterator is the segment number plus one
        if number + 1 == to.reserved() {
            records.extend_from_slice(&END_RECORD);
            next = END;
        }
        let chunk = frame(&model, number + 1, next, identity, &records);
        let chunk = Chunk::parse(&chunk).map_err(load)?;
        load_chunk(Some(&mut filter), &chunk, SizeLimit::Unlimited).map_err(load)?;
    }
    Ok(filter)
}

/// The records of the filter and sub-filter in the chunk `model`. The fill guard's limit is at its
/// maximum: a random deviation in the tile repeats in every copy, and their sum would exceed what
/// the guard allows for chance.
fn header_records(model: &[u8], max_limit: u64, items: u64) -> Vec<u8> {
    let mut records = model[RECORDS..][..FILTER_BYTES + SUB_FILTER_BYTES].to_vec();
    let sub_filter = &mut records[FILTER_BYTES..];
    sub_filter[GUARD_LIMIT..ITEMS].copy_from_slice(&max_limit.to_le_bytes());
    sub_filter[ITEMS..].copy_from_slice(&items.to_le_bytes());
    records
}

/// The words to store as segment `number` of `to`. The last segment of a tile may be short, and
/// stands only for the last one of a filter of the same size.
fn copied_words<'a>(from: &'a Segments, to: &Segments, number: u64) -> Outcome<&'a [u64]> {
    let is_same_size = from.reserved() == to.reserved();
    let whole = (0..from.reserved()).filter(|i| from.len_of(*i) == SEGMENT_WORDS);
    let source = match whole.count() as u64 {
        whole if whole > 0 && !is_same_size => number % whole,
        _ => number,
    };
    let words = from.get(source).ok_or("a segment without bits")?;
    Ok(&words[..to.len_of(number)])
}

fn segment_record(number: u64, words: &[u64]) -> Vec<u8> {
    let mut record = vec![3];
    record.extend_from_slice(&0u32.to_le_bytes()); // of the first sub-filter
    record.extend_from_slice(&number.to_le_bytes());
    record.extend_from_slice(&(words.len() as u32 * 8).to_le_bytes());
    record.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    record
}

/// A chunk that begins as `model` does.
fn frame(model: &[u8], start: u64, next: u64, identity: u64, records: &[u8]) -> Vec<u8> {
    let mut chunk = model[..IDENTITY].to_vec();
    let iterators = [start.to_le_bytes(), next.to_le_bytes()].concat();
    chunk[ITERATORS..][..iterators.len()].copy_from_slice(&iterators);
    chunk.extend_from_slice(&identity.to_le_bytes());
    chunk.extend_from_slice(records);
    let checksum = xxh3_64(&chunk);
    chunk.extend_from_slice(&checksum.to_le_bytes());
    chunk
}
