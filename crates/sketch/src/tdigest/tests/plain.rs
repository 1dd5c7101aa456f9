//! Adding, asking and merging.

use super::twin::Twin;
use super::*;
use proptest::prelude::*;

/// Numbers of several kinds: all different, or equal to others, or of very different size.
fn numbers() -> impl Strategy<Value = Vec<f64>> {
    let number = prop_oneof![
        4 => -1e3..1e3,
        4 => (0..30_i32).prop_map(f64::from),
        1 => (-300..300_i32).prop_map(|exponent| 10_f64.powi(exponent)),
        1 => prop_oneof![Just(0.0), Just(-0.0), Just(5e-324)],
    ];
    let many = prop::collection::vec(-1.0..1.0, 300..900);
    prop_oneof![prop::collection::vec(number, 1..400), many]
}

/// Compressions whose capacity some of these numbers exceed many times.
fn compressions() -> impl Strategy<Value = u64> {
    prop_oneof![1..4_u64, 5..40_u64, Just(100)]
}

/// Fractions that fall on nodes, between them, and outside.
fn fractions_to_ask(weight: u64) -> impl Iterator<Item = f64> {
    let halves = (0..=weight.min(400)).map(move |half| half as f64 / weight as f64 / 2.0);
    let upper = (0..40).map(move |half| 1.0 - f64::from(half) / weight as f64 / 2.0);
    halves.chain(upper).chain(fractions(7).take(50)).filter(|q| (0.0..=1.0).contains(q))
}

/// Otherwise each would move all that are larger.
#[test]
fn numbers_that_come_one_by_one_wait_until_many_are_inserted_at_once() {
    let mut digest = digest_of(100_000, &(0..100_000).map(f64::from).collect::<Vec<_>>());
    let before = digest.nodes.num_singles();
    for number in 1..=500 {
        digest.add(&mut [f64::from(-number)]).unwrap();
    }
    assert_eq!((digest.nodes.num_singles(), digest.fresh.len()), (before, 500));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_digest_has_the_nodes_of_its_twin_whatever_the_batches(
        numbers in numbers(),
        compression in compressions(),
        batch in 1..300_usize,
    ) {
        let mut twin = Twin::new(compression);
        numbers.iter().for_each(|number| twin.add(*number));
        let mut digest = TDigest::new(super::compression(compression));
        for batch in numbers.chunks(batch) {
            digest.add(&mut batch.to_vec()).unwrap();
        }
        prop_assert!(twin.is_like(&digest));
        prop_assert_eq!(digest.weight(), numbers.len() as u64);
    }

    #[test]
    fn a_digest_answers_as_its_twin(numbers in numbers(), compression in compressions()) {
        let mut twin = Twin::new(compression);
        numbers.iter().for_each(|number| twin.add(*number));
        let twin = twin.settled();
        let digest = digest_of(compression, &numbers);
        let answers = digest.answers().unwrap();
        for q in fractions_to_ask(digest.weight()) {
            prop_assert_eq!(answers.quantile(q), Some(twin.quantile(q)), "{}", q);
        }
        let means = twin.nodes.iter().map(|node| node.0);
        let between = means.clone().zip(means.clone().skip(1)).map(|two| (two.0 + two.1) / 2.0);
        let outside = [digest.min().unwrap() - 1.0, digest.max().unwrap() + 1.0];
        for x in means.clone().chain(between).chain(outside) {
            prop_assert_eq!(answers.cdf(x), Some(twin.cdf(x)), "{}", x);
            prop_assert_eq!(answers.rank(x), Some(twin.rank(x)), "{}", x);
        }
        for (low, high) in [(0.0, 1.0), (0.1, 0.9), (0.0, 0.3), (0.35, 0.351), (0.98, 1.0)] {
            let mean = answers.trimmed_mean(low, high).unwrap();
            prop_assert!((mean - twin.trimmed_mean(low, high)).abs() <= mean.abs() * 1e-12);
        }
    }

    #[test]
    fn a_digest_without_a_pass_is_exact(numbers in prop::collection::vec(-1e3..1e3, 1..600)) {
        let digest = digest_of(100, &numbers);
        let answers = digest.answers().unwrap();
        let mut sorted = numbers;
        sorted.sort_by(f64::total_cmp);
        for (rank, number) in sorted.iter().enumerate() {
            prop_assert_eq!(answers.by_rank(rank as u64), Some(*number));
            let reverse = sorted.len() - rank - 1;
            prop_assert_eq!(answers.by_reverse_rank(reverse as u64), Some(*number));
        }
    }

    #[test]
    fn ranks_in_a_digest_without_a_pass_are_exact(
        numbers in prop::collection::vec((0..90_i32).prop_map(f64::from), 1..600),
    ) {
        let digest = digest_of(100, &numbers);
        let answers = digest.answers().unwrap();
        let (min, max) = (digest.min().unwrap(), digest.max().unwrap());
        for number in (0..90).map(f64::from).filter(|number| (min..=max).contains(number)) {
            let below = numbers.iter().filter(|other| **other < number).count();
            let equal = numbers.iter().filter(|other| **other == number).count();
            let rank = below + equal / 2;
            prop_assert_eq!(answers.rank(number), Some(rank as i64), "{}", number);
            let reverse = numbers.len() - (below + equal.div_ceil(2));
            prop_assert_eq!(answers.reverse_rank(number), Some(reverse as i64), "{}", number);
        }
    }

    #[test]
    fn quantiles_rise_with_the_fraction_and_undo_the_distribution(
        numbers in numbers(),
        compression in compressions(),
    ) {
        let digest = digest_of(compression, &numbers);
        let answers = digest.answers().unwrap();
        let mut fractions: Vec<f64> = fractions_to_ask(digest.weight()).collect();
        fractions.sort_by(f64::total_cmp);
        let numbers = fractions.iter().map(|q| answers.quantile(*q).unwrap());
        let numbers: Vec<f64> = numbers.collect();
        let slack = |number: f64| number.abs() * 1e-12; // interpolation is rounded
        prop_assert!(numbers.windows(2).all(|two| two[0] <= two[1] + slack(two[1])));
        let ends = (digest.min().unwrap(), digest.max().unwrap());
        prop_assert_eq!((numbers[0], numbers[numbers.len() - 1]), ends);
        let ranks = numbers.iter().map(|number| answers.cdf(*number).unwrap());
        let ranks: Vec<f64> = ranks.collect();
        prop_assert!(ranks.windows(2).all(|two| two[0] <= two[1] + 1e-9));
    }

    #[test]
    fn a_union_has_all_the_weight_and_keeps_the_ends(
        digests in prop::collection::vec((numbers(), compressions()), 1..5),
        compression in compressions(),
    ) {
        let mut union = TDigest::new(super::compression(compression));
        for (numbers, compression) in &digests {
            union.merge(&digest_of(*compression, numbers)).unwrap();
        }
        let all = || digests.iter().flat_map(|digest| digest.0.iter().copied());
        prop_assert_eq!(union.weight(), all().count() as u64);
        prop_assert_eq!(union.min(), all().reduce(f64::min));
        prop_assert_eq!(union.max(), all().reduce(f64::max));
        prop_assert!(union.num_nodes() <= union.compression().most_nodes());
        let saved = TDigest::decode(&mut fields(&union).into_iter()).unwrap();
        prop_assert_eq!(saved.digest(), union.digest());
    }

    #[test]
    fn a_saved_digest_goes_on_as_the_one_that_was_saved(
        numbers in numbers(),
        compression in compressions(),
        later in numbers(),
    ) {
        let mut digest = digest_of(compression, &numbers);
        let mut saved = TDigest::decode(&mut fields(&digest).into_iter()).unwrap();
        let mut copy = digest.try_clone().unwrap();
        prop_assert_eq!(saved.digest(), digest.digest());
        for digest in [&mut saved, &mut copy, &mut digest] {
            digest.add(&mut later.clone()).unwrap();
        }
        prop_assert_eq!(saved.digest(), digest.digest());
        prop_assert_eq!(copy.digest(), digest.digest());
        prop_assert_eq!(fields(&saved), fields(&digest));
        prop_assert_eq!((saved.num_singles(), saved.num_nodes()),
            (digest.num_singles(), digest.num_nodes()));
    }
}

#[test]
fn an_empty_digest_has_no_answers() {
    let mut digest = digest_of(100, &[3.0]);
    digest.clear();
    assert_eq!(digest.digest(), TDigest::new(Compression::DEFAULT).digest());
    let answers = digest.answers().unwrap();
    let numbers = [digest.min(), digest.max(), answers.quantile(0.5), answers.cdf(1.0)];
    assert_eq!(numbers, [None; 4]);
    let numbers = [answers.by_rank(0), answers.by_reverse_rank(0), answers.trimmed_mean(0.0, 1.0)];
    assert_eq!(numbers, [None; 3]);
    assert_eq!((answers.rank(1.0), answers.reverse_rank(1.0)), (None, None));
    assert_eq!((digest.weight(), digest.num_nodes(), digest.passes()), (0, 0, 0));
}

#[test]
fn numbers_that_are_not_finite_are_refused_and_none_of_the_batch_is_added() {
    let mut digest = digest_of(100, &[1.0]);
    let before = digest.digest();
    for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(digest.add(&mut [2.0, number]), Err(AddError::NotFinite));
    }
    assert_eq!(digest.digest(), before);
}

#[test]
fn a_weight_has_a_limit() {
    let mut heavy = digest_of(100, &[1.0, 2.0]);
    let mut copy = heavy.try_clone().unwrap();
    while copy.weight() <= MAX_WEIGHT - heavy.weight() {
        heavy.merge(&copy).unwrap();
        copy = heavy.try_clone().unwrap();
    }
    assert_eq!(heavy.merge(&copy), Err(AddError::TooHeavy));
    assert_eq!(heavy.digest(), copy.digest());
    heavy.add(&mut [1.0]).unwrap();
    assert_eq!(heavy.weight(), copy.weight() + 1);
    let saved = TDigest::decode(&mut fields(&heavy).into_iter()).unwrap();
    assert_eq!(saved.digest(), heavy.digest());
}

/// Beyond 2^53, where doubles hold not every weight.
#[test]
fn a_digest_of_any_weight_goes_on_as_the_one_that_was_saved_and_answers() {
    let numbers: Vec<f64> = fractions(8).take(2_000).collect();
    let mut heavy = digest_of(100, &numbers);
    while heavy.weight() < MAX_WEIGHT / 2 {
        let copy = heavy.try_clone().unwrap();
        heavy.merge(&copy).unwrap();
        heavy.add(&mut numbers.clone()).unwrap();
        let mut saved = TDigest::decode(&mut fields(&heavy).into_iter()).unwrap();
        assert_eq!(saved.digest(), heavy.digest());
        let mut copy = heavy.try_clone().unwrap();
        for digest in [&mut saved, &mut copy] {
            digest.add(&mut numbers.clone()).unwrap();
        }
        assert_eq!(saved.digest(), copy.digest());

        let answers = heavy.answers().unwrap();
        let quantiles: Vec<f64> =
            (0..=100).map(|n| answers.quantile(f64::from(n) / 100.0).unwrap()).collect();
        assert!(quantiles.windows(2).all(|two| two[0] <= two[1]));
        assert_eq!((quantiles[0], quantiles[100]), (heavy.min().unwrap(), heavy.max().unwrap()));
        assert!((quantiles[50] - 0.5).abs() < 0.05, "{}", quantiles[50]);
        let ends = [answers.by_rank(heavy.weight() - 1), answers.by_reverse_rank(0)];
        assert_eq!(ends, [heavy.max(); 2]);
        let rank = answers.rank(0.5).unwrap() as f64 / heavy.weight() as f64;
        assert!((rank - 0.5).abs() < 0.05, "{rank}");
    }
}

/// Lists of singles are long here, so that most numbers are fresh for a while.
#[test]
fn a_digest_depends_on_its_numbers_alone_not_on_batches_questions_or_saves() {
    let numbers: Vec<f64> = fractions(6).map(|u| (u * 5_000.0).floor()).take(8_000).collect();
    let mut twin = Twin::new(1_000);
    numbers.iter().for_each(|number| twin.add(*number));
    let mut expected = digest_of(1_000, &numbers);
    assert!(twin.is_like(&expected));
    for batch in [1, 7, FRESH - 1, FRESH, FRESH + 1, 3_000] {
        let mut digest = digest_of(1_000, &[]);
        for (n, batch) in numbers.chunks(batch).enumerate() {
            digest.add(&mut batch.to_vec()).unwrap();
            if n % 500 == 3 {
                let answer = digest.answers().unwrap().by_rank(2);
                let saved = TDigest::decode(&mut fields(&digest).into_iter()).unwrap();
                assert_eq!(saved.digest(), digest.digest());
                assert_eq!(saved.answers().unwrap().by_rank(2), answer);
                digest = if n % 1_000 == 3 { saved } else { digest.try_clone().unwrap() };
            }
        }
        assert_eq!(digest.digest(), expected.digest(), "{batch}");
        let union = |mut union: TDigest, from: &TDigest| {
            union.add(&mut [3.0]).unwrap();
            union.merge(from).unwrap();
            union.digest()
        };
        let (copy, other) = (digest.try_clone().unwrap(), expected.try_clone().unwrap());
        assert_eq!(union(copy, &expected), union(other, &digest), "{batch}");
    }
}

#[test]
fn unions_of_unions_of_any_compression_keep_within_their_nodes() {
    for number in [1, 2, 3, 5, 10, 100] {
        let mut sum = digest_of(number, &fractions(number).take(500).collect::<Vec<_>>());
        let mut most = 0;
        let mut round = 0;
        while sum.weight() < 1 << 61 {
            let shifted = sum.nodes().map(|node| node.mean + 0.01);
            let fresh: Vec<f64> = shifted.chain(fractions(round + 1).take(50)).collect();
            let copy = sum.try_clone().unwrap();
            sum.merge(&copy).unwrap();
            sum.add(&mut fresh.clone()).unwrap();
            round += 1;
            most = most.max(sum.num_nodes());
        }
        assert!(most <= sum.compression().most_nodes(), "{number}: {most}");
        TDigest::decode(&mut fields(&sum).into_iter()).unwrap();
    }
}

#[test]
fn the_largest_numbers_stay_numbers() {
    let ends = [f64::MAX, f64::MIN, 5.0];
    let numbers: Vec<f64> = ends.into_iter().cycle().take(3_000).collect();
    let digest = digest_of(10, &numbers);
    let answers = digest.answers().unwrap();
    assert!(digest.nodes().all(|node| node.mean.is_finite()));
    assert!(digest.nodes().zip(digest.nodes().skip(1)).all(|two| two.0.mean <= two.1.mean));
    for q in fractions(3).take(100) {
        assert!(answers.quantile(q).unwrap().is_finite());
        let x = (q - 0.5) * f64::MAX;
        assert!((0.0..=1.0).contains(&answers.cdf(x).unwrap()));
    }
    assert!(answers.trimmed_mean(0.0, 1.0).unwrap().is_finite());
    TDigest::decode(&mut fields(&digest).into_iter()).unwrap();
}

#[test]
fn memory_is_bounded_by_the_compression_and_small_for_few_numbers() {
    let bytes = |digest: &TDigest| {
        let mut sum = 0;
        digest.visit_allocations(&mut |layout, number| sum += layout.size() as u64 * number);
        sum
    };
    let numbers: Vec<f64> = fractions(5).take(20_000).collect();
    assert_eq!(bytes(&TDigest::new(Compression::DEFAULT)), 0);
    assert_eq!(bytes(&digest_of(100, &numbers[..50])), 50 * 8);
    let mut digest = digest_of(100, &[]);
    for number in numbers {
        digest.add(&mut [number]).unwrap();
        // 609 singles and 120 centroids; RedisBloom takes 9840 bytes from the start.
        assert!(bytes(&digest) <= 609 * 8 + 120 * 16);
    }
}
