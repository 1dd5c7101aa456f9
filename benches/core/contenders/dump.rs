//! A large filter of splitbloom's, made of the segments of a small one.
//!
//! Only an item sets bits of a filter; but a filter can be loaded. So this writes one down, as docs/format.md says: a piece that
//! describes it, then one for each segment.

use crate::rig::Outcome;
use splitbloom::filter::codec::{encode_piece, Piece, END};
use splitbloom::filter::error::DecodeError;
use splitbloom::filter::fill_guard::UNIT;
use splitbloom::filter::scalable::{Filter, SizeLimit};
use splitbloom::filter::segments::{Segments, SEGMENT_WORDS};
use xxhash_rust::xxh3::xxh3_64;

const MAGIC: &[u8] = b"SBF\x01";
const HEAD_BYTES: usize = 28;
const FILTER_BYTES: usize = 29;
/// In the record of a sub-filter: the guard limit, then the items.
const GUARD_LIMIT: usize = 38;
const ITEMS: usize = 46;
const SUB_FILTER_BYTES: usize = 54;
/// The record that ends a filter that is not itself part loaded.
const END_RECORD: [u8; 13] = [4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// A filter like `empty`, with the segments of `tile` again and again, that counts as holding `items` items.
///
/// # Errors
/// `tile` lacks a segment; no memory.
pub fn filter_of_copies(tile: &Filter, empty: &Filter, items: u64) -> Outcome<Filter> {
    let ([from], [to]) = (tile.sub_filters(), empty.sub_filters()) else {
        return Err("filters of one sub-filter each are expected".into());
    };
    let (from, to) = (from.segments(), to.segments());
    let description = describe(empty, items)?;
    let identity = xxh3_64(&description[..FILTER_BYTES]);
    let load = |error: DecodeError| error.to_string();

    let first = frame(0, 1, identity, &description);
    let first = Piece::parse(&first).map_err(load)?;
    let mut filter = Filter::from_first_piece(&first, SizeLimit::Unlimited).map_err(load)?;
    for number in 0..to.reserved() {
        let mut records = segment_record(number, copied_words(from, to, number)?);
        let mut next = number + 2; // the iterator is one more than the number of the segment
        if number + 1 == to.reserved() {
            records.extend_from_slice(&END_RECORD);
            next = END;
        }
        let piece = frame(number + 1, next, identity, &records);
        let piece = Piece::parse(&piece).map_err(load)?;
        filter
            .load_piece(&piece, SizeLimit::Unlimited)
            .map_err(load)?;
    }
    Ok(filter)
}

/// The records that describe a filter and its sub-filter. The fill guard closes as late as it may: what is off by chance in the tile is
/// as much off in each copy, and the sum of that would be no chance any more.
fn describe(empty: &Filter, items: u64) -> Outcome<Vec<u8>> {
    let piece = encode_piece(empty, 0).ok_or("an empty filter has no piece")?;
    let mut records = piece.bytes[HEAD_BYTES..][..FILTER_BYTES + SUB_FILTER_BYTES].to_vec();
    let sub_filter = &mut records[FILTER_BYTES..];
    let latest = 2 * UNIT * empty.sub_filters()[0].description().shape.num_sub_bitmaps;
    sub_filter[GUARD_LIMIT..ITEMS].copy_from_slice(&latest.to_le_bytes());
    sub_filter[ITEMS..].copy_from_slice(&items.to_le_bytes());
    Ok(records)
}

/// The words that become segment `number` of `to`. The last segment of a tile may be short: it stands for nothing but the last one of
/// a filter of the same size.
fn copied_words<'a>(from: &'a Segments, to: &Segments, number: u64) -> Outcome<&'a [u64]> {
    let is_same_size = from.reserved() == to.reserved();
    let whole = (0..from.reserved()).filter(|i| from.len_of(*i) == SEGMENT_WORDS);
    let source = match whole.count() as u64 {
        whole if whole > 0 && !is_same_size => number % whole,
        _ => number,
    };
    let words = from.get(source).ok_or("a segment without a bit")?;
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

fn frame(start: u64, next: u64, identity: u64, records: &[u8]) -> Vec<u8> {
    let mut piece = MAGIC.to_vec();
    for number in [start, next, identity] {
        piece.extend_from_slice(&number.to_le_bytes());
    }
    piece.extend_from_slice(records);
    let checksum = xxh3_64(&piece);
    piece.extend_from_slice(&checksum.to_le_bytes());
    piece
}
