//! CountMinSketch sketches against the times of all increments.

use super::*;
use crate::error::DecodeError;
use proptest::prelude::*;
use splitbloom_foundation::span::Span;

fn windowed(width: u64, size: CellSize, seconds: u32, slices: u8) -> CountMinSketch {
    let shape = Shape::new(width, 3, size).unwrap();
    CountMinSketch::new(shape, Span::new(seconds, slices)).unwrap()
}

/// Counts items, and returns what becomes of each.
fn try_increment(sketch: &mut CountMinSketch, now: u64, items: &[(&[u8], i64)]) -> Vec<Counted> {
    let mut answers = Vec::new();
    let (items, answer) = (items.iter().copied(), |answer| answers.push(answer));
    sketch.open(now, drop).unwrap().increment_many(items, OutOfRange::Skip, answer).unwrap();
    answers
}

fn increment(sketch: &mut CountMinSketch, now: u64, items: &[(&[u8], i64)]) -> Vec<u64> {
    try_increment(sketch, now, items).into_iter().map(Result::unwrap).collect()
}

fn estimate(sketch: &CountMinSketch, now: u64, item: &[u8]) -> u64 {
    let mut answers = Vec::new();
    let items = std::iter::once(item);
    sketch.estimate_many(items, now, |answer| answers.push(answer)).unwrap();
    answers[0]
}

#[test]
fn an_increment_counts_for_the_window_and_at_most_a_slice_more() {
    let mut sketch = windowed(1_000, CellSize::Four, 4, 4);
    assert_eq!(increment(&mut sketch, 10_500, &[(b"x", 2), (b"x", 3), (b"y", 1)]), [2, 5, 1]);
    assert_eq!(increment(&mut sketch, 11_000, &[(b"x", 1)]), [6]);
    assert_eq!(estimate(&sketch, 14_999, b"x"), 6);
    assert_eq!(estimate(&sketch, 15_000, b"x"), 1);
    assert_eq!((sketch.count(14_999), sketch.count(15_000), sketch.count(16_000)), (7, 1, 0));
    let mut over = Vec::new();
    sketch.open(16_000, |slice| over.push(slice)).unwrap();
    assert_eq!(over.iter().map(Table::count).collect::<Vec<_>>(), [6, 1]);
    assert_eq!((estimate(&sketch, 16_000, b"x"), sketch.latest()), (0, 16_000));
}

#[test]
fn an_increment_must_fit_the_current_slice_and_sums_of_slices_may_be_larger() {
    let mut sketch = windowed(10, CellSize::One, 4, 4);
    assert_eq!(increment(&mut sketch, 10_000, &[(b"x", 200)]), [200]);
    assert_eq!(increment(&mut sketch, 11_000, &[(b"x", 250)]), [450]);
    let more = [(&b"x"[..], 6), (b"x", 5), (b"x", -256), (b"x", -255)];
    let counted = try_increment(&mut sketch, 11_000, &more);
    assert_eq!(counted, [Err(RangeError::Overflow), Ok(455), Err(RangeError::Underflow), Ok(200)]);
    assert_eq!(try_increment(&mut sketch, 12_000, &[(b"x", -1)]), [Err(RangeError::Underflow)]);
    assert_eq!((sketch.count(12_000), estimate(&sketch, 15_000, b"x")), (200, 0));
}

#[test]
fn the_largest_estimate_is_that_of_a_reply() {
    let mut sketch = windowed(10, CellSize::Eight, 4, 4);
    assert_eq!(increment(&mut sketch, 10_000, &[(b"x", i64::MAX)]), [MAX_COUNT]);
    assert_eq!(increment(&mut sketch, 11_000, &[(b"x", 7)]), [MAX_COUNT]);
    assert_eq!((sketch.count(11_000), estimate(&sketch, 11_000, b"x")), (MAX_COUNT, MAX_COUNT));
    assert_eq!(estimate(&sketch, 15_000, b"x"), 7);
}

#[test]
fn fields_that_are_no_windowed_sketch_are_refused() {
    let mut sketch = windowed(20_000, CellSize::Four, 4, 2);
    increment(&mut sketch, 10_000, &[(b"x", 1), (b"y", 1)]);
    let good = fields(&sketch);
    let decode = |fields: Vec<Field>| CountMinSketch::decode_windowed(&mut fields.into_iter());
    assert_eq!(decode(good.clone()).unwrap().digest(), sketch.digest());
    for len in 0..good.len() {
        assert_eq!(decode(good[..len].to_vec()).err(), Some(DecodeError::Length));
    }
    // Width, depth, seconds, slices, latest, two empty slices, and one: 1, count, segments, index.
    for (place, value, field) in [
        (0, 0, "the size of a counter"),
        (1, 0, "the depth"),
        (2, 0, "the window"),
        (2, 1 << 32, "the window"),
        (3, 1, "the window"),
        (3, 258, "the window"),
        (4, 1 << 53, "the time"),
        (4, 0, "the time"),
        (5, 2, "a slice"),
        (9, 5, "the number of segments"),
        (10, 4, "the index of a segment"),
    ] {
        let mut fields = good.clone();
        fields[place] = Field::Unsigned(value);
        // Slice 0 is the current one at time 0: what lies before it cannot be.
        if (place, value) == (4, 0) {
            fields.swap(5, 7);
            fields.splice(5..6, good[7..].iter().cloned());
            fields.truncate(5 + good.len() - 7);
            fields.extend([Field::Unsigned(0), Field::Unsigned(0)]);
        }
        assert_eq!(decode(fields).err(), Some(DecodeError::Field(field)), "{place} {value}");
    }
    let mut short = good.clone();
    short[11] = Field::String(vec![1; 9]);
    assert_eq!(decode(short).err(), Some(DecodeError::Field("the length of the counters")));
}

#[test]
fn the_size_of_a_counter_precedes_the_width_unless_it_is_four() {
    for size in CellSize::ALL {
        let mut sketch = windowed(20_000, size, 4, 2);
        increment(&mut sketch, 10_000, &[(b"x", 1), (b"y", 1)]);
        let saved = fields(&sketch);
        let decode = |fields: Vec<Field>| CountMinSketch::decode_windowed(&mut fields.into_iter());
        assert_eq!(decode(saved.clone()).unwrap().digest(), sketch.digest());
        let numbers = [0, size.bytes(), 20_000].map(Field::Unsigned);
        match size {
            CellSize::Four => assert_eq!(saved[0], numbers[2]),
            _ => assert_eq!(saved[..3], numbers),
        }
        for len in 0..saved.len() {
            assert_eq!(decode(saved[..len].to_vec()).err(), Some(DecodeError::Length));
        }
        let last = saved.iter().rposition(|field| matches!(field, Field::String(_))).unwrap();
        let Field::String(bytes) = &saved[last] else { unreachable!() };
        let mut full = saved.clone();
        full[last] = Field::String(vec![255; bytes.len()]);
        let expected = (size == CellSize::Eight).then_some(DecodeError::Field("a counter"));
        assert_eq!(decode(full).err(), expected);
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// Items, and the milliseconds before them, which may be negative.
    Increment(i64, Vec<(u8, i64)>),
    /// Takes the copy's place.
    Copy,
    /// Is saved and loaded.
    Restart,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let items = prop::collection::vec((0..6_u8, 0..1_000_i64), 0..12);
    let step = prop_oneof![
        8 => (-500..2_500_i64, items).prop_map(|(step, items)| Step::Increment(step, items)),
        1 => Just(Step::Copy),
        1 => Just(Step::Restart),
    ];
    prop::collection::vec(step, 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// So wide that the items share no counter in some row: the estimates are exact.
    #[test]
    fn estimates_are_the_sums_of_what_the_window_remembers(
        slices in 2..15_u8,
        seconds in 1..4_u32,
        size in prop::sample::select(vec![CellSize::Four, CellSize::Eight]),
        steps in steps(),
        later in 0..3_000_u64,
    ) {
        let span = Span::new(seconds, slices).unwrap();
        let mut sketch = windowed(20_000, size, seconds, slices);
        // The replica gets the same increments with the time of the primary's clock.
        let mut replica = windowed(20_000, size, seconds, slices);
        let (mut clock, mut latest, mut history) = (1_000_000_i64, 0, Vec::<(u64, u8, i64)>::new());
        let exact = |history: &[(u64, u8, i64)], now: u64, item| -> u64 {
            let oldest = span.oldest(span.slice_of(now));
            let live = history.iter().filter(|(time, ..)| span.slice_of(*time) >= oldest);
            live.filter(|(_, name, _)| *name == item).map(|(.., increment)| *increment as u64).sum()
        };
        for step in steps {
            match step {
                Step::Increment(step, items) => {
                    clock += step;
                    latest = latest.max(clock as u64);
                    let named: Vec<_> =
                        items.iter().map(|(name, increment)| ([*name], *increment)).collect();
                    let pairs: Vec<(&[u8], i64)> =
                        named.iter().map(|(name, increment)| (&name[..], *increment)).collect();
                    let answers = increment(&mut sketch, clock as u64, &pairs);
                    increment(&mut replica, clock as u64, &pairs);
                    for ((name, by), answer) in items.into_iter().zip(answers) {
                        history.push((latest, name, by));
                        prop_assert_eq!(answer, exact(&history, latest, name));
                    }
                }
                Step::Copy => sketch = sketch.try_clone().unwrap(),
                Step::Restart => {
                    let mut fields = fields(&sketch).into_iter();
                    sketch = CountMinSketch::decode_windowed(&mut fields).unwrap();
                }
            }
            prop_assert_eq!(sketch.digest(), replica.digest());
        }
        for now in [latest, latest + later] {
            for item in 0..6 {
                let expected = exact(&history, now, item);
                prop_assert_eq!(estimate(&sketch, now, &[item]), expected);
            }
        }
    }
}
