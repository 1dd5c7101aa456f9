//! The reader against what RedisBloom answered, and the series against a plain one.

mod golden;
mod hostile;

use self::golden::Golden;
use super::shape::Place;
use super::{read_header, Cuckoo, CuckooSeries, Hashing, Shape};
use crate::codec::{chunks, encode_chunk, load_chunk, Chunk};
use crate::error::{AddError, DecodeError};
use crate::filter::SizeLimit;
use crate::filter::{Adding, Filter};
use crate::foreign::{Fields, Source};
use crate::hash::Seed;
use crate::storage::Mover;
use proptest::prelude::*;
use splitbloom_foundation::murmur::murmur64a;
use std::num::NonZeroU64;

const UNLIMITED: SizeLimit = SizeLimit::Unlimited;
/// So low that a table has no false positive here.
const RATE: f64 = 1e-9;
const SEED: Seed = Seed(7);

fn begin(header: &[u8], limit: SizeLimit) -> Result<Filter, DecodeError> {
    Filter::of_cuckoo(read_header(header)?, RATE, SEED, limit)
}

fn of_series(series: CuckooSeries, max_iterations: u16, deleted: u64) -> Filter {
    let cuckoo = Cuckoo { series, deleted, max_iterations };
    Filter::of_cuckoo(cuckoo, RATE, SEED, UNLIMITED).unwrap()
}

fn read_cuckoo(version: u32, fields: &mut impl Fields) -> Result<Filter, DecodeError> {
    let cuckoo = super::read_cuckoo(version, &mut Source::new(fields))?;
    Filter::of_cuckoo(cuckoo, RATE, SEED, UNLIMITED)
}

fn from_dump(golden: &Golden) -> Filter {
    let version = golden.number("version") as u32;
    read_cuckoo(version, &mut golden.fields().into_iter()).unwrap()
}

fn from_pieces(pieces: &[(u64, Vec<u8>)]) -> Filter {
    let mut filter = begin(&pieces[0].1, UNLIMITED).unwrap();
    for (iterator, piece) in &pieces[1..] {
        filter.take_piece(*iterator, piece).unwrap();
    }
    filter
}

fn assert_answers(filter: &Filter, golden: &Golden) {
    let counts = golden.counts();
    let items = counts.iter().map(|(item, _)| item.as_bytes());
    let mut many = Vec::new();
    filter.contains_many(items, |answer| many.push(answer));
    for ((item, count), answer) in counts.iter().zip(many) {
        assert_eq!(filter.count(item.as_bytes()), *count, "{item}");
        assert_eq!(filter.contains(item.as_bytes()), *count > 0, "{item}");
        assert_eq!(answer, *count > 0, "{item}");
    }
}

fn assert_described(filter: &Filter, golden: &Golden) {
    let (shape, parameters) = (filter.cuckoo().unwrap().shape(), filter.counting_parameters());
    assert_eq!(u64::from(shape.layers), golden.number("layers"));
    assert_eq!(shape.buckets, golden.number("buckets"));
    assert_eq!(parameters.buckets(), golden.number("buckets"));
    assert_eq!(u64::from(parameters.bucket_size), golden.number("bucket_size"));
    assert_eq!(u64::from(parameters.max_iterations), golden.number("iterations"));
    assert_eq!(u64::from(parameters.expansion), golden.number("expansion"));
    assert_eq!(filter.items(), golden.number("items"));
    assert_eq!(filter.deleted(), golden.number("deletes"));
}

#[test]
fn a_dump_is_answered_as_redisbloom_answered() {
    for golden in Golden::all() {
        let filter = from_dump(&golden);
        assert_answers(&filter, &golden);
        assert_described(&filter, &golden);
    }
}

#[test]
fn pieces_of_any_length_in_any_order_are_answered_as_redisbloom_answered() {
    for golden in Golden::all() {
        let pieces = golden.pieces();
        if pieces.is_empty() {
            // RedisBloom does not dump an empty filter, and before 2.2 had another header.
            assert!(golden.number("items") == 0 || golden.number("version") < 4);
            continue;
        }
        let whole = from_pieces(&pieces);
        assert_answers(&whole, &golden);
        assert_described(&whole, &golden);
        assert_eq!(whole.digest(), from_dump(&golden).digest());
        for len in [1, 3, 8, 13] {
            let mut short = vec![pieces[0].clone()];
            for (iterator, piece) in pieces[1..].iter().rev() {
                let mut end = iterator - piece.len() as u64;
                for cut in piece.chunks(len) {
                    end += cut.len() as u64;
                    short.push((end, cut.to_vec()));
                }
            }
            short.push(pieces.last().unwrap().clone());
            assert_eq!(from_pieces(&short).digest(), whole.digest());
        }
    }
}

/// RedisBloom computes the place of a bucket in 32 bits, and a bucket may begin within another one.
#[test]
fn a_bucket_of_a_layer_of_more_slots_than_2_32_is_where_redisbloom_puts_it() {
    for bucket_size in [1u16, 3, 100] {
        let buckets = 1u64 << 33;
        let mut header = [0, buckets, 0, 1].map(u64::to_le_bytes).concat();
        header.extend([bucket_size, 20, 1].map(u16::to_le_bytes).as_flattened());
        let mut filter = begin(&header, UNLIMITED).unwrap();
        for number in 0..20 {
            let item = format!("item:{number}");
            let hash = murmur64a(item.as_bytes(), 0);
            let slot = (hash % buckets * u64::from(bucket_size)) % (1 << 32);
            let fingerprint = (hash % 255 + 1) as u8;
            assert!(!filter.contains(item.as_bytes()));
            filter.take_piece(slot + 2, &[fingerprint]).unwrap();
            assert_eq!(filter.count(item.as_bytes()), 1);
        }
        assert_eq!(filter.remove(b"item:0"), Ok(true));
        assert!(!filter.contains(b"item:0"));
    }
}

fn chunks_of(filter: &Filter) -> Vec<Vec<u8>> {
    let encoded = chunks(filter).map(|outline| outline.encode().unwrap().bytes);
    encoded.collect()
}

fn loaded(chunks: &[Vec<u8>]) -> Filter {
    let mut filter: Option<Filter> = None;
    for bytes in chunks {
        let chunk = Chunk::parse(bytes).unwrap();
        let begun = load_chunk(filter.as_mut(), &chunk, UNLIMITED).unwrap();
        filter = begun.or(filter);
    }
    filter.unwrap()
}

#[test]
fn chunks_of_ours_hold_all_of_it() {
    for golden in Golden::all() {
        let mut filter = from_dump(&golden);
        let again = loaded(&chunks_of(&filter));
        assert_answers(&again, &golden);
        assert_described(&again, &golden);
        assert_eq!(again.digest(), filter.digest());
        assert_eq!(again.reserved_bytes(), filter.reserved_bytes());

        let _ = filter.add_copy(b"new", Adding::Copies, UNLIMITED);
        let removed = filter.remove(b"item:1").unwrap();
        assert_eq!(filter.deleted(), golden.number("deletes") + u64::from(removed));
        let again = loaded(&chunks_of(&filter));
        assert_eq!(again.digest(), filter.digest());
        assert_eq!(again.count(b"item:1"), filter.count(b"item:1"));
        assert_eq!(again.count(b"new"), filter.count(b"new"));
        assert_eq!(again.deleted(), filter.deleted());
        assert_eq!(again.items(), filter.items());
    }
}

/// A filter of several chunks, with some slots in every third segment.
fn large() -> Filter {
    let shape =
        Shape { buckets: 1 << 19, bucket_size: 3, expansion: 2, layers: 3, hashing: Hashing::Wide };
    let mut series = CuckooSeries::new(shape.checked().unwrap());
    let slots: Vec<u8> = (0..50_000u32).map(|slot| (slot % 7 * 30) as u8).collect();
    let mut start = 17;
    while start + 50_000 < series.slots() {
        series.fill(start, &slots).unwrap();
        start += 3 << 16;
    }
    of_series(series, 20, 5)
}

#[test]
fn a_filter_that_is_part_loaded_answers_with_what_has_come() {
    let mut filter = large();
    for number in 0..20_000u64 {
        let item = number.to_le_bytes();
        filter.add_copy(&item, Adding::Copies, UNLIMITED).unwrap();
    }
    let chunks = chunks_of(&filter);
    assert!(chunks.len() > 3);
    for len in 1..chunks.len() {
        let mut part = loaded(&chunks[..len]);
        let next = part.loading().unwrap().next();
        assert!(part.cuckoo().unwrap().items() > 0);
        let refused = part.add_copy(b"item", Adding::Copies, UNLIMITED);
        assert_eq!(refused, Err(AddError::Loading));
        assert_eq!(part.remove(b"item"), Err(AddError::Loading));
        assert_eq!(part.take_piece(2, b"x"), Err(DecodeError::Order));
        let again = loaded(&chunks_of(&part));
        assert_eq!(again.digest(), part.digest());
        assert_eq!(again.loading().unwrap().next(), next);
        for bytes in &chunks[len..] {
            let chunk = Chunk::parse(bytes).unwrap();
            assert!(load_chunk(Some(&mut part), &chunk, UNLIMITED).unwrap().is_none());
        }
        assert_eq!(part.digest(), filter.digest());
    }
    let first = encode_chunk(&filter, 0).unwrap().unwrap();
    assert_eq!(first.bytes, chunks[0]);
}

/// A mover that copies, and stops after each step.
struct Copier;

impl Mover for Copier {
    fn relocate<T>(&mut self, elements: Vec<T>) -> Vec<T> {
        let mut copy = Vec::with_capacity(elements.len());
        copy.extend(elements);
        copy
    }

    fn should_stop(&mut self) -> bool {
        true
    }
}

#[test]
fn moving_its_memory_changes_nothing_and_ends() {
    let mut filter = large();
    filter.add_copy(b"item", Adding::Copies, UNLIMITED).unwrap();
    let digest = filter.digest();
    let (mut from, mut steps) = (0, 0);
    while let Some(next) = filter.relocate(from, &mut Copier) {
        assert!(next.get() > from);
        (from, steps) = (next.get(), steps + 1);
    }
    assert!(steps >= filter.cuckoo().unwrap().segments().allocated());
    assert_eq!(filter.digest(), digest);
    assert_eq!(filter.relocate(NonZeroU64::MAX.get(), &mut Copier), None);
}

#[test]
fn a_copy_shares_segments_until_one_of_the_two_deletes() {
    let mut filter = from_dump(&Golden::all().nth(3).unwrap());
    let mut large = large();
    for filter in [&mut filter, &mut large] {
        let item = (0..10_000u64).map(|number| format!("item:{number}"));
        let item = item.into_iter().find(|item| filter.contains(item.as_bytes()));
        let item = item.unwrap();
        let count = filter.count(item.as_bytes());
        let mut copy = filter.try_clone().unwrap();
        let digest = filter.digest();
        assert_eq!(copy.digest(), digest);
        assert!(copy.remove(item.as_bytes()).unwrap());
        assert!(copy.count(item.as_bytes()) < count);
        assert_eq!(filter.count(item.as_bytes()), count);
        assert_eq!(filter.digest(), digest);
        let mut visited = 0;
        copy.visit_allocations(|layout, times| visited += layout.size() as u64 * times);
        assert!(visited > 0 && copy.allocations() > 0);
    }
}

#[test]
fn what_is_added_goes_into_the_table_and_is_deleted_first() {
    let golden = Golden::all().nth(3).unwrap();
    let mut filter = from_dump(&golden);
    let (slots, items) = (filter.cuckoo().unwrap().items(), filter.items());
    let known = b"item:0".as_slice();
    let count = filter.count(known);
    assert_eq!(filter.add_copy(known, Adding::Absent, UNLIMITED), Ok(false));
    assert_eq!(filter.add_copy(known, Adding::Copies, UNLIMITED), Ok(true));
    assert_eq!((filter.count(known), filter.items()), (count + 1, items + 1));
    assert_eq!(filter.cuckoo().unwrap().items(), slots);
    assert_eq!(filter.remove(known), Ok(true));
    assert_eq!(filter.cuckoo().unwrap().items(), slots);
    for left in (0..count).rev() {
        assert_eq!(filter.remove(known), Ok(true));
        assert_eq!(filter.count(known), left);
    }
    assert_eq!(filter.remove(known), Ok(false));
    assert_eq!(filter.cuckoo().unwrap().items(), slots - count);
    assert_eq!(filter.items(), items - count);
    assert_eq!(filter.deleted(), golden.number("deletes") + count + 1);

    let mut answers = Vec::new();
    let batch = [known, b"item:1", b"new", b"new"];
    let added = filter.add_copies(batch.into_iter(), Adding::Absent, UNLIMITED, |answer| {
        answers.push(answer);
        Ok(())
    });
    assert_eq!(added, Ok(()));
    assert_eq!(answers, [Ok(true), Ok(false), Ok(true), Ok(false)]);
}

#[test]
fn a_fixed_filter_takes_as_many_copies_as_it_has_slots() {
    let mut filter = from_dump(&Golden::all().nth(5).unwrap());
    let slots = filter.cuckoo().unwrap().slots();
    for number in filter.items()..slots {
        let item = number.to_le_bytes();
        assert_eq!(filter.add_copy(&item, Adding::Copies, UNLIMITED), Ok(true));
    }
    let full = filter.add_copy(b"item", Adding::Copies, UNLIMITED);
    assert_eq!(full, Err(AddError::Full));
    assert_eq!(filter.remove(b"item:0"), Ok(true));
    assert_eq!(filter.add_copy(b"item", Adding::Copies, UNLIMITED), Ok(true));
}

#[test]
fn a_filter_larger_than_the_limit_is_refused_before_its_slots_come() {
    let pieces = Golden::all().nth(6).unwrap().pieces();
    let header = &pieces[0].1;
    let bytes = begin(header, UNLIMITED).unwrap().reserved_bytes();
    assert!(begin(header, SizeLimit::Bytes(bytes)).is_ok());
    let refused = begin(header, SizeLimit::Bytes(bytes - 1));
    assert_eq!(refused.err(), Some(DecodeError::OverLimit));
}

#[test]
fn the_false_positive_rate_is_the_one_measured() {
    for nth in [3, 4, 6] {
        let filter = from_dump(&Golden::all().nth(nth).unwrap());
        let strangers = 100_000u64;
        let found = (0..strangers).filter(|number| filter.contains(&number.to_le_bytes()));
        let measured = found.count() as f64 / strangers as f64;
        let expected = filter.false_positive_rate();
        // The expected one is a bound: it counts a stranger for each slot that has its fingerprint.
        assert!(measured <= expected && measured > expected / 4.0, "{expected} {measured}");
    }
}

/// A cuckoo filter as plainly as possible.
#[derive(Clone, Debug)]
struct Plain {
    bucket_size: usize,
    layers: Vec<Vec<u8>>,
}

impl Plain {
    fn new(shape: Shape) -> Self {
        let slots = |layer: u32| {
            shape.buckets * u64::from(shape.expansion).pow(layer) * u64::from(shape.bucket_size)
        };
        Self {
            bucket_size: shape.bucket_size.into(),
            layers: (0..shape.layers).map(|layer| vec![0; slots(layer.into()) as usize]).collect(),
        }
    }

    fn slots_of(&self, layer: usize, item: &[u8]) -> (Vec<usize>, u8) {
        let hash = murmur64a(item, 0);
        let print = (hash % 255 + 1) as u8;
        let buckets = (self.layers[layer].len() / self.bucket_size) as u64;
        let other = hash ^ (u64::from(print) * 0x5bd1_e995);
        let buckets = [hash % buckets, other % buckets];
        let slots = buckets.iter().flat_map(|bucket| {
            let first = *bucket as usize * self.bucket_size;
            first..first + self.bucket_size
        });
        (slots.collect(), print)
    }

    fn put(&mut self, layer: usize, item: &[u8]) {
        let layer = layer % self.layers.len();
        let (slots, print) = self.slots_of(layer, item);
        if let Some(free) = slots.iter().find(|slot| self.layers[layer][**slot] == 0) {
            self.layers[layer][*free] = print;
        }
    }

    fn count(&self, item: &[u8]) -> u64 {
        let of_layer = |layer| {
            let (slots, print) = self.slots_of(layer, item);
            let slots = slots.into_iter().map(|slot| self.layers[layer][slot]);
            slots.filter(|slot| *slot == print).count() as u64
        };
        (0..self.layers.len()).map(of_layer).sum()
    }

    fn remove(&mut self, item: &[u8]) -> bool {
        for layer in (0..self.layers.len()).rev() {
            let (slots, print) = self.slots_of(layer, item);
            let found = slots.iter().find(|slot| self.layers[layer][**slot] == print);
            if let Some(slot) = found {
                self.layers[layer][*slot] = 0;
                return true;
            }
        }
        false
    }
}

fn small_shapes() -> impl Strategy<Value = Shape> {
    (0u32..10, 1u16..20, 0u32..3, 1u16..5).prop_map(|(log, bucket_size, expansion, layers)| Shape {
        buckets: 1 << log,
        bucket_size,
        expansion: 1 << expansion,
        layers,
        hashing: Hashing::Wide,
    })
}

proptest! {
    #[test]
    fn a_plain_filter_agrees(
        shape in small_shapes(),
        added in prop::collection::vec((any::<u8>(), 0usize..5), 0..200),
        removed in prop::collection::vec(any::<u8>(), 0..60),
        cuts in prop::collection::vec(1usize..3_000, 1..5),
    ) {
        let mut plain = Plain::new(shape.checked().unwrap());
        for (item, layer) in added {
            plain.put(layer, &[item]);
        }
        let mut series = CuckooSeries::new(shape);
        let all = plain.layers.concat();
        let (mut start, mut cuts) = (0, cuts.into_iter().cycle());
        while start < all.len() {
            let end = all.len().min(start + cuts.next().unwrap());
            series.fill(start as u64, &all[start..end]).unwrap();
            start = end;
        }
        let mut copy = series.try_clone().unwrap();
        for item in removed {
            prop_assert_eq!(series.remove(&[item]).unwrap(), plain.remove(&[item]));
        }
        let mut occupied = plain.layers.iter().map(|layer| {
            layer.iter().filter(|slot| **slot != 0).count() as f64
        });
        prop_assert_eq!(series.items() as f64, occupied.clone().sum::<f64>());
        let rate: f64 = plain.layers.iter().map(|layer| {
            occupied.next().unwrap() / layer.len() as f64
                * 2.0 * f64::from(shape.bucket_size) / 255.0
        }).sum();
        prop_assert!((series.false_positive_rate() - rate.min(1.0)).abs() < 1e-9);
        for item in 0..=255u8 {
            prop_assert_eq!(series.count(&[item]), plain.count(&[item]));
            prop_assert_eq!(series.contains(&[item]), plain.count(&[item]) > 0);
        }
        copy.fill(0, &all).unwrap();
        copy.fill(0, &plain.layers.concat()).unwrap();
        let (one, two) = [series, copy].map(|series| {
            of_series(series, 1, 0).digest()
        }).into();
        prop_assert_eq!(one, two, "written slots are those that were written");
    }

    #[test]
    fn the_buckets_of_a_fingerprint_come_in_pairs(item: u64, log in 0u32..33, is_wide: bool) {
        let hashing = if is_wide { Hashing::Wide } else { Hashing::Narrow };
        let shape = Shape { buckets: 1 << log, bucket_size: 1, expansion: 1, layers: 1, hashing };
        let place = Place::of(&item.to_le_bytes(), hashing);
        let buckets: Vec<u64> = place.buckets(shape.layer(0), 1).collect();
        let distance = u64::from(place.fingerprint) * 0x5bd1_e995;
        prop_assert_eq!((buckets[0] ^ distance) % shape.buckets, buckets[buckets.len() - 1]);
        prop_assert!(place.fingerprint > 0);
    }
}
