//! Increments that do not fit, against a model of Redis 8.12's rules, and against one of the rules
//! before it.

use super::*;
use proptest::prelude::*;
use std::env;

/// Steps of the long model, unless `SPLITBLOOM_TRIALS` says how many.
const FEW: u64 = 20_000;

/// A number that depends on `state` alone (SplitMix64).
fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// An increment: mostly of a size that brings counters to both of their ends now and then.
fn increment_of(state: &mut u64, size: CellSize) -> i64 {
    let bits = draw(state) % (8 * size.bytes());
    let number = (draw(state) >> (63 - bits)) as i64;
    match draw(state) % 8 {
        0 => draw(state) as i64,
        1 => size.max() as i64 - (draw(state) % 3) as i64,
        2..5 => number.wrapping_neg(),
        _ => number,
    }
}

#[test]
fn long_runs_of_increments_of_both_signs_keep_to_the_model() {
    let steps = env::var("SPLITBLOOM_TRIALS")
        .map_or(FEW, |steps| steps.parse().expect("SPLITBLOOM_TRIALS is a number"));
    for (seed, size) in (1..).zip(CellSize::ALL) {
        let (mut sketch, mut twin) = (sized(7, 3, size), Plain::new(7, 3, size.bytes()));
        let (mut state, mut overflows, mut underflows) = (seed, 0, 0);
        for step in 0..steps / 4 {
            let (item, by) = ([(draw(&mut state) % 20) as u8], increment_of(&mut state, size));
            let result = increment(&mut sketch, &item, by);
            assert_eq!(result, counted(twin.increment(&item, by)), "{size:?}, step {step}: {by}");
            overflows += u64::from(result == Err(RangeError::Overflow));
            underflows += u64::from(result == Err(RangeError::Underflow));
            if step % 64 == 0 {
                assert!(is_like(&twin, &sketch), "{size:?}, step {step}");
            }
        }
        assert!(is_like(&twin, &sketch));
        let fitting = steps / 4 - overflows - underflows;
        let is_mixed = [overflows, underflows, fitting].iter().all(|part| *part > steps / 80);
        assert!(is_mixed, "{size:?}: {overflows} above, {underflows} below, {fitting} fit");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn counters_that_stop_at_their_end_are_those_before_8_12(
        items in plain::items(),
        size in plain::sizes(),
        (width, depth) in (1..60_u64, 1..12_u64),
    ) {
        let mut twin = Plain::new(width, depth, size.bytes());
        let (mut single, mut many) = (sized(width, depth, size), sized(width, depth, size));
        let mut expected = Vec::new();
        for (item, by) in &items {
            expected.push(match u64::try_from(*by) {
                Ok(by) => Ok(twin.raise(item, by)),
                // Servers did not take them.
                Err(_) => counted(twin.increment(item, *by)),
            });
            let one = [(item.clone(), *by)];
            let result = increment_many(&mut single, &one, OutOfRange::Saturate);
            prop_assert_eq!(result.last(), expected.last());
        }
        let batch = increment_many(&mut many, &items, OutOfRange::Saturate);
        prop_assert_eq!(batch, expected);
        prop_assert!(is_like(&twin, &single) && is_like(&twin, &many));
    }
}

#[test]
fn an_increment_fits_up_to_the_last_one() {
    for size in CellSize::ALL {
        let mut sketch = sized(1_000, 4, size);
        let most = size.max() as i64;
        assert_eq!(increment(&mut sketch, b"x", most - 1), Ok(size.max() - 1));
        let digest = sketch.digest();
        for (by, error) in [
            (2, RangeError::Overflow),
            (i64::MAX, RangeError::Overflow),
            (-most, RangeError::Underflow),
            (i64::MIN, RangeError::Underflow),
        ] {
            assert_eq!(increment(&mut sketch, b"x", by), Err(error), "{size:?} {by}");
            assert_eq!(sketch.digest(), digest);
        }
        assert_eq!(increment(&mut sketch, b"y", -1), Err(RangeError::Underflow));
        assert_eq!(increment(&mut sketch, b"x", 1), Ok(size.max()));
        assert_eq!(increment(&mut sketch, b"x", -most), Ok(0));
        assert_eq!(sketch.digest(), sized(1_000, 4, size).digest());
    }
}

#[test]
fn the_sum_of_increments_has_an_end_of_its_own() {
    let mut sketch = sized(1_000, 4, CellSize::Eight);
    assert_eq!(increment(&mut sketch, b"x", i64::MAX), Ok(MAX_COUNT));
    assert_eq!(increment(&mut sketch, b"y", 1), Err(RangeError::Overflow));
    assert_eq!((sketch.count(0), estimate(&sketch, b"y")), (MAX_COUNT, 0));
    let more = increment_many(&mut sketch, &[(b"y".to_vec(), 1)], OutOfRange::Saturate);
    assert_eq!(more, [Ok(1)]);
    assert_eq!(sketch.count(0), MAX_COUNT);
}
