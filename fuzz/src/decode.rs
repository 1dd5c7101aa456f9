//! Arbitrary bytes as a chain of chunks. The checksum and the hash of the filter are corrected, so
//! the fuzzer need not guess hashes.

use super::laws::{assert_sound, assert_survives};
use super::loaded::{load, Loaded};
use super::plain_reader::{filter_places, is_start, sealed};
use splitbloom_filter::codec::Chunk;
use splitbloom_filter::error::DecodeError;
use splitbloom_filter::filter::{Filter, SizeLimit};
use xxhash_rust::xxh3::xxh3_64;

/// The size limit of a filter of unknown origin.
const ROOM: SizeLimit = SizeLimit::Bytes(1 << 24);

/// Any bytes are refused, or are a filter that works in every respect.
pub fn decode(bytes: &[u8]) {
    let _ = Chunk::parse(bytes); // as they are
    let mut loaded = Loaded::default();
    let mut identity = 0;
    for chunk in chunks_of(bytes) {
        let mut chunk = chunk.to_vec();
        let is_first = loaded.filter().is_none();
        let (hash, record) = filter_places(&chunk);
        if let Some(record) = chunk.get(record).filter(|_| is_first) {
            identity = xxh3_64(record);
        }
        if let Some(field) = chunk.get_mut(hash) {
            field.copy_from_slice(&u64::to_le_bytes(identity));
        }
        let chunk = sealed(&chunk);
        if loaded.take(&chunk) && is_first {
            let bytes = loaded.filter().map_or(0, |filter| filter.reserved_bytes());
            assert_limited(&chunk, bytes);
        }
        if let Some(filter) = loaded.filter() {
            assert_survives(filter);
        }
    }
    if let Some(filter) = loaded.filter() {
        use_it(filter);
    }
}

/// The parts that begin like a chunk.
fn chunks_of(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let starts_here = |at: &usize| *at == 0 || is_start(&bytes[*at..]);
    let mut starts = (0..bytes.len()).filter(starts_here).peekable();
    std::iter::from_fn(move || {
        let start = starts.next()?;
        let end = starts.peek().copied().unwrap_or(bytes.len());
        Some(&bytes[start..end])
    })
}

/// A first chunk is refused if and only if the filter it begins exceeds the limit.
fn assert_limited(chunk: &[u8], bytes: u64) {
    let with = |limit| load(&mut None, chunk, SizeLimit::Bytes(limit));
    assert_eq!(with(bytes), Ok(()));
    if let Some(less) = bytes.checked_sub(1) {
        assert_eq!(with(less), Err(DecodeError::OverLimit));
    }
}

/// The filter takes items as long as it has room, and then finds them.
fn use_it(filter: &mut Filter) {
    for number in 0..16u64 {
        let item = number.to_le_bytes();
        let known = filter.contains(&item);
        match filter.add(&item, ROOM) {
            Ok(new) => {
                assert_eq!(new, !known);
                assert!(filter.contains(&item));
            }
            Err(_) => assert!(!known && !filter.contains(&item)),
        }
    }
    assert_sound(filter);
    assert_survives(filter);
}
