//! Arbitrary bytes as a chain of chunks. The checksum and the hash of the filter are corrected, so
//! the fuzzer need not guess hashes.

use super::fuzzed::{add_absent, head, use_otherwise};
use super::laws::assert_sound;
use super::loaded::{load, Loaded};
use super::survival::assert_survives;
use splitbloom_filter::codec::Chunk;
use splitbloom_filter::error::{AddError, DecodeError};
use splitbloom_filter::filter::{Filter, SizeLimit};
use splitbloom_oracles::plain_reader::{head_places, is_start, sealed, Head};
use xxhash_rust::xxh3::xxh3_64;

/// The size limit of a filter of unknown origin.
const ROOM: SizeLimit = SizeLimit::Bytes(1 << 24);

/// Any bytes are refused, or are a filter that works in every respect.
pub fn decode(bytes: &[u8]) {
    let _ = Chunk::parse(bytes); // as they are
    let (_, record) = head_places(bytes);
    let head = bytes.get(record.start).copied().and_then(Head::of_kind);
    decode_as(head.unwrap_or(Head::Filter), bytes);
}

fn decode_as(head: Head, bytes: &[u8]) {
    let mut loaded = Loaded::of(head);
    let mut identity = 0;
    for chunk in chunks_of(bytes) {
        let mut chunk = chunk.to_vec();
        let is_first = loaded.filter().is_none();
        let (hash, record) = head_places(&chunk);
        if let Some(record) = chunk.get(record).filter(|_| is_first) {
            identity = xxh3_64(record);
        }
        if let Some(field) = chunk.get_mut(hash) {
            field.copy_from_slice(&u64::to_le_bytes(identity));
        }
        let chunk = sealed(&chunk);
        if loaded.take(&chunk) && is_first {
            assert_limited(&chunk, loaded.filter().expect("a first chunk was taken"));
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

/// What may lead to a page of a table of which others are still to come: two slots of 16 bytes for
/// each bit of its path.
const WAY: u64 = 51 * 32;

/// A first chunk is refused if and only if the filter it begins exceeds the limit. What leads to
/// missing pages is not counted.
fn assert_limited(chunk: &[u8], filter: &Filter) {
    let with = |limit| load(&mut None, head(filter), chunk, SizeLimit::Bytes(limit));
    assert_eq!(with(filter.reserved_bytes()), Ok(()));
    let way = if filter.loading().is_some() { WAY } else { 0 };
    if let Some(less) = filter.reserved_bytes().checked_sub(way + 1) {
        assert_eq!(with(less), Err(DecodeError::OverLimit));
    }
}

/// The filter takes items as long as it has room, and then finds them.
pub fn use_it(filter: &mut Filter) {
    for number in 0..16u64 {
        let item = number.to_le_bytes();
        let known = filter.contains(&item);
        match add_absent(filter, &item, ROOM) {
            Ok(new) => {
                assert_eq!(new, !known);
                assert!(filter.contains(&item));
            }
            Err(error) => {
                assert!(!known && !filter.contains(&item));
                assert!(error != AddError::Loading || filter.loading().is_some());
            }
        }
        use_otherwise(filter, &item);
    }
    assert_sound(filter);
    assert_survives(filter);
}
