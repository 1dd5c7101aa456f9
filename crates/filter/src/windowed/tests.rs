//! The filter against a map from items to the time when they came.

use super::{Outcome, Window, WindowedFilter};
use crate::codec::{chunks, encode_chunk, load_chunk, Chunk};
use crate::filter::{Growth, Parameters};
use crate::hash::Seed;
use crate::size_limit::SizeLimit;
use proptest::prelude::*;
use std::collections::HashMap;

const UNLIMITED: SizeLimit = SizeLimit::Unlimited;
/// So low that a few thousand items have no false positive.
const EXACT: f64 = 1e-9;
/// Some time, in milliseconds since 1970.
const START: u64 = 1_700_000_000_123;

fn parameters(error_rate: f64) -> Parameters {
    Parameters {
        error_rate,
        capacity: 1_000,
        growth: Growth::Times(2),
        seed: Seed(7),
    }
}

fn filter(error_rate: f64, seconds: u32, slices: u8, renew: bool) -> WindowedFilter {
    let window = Window::new(seconds, slices, renew).unwrap();
    WindowedFilter::new(parameters(error_rate), window, UNLIMITED).unwrap()
}

fn item(number: u64) -> [u8; 8] {
    number.to_le_bytes()
}

/// The bytes of a filter, chunk by chunk.
fn bytes_of(filter: &WindowedFilter) -> Vec<Vec<u8>> {
    chunks(filter)
        .map(|chunk| chunk.encode().unwrap().bytes)
        .collect()
}

fn loaded(chunks: &[Vec<u8>]) -> WindowedFilter {
    let mut loaded: Option<WindowedFilter> = None;
    for bytes in chunks {
        let chunk = Chunk::parse(bytes).unwrap();
        let begun = load_chunk(loaded.as_mut(), &chunk, UNLIMITED).unwrap();
        loaded = begun.or(loaded);
    }
    loaded.unwrap()
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Add(u64, u16),
    Look(u64, u16),
    /// Some thousandths of the window pass.
    Wait(u16),
    Sweep,
    Clone,
    Load,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let item = 0..4_000u64;
    let step = prop_oneof![
        6 => (item.clone(), 1..800u16).prop_map(|(first, items)| Step::Add(first, items)),
        2 => (item, 1..400u16).prop_map(|(first, items)| Step::Look(first, items)),
        5 => (1..300u16).prop_map(Step::Wait),
        1 => (300..2_500u16).prop_map(Step::Wait),
        2 => Just(Step::Sweep),
        1 => Just(Step::Clone),
        1 => Just(Step::Load),
    ];
    prop::collection::vec(step, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn items_are_remembered_for_the_window_and_no_longer_than_a_slice_more(
        steps in steps(), seconds in prop_oneof![Just(1u32), Just(7), Just(604_800)],
        slices in 2..=14u8, renew in any::<bool>(),
    ) {
        let mut filter = filter(EXACT, seconds, slices, renew);
        let mut twin = WindowedFilter::new(filter.parameters(), filter.window(), UNLIMITED).unwrap();
        let length = u64::from(seconds) * 1_000;
        let slice = length.div_ceil(slices.into());
        // When each item came, or was renewed.
        let mut came: HashMap<u64, u64> = HashMap::new();
        let mut now = START;
        for step in steps {
            match step {
                Step::Add(first, items) => for number in first..first + u64::from(items) {
                    let age = came.get(&number).map(|then| now - then);
                    let added = filter.add(&item(number), now, UNLIMITED).unwrap();
                    prop_assert_eq!(twin.add(&item(number), now, UNLIMITED), Ok(added));
                    prop_assert!(age.is_some_and(|age| age <= length + slice) || added.is_new());
                    prop_assert!(age.is_none_or(|age| age > length) || !added.is_new());
                    if added.has_changed() {
                        came.insert(number, now);
                    }
                    prop_assert!(renew || added != Outcome::Renewed);
                },
                Step::Look(first, items) => {
                    let numbers: Vec<_> = (first..first + u64::from(items)).map(item).collect();
                    let (mut found, mut next) = (Vec::new(), first);
                    filter.contains_many(numbers.iter().map(|n| &n[..]), now, |is| found.push(is));
                    for is_there in found {
                        let age = came.get(&next).map(|then| now - then);
                        prop_assert!(is_there || age.is_none_or(|age| age > length));
                        prop_assert!(!is_there || age.is_some_and(|age| age <= length + slice));
                        prop_assert_eq!(filter.contains(&item(next), now), is_there);
                        next += 1;
                    }
                }
                Step::Wait(thousandths) => now += length * u64::from(thousandths) / 1_000,
                Step::Sweep => {
                    let swept = filter.sweep_step(now).unwrap();
                    prop_assert_eq!(twin.sweep_step(now), Ok(swept));
                    let digest = filter.digest();
                    prop_assert_eq!(filter.sweep_step(now).unwrap().forgotten, 0);
                    twin.sweep_step(now).unwrap();
                    prop_assert_eq!(filter.digest(), digest);
                }
                Step::Clone => {
                    let clone = filter.try_clone().unwrap();
                    for number in 0..100 {
                        filter.add(&item(number), now + 2 * length, UNLIMITED).unwrap();
                    }
                    filter = clone;
                }
                Step::Load => filter = loaded(&bytes_of(&filter)),
            }
            prop_assert_eq!(filter.parts.table().unwrap().len(), filter.slices.items());
        }
        prop_assert_eq!(filter.digest(), twin.digest());
        prop_assert_eq!(bytes_of(&filter), bytes_of(&twin));
        let remembered = came.values().filter(|then| now - **then <= length).count() as u64;
        let at_most = came.values().filter(|then| now - **then <= length + slice).count() as u64;
        let items = filter.items(now);
        prop_assert!((remembered..=at_most).contains(&items), "{} {} {}", remembered, items, at_most);
    }
}

#[test]
fn smoke() {
    let mut filter = filter(0.01, 10, 8, false);
    assert_eq!(filter.add(b"a", START, UNLIMITED), Ok(Outcome::New));
    assert_eq!(
        filter.add(b"a", START + 1, UNLIMITED),
        Ok(Outcome::Unchanged)
    );
    assert_eq!(filter.latest(), START);
    let digest = filter.digest();
    assert!(encode_chunk(&filter, 0).unwrap().is_some());
    assert!(filter.contains(b"a", START + 10_000));
    assert!(!filter.contains(b"a", START + 12_500));
    assert_eq!(filter.digest(), digest);
    let due = filter.next_due().unwrap();
    let swept = filter.sweep_step(due).unwrap();
    assert_eq!((swept.forgotten, swept.is_done), (1, true));
    assert_eq!(filter.next_due(), None);
}
