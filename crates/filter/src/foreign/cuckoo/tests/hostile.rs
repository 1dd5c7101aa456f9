//! What RedisBloom cannot have written.

use super::golden::Golden;
use super::{begin, from_dump, from_pieces, loaded, read_cuckoo, UNLIMITED};
use crate::codec::{load_chunk, Chunk};
use crate::error::DecodeError;
use crate::filter::Filter;
use proptest::prelude::*;
use splitbloom_foundation::fields::Field;
use xxhash_rust::xxh3::xxh3_64;

fn grown() -> Golden {
    Golden::all().nth(3).unwrap()
}

fn refused(fields: Vec<Field>) -> Option<DecodeError> {
    read_cuckoo(4, &mut fields.into_iter()).err()
}

#[test]
fn a_field_out_of_range_is_refused() {
    for (place, number, error) in [
        (0, 0, "layers"),
        (0, 1 << 16, "layers"),
        (0, 60, "slots"),
        (1, 0, "buckets"),
        (1, 5, "buckets"),
        (1, 8, "buckets of a layer"),
        (4, 0, "bucket size"),
        (4, 256, "bucket size"),
        (4, 3, "slots of a layer"),
        (5, 1 << 16, "iterations"),
        (6, 0, "layers"),
        (6, 3, "expansion"),
        (6, 1 << 16, "expansion"),
        (6, 4, "buckets of a layer"),
        (7, 5, "buckets of a layer"),
    ] {
        let mut fields = grown().fields();
        fields[place] = Field::Unsigned(number);
        assert_eq!(refused(fields), Some(DecodeError::Field(error)), "{place}: {number}");
    }
    for place in 0..grown().fields().len() {
        let mut fields = grown().fields();
        fields.truncate(place);
        assert_eq!(refused(fields), Some(DecodeError::Length));
        let mut fields = grown().fields();
        fields[place] = match &fields[place] {
            Field::Unsigned(_) => Field::String(vec![1]),
            _ => Field::Unsigned(1),
        };
        assert_eq!(refused(fields), Some(DecodeError::Length), "another kind of field");
    }
    let mut fields = grown().fields();
    let Some(Field::String(slots)) = fields.last_mut() else {
        panic!("the slots of the last layer")
    };
    slots.push(1);
    assert_eq!(refused(fields), Some(DecodeError::Field("slots of a layer")));
    for version in [0, 5, 1023] {
        let error = read_cuckoo(version, &mut grown().fields().into_iter()).err();
        assert_eq!(error, Some(DecodeError::Format));
    }
}

#[test]
fn the_numbers_of_items_and_deletions_are_any() {
    for place in [2, 3] {
        let mut fields = grown().fields();
        fields[place] = Field::Unsigned(u64::MAX);
        let mut filter = read_cuckoo(4, &mut fields.into_iter()).unwrap();
        assert_eq!(filter.items(), grown().number("items"));
        assert_eq!(filter.remove(b"item:0"), Ok(true));
    }
}

#[test]
fn a_piece_that_does_not_fit_changes_nothing() {
    let mut filter = from_dump(&grown());
    let (digest, slots) = (filter.digest(), filter.cuckoo().unwrap().slots());
    for (iterator, piece) in [
        (0, b"".as_slice()),
        (0, b"x"),
        (1, b"x"),
        (3, b"xxx"),
        (slots + 2, b""),
        (slots + 2, b"x"),
        (u64::MAX, b"x"),
    ] {
        let result = filter.take_piece(iterator, piece);
        assert_eq!(result, Err(DecodeError::Order), "{iterator}");
        assert_eq!(filter.digest(), digest);
    }
    assert_eq!(filter.take_piece(slots + 1, b""), Ok(()));
    assert_eq!(filter.digest(), digest);
    assert_eq!(filter.take_piece(slots + 1, b"x"), Ok(()));
    assert_ne!(filter.digest(), digest);
    let mut own = Filter::counting(filter.counting_parameters(), UNLIMITED).unwrap();
    assert_eq!(own.take_piece(1, b""), Err(DecodeError::Order));
}

#[test]
fn a_header_of_another_length_is_refused() {
    let header = grown().pieces().remove(0).1;
    let error = |header: &[u8]| begin(header, UNLIMITED).err();
    assert_eq!((header.len(), error(&header)), (38, None));
    for len in 0..header.len() {
        assert_eq!(error(&header[..len]), Some(DecodeError::Length));
    }
    let longer = [&header[..], &[0]].concat();
    assert_eq!(error(&longer), Some(DecodeError::Length));
}

/// Where the record of the series begins in the first chunk, after the counting filter.
const SERIES: usize = 136 + 31;
/// Where the slots begin, after the records of the series and the segment.
const SLOTS: usize = SERIES + 1 + 4 + 15 + 17;

/// The chunk with the bytes from `at` on changed, and a checksum that fits.
fn changed(chunk: &[u8], at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut chunk = chunk.to_vec();
    chunk[at..at + bytes.len()].copy_from_slice(bytes);
    let identity = xxh3_64(&chunk[136..136 + 31]);
    chunk[128..136].copy_from_slice(&identity.to_le_bytes());
    let end = chunk.len() - 8;
    let checksum = xxh3_64(&chunk[..end]);
    chunk[end..].copy_from_slice(&checksum.to_le_bytes());
    chunk
}

#[test]
fn a_chunk_of_ours_is_checked_as_well() {
    let chunk = super::chunks_of(&from_dump(&grown())).remove(0);
    assert!(loaded(&[changed(&chunk, 136, &[8])]).cuckoo().is_some());
    let load = |at: usize, bytes: &[u8]| {
        let chunk = changed(&chunk, at, bytes);
        load_chunk(None, &Chunk::parse(&chunk).unwrap(), UNLIMITED).err()
    };
    for (at, bytes, error) in [
        (SERIES, 9, DecodeError::Format),
        (SERIES + 1, 1, DecodeError::Order),
        (SERIES + 5, 1, DecodeError::Layout(1)),
        (SERIES + 6, 3, DecodeError::Field("buckets")),
        (SERIES + 14, 0, DecodeError::Field("bucket size")),
        (SERIES + 16, 3, DecodeError::Field("expansion")),
        (SERIES + 18, 0, DecodeError::Field("layers")),
        (SERIES + 18, 1, DecodeError::Field("segment")),
        (SLOTS - 16, 1, DecodeError::Order),
        (SLOTS - 12, 1, DecodeError::Field("segment")),
    ] {
        assert_eq!(load(at, &[bytes]), Some(error), "{at}");
    }
}

#[test]
fn a_filter_has_one_series_and_a_table() {
    let chunk = super::chunks_of(&from_dump(&grown())).remove(0);
    let load = |records: &[&[u8]]| {
        let records = records.concat();
        let mut bytes = chunk[..SERIES].to_vec();
        bytes.extend(records);
        bytes.extend([0; 8]);
        let bytes = changed(&bytes, 0, b"");
        load_chunk(None, &Chunk::parse(&bytes).unwrap(), UNLIMITED).err()
    };
    let series = &chunk[SERIES..SLOTS - 17];
    let (table, end) = chunk[SLOTS + 496..].split_at(10 + 3 + 15 + 17);
    assert_eq!(end.len(), 13 + 8);
    let end = &end[..13];
    assert_eq!(load(&[series, table, end]), None);
    assert_eq!(load(&[table, end]), None);
    let mut second = series.to_vec();
    second[1] = 1;
    assert_eq!(load(&[series, &second, table, end]), Some(DecodeError::Order));
    assert_eq!(load(&[table, series, end]), Some(DecodeError::Order));
    assert_eq!(load(&[series, end]), Some(DecodeError::Order));
    assert_eq!(load(&[end]), Some(DecodeError::Order));
}

#[test]
fn slots_beyond_the_last_one_are_no_slots() {
    let golden = Golden::all().nth(2).unwrap();
    let filter = from_dump(&golden);
    assert_eq!(filter.cuckoo().unwrap().slots() % 8, 4);
    let chunk = super::chunks_of(&filter).remove(0);
    let last = SLOTS + filter.cuckoo().unwrap().slots() as usize;
    for (at, is_slot) in [(last - 1, true), (last, false), (last + 3, false)] {
        let changed = loaded(&[changed(&chunk, at, &[0x77])]);
        assert_eq!(changed.digest() != filter.digest(), is_slot);
    }
}

proptest! {
    #[test]
    fn any_fields_are_read_or_refused(
        place in 0usize..17,
        number: u64,
        bytes in prop::collection::vec(any::<u8>(), 0..40),
        version in 0u32..6,
    ) {
        for field in [Field::Unsigned(number), Field::Unsigned(number % 70), Field::String(bytes)] {
            let mut fields = grown().fields();
            let place = place % fields.len();
            fields[place] = field;
            if let Ok(mut filter) = read_cuckoo(version, &mut fields.into_iter()) {
                filter.remove(b"item:0").unwrap();
                prop_assert!(filter.false_positive_rate() <= 1.0);
            }
        }
    }

    #[test]
    fn any_header_and_piece_are_read_or_refused(
        at in 0usize..38,
        byte: u8,
        iterator: u64,
        piece in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut pieces = grown().pieces();
        pieces[0].1[at] = byte;
        if let Ok(mut filter) = begin(&pieces[0].1, UNLIMITED) {
            for iterator in [iterator, iterator % 600] {
                let _ = filter.take_piece(iterator, &piece);
            }
            prop_assert!(filter.items() <= piece.len() as u64 * 2);
            let _ = filter.remove(b"item:0").unwrap();
        }
        prop_assert!(from_pieces(&grown().pieces()).cuckoo().is_some());
    }
}
