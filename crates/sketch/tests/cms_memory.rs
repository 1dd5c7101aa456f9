//! Count-min sketches while memory is short: a change happens whole or not at all, and no byte
//! leaks.

use splitbloom_foundation::fields::{Field, FieldSink};
use splitbloom_foundation::span::Span;
use splitbloom_foundation::OutOfMemory;
use splitbloom_sketch::cms::{
    CellSize, CountMinSketch, Counted, MergeError, OutOfRange, Shape, Version,
};
use splitbloom_sketch::{DecodeError, Part, Sketch};
use splitbloom_test_allocator::{meter, refusal, TestAllocator};

#[global_allocator]
static ALLOCATOR: TestAllocator = TestAllocator;

const SEGMENT_BYTES: usize = 64 << 10;

/// Seven rows in seven segments.
fn shape() -> Shape {
    Shape::new(16_384, 7, CellSize::Four).unwrap()
}

fn empty() -> CountMinSketch {
    CountMinSketch::new(shape(), None).unwrap()
}

/// Counts items at `now`. Calls `answer` with what becomes of each.
fn increment_many<'a>(
    sketch: &mut CountMinSketch,
    now: u64,
    items: impl Iterator<Item = (&'a [u8], i64)>,
    answer: impl FnMut(Counted),
) -> Result<(), OutOfMemory> {
    sketch.open(now, drop)?.increment_many(items, OutOfRange::Skip, answer)
}

fn increment(sketch: &mut CountMinSketch, item: &[u8], by: i64) -> Result<Counted, OutOfMemory> {
    let mut counted = None;
    increment_many(sketch, 0, std::iter::once((item, by)), |answer| counted = Some(answer))?;
    Ok(counted.unwrap())
}

fn filled(items: std::ops::Range<u64>) -> CountMinSketch {
    let mut sketch = empty();
    for item in items {
        increment(&mut sketch, &item.to_le_bytes(), 1).unwrap().unwrap();
    }
    sketch
}

/// Fields that are not kept.
struct Nowhere;

impl FieldSink for Nowhere {
    fn unsigned(&mut self, _: u64) {}
    fn signed(&mut self, _: i64) {}
    fn double(&mut self, _: f64) {}
    fn string(&mut self, _: &[u8]) {}
}

#[test]
fn an_increment_touches_all_its_counters_or_none() {
    let counts = |sketch: &mut CountMinSketch| increment(sketch, b"item", 5).is_ok();
    let refused = refusal::at_every(empty, counts, CountMinSketch::digest);
    assert_eq!(refused, 21, "a list for each row, its numbers and its lines");
}

#[test]
fn estimates_in_a_sketch_of_any_depth_take_no_memory() {
    let deep = Shape::saved(1, 1 << 22, CellSize::One).unwrap();
    let sketch = CountMinSketch::new(deep, None).unwrap();
    let estimate = || sketch.estimate_many([&b"item"[..]].into_iter(), 0, |_| ());
    let (estimated, taken) = meter::measured(estimate);
    assert_eq!((estimated, taken.peak), (Ok(()), 0));
}

#[test]
fn a_batch_counts_those_answered_and_no_others() {
    let items: Vec<[u8; 8]> = (0..50_u64).map(u64::to_le_bytes).collect();
    for refused in 0..20 {
        let (mut sketch, mut answered) = (empty(), 0);
        let pairs = items.iter().map(|item| (&item[..], 1));
        let batch = || increment_many(&mut sketch, 0, pairs, |_| answered += 1);
        let (result, was_refused) = refusal::of_the_nth(refused, batch);
        assert_eq!(result.is_err(), was_refused);
        assert_eq!(sketch.digest(), filled(0..answered).digest());
        assert_eq!(sketch.count(0), answered);
    }
}

#[test]
fn a_copy_needs_no_memory_for_counters_before_one_of_the_two_changes() {
    let mut original = filled(0..1_000); // its segments are whole
    let copy = refusal::of_blocks_from(SEGMENT_BYTES, || original.try_clone());
    let mut copy = copy.unwrap();
    assert_eq!(copy.digest(), original.digest());
    refusal::of_blocks_from(SEGMENT_BYTES, || {
        assert_eq!(increment(&mut copy, b"new", 1), Err(OutOfMemory));
        assert_eq!(increment(&mut original, b"new", 1), Err(OutOfMemory));
    });
    assert_eq!(copy.digest(), original.digest());
    drop(copy);
    refusal::of_blocks_from(SEGMENT_BYTES, || {
        let counted = increment(&mut original, b"new", 1);
        assert_eq!(counted, Ok(Ok(1)), "nobody else has its segments");
    });
}

#[test]
fn copies_sums_and_saves_that_are_refused_change_nothing() {
    let copies = |sketch: &mut CountMinSketch| sketch.try_clone().is_ok();
    let refused = refusal::at_every(|| filled(0..100), copies, CountMinSketch::digest);
    assert_eq!(refused, 8, "the slots, and the owners of each segment");
    let refused = refusal::at_every(
        || filled(0..100),
        |sketch| {
            let merged = CountMinSketch::merged(shape(), &[(sketch, 2), (sketch, 1)]);
            assert!(merged.is_ok() || merged.err() == Some(MergeError::OutOfMemory));
            let merged = CountMinSketch::merged(shape(), &[(sketch, 2), (sketch, 1)]);
            merged.map(|merged| *sketch = merged).is_ok()
        },
        CountMinSketch::digest,
    );
    assert_eq!(refused, 46, "the slots, the sums, and three blocks of each segment, twice");
    let refused = refusal::at_every(
        || filled(0..100),
        |sketch| sketch.save(&mut Nowhere).is_ok(),
        CountMinSketch::digest,
    );
    assert_eq!(refused, 1);
}

#[test]
fn a_load_that_is_refused_leaves_nothing() {
    let mut saved: Vec<Field> = Vec::new();
    filled(0..100).save(&mut saved).unwrap();
    let held = meter::bytes_held();
    for refused in 0..8 {
        let mut fields = saved.clone().into_iter();
        let load = || CountMinSketch::decode(Version::Zero, &mut fields);
        let (loaded, was_refused) = refusal::of_the_nth(refused, load);
        assert!(was_refused && loaded.err() == Some(DecodeError::OutOfMemory));
    }
    assert_eq!(meter::bytes_held(), held);
}

#[test]
fn memory_for_a_load_is_bounded_by_its_bytes() {
    let segment = vec![1; SEGMENT_BYTES];
    for (width, depth) in [(1, 16_384), (16_384, 1), (3, 5_000), (5, 1)] {
        let bytes = &segment[..4 * width as usize * depth as usize];
        let fields = [Field::Unsigned(width), Field::Unsigned(depth), Field::Unsigned(1)];
        let mut fields: Vec<_> = fields.into();
        fields.push(Field::String(bytes.to_vec()));
        let mut fields = fields.into_iter();
        let (sketch, taken) =
            meter::measured(|| CountMinSketch::decode(Version::Zero, &mut fields).unwrap());
        // Rounded up to a cache line, and a slot for the segment.
        assert!(taken.peak <= bytes.len() as isize + 64 + 64, "{taken:?}");
        drop(sketch);
    }
    // No bytes, no memory.
    let mut fields = vec![Field::Unsigned(1 << 16); 3].into_iter();
    let (refused, taken) =
        meter::measured(|| CountMinSketch::decode(Version::Zero, &mut fields).err());
    assert_eq!((refused, taken.peak), (Some(DecodeError::Length), 0));
}

#[test]
fn a_windowed_increment_that_is_refused_only_advances_the_time() {
    let prepare = || {
        let mut sketch = CountMinSketch::new(shape(), Span::new(4, 4)).unwrap();
        let item = || std::iter::once((&b"item"[..], 1));
        increment_many(&mut sketch, 10_000, item(), |_| ()).unwrap();
        increment_many(&mut sketch, 12_000, item(), |_| ()).unwrap();
        // So that only the slice is new, and not the time, which may advance without the item.
        assert!(sketch.open(13_000, drop).is_ok());
        sketch
    };
    let work = |sketch: &mut CountMinSketch| {
        increment_many(sketch, 13_000, [(&b"other"[..], 2)].into_iter(), |_| ()).is_ok()
    };
    let refused = refusal::at_every(prepare, work, CountMinSketch::digest);
    assert!(refused > 7, "room for groups, and a segment for each row");
}
