//! Fields that are no sketch.

use super::*;
use crate::error::DecodeError;
use Field::{String as Bytes, Unsigned as U};

fn refusal(fields: Vec<Field>) -> Option<DecodeError> {
    Table::decode(&mut fields.into_iter()).err()
}

#[test]
fn fields_that_are_no_sketch_are_refused() {
    let good = vec![U(3), U(2), U(9), Bytes(vec![1; 24])];
    assert_eq!(refusal(good.clone()), None);
    for len in 0..4 {
        assert_eq!(refusal(good[..len].to_vec()), Some(DecodeError::Length));
    }
    for (width, depth, field) in [
        (0, 2, "the width"),
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
fn any_count_and_any_counters_are_a_sketch_whose_count_stops_at_its_end() {
    for count in [u64::MAX, MAX_COUNT + 1, MAX_COUNT] {
        let fields = vec![U(3), U(2), U(count), Bytes(vec![255; 24])];
        let mut sketch = Table::decode(&mut fields.into_iter()).unwrap();
        assert_eq!(sketch.count(), MAX_COUNT);
        assert_eq!(sketch.increment(b"x", MAX_COUNT), Ok(SATURATED));
        assert_eq!(sketch.count(), MAX_COUNT);
        let merged = Table::merged(sketch.shape(), &[(&sketch, 1)]);
        assert_eq!(merged.map(|merged| merged.digest()), Ok(sketch.digest()));
    }
}
