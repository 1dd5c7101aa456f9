//! Counting, merging and copying.

use super::*;
use proptest::prelude::*;
use std::collections::HashMap;

/// Items of a few names, so that they meet again.
fn items() -> impl Strategy<Value = Vec<(Vec<u8>, u64)>> {
    let increment = prop_oneof![
        8 => 0..100_u64,
        1 => u64::from(u32::MAX) - 3..u64::from(u32::MAX) + 3,
        1 => any::<u64>(),
    ];
    let name = prop_oneof![
        (0..50_u8).prop_map(|name| vec![name]),
        prop::collection::vec(any::<u8>(), 0..20)
    ];
    prop::collection::vec((name, increment), 0..80)
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
        items in items(),
    ) {
        let (mut single, mut many) = (sketch(width, depth), sketch(width, depth));
        let mut twin = Plain::new(width, depth);
        let expected: Vec<u32> =
            items.iter().map(|(item, by)| twin.increment(item, *by) as u32).collect();
        let one = |(item, increment): &(Vec<u8>, u64)| single.increment(item, *increment);
        let singles: Result<Vec<u32>, _> = items.iter().map(one).collect();
        prop_assert_eq!(singles.as_ref(), Ok(&expected));
        let mut batch = Vec::new();
        let pairs = items.iter().map(|(item, increment)| (item.as_slice(), *increment));
        many.increment_many(pairs, |estimate| batch.push(estimate)).unwrap();
        prop_assert_eq!(batch, expected);
        prop_assert!(is_like(&twin, &single) && is_like(&twin, &many));
        prop_assert_eq!(single.digest(), many.digest());

        let mut estimates = Vec::new();
        let names = items.iter().map(|(item, _)| item.as_slice());
        many.estimate_many(names.clone(), |estimate| estimates.push(estimate)).unwrap();
        let one_by_one: Vec<u32> = names.clone().map(|item| many.estimate(item)).collect();
        let expected: Vec<u32> = names.map(|item| twin.estimate(item) as u32).collect();
        prop_assert_eq!(&estimates, &one_by_one);
        prop_assert_eq!(&estimates, &expected);
    }

    #[test]
    fn an_estimate_is_never_too_low(items in items(), width in 1..9_u64) {
        let mut sketch = sketch(width, 3);
        let mut exact = HashMap::new();
        for (item, increment) in &items {
            sketch.increment(item, *increment).unwrap();
            let count = exact.entry(item).or_insert(0_u64);
            *count = count.saturating_add(*increment);
        }
        for (item, count) in exact {
            let estimate = sketch.estimate(item);
            prop_assert!(u64::from(estimate) >= count || estimate == SATURATED);
        }
    }

    #[test]
    fn a_saved_sketch_is_loaded_as_it_was(
        (width, depth) in shapes(),
        items in items(),
    ) {
        let mut sketch = sketch(width, depth);
        for (item, increment) in &items {
            sketch.increment(item, *increment).unwrap();
        }
        let fields = fields(&sketch);
        let loaded = Table::decode(&mut fields.clone().into_iter()).unwrap();
        prop_assert_eq!(loaded.digest(), sketch.digest());
        prop_assert_eq!(super::fields(&loaded), fields);
        prop_assert!(loaded.counters().allocated() <= sketch.counters().allocated());
    }

    #[test]
    fn a_sum_of_sketches_is_that_of_their_counters(
        sources in prop::collection::vec((items(), -3..4_i64), 1..4),
        width in prop_oneof![Just(1), Just(7), Just(20_000)],
    ) {
        let filled = |items: &Vec<(Vec<u8>, u64)>| {
            let mut source = sketch(width, 2);
            for (item, increment) in items {
                source.increment(item, *increment % 1_000).unwrap();
            }
            source
        };
        let sketches: Vec<(Table, i64)> =
            sources.iter().map(|(items, weight)| (filled(items), *weight)).collect();
        let borrowed: Vec<_> = sketches.iter().map(|(source, weight)| (source, *weight)).collect();
        let merged = Table::merged(Shape::new(width, 2).unwrap(), &borrowed);
        let sum = |value: &dyn Fn(&Table) -> u64| -> i64 {
            sketches.iter().map(|(source, weight)| value(source) as i64 * weight).sum()
        };
        let cells: Vec<i64> =
            (0..2 * width).map(|cell| sum(&|source| source.counters().get(cell).into())).collect();
        match merged {
            Ok(merged) => {
                prop_assert_eq!(merged.count() as i64, sum(&Table::count));
                for (cell, sum) in (0..).zip(cells) {
                    prop_assert_eq!(i64::from(merged.counters().get(cell)), sum);
                }
            }
            Err(error) => {
                prop_assert_eq!(error, MergeError::Overflow);
                prop_assert!(cells.iter().any(|sum| *sum < 0));
            }
        }
    }
}

#[test]
fn sums_overflow_where_redisbloom_says_so() {
    // Asked of its server: the largest value that is a sum on the way counts, not only the last.
    let mut full = sketch(5, 2);
    full.increment(b"x", u64::from(u32::MAX)).unwrap();
    let shape = full.shape();
    let merged = |weights: &[i64]| {
        let sources: Vec<_> = weights.iter().map(|weight| (&full, *weight)).collect();
        Table::merged(shape, &sources).map(|sketch| sketch.estimate(b"x"))
    };
    assert_eq!(merged(&[1]), Ok(u32::MAX));
    assert_eq!(merged(&[2, -1]), Ok(u32::MAX));
    assert_eq!(merged(&[-1, 2]), Ok(u32::MAX));
    assert_eq!(merged(&[1, 1]), Err(MergeError::Overflow));
    assert_eq!(merged(&[-1]), Err(MergeError::Overflow));
    assert_eq!(merged(&[i64::MAX, -i64::MAX + 1]), Err(MergeError::Overflow));
    let mut counted = sketch(5, 1);
    counted.increment(b"x", i64::MAX as u64).unwrap();
    let (shape, once) = (counted.shape(), [(&counted, 1)]);
    let count = Table::merged(shape, &once).map(|sketch| sketch.count());
    assert_eq!(count, Ok(i64::MAX as u64));
    // The count stops where RedisBloom's overflows, in every order of the sources.
    for (weights, count) in [([2, -1], MAX_COUNT), ([-1, 2], MAX_COUNT), ([-1, 1], 0)] {
        let sources = weights.map(|weight| (&counted, weight));
        let merged = Table::merged(shape, &sources).map(|merged| merged.count());
        assert_eq!(merged, Ok(count), "{weights:?}");
    }
    let other = Table::merged(sketch(1, 5).shape(), &[(&counted, 1)]);
    assert_eq!(other.err(), Some(MergeError::Dimensions));
}

#[test]
fn a_copy_lives_its_own_life() {
    let mut original = sketch(50_000, 3);
    original.increment(b"x", 1).unwrap();
    let mut copy = original.try_clone().unwrap();
    assert_eq!(copy.digest(), original.digest());
    copy.increment(b"x", 1).unwrap();
    original.increment(b"y", 1).unwrap();
    assert_eq!((original.estimate(b"x"), copy.estimate(b"x")), (1, 2));
    assert_eq!((original.estimate(b"y"), copy.estimate(b"y")), (1, 0));
}

#[test]
fn a_digest_ignores_which_zeros_are_allocated() {
    let (empty, mut touched) = (sketch(50_000, 3), sketch(50_000, 3));
    touched.increment(b"x", 0).unwrap();
    assert!(touched.counters().allocated() > empty.counters().allocated());
    assert_eq!(touched.digest(), empty.digest());
    assert_ne!(touched.digest(), sketch(150, 1_000).digest());
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
    let mut sketch = sketch(50_000, 3);
    for item in 0..100_u8 {
        sketch.increment(&[item], 1).unwrap();
    }
    let (digest, mut from, mut steps) = (sketch.digest(), 0, 0);
    while let Some(next) = sketch.relocate(from, &mut Stopping) {
        (from, steps) = (next.get(), steps + 1);
    }
    assert_eq!((sketch.digest(), steps), (digest, sketch.counters().allocated()));
}
