//! t-digests while memory is short: a change happens whole or not at all, and no byte leaks.

use splitbloom_foundation::fields::Field;
use splitbloom_foundation::OutOfMemory;
use splitbloom_sketch::tdigest::{AddError, Compression, TDigest};
use splitbloom_sketch::{DecodeError, Part, Sketch};
use splitbloom_test_allocator::{meter, refusal, TestAllocator};

#[global_allocator]
static ALLOCATOR: TestAllocator = TestAllocator;

fn digest_of(numbers: impl Iterator<Item = u32>) -> TDigest {
    let mut digest = TDigest::new(Compression::DEFAULT);
    digest.add(&mut numbers.map(f64::from).collect::<Vec<_>>()).unwrap();
    digest
}

/// Has `work` change a digest again and again, each time with one more block given before one is
/// refused, until none is. `scratch` is passed on, as it is at first. Returns how many blocks were
/// refused.
fn refusals(
    digest: &mut TDigest,
    scratch: &[f64],
    work: impl Fn(&mut TDigest, &mut [f64]) -> Result<(), AddError>,
) -> u64 {
    for refused in 0.. {
        let held = meter::bytes_held();
        let (mut changed, mut numbers) = (digest.try_clone().unwrap(), scratch.to_vec());
        let change = || work(&mut changed, &mut numbers);
        let (result, was_refused) = refusal::of_the_nth(refused, change);
        assert_eq!(result, if was_refused { Err(AddError::OutOfMemory) } else { Ok(()) });
        assert_eq!(changed.digest() == digest.digest(), was_refused, "block {refused}");
        drop((changed, numbers));
        assert_eq!(meter::bytes_held(), held, "block {refused}");
        if !was_refused {
            return refused;
        }
    }
    unreachable!()
}

#[test]
fn a_batch_is_added_whole_or_not_at_all_however_many_passes_it_takes() {
    let numbers: Vec<f64> = (0..5_000_u32).map(|number| f64::from(number * 7919 % 5003)).collect();
    let refused = refusals(&mut digest_of(0..300), &numbers, TDigest::add);
    assert_eq!(refused, 4, "two lists for the passes, and the digest's own two");
}

/// A digest without singles, whose next pass leaves one: it joins the second and the third node,
/// and then the fourth, of weight 1, makes either neighbour too large.
fn digest_without_singles() -> TDigest {
    let first = [(0.0, 10.0), (1.0, 2.0), (2.0, 2.0), (2.0, 1.0), (3.0, 6.0)];
    let nodes: Vec<(f64, f64)> =
        first.into_iter().chain((4..608).map(|mean| (f64::from(mean), 2.0))).collect();
    let digest = digest_with(100, &nodes);
    assert_eq!((digest.num_nodes(), digest.num_singles()), (609, 0));
    digest
}

/// A digest that was saved with these nodes after a pass: the mean and the weight of each.
fn digest_with(compression: u32, nodes: &[(f64, f64)]) -> TDigest {
    let weight: f64 = nodes.iter().map(|(_, weight)| weight).sum();
    let ends = [nodes[0].0, nodes[nodes.len() - 1].0];
    let mut fields = [compression.into(), ends[0], ends[1]].map(Field::Double).to_vec();
    let capacity = 6 * u64::from(compression) + 10;
    fields.extend([capacity, nodes.len() as u64, 0, 1].map(Field::Unsigned));
    fields.extend([weight, 0.0].map(Field::Double));
    fields.extend(nodes.iter().map(|(mean, _)| Field::Double(*mean)));
    fields.extend(nodes.iter().map(|(_, weight)| Field::Double(*weight)));
    TDigest::decode(&mut fields.into_iter()).unwrap()
}

#[test]
fn a_pass_that_finds_new_singles_has_room_for_them() {
    let mut digest = digest_without_singles();
    let refused = refusals(&mut digest, &[5.5; 3], TDigest::add);
    assert_eq!(refused, 3, "two lists for the pass, and one of singles");
    let mut digest = digest;
    digest.add(&mut [5.5; 3]).unwrap();
    assert_eq!((digest.passes(), digest.num_singles()), (2, 4));
}

#[test]
fn a_question_to_a_few_nodes_takes_little_whatever_the_compression() {
    // The two nodes in the middle are light, so that a pass joins them.
    let heavy = f64::from(1 << 30) * f64::from(1 << 19);
    let nodes = [(0.0, heavy), (1.0, 2.0), (2.0, 1.0), (3.0, heavy)];
    let digest = digest_with(300_000_000, &nodes);
    let (_, taken) = meter::measured(|| digest.answers().map(drop).unwrap());
    assert!((1..1_000).contains(&taken.peak), "{taken:?}");
}

#[test]
fn a_union_is_made_whole_or_not_at_all() {
    let other = digest_of(0..5_000);
    let refused = refusals(&mut digest_of(0..600), &[], |digest, _| digest.merge(&other));
    assert_eq!(refused, 4, "two lists of all nodes, two of the joined ones");
}

#[test]
fn a_copy_that_is_refused_memory_leaks_nothing() {
    let mut digest = digest_of(0..5_000);
    for refused in 0..3 {
        let held = meter::bytes_held();
        let copy = refusal::of_the_nth(refused, || digest.try_clone().map(drop));
        assert_eq!(copy, (if refused < 2 { Err(OutOfMemory) } else { Ok(()) }, refused < 2));
        assert_eq!(meter::bytes_held(), held);
    }
}

#[test]
fn a_question_that_is_refused_memory_leaks_nothing() {
    let median = digest_of(0..5_000).answers().unwrap().quantile(0.5);
    let start = meter::bytes_held();
    for refused in 0..4 {
        let digest = digest_of(0..5_000);
        let held = meter::bytes_held();
        let ask = || digest.answers().map(|answers| answers.quantile(0.5));
        let answer = refusal::of_the_nth(refused, ask);
        let expected = if refused < 3 { Err(OutOfMemory) } else { Ok(median) };
        assert_eq!(answer, (expected, refused < 3), "two lists that are joined, and the one list");
        assert!(refused == 3 || meter::bytes_held() == held);
        // What is kept for the next question is counted, and freed by the next number.
        let mut digest = digest;
        digest.add(&mut []).unwrap();
        assert_eq!(meter::bytes_held(), held);
        drop(digest);
        assert_eq!(meter::bytes_held(), start);
    }
}

#[test]
fn a_decoder_needs_a_small_multiple_of_what_it_reads() {
    let mut fields = Vec::new();
    digest_of(0..609).encode(&mut fields);
    let bytes = fields.len() * 8;
    let source = fields.clone().into_iter();
    let (digest, taken) = meter::measured(|| TDigest::decode(&mut { source }));
    drop(digest.unwrap());
    assert!(taken.peak <= 3 * bytes as isize, "{taken:?} for {bytes}");

    // A number of nodes that do not come.
    fields[0] = Field::Double(100_000.0);
    fields[3] = Field::Unsigned(600_010);
    fields[4] = Field::Unsigned(600_010);
    fields.truncate(20);
    let source = fields.into_iter();
    let (error, taken) = meter::measured(|| TDigest::decode(&mut { source }).err());
    assert_eq!(error, Some(DecodeError::Length));
    assert!(taken.peak <= 1_000, "{taken:?}");
}

#[test]
fn a_decoder_that_is_refused_memory_says_so_and_leaks_nothing() {
    let mut fields = Vec::new();
    digest_of(0..2_000).encode(&mut fields);
    for refused in 0.. {
        let held = meter::bytes_held();
        let mut source = fields.clone().into_iter();
        let decode = || TDigest::decode(&mut source).map(drop);
        let (result, was_refused) = refusal::of_the_nth(refused, decode);
        drop(source);
        assert_eq!(meter::bytes_held(), held);
        if !was_refused {
            assert_eq!(result, Ok(()));
            assert!(refused > 4);
            return;
        }
        assert_eq!(result, Err(DecodeError::OutOfMemory));
    }
}
