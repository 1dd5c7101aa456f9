//! Bytes from anywhere, as a chain of pieces. The fuzzer need not guess hashes: checksum and identity are put right.

use super::laws::{assert_sound, assert_survives};
use super::loaded::{load, Loaded};
use super::plain_reader::{sealed, FILTER_RECORD, IDENTITY, MAGIC};
use crate::filter::codec::Piece;
use crate::filter::error::DecodeError;
use crate::filter::scalable::{Filter, SizeLimit};
use xxhash_rust::xxh3::xxh3_64;

/// Room for what a filter of unknown origin may grow to in the end.
const ROOM: SizeLimit = SizeLimit::Bytes(1 << 24);

/// Any bytes are refused, or are a filter that works in every respect.
pub fn decode(bytes: &[u8]) {
    let _ = Piece::parse(bytes); // as they are
    let mut loaded = Loaded::default();
    let mut identity = 0;
    for piece in pieces_of(bytes) {
        let mut piece = piece.to_vec();
        let is_first = loaded.filter().is_none();
        if let Some(record) = piece.get(FILTER_RECORD).filter(|_| is_first) {
            identity = xxh3_64(record);
        }
        if let Some(field) = piece.get_mut(IDENTITY) {
            field.copy_from_slice(&u64::to_le_bytes(identity));
        }
        let piece = sealed(&piece);
        if loaded.take(&piece) && is_first {
            let bytes = loaded.filter().map_or(0, |filter| filter.num_bits()) / 8;
            assert_limited(&piece, bytes);
        }
        if let Some(filter) = loaded.filter() {
            assert_survives(filter);
        }
    }
    if let Some(filter) = loaded.filter() {
        use_it(filter);
    }
}

/// The parts that begin with the magic of a piece.
fn pieces_of(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_start = |at: &usize| *at == 0 || bytes[*at..].starts_with(MAGIC);
    let mut starts = (0..bytes.len()).filter(is_start).peekable();
    std::iter::from_fn(move || {
        let start = starts.next()?;
        let end = starts.peek().copied().unwrap_or(bytes.len());
        Some(&bytes[start..end])
    })
}

/// A first piece is refused where the filter it begins is larger than the limit, and only there.
fn assert_limited(piece: &[u8], bytes: u64) {
    let with = |limit| load(&mut None, piece, SizeLimit::Bytes(limit));
    assert_eq!(with(bytes), Ok(()));
    if let Some(less) = bytes.checked_sub(1) {
        assert_eq!(with(less), Err(DecodeError::OverLimit));
    }
}

/// It takes items as far as it has room, and then knows them.
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
