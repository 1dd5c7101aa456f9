//! Fields that are no sketch.

use super::*;
use crate::error::DecodeError;
use Field::{String as Bytes, Unsigned as U};

fn refusal(fields: Vec<Field>) -> Option<DecodeError> {
    CountMinSketch::decode(Version::Zero, &mut fields.into_iter()).err()
}

#[test]
fn fields_that_are_no_sketch_are_refused() {
    let good = vec![U(3), U(2), U(9), Bytes(vec![1; 24])];
    assert_eq!(refusal(good.clone()), None);
    for len in 0..4 {
        assert_eq!(refusal(good[..len].to_vec()), Some(DecodeError::Length));
    }
    for (width, depth, field) in [
        (3, 0, "the depth"),
        (u64::MAX, 2, "the number of counters"),
        (1 << 62, 1, "the number of counters"),
        (1 << 32, 1 << 16, "the length of the counters"),
        (1, u64::MAX, "the number of counters"),
        (1, 1 << 60, "the length of the counters"),
        (6, 2, "the length of the counters"),
        (2, 2, "the length of the counters"),
    ] {
        let fields = vec![U(width), U(depth), U(9), Bytes(vec![1; 24])];
        assert_eq!(refusal(fields), Some(DecodeError::Field(field)), "{width} {depth}");
    }
    assert_eq!(
        refusal(vec![U(3), U(2), U(9), Bytes(vec![1; 25])]),
        Some(DecodeError::Field("the length of the counters"))
    );
}

#[test]
fn any_count_and_any_counters_of_version_0_are_a_sketch_whose_count_stops_at_its_end() {
    for count in [u64::MAX, MAX_COUNT + 1, MAX_COUNT] {
        let fields = vec![U(3), U(2), U(count), Bytes(vec![255; 24])];
        let mut sketch = CountMinSketch::decode(Version::Zero, &mut fields.into_iter()).unwrap();
        assert_eq!(sketch.count(0), MAX_COUNT);
        assert_eq!(increment(&mut sketch, b"x", 1), Err(RangeError::Overflow));
        assert_eq!((sketch.count(0), estimate(&sketch, b"x")), (MAX_COUNT, u32::MAX.into()));
        let merged = CountMinSketch::merged(sketch.shape(), &[(&sketch, 1)]);
        assert_eq!(merged.map(|merged| merged.digest()), Ok(sketch.digest()));
    }
}

/// Whole sketches in version 1, and in version 0 after a width of 0.
#[test]
fn fields_with_the_size_of_a_counter_are_checked_in_either_version() {
    let refusal = |fields: &[Field]| {
        let new = CountMinSketch::decode(Version::One, &mut Vec::from(fields).into_iter()).err();
        let mut old = vec![U(0)];
        old.extend_from_slice(fields);
        assert_eq!(CountMinSketch::decode(Version::Zero, &mut old.into_iter()).err(), new);
        new
    };
    for size in CellSize::ALL {
        let len = 6 * size.bytes() as usize;
        let good = [U(3), U(2), U(9), U(size.bytes()), Bytes(vec![1; len])];
        assert_eq!(refusal(&good), None);
        for len in 0..good.len() {
            assert_eq!(refusal(&good[..len]), Some(DecodeError::Length));
        }
        let mut full = vec![255; len];
        let is_eight = size == CellSize::Eight;
        let expected = is_eight.then_some(DecodeError::Field("a counter"));
        assert_eq!(refusal(&[U(3), U(2), U(9), U(size.bytes()), Bytes(full.clone())]), expected);
        if is_eight {
            full.iter_mut().skip(7).step_by(8).for_each(|byte| *byte = 127);
            assert_eq!(refusal(&[U(3), U(2), U(9), U(8), Bytes(full)]), None);
        }
        for (place, value, field) in [
            (0, 0, "the width"),
            (0, 4, "the length of the counters"),
            (0, u64::MAX, "the number of counters"),
            (1, 0, "the depth"),
            (1, 1 << 63, "the number of counters"),
            (2, MAX_COUNT + 1, "the count"),
            (3, 0, "the size of a counter"),
            (3, 3, "the size of a counter"),
            (3, 16, "the size of a counter"),
        ] {
            let mut fields = good.clone();
            fields[place] = U(value);
            let expected = Some(DecodeError::Field(field));
            assert_eq!(refusal(&fields), expected, "{size:?} {place} {value}");
        }
    }
}
