//! The filter against a plain multiset.

use crate::error::AddError;
use crate::filter::SizeLimit;
use crate::filter::{Adding, CountingParameters, Filter};
use crate::hash::Seed;
use crate::storage::Mover;
use crate::table::{Pages, Table};
use proptest::prelude::*;
use std::collections::HashMap;

const UNLIMITED: SizeLimit = SizeLimit::Unlimited;
/// So low that a few thousand items have no false positive.
const EXACT: f64 = 1e-9;

fn parameters(error_rate: f64) -> CountingParameters {
    parameters_for(1024, error_rate)
}

fn parameters_for(capacity: u64, error_rate: f64) -> CountingParameters {
    CountingParameters {
        error_rate,
        capacity,
        expansion: 1,
        bucket_size: 2,
        max_iterations: 20,
        seed: Seed(7),
    }
}

fn filter(error_rate: f64) -> Filter {
    Filter::counting(parameters(error_rate), UNLIMITED).unwrap()
}

fn item(number: u64) -> [u8; 8] {
    number.to_le_bytes()
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Add(u64, u16),
    AddAbsent(u64, u16),
    Remove(u64, u16),
    Clone,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let item = 0..3_000u64;
    let step = prop_oneof![
        4 => (item.clone(), 1..600u16).prop_map(|(first, items)| Step::Add(first, items)),
        2 => (item.clone(), 1..600u16).prop_map(|(first, items)| Step::AddAbsent(first, items)),
        4 => (item, 1..900u16).prop_map(|(first, items)| Step::Remove(first, items)),
        1 => Just(Step::Clone),
    ];
    prop::collection::vec(step, 1..40)
}

/// What a multiset of items says.
#[derive(Clone, Default)]
struct Model {
    copies: HashMap<u64, u64>,
    deleted: u64,
}

impl Model {
    fn count(&self, number: u64) -> u64 {
        self.copies.get(&number).copied().unwrap_or(0)
    }

    fn add(&mut self, number: u64) {
        *self.copies.entry(number).or_default() += 1;
    }
}

/// A replica has no limit of its own, and gets the items that the primary has not refused.
#[test]
fn a_limit_refuses_items_and_decides_nothing_else() {
    let limit = SizeLimit::Bytes(60_000);
    for capacity in [1024, 100_000, 1 << 40] {
        let filter = || Filter::counting(parameters_for(capacity, 0.01), UNLIMITED).unwrap();
        let (mut primary, mut replica) = (filter(), filter());
        let mut refused = 0;
        for number in 0..50_000 {
            match primary.add_copy(&item(number), Adding::Copies, limit) {
                Ok(_) => {
                    let added = replica.add_copy(&item(number), Adding::Copies, SizeLimit::Replay);
                    assert_eq!(added, Ok(true));
                }
                Err(error) => {
                    assert_eq!(error, AddError::OverLimit);
                    refused += 1;
                }
            }
        }
        assert!(refused > 0 && primary.reserved_bytes() <= 60_000);
        assert_eq!(primary.reserved_bytes(), replica.reserved_bytes());
        assert_eq!(primary.digest(), replica.digest());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn a_filter_holds_what_a_plain_multiset_holds(
        steps in steps(), error_rate in prop_oneof![Just(EXACT), Just(0.01), Just(0.3)],
        capacity in prop_oneof![Just(1024), Just(5_000)],
    ) {
        let filter = Filter::counting(parameters_for(capacity, error_rate), UNLIMITED);
        let (mut filter, mut model) = (filter.unwrap(), Model::default());
        for step in steps {
            match step {
                Step::Add(first, items) => for number in first..first + u64::from(items) {
                    let added = filter.add_copy(&item(number), Adding::Copies, UNLIMITED);
                    prop_assert_eq!(added, Ok(true));
                    model.add(number);
                },
                Step::AddAbsent(first, items) => for number in first..first + u64::from(items) {
                    let was_found = filter.contains(&item(number));
                    let added = filter.add_copy(&item(number), Adding::Absent, UNLIMITED);
                    prop_assert_eq!(added, Ok(!was_found));
                    if !was_found {
                        model.add(number);
                    }
                },
                // An item that the model does not have must not be removed, unless it is certain
                // that the filter does not find it.
                Step::Remove(first, items) => for number in first..first + u64::from(items) {
                    if model.count(number) > 0 {
                        prop_assert_eq!(filter.remove(&item(number)), Ok(true));
                        *model.copies.entry(number).or_default() -= 1;
                        model.deleted += 1;
                    } else if !filter.contains(&item(number)) {
                        prop_assert_eq!(filter.remove(&item(number)), Ok(false));
                    }
                },
                Step::Clone => {
                    let clone = filter.try_clone().unwrap();
                    // The original changes and goes; the copy is as it was.
                    for number in 0..100 {
                        filter.add_copy(&item(number), Adding::Copies, UNLIMITED).unwrap();
                    }
                    filter = clone;
                }
            }
        }
        prop_assert_eq!(filter.items(), model.copies.values().sum::<u64>());
        prop_assert_eq!(filter.deleted(), model.deleted);
        let mut found = Vec::new();
        let items: Vec<[u8; 8]> = (0..4_000).map(item).collect();
        filter.contains_many(items.iter().map(|item| &item[..]), |is_there| found.push(is_there));
        for number in 0..4_000 {
            let (count, copies) = (filter.count(&item(number)), model.count(number));
            prop_assert!(count >= copies, "{}: {} of {}", number, count, copies);
            prop_assert!(error_rate > EXACT || count == copies, "{}", number);
            prop_assert_eq!(filter.contains(&item(number)), count > 0);
            prop_assert_eq!(found[number as usize], count > 0);
        }
        prop_assert!(filter.false_positive_rate() <= error_rate);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn a_batch_does_what_its_items_do_one_by_one(
        batches in prop::collection::vec(
            (prop::collection::vec(0..300u64, 0..400), any::<bool>()), 1..6
        ),
        expansion in 0..2u16,
    ) {
        let parameters = CountingParameters { expansion, ..parameters(0.01) };
        let mut together = Filter::counting(parameters, UNLIMITED).unwrap();
        let mut singly = Filter::counting(parameters, UNLIMITED).unwrap();
        for (numbers, is_absent) in batches {
            let adding = if is_absent { Adding::Absent } else { Adding::Copies };
            let items: Vec<[u8; 8]> = numbers.into_iter().map(item).collect();
            let mut answers = Vec::new();
            let slices = items.iter().map(|item| &item[..]);
            let end = together.add_copies(slices, adding, UNLIMITED, |answer| {
                answers.push(answer);
                Ok(())
            });
            prop_assert_eq!(end, Ok(()));
            let one_by_one = items.iter().map(|item| singly.add_copy(item, adding, UNLIMITED));
            prop_assert_eq!(answers, one_by_one.collect::<Vec<_>>());
        }
        prop_assert_eq!(together.digest(), singly.digest());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn a_batch_that_ends_at_a_refusal_does_what_its_items_do_one_by_one(
        batches in prop::collection::vec(
            (prop::collection::vec(0..300u64, 0..400), 0..3u8), 1..6
        ),
        expansion in 0..2u16,
    ) {
        let parameters = CountingParameters { expansion, ..parameters(0.01) };
        let mut together = Filter::counting(parameters, UNLIMITED).unwrap();
        let mut singly = Filter::counting(parameters, UNLIMITED).unwrap();
        for (numbers, change) in batches {
            let items: Vec<[u8; 8]> = numbers.into_iter().map(item).collect();
            let slices = items.iter().map(|item| &item[..]);
            let adding = if change == 0 { Adding::Absent } else { Adding::Copies };
            let mut answers = Vec::new();
            let mut answer = |is_done| answers.push(is_done);
            let end = match change {
                2 => together.remove_many(slices, answer),
                _ => together.add_copies(slices, adding, UNLIMITED, |done| done.map(&mut answer)),
            };
            let mut expected = Vec::new();
            let end_of_twin = items.iter().try_for_each(|item| {
                let done = match change {
                    2 => singly.remove(item),
                    _ => singly.add_copy(item, adding, UNLIMITED),
                };
                done.map(|is_done| expected.push(is_done))
            });
            prop_assert_eq!(end, end_of_twin);
            prop_assert_eq!(answers, expected);
        }
        prop_assert_eq!(together.digest(), singly.digest());
        prop_assert_eq!(together.deleted(), singly.deleted());
    }
}

fn add_all(
    filter: &mut Filter,
    items: &[&[u8]],
    adding: Adding,
    answers: &mut Vec<Result<bool, AddError>>,
) {
    let added = filter.add_copies(items.iter().copied(), adding, UNLIMITED, |answer| {
        answers.push(answer);
        Ok(())
    });
    assert_eq!(added, Ok(()));
}

#[test]
fn a_filter_that_does_not_grow_refuses_what_is_beyond_its_capacity() {
    let fixed = CountingParameters { capacity: 3, expansion: 0, ..parameters(EXACT) };
    let mut filter = Filter::counting(fixed, UNLIMITED).unwrap();
    let items = ["a", "b", "a", "c", "d"].map(str::as_bytes);
    let mut answers = Vec::new();
    add_all(&mut filter, &items, Adding::Copies, &mut answers);
    let full = Err(AddError::Full);
    assert_eq!(answers, [Ok(true), Ok(true), Ok(true), full, full]);
    answers.clear();
    add_all(&mut filter, &items, Adding::Absent, &mut answers);
    assert_eq!(answers, [Ok(false), Ok(false), Ok(false), full, full]);
    assert_eq!((filter.items(), filter.count(b"a")), (3, 2));

    assert_eq!(filter.remove(b"a"), Ok(true));
    assert_eq!(filter.add_copy(b"d", Adding::Absent, UNLIMITED), Ok(true));
    assert_eq!(filter.add_copy(b"e", Adding::Absent, UNLIMITED), full);
    let replayed = filter.add_copy(b"e", Adding::Absent, SizeLimit::Replay);
    assert_eq!(replayed, Ok(true), "acknowledged elsewhere");
}

#[test]
fn an_emptied_filter_is_as_one_that_never_held_more_than_an_item() {
    // Enough that the first entries, which have become several, outlive their items.
    const ITEMS: u64 = 2_000_000;
    let (mut emptied, mut small) = (filter(0.25), filter(0.25));
    let new = small.reserved_bytes();
    for n in 0..ITEMS {
        emptied.add_copy(&item(n), Adding::Copies, UNLIMITED).unwrap();
    }
    for n in 0..ITEMS {
        assert_eq!(emptied.remove(&item(n)), Ok(true));
        small.add_copy(b"a", Adding::Copies, UNLIMITED).unwrap();
        assert_eq!(small.remove(b"a"), Ok(true));
    }
    assert_eq!((emptied.items(), emptied.reserved_bytes()), (0, new));
    assert_eq!((emptied.pages(), emptied.false_positive_rate()), (1, 0.0));
    assert_eq!(emptied.digest(), small.digest());
}

#[test]
fn a_million_copies_of_one_item_take_a_counter() {
    let mut filter = filter(0.01);
    for _ in 0..1_000_000 {
        assert_eq!(filter.add_copy(b"a", Adding::Copies, UNLIMITED), Ok(true));
    }
    assert_eq!(filter.count(b"a"), 1_000_000);
    assert!(filter.reserved_bytes() < 1_000, "{}", filter.reserved_bytes());
    for _ in 0..1_000_000 {
        assert_eq!(filter.remove(b"a"), Ok(true));
    }
    assert_eq!(filter.remove(b"a"), Ok(false));
    assert_eq!((filter.items(), filter.deleted()), (0, 1_000_000));
}

#[test]
fn after_a_deletion_a_filter_takes_what_its_items_need_whatever_it_was_reserved_for() {
    let add = |filter: &mut Filter, numbers: std::ops::Range<u64>| {
        for number in numbers {
            let added = filter.add_copy(&item(number), Adding::Copies, UNLIMITED);
            assert_eq!(added, Ok(true));
        }
    };
    let mut reserved = Filter::counting(parameters_for(100_000, 0.01), UNLIMITED).unwrap();
    let mut grown = Filter::counting(parameters_for(100_000, 0.01), UNLIMITED).unwrap();
    add(&mut grown, 0..1);
    assert_eq!(grown.remove(&item(0)), Ok(true));
    add(&mut reserved, 0..60_000);
    add(&mut grown, 0..60_000);
    assert!(reserved.reserved_bytes() * 10 > grown.reserved_bytes() * 12);
    for number in 0..10_000 {
        assert_eq!(reserved.remove(&item(number)), Ok(true));
        assert_eq!(grown.remove(&item(number)), Ok(true));
    }
    add(&mut reserved, 60_000..70_000);
    add(&mut grown, 60_000..70_000);
    let larger = reserved.reserved_bytes() as f64 / grown.reserved_bytes() as f64;
    assert!((0.97..1.03).contains(&larger), "{larger}");
}

#[test]
fn a_reserved_filter_keeps_its_rate_when_it_is_full_refilled_and_outgrown() {
    for (error_rate, bits) in [(0.25, 10.0), (0.1, 12.0), (0.01, 15.0), (0.0001, 24.0)] {
        for capacity in [100, 1_000, 2_000, 5_000, 12_000, 60_000] {
            for expansion in [0, 1] {
                let parameters =
                    CountingParameters { expansion, ..parameters_for(capacity, error_rate) };
                let mut filter = Filter::counting(parameters, UNLIMITED).unwrap();
                let mut items = 0..0;
                let mut fill = |filter: &mut Filter, to| {
                    while filter.items() < to {
                        let added = filter.add_copy(&item(items.end), Adding::Copies, UNLIMITED);
                        assert_eq!(added, Ok(true));
                        items.end += 1;
                    }
                    while filter.items() > to {
                        assert_eq!(filter.remove(&item(items.start)), Ok(true));
                        items.start += 1;
                    }
                    assert!(items.clone().all(|n| filter.contains(&item(n))));
                    let used = filter.false_positive_rate() / error_rate;
                    assert!(used <= 1.0, "{used} of {error_rate}, {to} of {capacity}");
                };
                fill(&mut filter, capacity);
                let has_room = capacity < 12_000 || filter.bits_per_item(0).unwrap() < bits;
                assert!(has_room, "{:?} of {capacity}", filter.bits_per_item(0));
                for share in [2, 30, 3] {
                    fill(&mut filter, capacity / share);
                    fill(&mut filter, capacity);
                }
                if expansion > 0 {
                    fill(&mut filter, 16 * capacity.min(10_000));
                }
            }
        }
    }
}

#[test]
fn a_filter_does_not_grow_past_its_limit() {
    let empty = filter(0.01).reserved_bytes();
    let under = |most| Filter::counting(parameters(0.01), SizeLimit::Bytes(most));
    assert!(under(empty).is_ok());
    assert_eq!(under(empty - 1).err(), Some(AddError::OverLimit));

    let limit = SizeLimit::Bytes(20_000);
    let mut filter = filter(0.01);
    let refused =
        (0..).find(|number| filter.add_copy(&item(*number), Adding::Copies, limit).is_err());
    let refused = refused.unwrap();
    assert!(refused > 5_000, "{refused}");
    let error = filter.add_copy(&item(refused), Adding::Copies, limit);
    assert_eq!(error, Err(AddError::OverLimit));
    assert_eq!(filter.items(), refused);
    assert_eq!(filter.add_copy(&item(0), Adding::Absent, limit), Ok(false));
    assert_eq!(filter.remove(&item(0)), Ok(true));
    assert_eq!(filter.add_copy(&item(refused), Adding::Copies, UNLIMITED), Ok(true));
}

#[test]
fn buckets_are_those_that_a_cuckoo_filter_would_have() {
    for (capacity, bucket_size, buckets) in
        [(1000, 2, 512), (10, 2, 8), (64, 1, 64), (256, 4, 64), (1, 255, 1), (1 << 40, 1, 1 << 40)]
    {
        let parameters = CountingParameters { capacity, bucket_size, ..parameters(0.01) };
        assert_eq!(parameters.buckets(), buckets);
    }
}

/// Moves nothing and never has time.
struct Hurried(u64);

impl Mover for Hurried {
    fn relocate<T>(&mut self, elements: Vec<T>) -> Vec<T> {
        self.0 += 1;
        elements
    }

    fn should_stop(&mut self) -> bool {
        true
    }
}

#[test]
fn a_step_of_defragmentation_without_time_still_gets_on() {
    let mut filter = filter(0.01);
    for number in 0..30_000 {
        filter.add_copy(&item(number), Adding::Copies, UNLIMITED).unwrap();
    }
    let (mut from, mut steps, mut mover) = (0, 1, Hurried(0));
    while let Some(next) = filter.relocate(from, &mut mover) {
        assert!(next.get() > from);
        (from, steps) = (next.get(), steps + 1);
    }
    assert_eq!(steps, filter.pages());
    let mut allocations = 0;
    filter.visit_allocations(|_, times| allocations += times);
    assert_eq!(mover.0, allocations);
}

#[test]
fn a_copy_that_cannot_be_counted_is_refused() {
    let mut filter = filter(0.01);
    for _ in 0..10 {
        filter.add_copy(b"a", Adding::Copies, UNLIMITED).unwrap();
    }
    // The counter is the end of the record. Nobody waits for four thousand million adds.
    let mut record = Vec::new();
    let table = filter.table().unwrap();
    table.page_record(0).write(&mut |bytes| record.extend(bytes));
    let last = record.iter().rposition(|byte| *byte != 0).unwrap();
    record[last..last + 4].copy_from_slice(&(u32::MAX - 2).to_le_bytes());
    let mut pages = Pages::starting_at(0);
    pages.push(table, &record).unwrap();
    let mut table = Table::new(0.01, 0);
    table.load(pages, None).unwrap();
    *filter.body.table_mut().unwrap() = table;

    assert_eq!(filter.add_copy(b"a", Adding::Copies, UNLIMITED), Ok(true));
    let (items, copies) = (filter.items(), filter.count(b"a"));
    assert!(copies >= u64::from(u32::MAX));
    let refused = filter.add_copy(b"a", Adding::Copies, UNLIMITED);
    assert_eq!(refused, Err(AddError::Uncountable));
    assert_eq!((filter.items(), filter.count(b"a")), (items, copies));
    assert_eq!(filter.add_copy(b"b", Adding::Copies, UNLIMITED), Ok(true));
}

#[test]
fn its_size_is_known_without_a_step_for_each_page() {
    let mut filter = filter(0.01);
    let mut steps = Vec::new();
    for number in 0..60_000 {
        filter.add_copy(&item(number), Adding::Copies, UNLIMITED).unwrap();
        if number % 20_000 == 0 {
            let (mut all, mut besides, mut taken) = (0, 0, 0);
            filter.visit_allocations(|layout, times| all += layout.size() as u64 * times);
            filter.visit_besides_pages(|layout, times| {
                besides += layout.size() as u64 * times;
                taken += 1;
            });
            assert_eq!(besides + filter.bytes_of_pages(), all);
            steps.push(taken);
        }
    }
    assert!(filter.pages() > 10);
    assert_eq!(steps, [0, 0, 0]);
}
