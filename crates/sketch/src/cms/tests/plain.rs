//! Counting, merging and copying.

use super::*;
use proptest::prelude::*;
use std::collections::HashMap;

/// Items of a few names, so that they meet again; increments of both signs, many of them near a
/// counter's end.
pub(super) fn items() -> impl Strategy<Value = Vec<(Vec<u8>, i64)>> {
    let ends = prop::sample::select(CellSize::ALL.map(|size| size.max() as i64).to_vec());
    let increment = prop_oneof![
        6 => 0..100_i64,
        2 => -100..0_i64,
        2 => (ends, -150..3_i64).prop_map(|(end, more)| end.saturating_add(more)),
        1 => any::<i64>(),
    ];
    let name = prop_oneof![
        (0..50_u8).prop_map(|name| vec![name]),
        prop::collection::vec(any::<u8>(), 0..20)
    ];
    prop::collection::vec((name, increment), 0..80)
}

pub(super) fn sizes() -> impl Strategy<Value = CellSize> {
    prop::sample::select(&CellSize::ALL[..])
}

/// Shapes with and without prefetch, of few rows and of more than a group has room for.
fn shapes() -> impl Strategy<Value = (u64, u64)> {
    prop_oneof![
        (1..60_u64, 1..12_u64),
        (10_000..40_000_u64, 1..12_u64),
        Just((1_000, 90)),
        Just((2, 300)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_sketch_counts_as_its_twin_one_by_one_and_in_batches(
        (width, depth) in shapes(),
        size in sizes(),
        items in items(),
    ) {
        let (mut single, mut many) = (sized(width, depth, size), sized(width, depth, size));
        let mut twin = Plain::new(width, depth, size.bytes());
        let expected: Vec<Counted> =
            items.iter().map(|(item, by)| counted(twin.increment(item, *by))).collect();
        let singles: Vec<Counted> =
            items.iter().map(|(item, by)| increment(&mut single, item, *by)).collect();
        prop_assert_eq!(&singles, &expected);
        let batch = increment_many(&mut many, &items, OutOfRange::Skip);
        prop_assert_eq!(batch, expected);
        prop_assert!(is_like(&twin, &single) && is_like(&twin, &many));
        prop_assert_eq!(single.digest(), many.digest());

        let names = items.iter().map(|(item, _)| item.as_slice());
        let estimates = estimate_many(&many, names.clone());
        let one_by_one: Vec<u64> = names.clone().map(|item| estimate(&many, item)).collect();
        let expected: Vec<u64> = names.map(|item| twin.estimate(item)).collect();
        prop_assert_eq!(&estimates, &one_by_one);
        prop_assert_eq!(&estimates, &expected);
    }

    #[test]
    fn an_estimate_is_never_too_low(items in items(), width in 1..9_u64) {
        let mut sketch = sketch(width, 3);
        let mut exact = HashMap::new();
        for (item, by) in &items {
            // Whoever takes back what was not counted lowers the estimates of others.
            let count: &mut i64 = exact.entry(item).or_default();
            if *by >= -*count && increment(&mut sketch, item, *by).is_ok() {
                *count += by;
            }
        }
        for (item, count) in exact {
            prop_assert!(estimate(&sketch, item) >= count as u64);
        }
    }

    #[test]
    fn a_saved_sketch_is_loaded_as_it_was(
        (width, depth) in shapes(),
        size in sizes(),
        items in items(),
    ) {
        let mut sketch = sized(width, depth, size);
        let mut twin = Plain::new(width, depth, size.bytes());
        for (item, by) in &items {
            prop_assert_eq!(increment(&mut sketch, item, *by), counted(twin.increment(item, *by)));
        }
        for version in [Version::Zero, Version::One] {
            let mut fields = Vec::new();
            sketch.save_as(version, &mut fields).unwrap();
            let loaded = CountMinSketch::decode(version, &mut fields.clone().into_iter()).unwrap();
            prop_assert_eq!(loaded.digest(), sketch.digest());
            let allocated = |sketch| whole(sketch).counters.allocated();
            prop_assert!(allocated(&loaded) <= allocated(&sketch));
            let number = u64::from(version == Version::One);
            let described = Plain::of_fields(number, &mut fields.clone().into_iter());
            prop_assert_eq!(described.map(|twin| twin.fields()), Some(twin.fields()));
            prop_assert!(version == Version::Zero || fields == twin.fields());
            prop_assert_eq!(fields.len() == 4, version == Version::Zero && size == CellSize::Four);
        }
    }

    #[test]
    fn a_sum_of_sketches_is_that_of_their_counters(
        sources in prop::collection::vec((items(), -3..4_i64), 1..4),
        width in prop_oneof![Just(1), Just(7), Just(20_000)],
        size in sizes(),
    ) {
        let filled = |items: &Vec<(Vec<u8>, i64)>| {
            let mut source = sized(width, 2, size);
            for (item, by) in items {
                let _ = increment(&mut source, item, *by % 1_000);
            }
            source
        };
        let sketches: Vec<(CountMinSketch, i64)> =
            sources.iter().map(|(items, weight)| (filled(items), *weight)).collect();
        let borrowed: Vec<_> = sketches.iter().map(|(source, weight)| (source, *weight)).collect();
        let merged = CountMinSketch::merged(Shape::new(width, 2, size).unwrap(), &borrowed);
        let sum = |value: &dyn Fn(&CountMinSketch) -> u64| -> i64 {
            sketches.iter().map(|(source, weight)| value(source) as i64 * weight).sum()
        };
        let cells: Vec<i64> =
            (0..2 * width).map(|cell| sum(&|source| counter(source, cell))).collect();
        match merged {
            Ok(merged) => {
                prop_assert_eq!(merged.count(0) as i64, sum(&|source| source.count(0)));
                for (cell, sum) in (0..).zip(cells) {
                    prop_assert_eq!(counter(&merged, cell) as i64, sum);
                }
            }
            Err(error) => {
                prop_assert_eq!(error, MergeError::Overflow);
                prop_assert!(cells.iter().any(|sum| *sum < 0 || *sum as u64 > size.max()));
            }
        }
    }
}

#[test]
fn sums_overflow_where_redisbloom_says_so() {
    // Asked of its server: the largest value that is a sum on the way counts, not only the last.
    let most = i64::from(u32::MAX);
    let mut full = sketch(5, 2);
    increment(&mut full, b"x", most).unwrap();
    let shape = full.shape();
    let merged = |weights: &[i64]| {
        let sources: Vec<_> = weights.iter().map(|weight| (&full, *weight)).collect();
        CountMinSketch::merged(shape, &sources).map(|sketch| estimate(&sketch, b"x") as i64)
    };
    assert_eq!(merged(&[1]), Ok(most));
    assert_eq!(merged(&[2, -1]), Ok(most));
    assert_eq!(merged(&[-1, 2]), Ok(most));
    assert_eq!(merged(&[1, 1]), Err(MergeError::Overflow));
    assert_eq!(merged(&[-1]), Err(MergeError::Overflow));
    assert_eq!(merged(&[i64::MAX, -i64::MAX + 1]), Err(MergeError::Overflow));
    // A count that has stopped, which counters of this size cannot reach.
    let fields = [5, 1, MAX_COUNT].map(Field::Unsigned).into_iter();
    let fields: Vec<Field> = fields.chain([Field::String(vec![0; 20])]).collect();
    let counted = CountMinSketch::decode(Version::Zero, &mut fields.into_iter()).unwrap();
    for (weights, count) in [
        (&[1][..], MAX_COUNT),
        // The count stops where RedisBloom's overflows, in every order of the sources.
        (&[2, -1], MAX_COUNT),
        (&[-1, 2], MAX_COUNT),
        (&[-1, 1], 0),
    ] {
        let sources: Vec<_> = weights.iter().map(|weight| (&counted, *weight)).collect();
        let merged =
            CountMinSketch::merged(counted.shape(), &sources).map(|merged| merged.count(0));
        assert_eq!(merged, Ok(count), "{weights:?}");
    }
}

#[test]
fn sketches_of_other_dimensions_or_cells_are_not_added() {
    let sum = |one: CountMinSketch, other: CountMinSketch| {
        CountMinSketch::merged(one.shape(), &[(&other, 1)]).err()
    };
    assert_eq!(sum(sketch(1, 5), sketch(5, 1)), Some(MergeError::Dimensions));
    let of_one = || sized(1, 5, CellSize::One);
    assert_eq!(sum(of_one(), sketch(5, 1)), Some(MergeError::Dimensions));
    assert_eq!(sum(of_one(), sketch(1, 5)), Some(MergeError::CellSize));
    assert_eq!(sum(of_one(), of_one()), None);
}

#[test]
fn the_largest_cells_are_summed_to_their_end() {
    let mut full = sized(5, 2, CellSize::Eight);
    increment(&mut full, b"x", i64::MAX).unwrap();
    let merged = |weights: &[i64]| {
        let sources: Vec<_> = weights.iter().map(|weight| (&full, *weight)).collect();
        CountMinSketch::merged(full.shape(), &sources).map(|sketch| estimate(&sketch, b"x"))
    };
    assert_eq!(merged(&[1]), Ok(MAX_COUNT));
    for weights in [&[2][..], &[1, 1], &[-1]] {
        assert_eq!(merged(weights), Err(MergeError::Overflow));
    }
}

#[test]
fn a_copy_lives_its_own_life() {
    let mut original = sketch(50_000, 3);
    increment(&mut original, b"x", 1).unwrap();
    let mut copy = original.try_clone().unwrap();
    assert_eq!(copy.digest(), original.digest());
    increment(&mut copy, b"x", 1).unwrap();
    increment(&mut original, b"y", 1).unwrap();
    assert_eq!((estimate(&original, b"x"), estimate(&copy, b"x")), (1, 2));
    assert_eq!((estimate(&original, b"y"), estimate(&copy, b"y")), (1, 0));
}

#[test]
fn a_digest_ignores_which_zeros_are_allocated() {
    let (empty, mut touched) = (sketch(50_000, 3), sketch(50_000, 3));
    increment(&mut touched, b"x", 0).unwrap();
    assert!(whole(&touched).counters.allocated() > whole(&empty).counters.allocated());
    assert_eq!(touched.digest(), empty.digest());
    assert_ne!(touched.digest(), sketch(150, 1_000).digest());
    assert_ne!(touched.digest(), sized(50_000, 3, CellSize::One).digest());
}

#[test]
fn memory_moves_without_a_change() {
    /// Moves everything, and stops after each block.
    struct Stopping;
    impl Mover for Stopping {
        fn relocate<T>(&mut self, elements: Vec<T>) -> Vec<T> {
            let mut moved = Vec::with_capacity(elements.len());
            moved.extend(elements);
            moved
        }
        fn should_stop(&mut self) -> bool {
            true
        }
    }
    for window in [None, Span::new(4, 2)] {
        let shape = Shape::new(50_000, 3, CellSize::Four).unwrap();
        let mut sketch = CountMinSketch::new(shape, window).unwrap();
        for item in 0..100_u8 {
            let (pair, now) = ((&[item][..], 1), 20_000 + 50 * u64::from(item));
            let open = sketch.open(now, drop).unwrap();
            open.increment_many([pair].into_iter(), OutOfRange::Skip, |_| ()).unwrap();
        }
        let (digest, mut from, mut steps) = (sketch.digest(), 0, 0);
        while let Some(next) = sketch.relocate(from, &mut Stopping) {
            (from, steps) = (next.get(), steps + 1);
        }
        let parts = || sketch.body.slots().flatten();
        assert_eq!(parts().count() as u64, sketch.body.most_parts());
        let segments = parts().map(|part| part.counters.allocated()).sum::<usize>();
        let ends = if window.is_some() { parts().count() } else { 0 }; // of slices
        assert_eq!((sketch.digest(), steps), (digest, segments + ends));
    }
}
