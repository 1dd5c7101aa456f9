//! Round trips, golden bytes, and every way in which a chunk can be bad.

use super::format::*;
use super::*;
use crate::bloom::guard::UNIT;
use crate::bloom::sub_bitmap::chosen::each_in_turn;
use crate::error::{AddError, DecodeError};
use crate::filter::{Filter, Growth, Loading, Parameters, SizeLimit};
use crate::hash::Seed;
use crate::storage::bits;
use proptest::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

fn filter(error_rate: f64, capacity: u64, growth: Growth, items: u64) -> Filter {
    let parameters = Parameters { error_rate, capacity, growth, seed: Seed(0x0123_4567_89AB_CDEF) };
    let mut filter = Filter::new(parameters, SizeLimit::Unlimited).unwrap();
    for i in 0..items {
        let _ = filter.add(&i.to_le_bytes());
    }
    filter
}

/// A filter of three chunks of whole segments.
fn several_chunks() -> Filter {
    filter(0.01, 2_000_000, Growth::Times(4), 300_000)
}

fn samples() -> Vec<Filter> {
    vec![
        filter(0.01, 100, Growth::Times(2), 0),
        filter(0.01, 100, Growth::Times(2), 1),
        filter(0.01, 100, Growth::Times(2), 3_000),
        filter(0.001, 5_000, Growth::Fixed, 5_000),
        filter(0.000_001, 3, Growth::Times(1), 2_000),
        several_chunks(),
        filter(0.01, 10_000_000, Growth::Fixed, 300),
        filter(0.01, 10_000_000, Growth::Fixed, 20_000),
        filter(0.5, 1 << 40, Growth::Times(32_768), 3),
        // More than a chunk of table alone, and behind a Bloom filter.
        filter(0.01, 100, Growth::Times(2), 600_000),
        filter(0.0001, 3_000, Growth::Times(2), 500_000),
    ]
}

fn encode(filter: &Filter) -> Vec<Encoded> {
    chunks(filter).map(|chunk| chunk.encode().unwrap()).collect()
}

fn first(bytes: &[u8]) -> Result<Filter, DecodeError> {
    let begun = load_chunk(None, &Chunk::parse(bytes)?, SizeLimit::Unlimited)?;
    Ok(begun.expect("a first chunk begins a filter"))
}

fn load(filter: &mut Filter, bytes: &[u8]) -> Result<(), DecodeError> {
    let begun = load_chunk(Some(filter), &Chunk::parse(bytes)?, SizeLimit::Unlimited)?;
    assert!(begun.is_none());
    Ok(())
}

fn decode(chunks: &[Encoded]) -> Result<Filter, DecodeError> {
    let mut filter = first(&chunks[0].bytes)?;
    for chunk in &chunks[1..] {
        load(&mut filter, &chunk.bytes)?;
    }
    Ok(filter)
}

/// The checksum made right again, so that what is behind it is tried.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let body = bytes.len() - CHECKSUM_BYTES;
    let checksum = xxh3_64(&bytes[..body]);
    bytes[body..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// What every filter holds to, wherever it came from.
fn assert_sound(filter: &Filter) {
    assert!(filter.num_parts() > 0);
    if let Some(sub_filter) = filter.bloom() {
        let segments = sub_filter.segments();
        let counted: u64 = (0..segments.reserved().min(1 << 20))
            .filter_map(|i| segments.words_of(i))
            .map(|words| bits(&words).count_ones() as u64)
            .sum();
        assert!(sub_filter.set_bits() >= counted);
        assert!(sub_filter.set_bits() <= sub_filter.num_bits());
        assert!(sub_filter.header().items <= sub_filter.header().capacity);
    }
    assert!((0.0..=1.0).contains(&filter.false_positive_rate()));
    assert!(filter.estimated_items() >= 0.0);
}

#[test]
fn what_is_decoded_encodes_to_the_same_bytes() {
    for filter in samples() {
        let encoded = encode(&filter);
        let decoded = decode(&encoded).unwrap();
        assert_sound(&decoded);
        assert_eq!(decoded.loading(), None);
        assert_eq!(decoded.digest(), filter.digest());
        assert_eq!(decoded.parameters(), filter.parameters());
        assert_eq!(decoded.items(), filter.items());
        assert_eq!(decoded.set_bits(), filter.set_bits());
        let again = encode(&decoded);
        assert!(encoded.iter().map(|p| &p.bytes).eq(again.iter().map(|p| &p.bytes)));
    }
}

#[test]
fn a_decoded_filter_goes_on_as_the_original_does() {
    for mut original in samples() {
        let mut decoded = decode(&encode(&original)).unwrap();
        for i in 5_000_000..5_001_000u64 {
            let item = i.to_le_bytes();
            let one = original.add(&item);
            assert_eq!(decoded.add(&item), one);
        }
        assert_eq!(decoded.digest(), original.digest());
    }
}

#[test]
fn no_chunk_is_larger_than_a_mebibyte_and_the_last_iterator_is_the_end() {
    for filter in samples() {
        let encoded = encode(&filter);
        assert!(encoded.iter().all(|chunk| chunk.bytes.len() <= MAX_CHUNK_BYTES));
        assert_eq!(encoded.last().map(|chunk| chunk.next), Some(END));
        assert!(encode_chunk(&filter, END).unwrap().is_none());
        assert!(encode_chunk(&filter, u64::MAX).unwrap().is_none());
    }
    let large = several_chunks();
    assert!(encode(&large).len() > 2);
}

#[test]
fn the_bytes_of_a_known_filter_never_change() {
    // Filters that servers have saved consist of these bytes: where they change, the version must.
    for (capacity, items, golden) in [(3, 2, TINY), (100, 3, TABLE)] {
        let [chunk] = &encode(&filter(0.01, capacity, Growth::Times(2), items))[..] else {
            panic!("more than one chunk");
        };
        assert_eq!(hex(&chunk.bytes), golden.split_whitespace().collect::<String>());
    }
    each_in_turn(|kernel| {
        let digests: Vec<u128> = samples().iter().map(Filter::digest).collect();
        assert!(digests == GOLDEN_DIGESTS, "{kernel:?} {digests:#034x?}");
    });
}

#[test]
fn the_examples_of_the_documentation_have_the_golden_bytes() {
    for (heading, golden) in [("Example", TINY), ("Example of a table", TABLE)] {
        let golden = golden.split_whitespace().collect::<String>();
        let (first, bytes) = example(heading);
        assert_eq!(bytes, golden[2 * first..], "{heading}");
    }
}

/// The bytes below a heading of the documentation, and the offset of the first one.
fn example(heading: &str) -> (usize, String) {
    let document = include_str!("../../../../docs/format.md");
    let sections = document.split("\n## ").map(|section| section.split_once('\n'));
    let (_, example) = sections.flatten().find(|(title, _)| *title == heading).expect("an example");
    let (mut first, mut bytes) = (None, String::new());
    for row in example.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let Ok(offset) = cells[1].parse::<usize>() else {
            continue; // a heading, or the table of the items
        };
        assert_eq!(offset, *first.get_or_insert(offset) + bytes.len() / 2, "{row}");
        let given = cells[2].split('`').nth(1).expect("bytes");
        bytes.extend(given.split_whitespace());
    }
    (first.expect("an offset"), bytes)
}

/// A Bloom filter of two items.
const TINY: &str = include_str!("golden-tiny.hex");

/// A table of three items.
const TABLE: &str = include_str!("golden-table.hex");

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn the_first_bytes_of_a_chunk_are_the_same_for_all_seeds_and_items() {
    let with = |seed: u64, items: u64| {
        let parameters = filter(0.01, 100, Growth::Fixed, 0).parameters();
        let seed = Seed(seed);
        let parameters = Parameters { seed, ..parameters };
        let mut filter = Filter::new(parameters, SizeLimit::Unlimited).unwrap();
        for item in 0..items {
            filter.add(&item.to_le_bytes()).unwrap();
        }
        encode(&filter).remove(0).bytes
    };
    let [empty, full] = [with(1, 0), with(0xFEDC_BA98_7654_3210, 90)];
    assert_eq!(empty[..LOGGED_BYTES], full[..LOGGED_BYTES]);
    assert_ne!(empty[LOGGED_BYTES..][..8], full[LOGGED_BYTES..][..8], "the hash of the filter");
}

#[test]
fn a_compressor_finds_nothing_in_the_filler() {
    // LZF, which servers use, copies runs of three bytes and more.
    let runs: std::collections::HashSet<&[u8]> = FILLER.windows(3).collect();
    assert_eq!(runs.len(), FILLER.len() - 2);
}

#[test]
fn a_chunk_takes_the_bytes_it_says_wherever_it_is_written() {
    let mut buffer = Box::new([0xFF; MAX_CHUNK_BYTES]);
    for filter in samples() {
        for outline in chunks(&filter) {
            let encoded = outline.encode().unwrap();
            assert_eq!(encoded.bytes.len(), outline.num_bytes());
            assert_eq!(encoded.bytes.capacity(), outline.num_bytes());
            assert_eq!(outline.write_into(&mut buffer), encoded.bytes);
        }
    }
}

/// The digests of the samples.
const GOLDEN_DIGESTS: [u128; 11] = [
    0x62f5_01c0_6a5b_d52a_7d0c_acda_0917_bfa5,
    0x97af_943d_a874_713b_7150_39c1_5241_a0cc,
    0xb035_8fbf_facd_1c3d_6af1_1c3f_6f02_9447,
    0xc0d3_8f69_e9a4_f771_01d2_3d4c_1571_f17d,
    0x3fc6_e198_e249_7ac3_8f8b_2ce4_373a_253f,
    0xc7b6_5a0b_06be_6299_6599_d009_02f7_8826,
    0x77e3_47b4_28b7_8bc7_1a5c_dbc4_3366_c28f,
    0x6960_7a6e_6ddc_690b_943f_c3b9_4baf_dc70,
    0x8ef1_4808_7681_b207_f940_45d2_91c5_cc69,
    0x10e0_a6e2_6d2a_fa00_0241_4e91_c258_f1ea,
    0x50c0_1aee_4cf9_f6c7_08a0_47af_8d14_da40,
];

#[test]
fn an_interrupted_load_is_a_filter_that_can_be_encoded_and_continued() {
    let original = several_chunks();
    let encoded = encode(&original);
    let mut half = first(&encoded[0].bytes).unwrap();
    load(&mut half, &encoded[1].bytes).unwrap();
    let waits = Loading::new(encoded[1].next, 1);
    assert_eq!(half.loading(), waits);

    let mut restored = decode(&encode(&half)).unwrap();
    assert_eq!(restored.loading(), waits);
    assert_eq!(restored.digest(), half.digest());
    for chunk in &encoded[2..] {
        load(&mut restored, &chunk.bytes).unwrap();
    }
    assert_eq!(restored.loading(), None);
    assert_eq!(restored.digest(), original.digest());
}

#[test]
fn items_added_during_a_load_stay() {
    let original = several_chunks();
    let encoded = encode(&original);
    let mut loaded = first(&encoded[0].bytes).unwrap();
    loaded.add(b"meanwhile").unwrap();
    for chunk in &encoded[1..] {
        load(&mut loaded, &chunk.bytes).unwrap();
    }
    assert!(loaded.contains(b"meanwhile"));
    assert!((0..300_000u64).all(|i| loaded.contains(&i.to_le_bytes())));
    assert_sound(&loaded);
}

#[test]
fn what_needs_a_table_during_a_load_is_refused_and_does_not_break_it() {
    for (capacity, items) in [(900_000, 1_500_000u64), (100, 1_200_000)] {
        let original = filter(0.01, capacity, Growth::Times(1), items);
        let encoded = encode(&original);
        assert!(encoded.len() > 1);
        let mut loaded = first(&encoded[0].bytes).unwrap();
        for chunk in &encoded[1..] {
            let mut refused = 0;
            for i in 0..1_000u64 {
                let item = (!chunk.next << 12 | i).to_be_bytes();
                match loaded.add(&item) {
                    // A false positive.
                    Ok(is_new) => assert!(!is_new),
                    Err(error) => {
                        assert_eq!(error, AddError::Loading);
                        refused += 1;
                    }
                }
            }
            assert!(refused > 900, "{refused}");
            loaded = decode(&encode(&loaded)).unwrap();
            load(&mut loaded, &chunk.bytes).unwrap();
            assert_sound(&loaded);
        }
        assert_eq!(loaded.loading(), None);
        assert_eq!(loaded.digest(), original.digest());
        assert!((0..items).all(|i| loaded.contains(&i.to_le_bytes())));
        loaded.add(b"afterwards").unwrap();
    }
}

#[test]
fn the_pages_that_have_come_answer_while_a_table_is_loaded() {
    let original = filter(0.01, 100, Growth::Times(2), 1_200_000);
    let encoded = encode(&original);
    assert!(encoded.len() > 1);
    let mut half = first(&encoded[0].bytes).unwrap();
    let found = |filter: &Filter| {
        let items = (0..1_200_000u64).filter(|i| filter.contains(&i.to_le_bytes()));
        items.count() as f64 / 1_200_000.0
    };
    let share = encoded[0].bytes.len() as f64;
    let all: usize = encoded.iter().map(|chunk| chunk.bytes.len()).sum();
    let share = share / all as f64;
    assert!((found(&half) - share).abs() < 0.05, "{} {share}", found(&half));
    for chunk in &encoded[1..] {
        load(&mut half, &chunk.bytes).unwrap();
    }
    assert_eq!(found(&half), 1.0);
}

#[test]
fn a_refused_chunk_takes_no_memory() {
    let encoded = encode(&several_chunks());
    let mut half = first(&encoded[0].bytes).unwrap();
    let before = half.allocated_segments();
    let mut bad = encoded[1].bytes.clone();
    bad.insert(bad.len() - CHECKSUM_BYTES, 9);
    assert_eq!(load(&mut half, &sealed(bad)), Err(DecodeError::Format));
    assert_eq!(half.allocated_segments(), before);
}

#[test]
fn a_chain_that_does_not_move_on_is_refused() {
    let encoded = encode(&several_chunks());
    let mut half = first(&encoded[0].bytes).unwrap();
    let mut still = encoded[1].bytes.clone();
    still.copy_within(4..12, 12);
    assert_eq!(load(&mut half, &sealed(still)), Err(DecodeError::Order));
}

#[test]
fn growth_during_a_dump_does_not_break_it() {
    let mut original = filter(0.01, 900_000, Growth::Times(1), 900_000);
    let mut loaded: Option<Filter> = None;
    let (mut iterator, mut next_item) = (0, 900_000u64);
    while original.items() < 900_000 {
        original.add(&next_item.to_le_bytes()).unwrap();
        next_item += 1;
    }
    while let Some(chunk) = encode_chunk(&original, iterator).unwrap() {
        match &mut loaded {
            None => loaded = Some(first(&chunk.bytes).unwrap()),
            Some(filter) => load(filter, &chunk.bytes).unwrap(),
        }
        iterator = chunk.next;
        for _ in 0..1_000 {
            original.add(&next_item.to_le_bytes()).unwrap();
            next_item += 1;
        }
    }
    let loaded = loaded.unwrap();
    assert_eq!((loaded.num_parts(), original.num_parts()), (2, 2));
    assert!(loaded.bloom().is_some());
    assert!((0..900_000u64).all(|i| loaded.contains(&i.to_le_bytes())));
}

#[test]
fn items_added_during_a_dump_of_a_table_do_not_break_it() {
    let mut original = filter(0.01, 100, Growth::Times(2), 700_000);
    let mut loaded: Option<Filter> = None;
    let (mut iterator, mut next_item) = (0, 700_000u64);
    while let Some(chunk) = encode_chunk(&original, iterator).unwrap() {
        match &mut loaded {
            None => loaded = Some(first(&chunk.bytes).unwrap()),
            Some(filter) => load(filter, &chunk.bytes).unwrap(),
        }
        iterator = chunk.next;
        for _ in 0..300_000 {
            original.add(&next_item.to_le_bytes()).unwrap();
            next_item += 1;
        }
    }
    let loaded = loaded.unwrap();
    assert_eq!(loaded.loading(), None);
    assert!(next_item > 1_000_000);
    assert!((0..700_000u64).all(|i| loaded.contains(&i.to_le_bytes())));
    assert!(loaded.items() >= 690_000 && loaded.items() <= original.items());
    assert_sound(&loaded);
}

#[test]
fn chunks_out_of_order_are_refused_and_change_nothing() {
    let encoded = encode(&several_chunks());
    assert_eq!(first(&encoded[1].bytes).err(), Some(DecodeError::Order));
    let mut half = first(&encoded[0].bytes).unwrap();
    let before = half.digest();
    for wrong in [0, 2] {
        assert_eq!(load(&mut half, &encoded[wrong].bytes), Err(DecodeError::Order));
    }
    assert_eq!(half.digest(), before);
    let mut whole = decode(&encoded).unwrap();
    let last = &encoded[encoded.len() - 1].bytes;
    assert_eq!(load(&mut whole, last), Err(DecodeError::Order));
}

#[test]
fn a_chunk_of_another_filter_is_refused() {
    let encoded = encode(&several_chunks());
    let other = encode(&filter(0.01, 2_000_001, Growth::Times(4), 300_000));
    assert_eq!(encoded[0].next, other[0].next, "only the identity differs");
    let mut half = first(&encoded[0].bytes).unwrap();
    assert_eq!(load(&mut half, &other[1].bytes), Err(DecodeError::Order));
}

#[test]
fn a_chunk_cut_short_anywhere_is_refused() {
    let bytes = &encode(&filter(0.01, 100, Growth::Times(2), 150))[0].bytes;
    for len in 0..bytes.len() {
        assert!(first(&bytes[..len]).is_err(), "{len}");
        if len > CHECKSUM_BYTES {
            assert!(first(&sealed(bytes[..len].to_vec())).is_err(), "sealed, {len}");
        }
    }
    let mut longer = bytes.clone();
    longer.insert(bytes.len() - CHECKSUM_BYTES, END_OF_FILTER);
    assert_eq!(first(&sealed(longer)).err(), Some(DecodeError::Length));
    assert_eq!(first(&vec![0; MAX_CHUNK_BYTES + 1]).err(), Some(DecodeError::Length));
}

#[test]
fn every_changed_byte_is_noticed() {
    let bytes = &encode(&filter(0.01, 100, Growth::Times(2), 150))[0].bytes;
    for place in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[place] ^= 0x10;
        let error = first(&changed).err();
        assert!(
            matches!(error, Some(DecodeError::Checksum | DecodeError::Format)),
            "{place}: {error:?}"
        );
    }
}

/// A first chunk by hand: the filter record as given, one sub-filter record, and what follows it.
fn chunk(filter: [u64; 4], sub_filter: [u64; 9], layout: u8, after: &[u8]) -> Vec<u8> {
    let [seed, error_rate, capacity, expansion] = filter;
    let mut head = vec![1];
    let fields = [seed, error_rate, capacity];
    head.extend(fields.map(u64::to_le_bytes).as_flattened());
    head.extend((expansion as u32).to_le_bytes());
    let mut bytes = MAGIC.to_vec();
    bytes.push(VERSION);
    bytes.extend([0, END].map(u64::to_le_bytes).as_flattened());
    bytes.extend(FILLER);
    bytes.extend(xxh3_64(&head).to_le_bytes());
    bytes.extend(head);
    let [index, bits, hashes, number, capacity, rate, limit, items, _] = sub_filter;
    bytes.push(SUB_FILTER);
    bytes.extend((index as u32).to_le_bytes());
    bytes.push(layout);
    bytes.extend([bits, hashes].map(|field| (field as u32).to_le_bytes()).as_flattened());
    let fields = [number, capacity, rate, limit, items];
    bytes.extend(fields.map(u64::to_le_bytes).as_flattened());
    bytes.extend(after);
    bytes.extend([0; CHECKSUM_BYTES]);
    sealed(bytes)
}

#[test]
fn every_field_is_bounded() {
    let rate = 0.01f64.to_bits();
    let good = [7, rate, 100, 2];
    let sub = [0, 512, 6, 4, 100, rate, 900, 50, 0];
    let end = [END_OF_FILTER, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(first(&chunk(good, sub, 1, &end)).map(|f| f.items()), Ok(50));

    let with = |mut fields: [u64; 9], place: usize, value: u64| {
        fields[place] = value;
        fields
    };
    for (bad_filter, field) in [
        ([7, 0f64.to_bits(), 100, 2], "error rate"),
        ([7, 1f64.to_bits(), 100, 2], "error rate"),
        ([7, f64::NAN.to_bits(), 100, 2], "error rate"),
        ([7, (-0.1f64).to_bits(), 100, 2], "error rate"),
        ([7, rate, 0, 2], "capacity"),
        ([7, rate, (1 << 40) + 1, 2], "capacity"),
        ([7, rate, 100, 32_769], "expansion"),
    ] {
        assert_eq!(first(&chunk(bad_filter, sub, 1, &end)).err(), Some(DecodeError::Field(field)));
    }
    for (bad_sub, error) in [
        (with(sub, 0, 1), DecodeError::Order),
        (with(sub, 1, 0), DecodeError::Field("sub-bitmap")),
        (with(sub, 1, 256), DecodeError::Field("sub-bitmap")),
        (with(sub, 1, 576), DecodeError::Field("sub-bitmap")),
        (with(sub, 1, 65_536), DecodeError::Field("sub-bitmap")),
        (with(sub, 3, 0), DecodeError::Field("sub-bitmap")),
        (with(sub, 3, (1 << 38) + 1), DecodeError::Field("sub-bitmap")),
        (with(with(sub, 3, 1), 1, 524_352), DecodeError::Field("sub-bitmap")),
        (with(with(sub, 3, 1), 1, 100), DecodeError::Field("sub-bitmap")),
        (with(sub, 2, 0), DecodeError::Field("number of hashes")),
        (with(sub, 2, 65), DecodeError::Field("number of hashes")),
        (with(sub, 4, 0), DecodeError::Field("capacity")),
        (with(sub, 5, 1f64.to_bits()), DecodeError::Field("error rate of a sub-filter")),
        (with(sub, 6, 0), DecodeError::Field("guard limit")),
        (with(sub, 6, 8 * UNIT + 1), DecodeError::Field("guard limit")),
        (with(sub, 7, 101), DecodeError::Field("items")),
    ] {
        assert_eq!(first(&chunk(good, bad_sub, 1, &end)).err(), Some(error), "{bad_sub:?}");
    }
    for layout in [0, 2, 255] {
        let refused = first(&chunk(good, sub, layout, &end)).err();
        assert_eq!(refused, Some(DecodeError::Layout(layout)));
    }
    assert_eq!(first(&chunk(good, sub, 1, &[9])).err(), Some(DecodeError::Format));
    assert_eq!(first(&chunk(good, sub, 1, &[])).err(), Some(DecodeError::Order), "no end");
}

/// The kinds of records of the segments of a filter that has no table, each with the bytes of its
/// data.
fn segment_records(encoded: &[Encoded]) -> Vec<(u8, usize)> {
    let mut found = Vec::new();
    for chunk in encoded {
        let mut rest = &chunk.bytes[HEAD_BYTES..chunk.bytes.len() - CHECKSUM_BYTES];
        while let [kind, ..] = *rest {
            let len = match kind {
                1 => 29,
                SUB_FILTER => 54,
                END_OF_FILTER => END_BYTES,
                _ => {
                    let data = u32::from_le_bytes(rest[13..17].try_into().unwrap()) as usize;
                    found.push((kind, data));
                    SEGMENT_HEAD_BYTES + data
                }
            };
            rest = &rest[len..];
        }
    }
    found
}

/// The bytes of all chunks.
fn len(encoded: &[Encoded]) -> usize {
    encoded.iter().map(|chunk| chunk.bytes.len()).sum()
}

#[test]
fn a_sparse_filter_takes_some_bytes_an_item_whatever_its_capacity() {
    for (capacity, items) in
        [(1 << 27, 1_000), (1 << 27, 30_000), (1 << 33, 1_000), (1 << 40, 1_000), (1 << 40, 30_000)]
    {
        let original = filter(0.01, capacity, Growth::Fixed, items);
        let encoded = encode(&original);
        // A line, its number, and the head of a record, which is its own in a large filter.
        let most = 83 * items as usize + 300 * encoded.len();
        assert!(len(&encoded) <= most, "{} for {items} of {capacity}", len(&encoded));
        let loaded = decode(&encoded).unwrap();
        assert_eq!(loaded.digest(), original.digest());
        assert!((0..items).all(|i| loaded.contains(&i.to_le_bytes())));
        assert_sound(&loaded);
    }
}

#[test]
fn a_full_filter_is_its_bits_and_little_else() {
    for (error_rate, capacity) in [(0.01, 300_000), (1e-4, 100_000), (1e-9, 30_000)] {
        let full = filter(error_rate, capacity, Growth::Fixed, capacity);
        let encoded = encode(&full);
        let records = segment_records(&encoded);
        assert!(records.iter().all(|(kind, _)| *kind == SEGMENT));
        let all: usize = records.iter().map(|(_, data)| data).sum();
        assert_eq!(all as u64, full.num_bits() / 8);
        let others = SEGMENT_HEAD_BYTES * records.len() + 300 * encoded.len();
        assert!(len(&encoded) <= all + others);
    }
}

#[test]
fn a_filter_takes_at_most_the_bytes_of_its_bits_however_full_it_is() {
    for (error_rate, capacity) in [(0.01, 300_000), (1e-4, 100_000), (1e-9, 30_000)] {
        let mut filter = filter(error_rate, capacity, Growth::Fixed, 0);
        let (mut before, mut kinds) = (0, Vec::new());
        for item in 0..capacity {
            filter.add(&item.to_le_bytes()).unwrap();
            if item.is_power_of_two() || item == capacity / 12 {
                let encoded = encode(&filter);
                let bytes = len(&encoded);
                assert!(bytes as u64 <= filter.num_bits() / 8 + 800, "{bytes} of {item}");
                assert!(bytes + bytes / 50 >= before, "{bytes} of {item} after {before}");
                before = bytes;
                kinds.extend(segment_records(&encoded).into_iter().map(|(kind, _)| kind));
                let loaded = decode(&encoded).unwrap();
                assert_eq!(loaded.digest(), filter.digest());
                assert_sound(&loaded);
            }
        }
        assert!(kinds.contains(&SEGMENT) && kinds.contains(&SPARSE_SEGMENT));
    }
}

/// The same chunk with its sparse segments written whole, in a chunk each.
fn with_whole_segments(of: &Filter, chunk: &[u8]) -> Vec<Vec<u8>> {
    let segments = of.bloom().unwrap().segments();
    let entry_bytes = 2 + segments.units().unwrap().words() * 8;
    let identity = &chunk[LOGGED_BYTES..HEAD_BYTES];
    let (mut chunks, mut next) = (Vec::new(), 0);
    let (begin, mut rest) = chunk[HEAD_BYTES..].split_at(29 + 54);
    let mut records = begin.to_vec();
    while rest[0] == SPARSE_SEGMENT {
        let number = u64::from_le_bytes(rest[5..13].try_into().unwrap());
        let len = u32::from_le_bytes(rest[13..17].try_into().unwrap()) as usize;
        let mut data = vec![0; segments.len_of(number) * 8];
        for entry in rest[SEGMENT_HEAD_BYTES..][..len].chunks(entry_bytes) {
            let (sub_bitmap, words) = entry.split_first_chunk().unwrap();
            let at = usize::from(u16::from_le_bytes(*sub_bitmap)) * words.len();
            data[at..at + words.len()].copy_from_slice(words);
        }
        chunks.push(framed(next, 1 + number, identity, &records));
        next = 1 + number;
        records = [&[SEGMENT], &rest[1..13], &(data.len() as u32).to_le_bytes(), &data].concat();
        rest = &rest[SEGMENT_HEAD_BYTES + len..];
    }
    records.extend(&rest[..END_BYTES]);
    chunks.push(framed(next, END, identity, &records));
    chunks
}

fn framed(start: u64, next: u64, identity: &[u8], records: &[u8]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.push(VERSION);
    bytes.extend([start, next].map(u64::to_le_bytes).as_flattened());
    bytes.extend(FILLER);
    bytes.extend(identity);
    bytes.extend(records);
    bytes.extend([0; CHECKSUM_BYTES]);
    sealed(bytes)
}

#[test]
fn either_form_of_a_segment_is_read_and_the_filter_is_the_same() {
    // Lists for all segments, one for each, and segments that are allocated whole.
    for (error_rate, capacity, items) in [
        (0.01, 20_000_000, 100),
        (0.01, 1_000_000, 800),
        (0.01, 1_000_000, 8_000),
        (1e-5, 1_000_000, 90),
    ] {
        let original = filter(error_rate, capacity, Growth::Fixed, items);
        let [chunk] = &encode(&original)[..] else {
            panic!("more than one chunk");
        };
        let whole = with_whole_segments(&original, &chunk.bytes);
        assert!(whole.len() > 2);
        let mut loaded = first(&whole[0]).unwrap();
        whole[1..].iter().for_each(|chunk| load(&mut loaded, chunk).unwrap());
        assert_eq!(loaded.digest(), original.digest());
        assert_eq!(encode(&loaded)[0].bytes, chunk.bytes);
        assert_sound(&loaded);
    }
}

#[test]
fn a_dump_goes_on_while_sparse_segments_become_whole() {
    let mut original = filter(0.01, 8_000_000, Growth::Fixed, 30_000);
    let mut loaded: Option<Filter> = None;
    let (mut iterator, mut next_item) = (0, 30_000u64);
    let mut kinds = Vec::new();
    while let Some(chunk) = encode_chunk(&original, iterator).unwrap() {
        match &mut loaded {
            None => loaded = Some(first(&chunk.bytes).unwrap()),
            Some(filter) => load(filter, &chunk.bytes).unwrap(),
        }
        iterator = chunk.next;
        kinds.extend(segment_records(&[chunk]).into_iter().map(|(kind, _)| kind));
        for _ in 0..300_000 {
            original.add(&next_item.to_le_bytes()).unwrap();
            next_item += 1;
        }
    }
    assert!(kinds.contains(&SEGMENT) && kinds.contains(&SPARSE_SEGMENT));
    let loaded = loaded.unwrap();
    assert_eq!(loaded.loading(), None);
    assert!((0..30_000u64).all(|i| loaded.contains(&i.to_le_bytes())));
    assert_sound(&loaded);
}

#[test]
fn a_sparse_segment_lists_sub_bitmaps_that_it_has_in_ascending_order() {
    let rate = 0.01f64.to_bits();
    let (good, several) = ([7, rate, 100, 2], [0, 512, 6, 4, 100, rate, 900, 50, 0]);
    let end = [END_OF_FILTER, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let refusal = |sub: [u64; 9], number: u64, data: &[u8]| {
        let mut record = vec![SPARSE_SEGMENT];
        record.extend(0u32.to_le_bytes());
        record.extend(number.to_le_bytes());
        record.extend((data.len() as u32).to_le_bytes());
        record.extend(data);
        record.extend(end);
        first(&chunk(good, sub, 1, &record)).err()
    };
    let entries = |numbers: &[u16]| {
        let entries = numbers.iter().map(|number| [&number.to_le_bytes()[..], &[1; 64]].concat());
        entries.collect::<Vec<_>>().concat()
    };
    for numbers in [&[][..], &[0], &[3], &[0, 1, 2, 3], &[1, 3]] {
        assert_eq!(refusal(several, 0, &entries(numbers)), None, "{numbers:?}");
    }
    let refused = Some(DecodeError::Field("sparse segment"));
    for numbers in [&[4][..], &[0, 4], &[1, 0], &[2, 2], &[u16::MAX], &[0, 1, 2, 3, 3]] {
        assert_eq!(refusal(several, 0, &entries(numbers)), refused, "{numbers:?}");
    }
    for len in [1, 2, 64, 65, 67, 131] {
        assert_eq!(refusal(several, 0, &entries(&[0, 1])[..len]), refused, "{len}");
    }
    assert_eq!(refusal(several, 1, &entries(&[0])), Some(DecodeError::Field("segment")));
    let one = [0, 512, 6, 1, 100, rate, 900, 50, 0];
    assert_eq!(refusal(one, 0, &entries(&[0])), refused, "there is one sub-bitmap only");
}

#[test]
fn segments_must_be_of_the_right_length_place_and_order() {
    let rate = 0.01f64.to_bits();
    let (good, sub) = ([7, rate, 100, 2], [0, 512, 6, 4, 100, rate, 900, 50, 0]);
    let segment = |index: u32, number: u64, len: u32, bytes: usize| {
        let mut record = vec![SEGMENT];
        record.extend(index.to_le_bytes());
        record.extend(number.to_le_bytes());
        record.extend(len.to_le_bytes());
        record.extend(vec![1; bytes]);
        record
    };
    let end = [END_OF_FILTER, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let refusal =
        |records: Vec<u8>| first(&chunk(good, sub, 1, &[records, end.to_vec()].concat())).err();
    assert_eq!(refusal(segment(0, 0, 256, 256)), None);
    assert_eq!(refusal(segment(1, 0, 256, 256)), Some(DecodeError::Order));
    assert_eq!(refusal(segment(0, 1, 256, 256)), Some(DecodeError::Field("segment")));
    assert_eq!(refusal(segment(0, u64::MAX, 256, 256)), Some(DecodeError::Field("segment")));
    assert_eq!(refusal(segment(0, 0, 248, 248)), Some(DecodeError::Field("segment")));
    assert_eq!(refusal(segment(0, 0, u32::MAX, 256)), Some(DecodeError::Length));
    let twice = [segment(0, 0, 256, 256), segment(0, 0, 256, 256)].concat();
    assert_eq!(refusal(twice), Some(DecodeError::Order));
}

#[test]
fn a_table_cannot_end_before_it_begins() {
    let encoded = encode(&filter(0.01, 100, Growth::Times(2), 50));
    let (bytes, table) = (&encoded[0].bytes, HEAD_BYTES + 29);
    assert_eq!(bytes[table], super::format::TABLE);
    let end = bytes.len() - CHECKSUM_BYTES - 13 - 17;
    assert_eq!(bytes[end], END_OF_TABLE);
    let mut moved = bytes.clone();
    moved[table..end + 17].rotate_right(17);
    assert_eq!(first(&sealed(moved)).err(), Some(DecodeError::Order));
}

#[test]
fn a_limit_refuses_a_filter_that_is_too_large() {
    let encoded = encode(&filter(0.01, 1_000, Growth::Times(2), 10));
    let chunk = Chunk::parse(&encoded[0].bytes).unwrap();
    let refused = load_chunk(None, &chunk, SizeLimit::Bytes(1_000)).err();
    assert_eq!(refused, Some(DecodeError::OverLimit));
    assert!(load_chunk(None, &chunk, SizeLimit::Bytes(2_000)).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]
    #[test]
    fn whatever_the_bytes_are_the_decoder_answers(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        sample in 0usize..5,
    ) {
        static FIRST_CHUNKS: std::sync::OnceLock<Vec<Vec<u8>>> = std::sync::OnceLock::new();
        let first_chunks = FIRST_CHUNKS.get_or_init(|| {
            samples().iter().take(5).map(|filter| encode(filter)[0].bytes.clone()).collect()
        });
        let mut bytes = first_chunks[sample].clone();
        for (place, value) in changes {
            let place = place.index(bytes.len().min(300));
            bytes[place] = value;
        }
        if let Ok(mut filter) = first(&sealed(bytes)) {
            assert_sound(&filter);
            for i in 0..50u64 {
                let _ = filter.add_limited(&i.to_be_bytes(), SizeLimit::Bytes(1 << 24));
            }
            assert_sound(&filter);
            let digest = filter.digest();
            prop_assert_eq!(decode(&encode(&filter)).map(|f| f.digest()), Ok(digest));
            prop_assert_eq!(filter.try_clone().map(|f| f.digest()), Ok(digest));
        }
    }

    #[test]
    fn noise_is_refused(noise in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(first(&noise).is_err());
    }
}
