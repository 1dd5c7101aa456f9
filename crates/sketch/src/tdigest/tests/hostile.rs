//! Fields that are no digest.

use super::*;
use crate::error::DecodeError;
use Field::{Double as D, Unsigned as U};

fn decode(fields: Vec<Field>) -> Result<TDigest, DecodeError> {
    TDigest::decode(&mut fields.into_iter())
}

/// Three nodes of the weights 1, 3, 1.
fn good() -> Vec<Field> {
    let mut fields = vec![D(2.0), D(1.0), D(9.0), U(22), U(3), U(0), U(7), D(5.0), D(0.0)];
    fields.extend([1.0, 4.0, 9.0, 1.0, 3.0, 1.0].map(D));
    fields
}

#[test]
fn a_good_digest_is_read_and_written_again() {
    assert_eq!(fields(&decode(good()).unwrap()), good());
    for len in 0..good().len() {
        assert_eq!(decode(good()[..len].to_vec()).err(), Some(DecodeError::Length), "{len}");
    }
}

#[test]
fn every_field_that_is_out_of_range_is_refused_by_name() {
    let nan = f64::NAN;
    let infinity = f64::INFINITY;
    let compressions = [0.0, -1.0, 1.5, 3.0, 1e5 + 1.0, 1e300, infinity, nan].map(D);
    let ends = [nan, infinity, -infinity].map(D);
    let weights = [0.0, 0.5, -1.0, 2.0, 1.5, 1e300, nan, infinity].map(D);
    let cases: [(usize, &[Field], &str); 12] = [
        (0, &compressions, "compression"),
        (1, &ends, "smallest"),
        (1, &[D(1.5)], "mean"),
        (1, &[D(9.5)], "smallest"),
        (2, &ends, "smallest"),
        (2, &[D(8.5)], "mean"),
        (3, &[U(0), U(21), U(23), U(u64::MAX)], "capacity"),
        (4, &[U(23), U(1 << 63), U(u64::MAX)], "number of merged"),
        (5, &[U(1), U(u64::MAX)], "number of unmerged"),
        (6, &[U(1 << 63)], "number of passes"),
        (7, &[D(0.0), D(4.0), D(6.0), D(nan)], "weight of merged"),
        (8, &[D(1.0), D(-1.0), D(nan)], "weight of unmerged"),
    ];
    let means: [(usize, &[Field], &str); 3] = [
        (9, &[D(0.5), D(4.5), D(nan), D(infinity)], "mean"),
        (10, &[D(0.5), D(9.5), D(nan)], "mean"),
        (11, &[D(3.5), D(9.5), D(nan), D(-infinity)], "mean"),
    ];
    let weights = [12, 13, 14].map(|place| (place, &weights[..], "weight of"));
    for (place, bad, name) in cases.into_iter().chain(means).chain(weights) {
        for bad in bad {
            let mut fields = good();
            fields[place] = bad.clone();
            let error = decode(fields).err().map(|error| error.to_string());
            let error = error.unwrap_or_default();
            let named = error.contains(name) || place == 0 && error.contains("capacity");
            assert!(named, "{place} {bad:?}: {error}");
        }
    }
}

#[test]
fn an_empty_digest_has_the_ends_of_none() {
    let empty = |min, max| vec![D(2.0), D(min), D(max), U(22), U(0), U(0), U(0), D(0.0), D(0.0)];
    assert!(decode(empty(f64::MAX, f64::MIN)).is_ok());
    for (min, max) in [(0.0, 0.0), (f64::MIN, f64::MAX), (f64::NAN, f64::MIN)] {
        assert!(decode(empty(min, max)).is_err());
    }
}

#[test]
fn infinite_means_are_read_as_the_ends() {
    let mut fields = good();
    fields[10] = D(f64::INFINITY);
    let digest = decode(fields).unwrap();
    let means: Vec<f64> = digest.nodes().map(|node| node.mean).collect();
    assert_eq!(means, [1.0, 9.0, 9.0]);
}

#[test]
fn a_weight_has_a_limit_that_no_sum_exceeds() {
    let heavy = |second: f64| {
        let mut fields = good();
        let first = 2_f64.powi(62);
        fields[7] = D(first + second + 1.0);
        fields[12..].clone_from_slice(&[first, second, 1.0].map(D));
        decode(fields)
    };
    let second = 2_f64.powi(62) - 512.0;
    assert_eq!(heavy(second).unwrap().weight(), MAX_WEIGHT - 510);
    assert!(heavy(2_f64.powi(62)).is_err());
    assert!(heavy(2_f64.powi(63)).is_err());
    assert!(heavy(1e300).is_err());
}

#[test]
fn a_weight_above_what_doubles_hold_may_be_rounded_but_no_other() {
    let sum = |first: f64, sum: f64| {
        let mut fields = good();
        fields[7] = D(sum);
        fields[12] = D(first);
        decode(fields).is_ok()
    };
    let large = 2_f64.powi(60);
    assert!(sum(large, large) && sum(large, large + 256.0) && !sum(large, large + 1_024.0));
    let exact = 2_f64.powi(53) - 8.0;
    assert!(sum(exact, exact + 4.0) && !sum(exact, exact + 3.0));
}

#[test]
fn a_single_keeps_its_place_after_an_equal_node() {
    for weights in [[1.0, 3.0, 1.0, 5.0], [3.0, 1.0, 1.0, 2.0], [1.0, 1.0, 1.0, 1.0]] {
        let mut fields = vec![D(2.0), D(4.0), D(4.0), U(22), U(4), U(0), U(7)];
        fields.extend([weights.iter().sum(), 0.0].map(D));
        fields.extend([4.0; 4].map(D));
        fields.extend(weights.map(D));
        assert_eq!(super::fields(&decode(fields.clone()).unwrap()), fields);
    }
}

#[test]
fn a_full_digest_of_redisblooms_takes_further_numbers() {
    // Six nodes for each unit of the compression, and ten: RedisBloom loads it, and adds no more.
    let count = 70;
    let mut fields = vec![D(10.0), D(0.0), D(69.0), U(70), U(70), U(0), U(0), D(140.0), D(0.0)];
    fields.extend((0..count).map(|mean| D(f64::from(mean))));
    fields.extend((0..count).map(|_| D(2.0)));
    let mut digest = decode(fields).unwrap();
    digest.add(&mut [1.5, 2.5]).unwrap();
    assert_eq!((digest.weight(), digest.passes()), (142, 1));
}

#[test]
fn a_digest_of_another_server_may_be_beyond_the_limit_of_new_ones() {
    let mut fields = good();
    (fields[0], fields[3]) = (D(1_000_000.0), U(6_000_010));
    let mut digest = decode(fields.clone()).unwrap();
    assert_eq!(super::fields(&digest), fields);
    digest.add(&mut [4.5]).unwrap();
    assert_eq!((digest.weight(), Compression::new(1_000_000)), (6, None));
    assert_eq!(Compression::saved(u64::from(u32::MAX)), None);
}
