//! Bytes for a part of an array that is stored as words, in segments.

use crate::storage::SEGMENT_WORDS;

/// Bytes of a segment.
const SEGMENT_BYTES: u64 = SEGMENT_WORDS as u64 * 8;

/// Divides `bytes`, which begin at byte `at` of an array, by segments. Returns the number of each
/// segment, the place in it, and its bytes.
pub fn by_segments(mut at: u64, mut bytes: &[u8]) -> impl Iterator<Item = (u64, usize, &[u8])> {
    std::iter::from_fn(move || {
        let (segment, place) = (at / SEGMENT_BYTES, at % SEGMENT_BYTES);
        let len = bytes.len().min((SEGMENT_BYTES - place) as usize);
        let (taken, rest) = bytes.split_at_checked(len)?;
        (at, bytes) = (at + len as u64, rest);
        (len > 0).then_some((segment, place as usize, taken))
    })
}

/// Divides `bytes`, which begin at byte `at` of a segment, by words. Returns the number of each
/// word, a mask of its bytes that are present, and these bytes.
pub fn by_words(at: usize, bytes: &[u8]) -> impl Iterator<Item = (usize, u64, u64)> + '_ {
    let end = at + bytes.len();
    (at / 8..end.div_ceil(8)).map(move |word| {
        let (first, last) = (at.max(word * 8), end.min(word * 8 + 8));
        let there = first - word * 8..last - word * 8;
        let (mut mask, mut value) = ([0; 8], [0; 8]);
        mask[there.clone()].fill(u8::MAX);
        value[there].copy_from_slice(&bytes[first - at..last - at]);
        (word, u64::from_le_bytes(mask), u64::from_le_bytes(value))
    })
}
