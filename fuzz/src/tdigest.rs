//! Arbitrary bytes as a saved t-digest, and what comes then: numbers, and a union with itself.

use super::twins::read_by_both;
use splitbloom_foundation::fields::{Field, Fields};
use splitbloom_oracles::stream::Stream;
use splitbloom_oracles::tdigest::Saved;
use splitbloom_sketch::tdigest::{AddError, TDigest, MAX_WEIGHT};
use splitbloom_sketch::{Part, Sketch};
use splitbloom_test_allocator::meter::bytes_held;

/// The most bytes that are held for a byte of input: a node has 16 bytes of it, and takes twice 16
/// while its list grows, beside the lists of means and weights, which grow as well.
const MEMORY_FACTOR: isize = 6;
/// What a list takes for its first nodes.
const MEMORY_BEFORE: isize = 512;
/// The largest compression whose passes take little time.
const SMALL: u32 = 1_000;
/// The most numbers.
const MOST_NUMBERS: usize = 400;
/// Up to here doubles hold every weight.
const EXACT: u64 = 1 << 53;

/// Any bytes are refused, or are a digest that has the nodes which the second reader sees.
pub fn tdigest(bytes: &[u8]) {
    let held = bytes_held();
    read(Stream(bytes));
    assert_eq!(bytes_held(), held);
}

fn read(mut fields: Stream<'_>) {
    let most = MEMORY_FACTOR * fields.0.len() as isize + MEMORY_BEFORE;
    let saved = Saved::of_fields(&mut fields.clone());
    let Some((digest, saved)) = read_by_both(most, || TDigest::decode(&mut fields), saved) else {
        return;
    };
    let nodes = digest.nodes().map(|node| (node.mean, node.weight as f64));
    assert!(nodes.eq(saved.nodes.iter().copied()));
    assert_eq!(u64::from(digest.compression().get()), saved.compression);
    assert_eq!(digest.passes(), saved.passes);
    if digest.compression().get() <= SMALL {
        assert_goes_on(digest, &numbers(&mut fields));
    }
}

/// The next numbers.
fn numbers(from: &mut Stream<'_>) -> Vec<f64> {
    let numbers = std::iter::from_fn(|| from.double().map(|number| number + 0.0)); // -0 becomes 0
    numbers.take(MOST_NUMBERS).collect()
}

/// Numbers are added, one after the other or in a batch, to a digest and to what was saved of it;
/// and each has the answers that a distribution has.
fn assert_goes_on(mut digest: TDigest, numbers: &[f64]) {
    assert_is_distribution(&digest);
    let mut saved: Vec<Field> = Vec::new();
    digest.encode(&mut saved);
    let mut loaded = TDigest::decode(&mut saved.into_iter()).expect("what was saved");
    let mut copy = digest.try_clone().expect("memory");
    assert_eq!([loaded.digest(), copy.digest()], [digest.digest(); 2]);
    let weight = digest.weight();
    let added = digest.add(&mut numbers.to_vec());
    assert_eq!(added, expected(weight, numbers));
    if added.is_err() {
        assert_eq!(digest.digest(), copy.digest());
        return;
    }
    for number in numbers {
        loaded.add(&mut [*number]).expect("numbers that were added in a batch");
    }
    assert_eq!(loaded.digest(), digest.digest());
    assert_is_weight(digest.weight(), weight + numbers.len() as u64);
    assert_is_distribution(&digest);

    let sum = copy.weight() + digest.weight();
    let merged = copy.merge(&digest);
    assert_eq!(merged, fits(sum));
    if merged.is_ok() {
        assert_is_weight(copy.weight(), sum);
        assert_eq!([copy.min(), copy.max()], [digest.min(), digest.max()]);
        assert_is_distribution(&copy);
    }
}

/// Weights of nodes above 2^53 are rounded down to what doubles hold.
fn assert_is_weight(weight: u64, sum: u64) {
    let slack = if sum > EXACT { sum as f64 * f64::EPSILON } else { 0.0 };
    assert!(weight <= sum && (sum - weight) as f64 <= slack, "{weight} {sum}");
}

fn expected(weight: u64, numbers: &[f64]) -> Result<(), AddError> {
    match numbers.iter().all(|number| number.is_finite()) {
        true => fits(weight + numbers.len() as u64),
        false => Err(AddError::NotFinite),
    }
}

fn fits(weight: u64) -> Result<(), AddError> {
    (weight <= MAX_WEIGHT).then_some(()).ok_or(AddError::TooHeavy)
}

/// The nodes are in order, within the smallest and the largest number. Quantiles and ranks rise, up
/// to rounding, and lie within these.
fn assert_is_distribution(digest: &TDigest) {
    let answers = digest.answers().expect("memory");
    let (Some(min), Some(max)) = (digest.min(), digest.max()) else {
        assert_eq!((digest.weight(), digest.num_nodes()), (0, 0));
        assert_eq!([answers.quantile(0.5), answers.cdf(0.0)], [None; 2]);
        return;
    };
    assert!(min <= max && digest.num_nodes() <= digest.compression().capacity());
    assert_eq!(digest.nodes().map(|node| node.weight).sum::<u64>(), digest.weight());
    let (mut mean, mut below) = (min, 0.0);
    for node in digest.nodes() {
        assert!(mean <= node.mean && node.mean <= max, "{mean} {} {max}", node.mean);
        mean = node.mean;
        let part = answers.cdf(mean).expect("a rank");
        assert!((0.0..=1.0).contains(&part) && below <= part + 1e-9, "{below} {part} at {mean}");
        below = part;
        assert!((-1..=digest.weight() as i64).contains(&answers.rank(mean).expect("a rank")));
    }
    // Two interpolated numbers differ by rounding, relative to the largest that they lie between.
    let slack = min.abs().max(max.abs()) * 1e-12;
    let mut last = min;
    for step in 0..=64 {
        let number = answers.quantile(f64::from(step) / 64.0).expect("a number");
        assert!((min..=max).contains(&number) && last - slack <= number, "{last} {number}");
        last = number;
    }
    assert_eq!([answers.quantile(0.0), answers.quantile(1.0)], [Some(min), Some(max)]);
    for (low, high) in [(0.0, 1.0), (0.1, 0.9), (0.25, 0.5)] {
        let mean = answers.trimmed_mean(low, high).expect("a mean");
        assert!(min - slack <= mean && mean <= max + slack, "{min} {mean} {max}");
    }
}
