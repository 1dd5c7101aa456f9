//! Arbitrary bytes as a saved count-min sketch, and what comes then.
//!
//! The first byte says whether it is one with a window; then come its fields, and items with their
//! increments.

use super::twins::read_by_both;
use splitbloom_foundation::fields::{Field, Fields};
use splitbloom_oracles::count_min::{Plain, PlainWindow};
use splitbloom_oracles::stream::Stream;
use splitbloom_sketch::cms::table::Table;
use splitbloom_sketch::cms::windowed::Windowed;
use splitbloom_sketch::cms::{MergeError, Shape, SATURATED};
use splitbloom_test_allocator::meter::bytes_held;

/// What a sketch takes besides its bytes: 15 lists of the segments of half a gigabyte.
const MEMORY_BEFORE: isize = 15 * 8192 * 24 + 4096;
/// The most bytes that are held for a byte of input: counters, in whole cache lines.
const MEMORY_FACTOR: isize = 16;
/// A sketch of more rows than this takes the second reader long.
const MOST_ROWS: u64 = 512;
/// The most items: each may touch a segment for each row.
const MOST_ITEMS: usize = 8;

/// Any bytes are refused, or are a sketch that answers as the second reader's.
pub fn cms(bytes: &[u8]) {
    let Some((kind, rest)) = bytes.split_first() else {
        return;
    };
    let held = bytes_held();
    match kind % 2 {
        0 => plain(Stream(rest)),
        _ => windowed(Stream(rest)),
    }
    assert_eq!(bytes_held(), held);
}

/// The most bytes that may be held while these are read.
fn most_memory(given: Stream<'_>) -> isize {
    MEMORY_FACTOR * given.0.len() as isize + MEMORY_BEFORE
}

/// The next items and increments.
fn items<'a>(from: &mut Stream<'a>) -> Vec<(&'a [u8], u64)> {
    let mut items = Vec::new();
    while let (Some(len), true) = (from.number(1), items.len() < MOST_ITEMS) {
        let (Some(item), Some(increment)) = (from.take(len as usize % 40), from.unsigned()) else {
            break;
        };
        items.push((item, increment));
    }
    items
}

fn plain(mut fields: Stream<'_>) {
    let (most, twin) = (most_memory(fields), Plain::of_fields(&mut fields.clone()));
    let read = read_by_both(most, || Table::decode(&mut fields), twin);
    let Some((mut sketch, mut twin)) = read else {
        return;
    };
    if twin.depth > MOST_ROWS {
        return;
    }
    assert_is(&sketch, &twin);
    let mut copy = sketch.try_clone().expect("memory");
    let items = items(&mut fields);
    let mut answers: Vec<u64> = Vec::new();
    let batch = copy.increment_many(items.iter().copied(), |answer| answers.push(answer.into()));
    batch.expect("memory");
    assert_is(&sketch, &twin);
    let expected: Vec<u64> =
        items.iter().map(|(item, increment)| twin.increment(item, *increment)).collect();
    assert_eq!(answers, expected);
    assert_is(&copy, &twin);
    for (item, increment) in &items {
        sketch.increment(item, *increment).expect("memory");
        assert_eq!(u64::from(copy.estimate(item)), twin.estimate(item));
    }
    assert_eq!(sketch.digest(), copy.digest());
    let mut saved: Vec<Field> = Vec::new();
    copy.save(&mut saved).expect("memory");
    let numbers = [twin.width, twin.depth, twin.count].map(Field::Unsigned);
    assert_eq!(saved[..3], numbers);
    let loaded = Table::decode(&mut saved.into_iter()).expect("what was saved");
    assert_eq!(loaded.digest(), copy.digest());
    sum_with_itself(&copy, &twin);
}

/// The sketch has the dimensions, the count and the counters of the other.
fn assert_is(sketch: &Table, twin: &Plain) {
    let shape = Shape::saved(twin.width, twin.depth);
    assert_eq!((Ok(sketch.shape()), sketch.count()), (shape, twin.count));
    let counters = (0..sketch.shape().cells()).map(|cell| (cell, sketch.counters().get(cell)));
    let present: Vec<(u64, u32)> = counters.filter(|(_, counter)| *counter != 0).collect();
    let expected: Vec<(u64, u32)> =
        twin.counters.iter().map(|(cell, counter)| (*cell, *counter)).collect();
    let expected: Vec<_> = expected.into_iter().filter(|(_, counter)| *counter != 0).collect();
    assert_eq!(present, expected);
}

/// Three times the sketch less twice the sketch is the sketch, unless a sum overflows; that it is
/// twice depends on its largest counter.
fn sum_with_itself(sketch: &Table, twin: &Plain) {
    let sum = |weights: &[i64]| {
        let sources: Vec<_> = weights.iter().map(|weight| (sketch, *weight)).collect();
        Table::merged(sketch.shape(), &sources)
    };
    if twin.count < 1 << 61 {
        let same = sum(&[3, -2]).map(|sum| sum.digest());
        assert_eq!(same, Ok(sketch.digest()));
        let largest = twin.counters.values().max().copied().unwrap_or(0);
        let doubled = sum(&[1, 1]);
        assert_eq!(doubled.is_ok(), largest <= SATURATED / 2);
        if let Err(error) = doubled {
            assert_eq!(error, MergeError::Overflow);
        }
    }
}

fn windowed(mut fields: Stream<'_>) {
    let (most, twin) = (most_memory(fields), PlainWindow::of_fields(&mut fields.clone()));
    let read = read_by_both(most, || Windowed::decode(&mut fields), twin);
    let Some((mut sketch, mut twin)) = read else {
        return;
    };
    let span = sketch.span();
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
            let mut answers: Vec<u64> = Vec::new();
            let pairs = items.iter().copied();
            let batch = copy.increment_many(pairs, now, |answer| answers.push(answer.into()), drop);
            batch.expect("memory");
            let each = items.iter().map(|(item, by)| twin.increment(now, item, *by));
            assert_eq!(answers, each.collect::<Vec<u64>>());
        }
        let later = now.saturating_add(span.slice());
        for now in [now, later] {
            let mut estimates: Vec<u64> = Vec::new();
            let names = items.iter().map(|(item, _)| *item);
            let all = copy.estimate_many(names.clone(), now, |one| estimates.push(one.into()));
            all.expect("memory");
            let each = names.map(|item| twin.estimate(now, item));
            assert_eq!(estimates, each.collect::<Vec<u64>>());
            assert_eq!(copy.count(now), twin.count(now));
        }
    }
    assert_eq!((copy.latest(), sketch.digest()), (twin.slices.latest, digest));
    for sketch in [&mut sketch, &mut copy] {
        let mut saved: Vec<Field> = Vec::new();
        sketch.save(&mut saved).expect("memory");
        let loaded = Windowed::decode(&mut saved.into_iter()).expect("what was saved");
        assert_eq!(loaded.digest(), sketch.digest());
    }
}

#[cfg(test)]
crate::changed::test_laws!("cms", cms);
