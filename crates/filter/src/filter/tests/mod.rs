mod counting;
mod follow;
mod parts;
mod remains;
mod window;

use super::*;
use crate::codec::{chunks, load_chunk, Chunk};
use crate::error::AddError;
use crate::hash::{ItemHash, Seed};
use proptest::prelude::*;
use splitbloom_foundation::alloc::size_class;
use std::collections::HashSet;

fn filter(error_rate: f64, capacity: u64, growth: Growth) -> Filter {
    let parameters = Parameters { error_rate, capacity, growth, seed: Seed(7) };
    Filter::new(parameters, SizeLimit::Unlimited).unwrap()
}

fn add(filter: &mut Filter, i: u64) -> Result<bool, AddError> {
    filter.add(&i.to_le_bytes())
}

fn false_positive_rate(filter: &Filter, added: u64, probes: u64) -> f64 {
    let found = (added..added + probes).filter(|i| filter.contains(&i.to_le_bytes()));
    found.count() as f64 / probes as f64
}

/// Numbers as items: those in the lowest sixteenth of the sub-bitmaps, or all.
fn numbers(crowding: bool, seed: Seed) -> impl Iterator<Item = [u8; 8]> {
    (0..)
        .map(u64::to_le_bytes)
        .filter(move |item| !crowding || ItemHash::of(item, seed).place >> 60 == 0)
}

fn sum(counters: &mut Counters, more: Counters) {
    counters.grown += more.grown;
    counters.guard_closings += more.guard_closings;
}

#[test]
fn batches_leave_what_their_items_leave_one_by_one() {
    for growth in [Growth::Fixed, Growth::Times(2)] {
        for (error_rate, crowding) in [(0.01, false), (0.01, true), (0.1, false)] {
            let mut batched = filter(error_rate, 10_000, growth);
            let mut one_by_one = filter(error_rate, 10_000, growth);
            let (mut counters, mut expected_counters) = (Counters::default(), Counters::default());
            let items: Vec<_> = numbers(crowding, batched.parameters().seed).take(25_000).collect();
            let mut rest = &items[..];
            for len in (1..60).cycle() {
                let (batch, others) = rest.split_at(len.min(rest.len()));
                rest = others;
                // The last item of a batch repeats its first.
                let batch: Vec<&[u8]> = batch.iter().chain(batch.first()).map(|i| &i[..]).collect();
                let mut answers = Vec::new();
                let progress = batched.progress();
                let end = batched.add_many(batch.iter().copied(), |answer| {
                    answers.push(answer);
                });
                sum(&mut counters, batched.counters_since(progress));
                let mut expected = Vec::new();
                let expected_end = batch.iter().try_for_each(|item| {
                    let progress = one_by_one.progress();
                    expected.push(one_by_one.add(item)?);
                    sum(&mut expected_counters, one_by_one.counters_since(progress));
                    Ok(())
                });
                assert_eq!((answers, end), (expected, expected_end));
                assert_eq!(counters, expected_counters);
                if end.is_err() || rest.is_empty() {
                    break;
                }
            }
            assert_eq!(batched.num_parts(), one_by_one.num_parts());
            for (one, other) in batched.bloom().into_iter().zip(one_by_one.bloom()) {
                assert_eq!(one.header(), other.header());
                assert_eq!(one.set_bits(), other.set_bits());
                assert_eq!(one.fill().weight(), other.fill().weight());
            }
            assert_eq!(batched.digest(), one_by_one.digest());
            assert_eq!(counters.grown + 1, batched.num_parts() as u64);
            assert_eq!(counters.guard_closings > 0, crowding, "{error_rate} {growth:?}");
        }
    }
}

#[test]
fn a_fixed_filter_refuses_what_is_new_and_knows_what_is_there() {
    let mut fixed = filter(0.001, 50, Growth::Fixed);
    let refused = (0..).find(|i| add(&mut fixed, *i).is_err());
    assert_eq!(refused, Some(50));
    assert_eq!(fixed.items(), 50);
    assert_eq!(add(&mut fixed, 3), Ok(false));
    assert_eq!(add(&mut fixed, 50), Err(AddError::Full));
    assert!(!fixed.contains(&50u64.to_le_bytes()));
}

#[test]
fn a_fixed_filter_takes_what_was_acknowledged_elsewhere_and_stays_full_for_the_rest() {
    let mut fixed = filter(0.001, 50, Growth::Fixed);
    for i in 0..1000u64 {
        let replayed = fixed.add_limited(&i.to_le_bytes(), SizeLimit::Replay);
        assert!(replayed.is_ok(), "{i}: {replayed:?}");
    }
    assert!((0..1000u64).all(|i| fixed.contains(&i.to_le_bytes())));
    assert_eq!(add(&mut fixed, 1000), Err(AddError::Full));
    assert_eq!(add(&mut fixed, 999), Ok(false));
    let mut loaded: Option<Filter> = None;
    for chunk in chunks(&fixed) {
        let bytes = chunk.encode().unwrap().bytes;
        let chunk = Chunk::parse(&bytes).unwrap();
        let begun = load_chunk(loaded.as_mut(), &chunk, SizeLimit::Unlimited).unwrap();
        loaded = begun.or(loaded);
    }
    let mut loaded = loaded.unwrap();
    assert_eq!(loaded.digest(), fixed.digest());
    assert_eq!(add(&mut loaded, 1000), Err(AddError::Full));
    let found = (1000..101_000u64).filter(|i| fixed.contains(&i.to_le_bytes()));
    assert!(found.count() < 200, "4/3 of 0.001");
}

#[test]
fn a_batch_ends_at_the_first_item_refused() {
    let mut fixed = filter(0.0001, 40, Growth::Fixed);
    let items: Vec<[u8; 8]> = (0..60u64).map(u64::to_le_bytes).collect();
    let mut answers = Vec::new();
    let end = fixed.add_many(items.iter().map(<[u8; 8]>::as_slice), |new| answers.push(new));
    assert_eq!(end, Err(AddError::Full));
    assert_eq!(answers, [true; 40]);
}

#[test]
fn a_filter_grows_by_one_table_and_keeps_the_error_rate_and_every_item() {
    for (capacity, parts) in [(1, 2), (10, 2), (100, 1), (5_000, 2)] {
        let mut grown = filter(0.01, capacity, Growth::Times(2));
        let progress = grown.progress();
        for i in 0..100_000 {
            add(&mut grown, i).unwrap();
        }
        assert_eq!(grown.num_parts(), parts);
        assert_eq!(grown.num_sub_filters(), parts - 1);
        assert!((0..100_000u64).all(|i| grown.contains(&i.to_le_bytes())));
        let rate = false_positive_rate(&grown, 100_000, 1_000_000);
        assert!(rate < 0.0101, "{capacity}: {rate}");
        // Items that were taken for others are not counted, a percent at most.
        assert!((99_000..=100_000).contains(&grown.items()));
        assert!(grown.capacity() >= grown.items());
        let grown_parts = (parts - 1) as u64;
        let counters = grown.counters_since(progress);
        assert_eq!((counters.grown, counters.guard_closings), (grown_parts, 0));
    }
}

#[test]
fn creation_and_growth_stop_at_the_limit_and_change_nothing() {
    let parameters =
        Parameters { error_rate: 0.01, capacity: 1_000, growth: Growth::Times(2), seed: Seed(1) };
    let tight = SizeLimit::Bytes(1_000);
    assert_eq!(Filter::new(parameters, tight).err(), Some(AddError::OverLimit));
    let mut filter = Filter::new(parameters, SizeLimit::Unlimited).unwrap();
    // A byte too little for a list of one, a table and its first page.
    let room = SizeLimit::Bytes(filter.reserved_bytes() + 96 + 64 + 64 - 1);
    let refused = (0u64..).find(|i| filter.add_limited(&i.to_le_bytes(), room).is_err());
    assert_eq!((filter.items(), filter.num_parts()), (1_000, 1));
    let refused = refused.unwrap().to_le_bytes();
    assert_eq!(filter.add_limited(&refused, room), Err(AddError::OverLimit));
    assert_eq!(filter.add(&refused), Ok(true));
    assert_eq!(filter.num_parts(), 2);
}

#[test]
fn a_filter_of_one_part_takes_little_besides() {
    assert_eq!(size_of::<Filter>(), 112);
    let blocks_of = |capacity| {
        let (mut small, mut blocks) = (filter(0.01, capacity, Growth::Times(2)), Vec::new());
        add(&mut small, 1).unwrap();
        small.visit_allocations(|layout, times| blocks.push((layout.size(), times)));
        (blocks, small.reserved_bytes())
    };
    assert_eq!(blocks_of(200), (vec![(264, 1)], 112 + 320));
    assert_eq!(blocks_of(100), (vec![(64, 1)], 112 + 64));
    assert_eq!(blocks_of(10), (Vec::new(), 112));
}

#[test]
fn a_full_filter_takes_no_more_than_its_limit_whatever_the_expansion() {
    for (factor, bytes) in [(1, 8_000), (1, 200_000), (2, 8_000), (2, 1 << 20), (4, 50_000)] {
        let mut filter = filter(0.01, 1, Growth::Times(factor));
        let limit = SizeLimit::Bytes(bytes);
        let refused = (0u64..).find_map(|i| filter.add_limited(&i.to_le_bytes(), limit).err());
        assert_eq!(refused, Some(AddError::OverLimit));
        let mut held = size_class(size_of::<Filter>() as u64);
        filter.visit_allocations(|layout, times| {
            held += size_class(layout.size() as u64) * times;
        });
        assert!(held <= bytes, "{factor}: {held} of {bytes}");
        assert!(held <= filter.reserved_bytes());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn copies_of_copies_live_their_own_lives(
        operations in prop::collection::vec(
            (0usize..4, prop::option::of(0usize..4), any::<u16>()),
            1..300,
        ),
        capacity in 1u64..40_000,
    ) {
        // Four filters, each with the set it must match; now and then one becomes a copy of
        // another.
        let mut filters: Vec<_> = (0..4)
            .map(|_| (filter(1e-6, capacity, Growth::Times(2)), HashSet::new()))
            .collect();
        for (to, copied_from, item) in operations {
            match copied_from {
                Some(from) => {
                    let (filter, set) = &mut filters[from];
                    let copy = (filter.try_clone().unwrap(), set.clone());
                    filters[to] = copy;
                }
                None => {
                    let (filter, set) = &mut filters[to];
                    prop_assert_eq!(add(filter, item.into()), Ok(set.insert(item)));
                }
            }
        }
        for (filter, set) in &filters {
            prop_assert!(set.iter().all(|item| filter.contains(&u64::from(*item).to_le_bytes())));
            prop_assert_eq!(filter.items(), set.len() as u64);
        }
    }

    #[test]
    fn a_filter_answers_like_a_set_but_for_false_positives(
        operations in prop::collection::vec((any::<bool>(), 0u16..400), 1..800),
        capacity in 1u64..200,
        factor in 1u32..5,
        batched in any::<bool>(),
    ) {
        let mut filter = filter(1e-12, capacity, Growth::Times(factor));
        let mut set = HashSet::new();
        for (is_add, item) in operations {
            let bytes = item.to_le_bytes();
            let mut answer = None;
            match (is_add, batched) {
                (true, false) => answer = Some(filter.add(&bytes).unwrap()),
                (true, true) => filter
                    .add_many([&bytes[..]].into_iter(), |a| answer = Some(a))
                    .unwrap(),
                (false, false) => answer = Some(filter.contains(&bytes)),
                (false, true) => {
                    filter.contains_many([&bytes[..]].into_iter(), |a| answer = Some(a));
                }
            }
            let expected = if is_add { set.insert(item) } else { set.contains(&item) };
            prop_assert_eq!(answer, Some(expected));
        }
        prop_assert_eq!(filter.items(), set.len() as u64);
    }
}

/// No filter of ours is like that, but one that somebody has forged may be.
#[test]
fn a_replay_puts_no_item_elsewhere_than_the_primary() {
    let with_table = || {
        let mut filter = filter(0.01, 1_000, Growth::Fixed);
        let mut table = Table::new(filter.table_error_rate().unwrap(), 0);
        let hash = ItemHash::of(b"item", Seed(7));
        table.insert(hash, 0, u64::MAX).unwrap();
        filter.body.append_table(table).unwrap();
        filter
    };
    let (mut primary, mut replica) = (with_table(), with_table());
    for n in 0..1_500u64 {
        let added = primary.add_limited(&n.to_le_bytes(), SizeLimit::Bytes(1 << 30));
        if added.is_ok() {
            assert_eq!(replica.add_limited(&n.to_le_bytes(), SizeLimit::Replay), added);
        }
    }
    assert_eq!(primary.digest(), replica.digest());
    assert_eq!(primary.add(b"another"), Err(AddError::Full));
    assert_eq!(replica.add_limited(b"another", SizeLimit::Replay), Ok(true));
}
