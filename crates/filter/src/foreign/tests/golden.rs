//! What a server with RedisBloom wrote and answered. How each file was made is said in it.

use super::*;
use crate::error::DecodeError;
use splitbloom_foundation::fields::Field;

/// A file of `golden`.
struct Golden {
    items: u64,
    /// A bit for each stranger that was there.
    strangers: Vec<u8>,
    dump: Vec<u8>,
    pieces: Vec<(u64, Vec<u8>)>,
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

impl Golden {
    fn parse(text: &str) -> Self {
        let mut golden =
            Self { items: 0, strangers: Vec::new(), dump: Vec::new(), pieces: Vec::new() };
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (word, rest) = line.split_once(' ').unwrap();
            match word {
                "items" => golden.items = rest.parse().unwrap(),
                "strangers" => golden.strangers = bytes_of(rest),
                "dump" => golden.dump = bytes_of(rest),
                "piece" => {
                    let (iterator, piece) = rest.split_once(' ').unwrap();
                    golden.pieces.push((iterator.parse().unwrap(), bytes_of(piece)));
                }
                _ => panic!("{word}"),
            }
        }
        golden
    }

    fn read(&self) -> Filter {
        let dump = Dump::parse(&self.dump);
        read_bloom(dump.version, &mut dump.fields.into_iter(), SEED).unwrap()
    }

    fn load(&self) -> Option<Filter> {
        let ((first, header), rest) = self.pieces.split_first()?;
        assert_eq!(*first, crate::foreign::redisbloom::HEADER);
        let mut filter = Filter::begin_redisbloom(header, SEED, NO_LIMIT).unwrap();
        for (iterator, piece) in rest {
            assert!(!crate::codec::is_chunk(piece));
            filter.take_piece(*iterator, piece).unwrap();
        }
        Some(filter)
    }
}

macro_rules! golden {
    ($($name:literal),* $(,)?) => {
        [$(($name, Golden::parse(include_str!(concat!("../golden/", $name, ".hex"))))),*]
    };
}

fn all() -> [(&'static str, Golden); 19] {
    golden![
        "fixed",
        "growing",
        "steps",
        "tight",
        "empty",
        "defaults",
        "part-full",
        "hash-32",
        "hash-32-power",
        "hash-64-power",
        "version-0",
        "version-1",
        "version-2",
        "version-3",
        "redisbloom-1.0",
        "redisbloom-1.1",
        "redisbloom-2.0",
        "redisbloom-2.2",
        "least-rates",
    ]
}

#[test]
fn every_item_is_there_and_strangers_are_answered_as_redisbloom_answered_them() {
    for (name, golden) in all() {
        let items: Vec<_> = (0..golden.items).map(item).collect();
        let bits = golden.strangers.iter();
        let expected: Vec<bool> =
            bits.flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 == 1)).collect();
        let strangers: Vec<_> = (0..expected.len() as u64).map(stranger).collect();
        for filter in [Some(golden.read()), golden.load()].into_iter().flatten() {
            assert!(answers(&filter, &items).into_iter().all(|there| there), "{name}");
            assert!(answers(&filter, &strangers) == expected, "{name}");
            assert!(filter.items() <= golden.items && filter.num_bits() > 0);
        }
    }
}

#[test]
fn a_dump_and_the_pieces_of_a_filter_make_the_same() {
    let mut compared = 0;
    for (name, golden) in all() {
        if let Some(filter) = golden.load() {
            assert_eq!(filter.digest(), golden.read().digest(), "{name}");
            compared += 1;
        }
    }
    assert!(compared > 3);
}

#[test]
fn older_headers_are_told_by_their_length() {
    // Made by description: no server that writes them was at hand.
    let twin = filled(0.01, 30, 2, 100);
    let header = twin.header();
    let without_high_halves = |header: &[u8]| {
        let (head, layers) = header.split_at(20);
        let layers = layers.chunks(53);
        let layers = layers.flat_map(|layer| [&layer[..48], &layer[52..]].concat());
        [head, &layers.collect::<Vec<u8>>()].concat()
    };
    let shorter = without_high_halves(&header);
    let shortest = [&shorter[..16], &shorter[20..]].concat();
    assert_eq!((header.len(), shorter.len(), shortest.len()), (179, 167, 163));
    for header in [header, shorter, shortest] {
        let mut filter = Filter::begin_redisbloom(&header, SEED, NO_LIMIT).unwrap();
        for (iterator, piece) in twin.pieces(1 << 24) {
            filter.take_piece(iterator, &piece).unwrap();
        }
        assert_eq!(filter.digest(), from_rdb(&twin).digest());
    }
}

#[test]
fn what_a_filter_was_made_for_is_read_from_its_first_layer() {
    let [(_, fixed), (_, growing), ..] = all();
    let (fixed, growing) = (fixed.read(), growing.read());
    let parameters = fixed.parameters();
    assert_eq!((parameters.error_rate, parameters.capacity), (0.01, 3));
    assert!(fixed.layers().unwrap().is_fixed() && !growing.layers().unwrap().is_fixed());
    let parameters = growing.parameters();
    assert_eq!((parameters.error_rate, parameters.capacity), (0.01, 30));
    assert_eq!((growing.layers().unwrap().each().len(), growing.items()), (3, 100));
    assert_eq!((growing.capacity(), growing.num_bits()), (210, 384 + 768 + 1728));
}

#[test]
fn versions_to_come_are_refused() {
    let [(_, golden), ..] = all();
    let fields = Dump::parse(&golden.dump).fields;
    for version in [5, 6, 511, u32::MAX] {
        let read = read_bloom(version, &mut fields.clone().into_iter(), SEED);
        assert_eq!(read.err(), Some(DecodeError::Format));
    }
}

#[test]
fn the_twin_writes_what_redisbloom_writes() {
    let [(_, fixed), (_, growing), ..] = all();
    for (golden, twin) in [(fixed, filled(0.01, 3, 0, 3)), (growing, filled(0.01, 30, 2, 100))] {
        let mut fields = twin.fields();
        if twin.growth == 0 {
            fields[3] = Field::Unsigned(2); // what RedisBloom says of one that does not grow
        } else {
            assert_eq!(golden.pieces[0].1, twin.header());
            assert_eq!(golden.pieces[1..], twin.pieces(1 << 24));
        }
        assert_eq!(Dump::parse(&golden.dump).fields, fields);
    }
}

/// The header and the piece that the page about BF.SCANDUMP on redis.io shows as text.
#[test]
fn the_chunks_in_the_documentation_of_redisbloom_hold_their_item() {
    let mut header = [1u64.to_le_bytes()].concat();
    header.extend([1u32, 5, 2].map(u32::to_le_bytes).as_flattened());
    header.extend([8u64, 64, 1].map(u64::to_le_bytes).as_flattened());
    header.extend(0.1f64.to_le_bytes());
    header.extend([0x4a, 0xf7, 0xd4, 0x9e, 0xde, 0xf0, 0x18, 0x40]);
    header.extend(5u32.to_le_bytes());
    header.extend(10u64.to_le_bytes());
    header.push(0);
    let mut filter = Filter::begin_redisbloom(&header, SEED, NO_LIMIT).unwrap();
    filter.take_piece(9, b"\x01\x08\0\x80\0\x04 \0").unwrap();
    assert!(filter.contains(b"item1") && !filter.contains(b"item2"));
    assert_eq!(filter.items(), 1);
}
