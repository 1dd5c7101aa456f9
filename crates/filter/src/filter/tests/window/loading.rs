//! What a load takes, and what it refuses.

use super::*;
use crate::codec::encode_chunk;
use xxhash_rust::xxh3::xxh3_64;

/// Where the state record begins in the first chunk: behind the head of the chunk, the head record
/// and the table's.
pub const STATE: usize = 136 + 35 + 10;

pub fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let body = bytes.len() - 8;
    let checksum = xxh3_64(&bytes[..body]);
    bytes[body..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// A filter of three slices of items, and a sweep half done.
fn swept_in_part() -> Filter {
    let mut filter = filter(0.01, 4, 4, true);
    for n in 0..6 {
        add(&mut filter, 20_000 * n..20_000 * n + 20_000, START + 1_000 * n);
    }
    filter.advance_to(START + 6_000);
    filter.sweep_pages(1);
    assert!(filter.slices().swept > 0);
    filter
}

#[test]
fn a_filter_in_the_midst_of_a_sweep_is_loaded_bit_by_bit() {
    let mut filter = swept_in_part();
    let bytes = bytes_of(&filter);
    let mut copy = loaded(&bytes);
    assert_eq!(copy.digest(), filter.digest());
    assert_eq!(bytes_of(&copy), bytes);
    assert!(copy.slices() == filter.slices());
    for filter in [&mut filter, &mut copy] {
        add(filter, 130_000..131_000, START + 7_000);
        sweep_all(filter, START + 8_000);
    }
    assert_eq!(bytes_of(&copy), bytes_of(&filter));
}

#[test]
fn the_bytes_of_a_windowed_filter_never_change() {
    let mut filter = filter(0.01, 3_600, 3, true);
    add(&mut filter, 0..3, START);
    add(&mut filter, 3..5, START + 1_300_000);
    add(&mut filter, 0..1, START + 1_300_000);
    let hex: String =
        bytes_of(&filter)[0][128..].iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, include_str!("../../../codec/golden-windowed.hex").trim());
    let digest = format!("{:032x}", filter.digest());
    assert_eq!(digest, "165553db6aca4e65ef963b6efcbc84ee");
}

#[test]
fn contradictions_are_refused() {
    let mut filter = filter(0.01, 4, 4, true);
    add(&mut filter, 0..10, START);
    add(&mut filter, 10..30, START + 3_000);
    filter.advance_to(START + 5_000);
    let bytes = bytes_of(&filter).remove(0);
    let with = |place: usize, value: &[u8]| {
        let mut bytes = bytes.clone();
        bytes[place..place + value.len()].copy_from_slice(value);
        try_load(&[sealed(bytes)]).map(|_| ())
    };
    assert_eq!(with(0, b"S"), Ok(()));
    let field = |name| Err(DecodeError::Field(name));
    // Payload 0 is dead, 1 is that of the third slice of five, the others are free.
    let slice = |n: usize| STATE + 21 + 9 * n;
    assert_eq!((bytes[STATE], bytes[slice(2)]), (11, 1));
    let far = (1u64 << 53).to_le_bytes();
    assert_eq!(with(STATE + 1, &far), field("time"));
    // Of the year 1970, in which the slices that are there have no number.
    assert_eq!(with(STATE + 1, &[0; 8]), field("slice"));
    assert_eq!(with(STATE + 9, &[0, 1]), field("dead payloads"));
    assert_eq!(with(STATE + 9, &[3, 0]), field("payload of a slice"));
    assert_eq!(with(STATE + 9, &[0, 0]), field("swept payloads"));
    assert_eq!(with(STATE + 11, &[0, 0]), field("swept payloads"));
    assert_eq!(with(STATE + 11, &[5, 0]), field("swept payloads"));
    assert_eq!(with(STATE + 13, &[1]), field("sweep"));
    assert_eq!(with(slice(1), &[1]), field("payload of a slice"));
    assert_eq!(with(slice(1), &[0]), field("payload of a slice"));
    assert_eq!(with(slice(1), &[8]), field("payload of a slice"));
    assert_eq!(with(slice(1), &[99]), field("payload of a slice"));
    assert_eq!(with(slice(1) + 1, &[1]), field("items of a slice"));
    // Entries of a payload that no slice has.
    assert_eq!(with(slice(2), &[2]), field("payload"));
    // More items than entries, and other sums than the table's.
    assert_eq!(with(slice(2) + 1, &[19]), field("items"));
    let end = bytes.len() - 8 - 13 - 16;
    assert_eq!(bytes[end], 20);
    assert_eq!(with(end, &[19]), field("items"));
    let mut more = bytes.clone();
    (more[slice(2) + 1], more[end]) = (21, 21);
    let more = try_load(&[sealed(more)]).map(|_| ());
    assert_eq!(more, field("items of a slice"));
    // The head record: the window.
    for (place, value) in [(29, 0), (33, 1), (33, 15), (34, 2)] {
        assert!(with(136 + place, &[value]).is_err());
    }
}

/// Chunks of several states, or forged ones, may leave no payload free and none in use.
#[test]
fn an_item_added_where_all_payloads_are_dead_survives_the_sweep() {
    for (slices, all) in [(2, [0x0F, 0]), (14, [0xFF, 0xFF])] {
        for items in [0, 10] {
            let mut original = filter(0.01, 4, slices, true);
            add(&mut original, 0..items, START);
            original.advance_to(START + 60_000);
            let mut bytes = bytes_of(&original).remove(0);
            bytes[STATE + 9..STATE + 13].copy_from_slice(&[all, all].concat());
            let mut loaded = loaded(&[sealed(bytes)]);
            add(&mut loaded, 20..21, START + 60_000);
            sweep_all(&mut loaded, START + 60_000);
            assert!(loaded.contains_at(&item(20), START + 60_000));
            assert_eq!(loaded.items_at(START + 60_000), 1);
        }
    }
}

#[test]
fn a_dump_made_while_time_passes_loses_nothing_that_was_there_before() {
    for slices in [2, 8] {
        let mut original = filter(0.01, 800, slices, false);
        add(&mut original, 0..500_000, START);
        add(&mut original, 500_000..2_000_000, START + 700_000);
        let mut loaded: Option<Filter> = None;
        let (mut iterator, mut calls, mut now) = (0, 0, START + 700_000);
        let mut dumped = 0;
        while let Some(chunk) = encode_chunk(&original, iterator).unwrap() {
            let parsed = Chunk::parse(&chunk.bytes).unwrap();
            let begun = load_chunk(loaded.as_mut(), &parsed, UNLIMITED).unwrap();
            loaded = begun.or(loaded);
            // A load that has begun is saved as any other.
            let part = loaded.as_ref().unwrap();
            let bytes = bytes_of(part);
            assert_eq!(bytes_of(&super::loaded(&bytes)), bytes);
            (iterator, dumped) = (chunk.next, original.latest());
            calls += 1;
            now += 130_000;
            add(&mut original, 10_000_000 * calls..10_000_000 * calls + 50, now);
            sweep_all(&mut original, now);
        }
        let mut loaded = loaded.unwrap();
        assert!(calls > 2 && loaded.loading().is_none());
        assert_eq!(loaded.latest(), dumped);
        sweep_all(&mut loaded, now);
        let remembered = (500_000..2_000_000u64).filter(|n| original.contains_at(&item(*n), now));
        assert!(remembered.clone().count() > 1_000_000);
        for n in remembered {
            assert!(loaded.contains_at(&item(n), now), "{n}");
        }
    }
}
