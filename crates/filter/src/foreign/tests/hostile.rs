//! Bytes that anyone may have made.

use super::*;
use crate::error::DecodeError;
use crate::filter::{Filter, Window};
use proptest::prelude::*;
use splitbloom_foundation::fields::Field;

/// It answers, adds and is saved like any other.
fn assert_works(filter: &mut Filter) {
    for number in 0..8 {
        let known = filter.contains(&stranger(number));
        match filter.add(&stranger(number)) {
            Ok(is_new) => assert!(is_new != known && filter.contains(&stranger(number))),
            Err(_) => assert!(!known && filter.layers().unwrap().is_fixed()),
        }
    }
    let rate = filter.false_positive_rate();
    assert!((0.0..=1.0).contains(&rate), "{rate}");
    assert!(filter.table_error_rate().unwrap() > 0.0 && filter.table_error_rate().unwrap() < 1.0);
    assert!(filter.estimated_items() >= 0.0 && filter.capacity() > 0);
    let copy = filter.try_clone().unwrap();
    assert_eq!(copy.digest(), filter.digest());
}

fn twins() -> impl Strategy<Value = Twin> {
    let rates = prop::sample::select(vec![0.5, 0.25, 0.05, 0.01, 1e-4, 1e-9]);
    let growths = prop::sample::select(vec![0, 1, 2, 4]);
    let arrays = prop::sample::select(vec![Arrays::Words, Arrays::Bytes, Arrays::Powers]);
    (rates, 1..80u64, growths, 0..250u64, 0..4u64, arrays).prop_map(
        |(rate, capacity, growth, items, kind, arrays)| {
            let mut twin = Twin::with_arrays(rate, capacity, growth, arrays);
            // Old filters: 32-bit hashes, or a power of two that does not reach the end.
            twin.options &= [!0, !4, !0, !4][kind as usize];
            if kind >= 2 && arrays != Arrays::Powers {
                twin.layers[0].n2 = u64::from((8 * twin.layers[0].num_bytes()).ilog2());
            }
            (0..items).for_each(|number| twin.add(&item(number)));
            twin
        },
    )
}

fn values() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        Just(u64::MAX),
        0..70u64,
        (0..64u32).prop_map(|bit| 1 << bit),
        any::<u64>(),
        any::<f64>().prop_map(f64::to_bits),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_filter_answers_as_its_twin(twin in twins(), len in 1..3_000usize) {
        let probes: Vec<_> = (0..300).flat_map(|n| [item(n), stranger(n)]).collect();
        let expected: Vec<_> = probes.iter().map(|probe| twin.contains(probe)).collect();
        let (whole, cut) = (from_rdb(&twin), from_pieces(&twin, len));
        prop_assert_eq!(answers(&whole, &probes), expected);
        prop_assert_eq!(whole.digest(), cut.digest());
        prop_assert_eq!((whole.set_bits(), whole.items()), (twin.set_bits(), twin.items()));
    }

    #[test]
    fn pieces_come_in_any_order_and_again(
        twin in twins(),
        len in 1..200usize,
        order in prop::collection::vec(any::<u64>(), 400),
    ) {
        let mut filter = Filter::begin_redisbloom(&twin.header(), SEED, NO_LIMIT).unwrap();
        let mut pieces = twin.pieces(len);
        let again: Vec<_> = pieces.iter().step_by(3).cloned().collect();
        pieces.extend(again);
        let mut ordered: Vec<_> = order.iter().cycle().zip(pieces).collect();
        ordered.sort_by_key(|(order, _)| **order);
        for (_, (iterator, piece)) in ordered {
            prop_assert_eq!(filter.take_piece(iterator, &piece), Ok(()));
        }
        prop_assert_eq!(filter.digest(), from_rdb(&twin).digest());
    }

    #[test]
    fn fields_that_were_changed_are_refused_or_make_a_filter_that_works(
        twin in twins(),
        version in 0..5u32,
        changes in prop::collection::vec((any::<prop::sample::Index>(), values(), 0..4u8), 1..3),
    ) {
        let mut fields = twin.fields();
        for (at, value, change) in changes {
            let at = at.index(fields.len());
            fields[at] = match change {
                0 => Field::Unsigned(value),
                1 => Field::Double(f64::from_bits(value)),
                2 => Field::String(vec![value as u8; (value % 300) as usize]),
                _ => { fields.truncate(at.max(1)); continue; }
            };
        }
        if let Ok(mut filter) = read_bloom(version, &mut fields.into_iter(), SEED) {
            assert_works(&mut filter);
        }
    }

    #[test]
    fn headers_that_were_changed_are_refused_or_make_a_filter_that_works(
        twin in twins(),
        at in any::<prop::sample::Index>(),
        value in values(),
        width in 1..9usize,
    ) {
        let mut header = twin.header();
        let at = at.index(header.len());
        for (to, from) in header[at..].iter_mut().zip(&value.to_le_bytes()[..width]) {
            *to = *from;
        }
        if let Ok(mut filter) = Filter::begin_redisbloom(&header, SEED, NO_LIMIT) {
            for (iterator, piece) in twin.pieces(100) {
                let _ = filter.take_piece(iterator, &piece);
            }
            assert_works(&mut filter);
        }
    }

    #[test]
    fn a_piece_that_does_not_fit_changes_nothing(
        twin in twins(),
        iterator in values(),
        piece in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        let mut filter = from_rdb(&twin);
        let before = filter.digest();
        let len = piece.len() as u64;
        let mut ends = twin.layers.iter().scan(0, |end, layer| {
            let start = *end;
            *end += layer.num_bytes();
            Some(start..=*end)
        });
        let fits = iterator > len && ends.any(|range| {
            let start = iterator - 1 - len;
            *range.start() <= start && start < *range.end() && range.contains(&(iterator - 1))
        });
        let taken = filter.take_piece(iterator, &piece);
        prop_assert_eq!(taken.is_ok(), fits);
        if !fits {
            prop_assert_eq!(taken, Err(DecodeError::Order));
            prop_assert_eq!(filter.digest(), before);
        }
    }
}

/// A twin, and what is done to a field of its only layer.
fn refused(change: impl Fn(&mut [Field])) -> DecodeError {
    let mut fields = filled(0.01, 10, 2, 10).fields();
    change(&mut fields);
    let read = read_bloom(4, &mut fields.into_iter(), SEED);
    read.err().expect("a refusal")
}

#[test]
fn each_field_is_checked_against_the_others() {
    use Field::{Double, String, Unsigned};
    let field = DecodeError::Field;
    assert_eq!(refused(|f| f[0] = Unsigned(11)), field("items"));
    assert_eq!(refused(|f| f[1] = Unsigned(0)), field("number of layers"));
    assert_eq!(refused(|f| f[1] = Unsigned(2)), DecodeError::Length);
    assert_eq!(refused(|f| f[2] = Unsigned(1 << 32)), field("options"));
    assert_eq!(refused(|f| f[4] = Unsigned(0)), field("entries"));
    for rate in [0.0, 1.0, -0.1, f64::NAN, f64::INFINITY] {
        assert_eq!(refused(|f| f[5] = Double(rate)), field("error rate of a layer"));
    }
    for hashes in [0, 7, 9, 1 << 40] {
        assert_eq!(refused(|f| f[6] = Unsigned(hashes)), field("number of hashes"));
    }
    assert_eq!(refused(|f| f[7] = Double(2.0)), field("number of hashes"));
    assert_eq!(refused(|f| f[7] = Double(-2.0)), field("bits per item"));
    for bits in [0, 64, 129, 192, 1 << 48, u64::MAX] {
        assert_eq!(refused(|f| f[8] = Unsigned(bits)), field("number of bits"));
    }
    assert_eq!(refused(|f| f[9] = Unsigned(8)), field("n2"));
    assert_eq!(refused(|f| f[9] = Unsigned(64)), field("n2"));
    for len in [0, 8, 15, 17, 24] {
        assert_eq!(refused(|f| f[10] = String(vec![0; len])), field("number of bits"));
    }
    assert_eq!(refused(|f| f[11] = Unsigned(u64::MAX)), field("items"));
    // That number of hashes would take for ever.
    let slow = |f: &mut [Field]| {
        f[6] = Unsigned(1 << 30);
        f[7] = Double(f64::from(1 << 30) / crate::foreign::layer::LN_2);
    };
    assert_eq!(refused(slow), field("number of hashes"));
}

#[test]
fn a_header_of_another_length_is_refused() {
    let header = filled(0.01, 10, 2, 25).header();
    for len in (0..header.len()).chain([header.len() + 1, header.len() + 53]) {
        let mut bytes = header.clone();
        bytes.resize(len, 0);
        // Lengths of older headers give fields of a newer one no sense.
        assert!(Filter::begin_redisbloom(&bytes, SEED, NO_LIMIT).is_err(), "{len}");
    }
    let longer = [header, vec![0]].concat();
    let longer = Filter::begin_redisbloom(&longer, SEED, NO_LIMIT).err();
    assert_eq!(longer, Some(DecodeError::Length));
    let none = Filter::begin_redisbloom(&[0; 20], SEED, NO_LIMIT).err();
    assert_eq!(none, Some(DecodeError::Field("number of layers")));
}

#[test]
fn what_a_header_announces_takes_no_memory() {
    let mut twin = Twin::new(0.01, 10, 0);
    twin.layers[0].entries = 1 << 44;
    let mut header = twin.header();
    let bits: u64 = 1 << 47;
    header[20..28].copy_from_slice(&(bits / 8).to_le_bytes());
    header[28..36].copy_from_slice(&bits.to_le_bytes());
    let mut filter = Filter::begin_redisbloom(&header, SEED, NO_LIMIT).unwrap();
    assert_eq!(filter.allocated_segments(), 0);
    filter.take_piece(bits / 8 + 1, &[1]).unwrap();
    filter.take_piece(bits / 8, &[0; 100]).unwrap();
    assert_eq!((filter.allocated_segments(), filter.set_bits()), (1, 1));
}

#[test]
fn only_a_filter_that_came_in_pieces_takes_them() {
    let parameters = from_rdb(&Twin::new(0.01, 10, 2)).parameters();
    let window = Window::new(60, 2, false).unwrap();
    let windowed = Filter::windowed(parameters, window, NO_LIMIT).unwrap();
    let filter = Filter::new(parameters, NO_LIMIT).unwrap();
    for mut other in [filter, windowed] {
        assert_eq!(other.take_piece(9, &[1; 8]), Err(DecodeError::Order));
    }
    let header = Twin::new(0.01, 10, 2).header();
    let mut foreign = Filter::begin_redisbloom(&header, SEED, NO_LIMIT).unwrap();
    let before = foreign.digest();
    assert_eq!(foreign.take_piece(9, &[1; 8]), Ok(()));
    assert_ne!(foreign.digest(), before);

    let [items, buckets, deletions, layers] = [0u64, 2, 0, 1].map(u64::to_le_bytes);
    let [bucket_size, iterations, expansion] = [2u16, 20, 1].map(u16::to_le_bytes);
    let header = [items, buckets, deletions, layers].concat();
    let header = [&header[..], &bucket_size, &iterations, &expansion].concat();
    let mut counting = Filter::begin_cuckoo(&header, SEED, NO_LIMIT).unwrap();
    assert_eq!(counting.take_piece(3, &[0, 7]), Ok(()));
    assert_eq!(counting.items(), 1);
}

/// Each field is in its range, but the segments of all layers are too many to be counted.
#[test]
fn layers_that_are_too_large_together_are_refused() {
    let mut twin = Twin::new(0.01, 10, 2);
    let layer = twin.layers[0].clone();
    twin.layers = vec![layer; (1 << 16) + 1];
    let mut header = twin.header();
    let bits: u64 = 1 << 47;
    for layer in header[20..].chunks_mut(53) {
        layer[..8].copy_from_slice(&(bits / 8).to_le_bytes());
        layer[8..16].copy_from_slice(&bits.to_le_bytes());
    }
    let begun = Filter::begin_redisbloom(&header, SEED, NO_LIMIT).err();
    assert_eq!(begun, Some(DecodeError::OverLimit));
}
