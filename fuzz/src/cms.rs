//! Arbitrary bytes as a saved count-min sketch, and what comes then.
//!
//! The first byte says whether the sketch has a window, and if not, its encoding version; then come
//! its fields, and items with their increments, which may be negative.

use super::twins::{self, read_by_both};
use splitbloom_foundation::fields::{Field, Fields};
use splitbloom_oracles::count_min::{Misfit, Plain, PlainWindow};
use splitbloom_oracles::stream::Stream;
use splitbloom_sketch::cms::{
    CellSize, CountMinSketch, Counted, MergeError, OutOfRange, RangeError, Shape, Version,
};
use splitbloom_sketch::{Part, Sketch};
use splitbloom_test_allocator::meter::bytes_held;

/// What a sketch takes besides its bytes: 15 lists of the segments of half a gigabyte.
const MEMORY_BEFORE: isize = 15 * 8192 * 24 + 4096;
/// The most bytes that are held for a byte of input: counters, in whole cache lines.
const MEMORY_FACTOR: isize = 16;
/// The second reader takes long for a sketch of more rows than this.
const MOST_ROWS: u64 = 512;
/// The most items: each may touch a segment for each row.
const MOST_ITEMS: usize = 8;

/// Any bytes are refused, or are a sketch that answers as the second reader's.
pub fn cms(bytes: &[u8]) {
    let Some((kind, rest)) = bytes.split_first() else {
        return;
    };
    let held = bytes_held();
    match kind % 3 {
        0 => plain(Version::Zero, Stream(rest)),
        1 => windowed(Stream(rest)),
        _ => plain(Version::One, Stream(rest)),
    }
    assert_eq!(bytes_held(), held);
}

/// The most bytes that may be held while these are read.
fn most_memory(given: Stream<'_>) -> isize {
    MEMORY_FACTOR * given.0.len() as isize + MEMORY_BEFORE
}

/// The next items and increments.
fn items<'a>(from: &mut Stream<'a>) -> Vec<(&'a [u8], i64)> {
    twins::items(from, MOST_ITEMS, |from| from.unsigned().map(u64::cast_signed))
}

/// Translates a result of the second reader's sketch into the core's type.
fn counted(by_twin: Result<u64, Misfit>) -> Counted {
    by_twin.map_err(|misfit| match misfit {
        Misfit::TooLarge => RangeError::Overflow,
        Misfit::Negative => RangeError::Underflow,
    })
}

fn plain(version: Version, mut fields: Stream<'_>) {
    let number = u64::from(version == Version::One);
    let (most, twin) = (most_memory(fields), Plain::of_fields(number, &mut fields.clone()));
    let read = read_by_both(most, || CountMinSketch::decode(version, &mut fields), twin);
    let Some((mut sketch, mut twin)) = read else {
        return;
    };
    if twin.depth > MOST_ROWS {
        return;
    }
    assert_is(&sketch, &twin);
    let mut copy = sketch.try_clone().expect("memory");
    let items = items(&mut fields);
    let answers = increment(&mut copy, 0, &items);
    assert_is(&sketch, &twin);
    let expected: Vec<Counted> =
        items.iter().map(|(item, by)| counted(twin.increment(item, *by))).collect();
    assert_eq!(answers, expected);
    assert_is(&copy, &twin);
    for (item, by) in &items {
        increment(&mut sketch, 0, &[(*item, *by)]);
    }
    assert!(estimates(&copy, 0, &items).eq(items.iter().map(|(item, _)| twin.estimate(item))));
    assert_eq!(sketch.digest(), copy.digest());
    for version in [Version::Zero, Version::One] {
        let mut saved: Vec<Field> = Vec::new();
        copy.save_as(version, &mut saved).expect("memory");
        let fields = match (version, twin.size) {
            (Version::One, _) => twin.fields().len(),
            (Version::Zero, 4) => 4,
            (Version::Zero, _) => 6,
        };
        assert_eq!(saved.len(), fields);
        assert!(version == Version::Zero || saved == twin.fields());
        let loaded =
            CountMinSketch::decode(version, &mut saved.into_iter()).expect("what was saved");
        assert_eq!(loaded.digest(), copy.digest());
    }
    sum_with_itself(&copy, &twin);
}

/// Counts items, and returns what becomes of each.
fn increment(sketch: &mut CountMinSketch, now: u64, items: &[(&[u8], i64)]) -> Vec<Counted> {
    let (mut answers, items) = (Vec::new(), items.iter().copied());
    let open = sketch.open(now, drop).expect("memory");
    let counted = open.increment_many(items, OutOfRange::Skip, |answer| answers.push(answer));
    counted.expect("memory");
    answers
}

/// The estimates of items.
fn estimates(
    sketch: &CountMinSketch,
    now: u64,
    items: &[(&[u8], i64)],
) -> impl Iterator<Item = u64> {
    let (mut estimates, items) = (Vec::new(), items.iter().map(|(item, _)| *item));
    sketch.estimate_many(items, now, |one| estimates.push(one)).expect("memory");
    estimates.into_iter()
}

/// The sketch has the dimensions, the count and the counters of the other.
fn assert_is(sketch: &CountMinSketch, twin: &Plain) {
    let size = CellSize::of(twin.size).expect("a size");
    let shape = Shape::saved(twin.width, twin.depth, size);
    assert_eq!((Ok(sketch.shape()), sketch.count(0)), (shape, twin.count));
    let mut saved: Vec<Field> = Vec::new();
    sketch.save_as(Version::One, &mut saved).expect("memory");
    assert!(saved == twin.fields());
}

/// Three times the sketch less twice the sketch is the sketch, unless a sum overflows; that it is
/// twice depends on its largest counter.
fn sum_with_itself(sketch: &CountMinSketch, twin: &Plain) {
    let sum = |weights: &[i64]| {
        let sources: Vec<_> = weights.iter().map(|weight| (sketch, *weight)).collect();
        CountMinSketch::merged(sketch.shape(), &sources)
    };
    let largest = twin.counters.values().max().copied().unwrap_or(0);
    if twin.count < 1 << 61 && largest < 1 << 61 {
        let same = sum(&[3, -2]).map(|sum| sum.digest());
        assert_eq!(same, Ok(sketch.digest()));
        let doubled = sum(&[1, 1]);
        assert_eq!(doubled.is_ok(), largest <= twin.most() / 2);
        if let Err(error) = doubled {
            assert_eq!(error, MergeError::Overflow);
        }
    }
}

fn windowed(mut fields: Stream<'_>) {
    let (most, twin) = (most_memory(fields), PlainWindow::of_fields(&mut fields.clone()));
    let read = read_by_both(most, || CountMinSketch::decode_windowed(&mut fields), twin);
    let Some((mut sketch, mut twin)) = read else {
        return;
    };
    let span = sketch.window().expect("a window");
    assert_eq!(
        (span.seconds().into(), span.slices().into()),
        (twin.slices.seconds, twin.slices.slices)
    );
    if sketch.shape().depth() > MOST_ROWS {
        return;
    }
    let digest = sketch.digest();
    let mut copy = sketch.try_clone().expect("memory");
    for _ in 0..4 {
        let Some(now) = fields.unsigned() else { break };
        let items = items(&mut fields);
        if !items.is_empty() {
            let answers = increment(&mut copy, now, &items);
            let each = items.iter().map(|(item, by)| counted(twin.increment(now, item, *by)));
            assert_eq!(answers, each.collect::<Vec<Counted>>());
        }
        let later = now.saturating_add(span.slice());
        for now in [now, later] {
            let each = items.iter().map(|(item, _)| twin.estimate(now, item));
            assert!(estimates(&copy, now, &items).eq(each));
            assert_eq!(copy.count(now), twin.count(now));
        }
    }
    assert_eq!((copy.latest(), sketch.digest()), (twin.slices.latest, digest));
    for sketch in [&mut sketch, &mut copy] {
        let mut saved: Vec<Field> = Vec::new();
        sketch.save(&mut saved).expect("memory");
        let loaded =
            CountMinSketch::decode_windowed(&mut saved.into_iter()).expect("what was saved");
        assert_eq!(loaded.digest(), sketch.digest());
    }
}
