//! Ranks against exact ones.

use super::*;
use std::f64::consts::PI;

const COUNT: usize = 100_000;

/// The largest weight of a node at `q`, at least that of a number, and one number, as a fraction.
fn node_at(digest: &TDigest, q: f64) -> f64 {
    let weight = digest.weight() as f64;
    let scale = 2.0 * PI * weight.ln() / f64::from(digest.compression().get());
    (scale * q * (1.0 - q)).max(1.0 / weight) + 1.0 / weight
}

/// The greatest error of quantiles, in weights of a node there.
fn greatest_error(digest: &TDigest, sorted: &[f64]) -> f64 {
    let answers = digest.answers().unwrap();
    let errors = (1..1000).map(|thousandth| {
        let q = f64::from(thousandth) / 1000.0;
        let number = answers.quantile(q).unwrap();
        let rank = sorted.partition_point(|other| *other < number) as f64 / sorted.len() as f64;
        (rank - q).abs() / node_at(digest, q)
    });
    errors.fold(0.0, f64::max)
}

#[test]
fn ranks_of_smooth_distributions_are_within_a_fifth_of_a_node() {
    let distributions: [fn(f64) -> f64; 3] = [|u| u, |u| -(1.0 - u).ln(), |u| (u / (1.0 - u)).ln()];
    for number in [100, 500] {
        for distribution in distributions {
            let numbers: Vec<f64> = fractions(9).take(COUNT).map(distribution).collect();
            let mut sorted = numbers.clone();
            sorted.sort_by(f64::total_cmp);
            let shuffled = digest_of(number, &numbers);
            let mut reversed = digest_of(number, &[]);
            for number in sorted.iter().rev() {
                reversed.add(&mut [*number]).unwrap();
            }
            let mut united = digest_of(number, &[]);
            for part in numbers.chunks(7_000) {
                united.merge(&digest_of(number, part)).unwrap();
            }
            for digest in [shuffled, digest_of(number, &sorted), reversed, united] {
                assert_eq!(digest.weight(), COUNT as u64);
                let error = greatest_error(&digest, &sorted);
                assert!(error < 0.2, "{number}: {error}");
            }
        }
    }
}

#[test]
fn numbers_that_came_after_the_last_pass_make_no_answer_worse() {
    let numbers: Vec<f64> = fractions(4).take(COUNT / 5).map(|u| -(1.0 - u).ln()).collect();
    for count in (COUNT / 10..COUNT / 5).step_by(97) {
        let mut sorted = numbers[..count].to_vec();
        sorted.sort_by(f64::total_cmp);
        let error = greatest_error(&digest_of(100, &numbers[..count]), &sorted);
        assert!(error < 0.25, "{count}: {error}");
    }
}

#[test]
fn answers_are_those_of_the_numbers_that_are_there_now() {
    let numbers: Vec<f64> = fractions(4).take(20_000).collect();
    let mut digest = digest_of(100, &[]);
    let median = |digest: &TDigest| digest.answers().unwrap().quantile(0.5);
    for batch in numbers.chunks(777) {
        digest.add(&mut batch.to_vec()).unwrap();
        // The first answer computes the joined nodes, the second reuses them, and the clone has
        // none yet.
        let answer = median(&digest);
        assert_eq!(median(&digest), answer);
        assert_eq!(median(&digest.try_clone().unwrap()), answer);
    }
    let other = digest_of(100, &vec![7.0; 30_000]);
    digest.merge(&other).unwrap();
    assert!(median(&digest) > Some(1.0));
    assert_eq!(median(&digest), median(&digest.try_clone().unwrap()));
    digest.clear();
    assert_eq!(median(&digest), None);
}
