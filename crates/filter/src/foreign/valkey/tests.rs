//! The reader against samples, and against changes of them.

use crate::codec::{chunks, load_chunk, Chunk};
use crate::error::{AddError, DecodeError};
use crate::filter::Filter;
use crate::filter::SizeLimit;
use crate::foreign::{Fields, Source};
use crate::hash::Seed;
use proptest::prelude::*;
use splitbloom_foundation::fields::Field;

fn parse_valkey(bytes: &[u8], seed: Seed, limit: SizeLimit) -> Result<Filter, DecodeError> {
    Filter::of_layers(super::parse_valkey(bytes)?, seed, limit)
}

fn read_valkey(version: u32, fields: &mut impl Fields, seed: Seed) -> Result<Filter, DecodeError> {
    let layers = super::read_valkey(version, &mut Source::new(fields))?;
    Filter::of_layers(layers, seed, NO_LIMIT)
}

const SEED: Seed = Seed(3);
const NO_LIMIT: SizeLimit = SizeLimit::Unlimited;

const SAMPLES: [&str; 5] = [
    include_str!("golden/empty.txt"),
    include_str!("golden/fixed.txt"),
    include_str!("golden/growing.txt"),
    include_str!("golden/part-full.txt"),
    include_str!("golden/tight.txt"),
];

fn value(sample: &'static str, name: &str) -> &'static str {
    let mut lines = sample.lines().filter_map(|line| line.split_once(' '));
    lines.find(|line| line.0 == name).unwrap().1
}

fn bytes(sample: &'static str) -> Vec<u8> {
    let digits = value(sample, "load").as_bytes().chunks(2);
    let digits = digits.map(|two| std::str::from_utf8(two).unwrap());
    let bytes = digits.map(|two| u8::from_str_radix(two, 16).unwrap());
    bytes.collect()
}

fn loaded(sample: &'static str) -> Filter {
    parse_valkey(&bytes(sample), SEED, NO_LIMIT).unwrap()
}

/// The fields that an RDB file has of the same filter.
fn fields(load: &[u8]) -> Vec<Field> {
    let (_, mut rest) = load.split_at(1);
    let mut number = |len: usize| {
        let (taken, after) = rest.split_at(len);
        rest = after;
        let mut word = [0; 8];
        word[..len].copy_from_slice(taken);
        u64::from_le_bytes(word)
    };
    let [expansion, error_rate, tightening, is_random, layers] = [4, 8, 8, 1, 8].map(&mut number);
    let mut fields = vec![
        Field::Unsigned(layers),
        Field::Unsigned(expansion),
        Field::Double(f64::from_bits(error_rate)),
        Field::Double(f64::from_bits(tightening)),
        Field::Unsigned(is_random),
    ];
    for layer in 1..=layers {
        let len = number(8);
        let bitmap = (0..len).map(|_| number(1) as u8).collect();
        let (items, capacity) = (number(8), number(8));
        fields.push(Field::String(bitmap));
        fields.push(Field::Unsigned(capacity));
        if layer == layers {
            fields.push(Field::Unsigned(items));
        }
    }
    fields
}

fn assert_answers(filter: &Filter, sample: &'static str) {
    for kind in ["item", "stranger"] {
        let names = value(sample, kind).chars().enumerate();
        let (items, expected): (Vec<_>, Vec<_>) =
            names.map(|(number, answer)| (format!("{kind}:{number}"), answer == '1')).unzip();
        let mut many = Vec::new();
        filter.contains_many(items.iter().map(String::as_bytes), |answer| {
            many.push(answer);
        });
        assert_eq!(many, expected);
        let singly = items.iter().map(|item| filter.contains(item.as_bytes()));
        assert!(singly.eq(expected));
    }
    let numbers = [filter.layers().unwrap().each().len() as u64, filter.items()];
    let expected = ["layers", "items"].map(|name| value(sample, name).parse().unwrap());
    assert_eq!(numbers, expected);
    assert!(filter.layers().unwrap().is_from_valkey());
}

#[test]
fn a_load_is_answered_as_the_crate_answers() {
    SAMPLES.iter().for_each(|sample| assert_answers(&loaded(sample), sample));
}

#[test]
fn rdb_fields_hold_the_same_filter() {
    for sample in SAMPLES {
        let filter = read_valkey(1, &mut fields(&bytes(sample)).into_iter(), SEED).unwrap();
        assert_answers(&filter, sample);
        assert_eq!(filter.digest(), loaded(sample).digest());
        for version in [0, 2] {
            let refused = read_valkey(version, &mut fields(&bytes(sample)).into_iter(), SEED).err();
            assert_eq!(refused, Some(DecodeError::Format));
        }
    }
}

#[test]
fn chunks_of_ours_hold_all_of_it() {
    for sample in SAMPLES {
        let mut filter = loaded(sample);
        let is_new = filter.add(b"new");
        assert!(is_new == Ok(true) || is_new == Err(AddError::Full));
        let mut again: Option<Filter> = None;
        for chunk in chunks(&filter) {
            let bytes = chunk.encode().unwrap().bytes;
            let chunk = Chunk::parse(&bytes).unwrap();
            again = load_chunk(again.as_mut(), &chunk, NO_LIMIT).unwrap().or(again);
        }
        let again = again.unwrap();
        assert_eq!(again.digest(), filter.digest());
        assert_eq!(again.contains(b"new"), is_new == Ok(true));
        assert_eq!((again.capacity(), again.items()), (filter.capacity(), filter.items()));
    }
}

/// An empty filter of one layer, by the arithmetic of the crate.
fn reserved(error_rate: f64, capacity: u64) -> Vec<u8> {
    let squared = std::f64::consts::LN_2 * std::f64::consts::LN_2;
    let bytes = (capacity as f64 * error_rate.ln() / (-8.0 * squared)).ceil();
    let hashes = (8.0 * bytes / capacity as f64 * std::f64::consts::LN_2).round();
    let mut load = vec![1];
    load.extend(0u32.to_le_bytes());
    load.extend([error_rate, 0.5].map(f64::to_le_bytes).as_flattened());
    load.push(0);
    load.extend([1, 45 + bytes as u64].map(u64::to_le_bytes).as_flattened());
    load.push(1);
    load.extend((bytes as u64).to_le_bytes());
    load.extend((hashes as u32).max(1).to_le_bytes());
    load.resize(load.len() + 32 + bytes as usize, 0);
    load.extend([0, capacity].map(u64::to_le_bytes).as_flattened());
    load
}

#[test]
fn a_filter_loads_at_any_error_rate_and_capacity() {
    let rates = [f64::from_bits(1), 1e-300, 0.5, 0.999, 1.0 - f64::EPSILON / 2.0];
    for rate in rates {
        for capacity in [1, 2, 3, 7, 1000] {
            let load = reserved(rate, capacity);
            let filter = parse_valkey(&load, SEED, NO_LIMIT);
            let filter = filter.unwrap_or_else(|error| panic!("{error}: {rate} {capacity}"));
            assert!(!filter.contains(b"item"));
        }
    }
    let most = parse_valkey(&reserved(f64::from_bits(1), 1), SEED, NO_LIMIT).unwrap();
    assert_eq!(most.layers().unwrap().each()[0].description().hashes, 1076);
}

#[test]
fn one_that_does_not_grow_is_full() {
    let mut filter = loaded(SAMPLES[1]);
    assert!(filter.layers().unwrap().is_fixed());
    let added = (0..100u32).filter(|n| filter.add(&n.to_le_bytes()) == Ok(true));
    assert!(added.count() <= 1);
    assert!(!loaded(SAMPLES[2]).layers().unwrap().is_fixed());
}

#[test]
fn a_field_out_of_range_is_refused() {
    let good = bytes(SAMPLES[1]);
    let refused = |at: usize, with: &[u8]| {
        let mut changed = good.clone();
        changed[at..at + with.len()].copy_from_slice(with);
        parse_valkey(&changed, SEED, NO_LIMIT).err()
    };
    let field = |name| Some(DecodeError::Field(name));
    let (bitmap, end) = (30 + 8, good.len());
    assert_eq!(refused(0, &[2]), Some(DecodeError::Format));
    assert_eq!(refused(5, &1.0f64.to_le_bytes()), field("error rate"));
    assert_eq!(refused(5, &f64::NAN.to_le_bytes()), field("error rate"));
    assert_eq!(refused(13, &0.0f64.to_le_bytes()), field("tightening ratio"));
    assert_eq!(refused(21, &[2]), field("random seed"));
    assert_eq!(refused(22, &[0]), Some(DecodeError::Length));
    assert_eq!(refused(22, &[2]), Some(DecodeError::Length));
    assert_eq!(refused(30, &[0xff; 8]), Some(DecodeError::Length));
    assert_eq!(refused(bitmap, &[0]), field("version of a bitmap"));
    assert_eq!(refused(bitmap + 1, &[1]), Some(DecodeError::Length));
    assert_eq!(refused(bitmap + 9, &[1]), field("number of hashes"));
    assert_eq!(refused(end - 16, &[51]), field("items of a layer"));
    assert_eq!(refused(end - 8, &[0]), field("items of a layer"));
    for len in 0..end {
        assert_eq!(parse_valkey(&good[..len], SEED, NO_LIMIT).err(), Some(DecodeError::Length));
    }
    let limit = SizeLimit::Bytes(loaded(SAMPLES[1]).reserved_bytes() - 1);
    assert_eq!(parse_valkey(&good, SEED, limit).err(), Some(DecodeError::OverLimit));
    let mut two = bytes(SAMPLES[2]);
    two[1] = 0;
    let refused = parse_valkey(&two, SEED, NO_LIMIT).err();
    assert_eq!(refused, field("number of layers"));
}

#[test]
fn fields_that_are_missing_of_another_kind_or_out_of_range_are_refused() {
    let refused = |fields: Vec<Field>| read_valkey(1, &mut fields.into_iter(), SEED).err();
    let good = fields(&bytes(SAMPLES[2]));
    for place in 0..good.len() {
        let missing = refused(good[..place].to_vec());
        assert_eq!(missing, Some(DecodeError::Length));
        let mut other = good.clone();
        other[place] = match other[place] {
            Field::Unsigned(_) => Field::Double(1.0),
            _ => Field::Unsigned(1),
        };
        assert_eq!(refused(other), Some(DecodeError::Length));
    }
    for (place, number, field) in [(1, 1 << 32, "expansion"), (4, 2, "random seed")] {
        let mut other = good.clone();
        other[place] = Field::Unsigned(number);
        assert_eq!(refused(other), Some(DecodeError::Field(field)));
    }
}

#[test]
fn what_is_added_is_hashed_under_a_seed_that_follows_from_what_was_read() {
    for sample in SAMPLES {
        let (load, other) = (bytes(sample), bytes(SAMPLES[3]));
        let of_load = |bytes: &[u8]| {
            let filter = Filter::parse_valkey(bytes, NO_LIMIT).unwrap();
            filter.parameters().seed
        };
        let of_fields = |bytes: &[u8]| {
            let fields = &mut fields(bytes).into_iter();
            let filter = Filter::load_valkey(1, fields).unwrap();
            filter.parameters().seed
        };
        for seed in [&of_load as &dyn Fn(&[u8]) -> Seed, &of_fields] {
            assert_eq!(seed(&load), seed(&load));
            assert_eq!(seed(&load) == seed(&other), load == other);
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(at in 0usize..600, byte: u8, cut in 0usize..60) {
        for sample in SAMPLES {
            let mut changed = bytes(sample);
            let len = changed.len();
            changed[at % len] = byte;
            changed.truncate(len - cut.saturating_sub(40));
            if let Ok(mut filter) = parse_valkey(&changed, SEED, NO_LIMIT) {
                let _ = filter.add(b"item");
                prop_assert!(filter.false_positive_rate() <= 1.0);
            }
        }
    }
}
