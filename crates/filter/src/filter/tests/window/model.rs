//! The filter against a map from items to the time when they came.

use super::*;
use proptest::prelude::*;
use std::collections::HashMap;

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
        let window = filter.window().unwrap();
        let mut twin = Filter::windowed(filter.parameters(), window, UNLIMITED).unwrap();
        let length = u64::from(seconds) * 1_000;
        let slice = length.div_ceil(slices.into());
        // When each item came, or was renewed.
        let mut came: HashMap<u64, u64> = HashMap::new();
        let mut now = START;
        for step in steps {
            match step {
                Step::Add(first, items) => for number in first..first + u64::from(items) {
                    let age = came.get(&number).map(|then| now - then);
                    let added = filter.add_at(&item(number), now, UNLIMITED).unwrap();
                    prop_assert_eq!(twin.add_at(&item(number), now, UNLIMITED), Ok(added));
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
                    let items = numbers.iter().map(|n| &n[..]);
                    filter.contains_many_at(items, now, |is| found.push(is));
                    for is_there in found {
                        let age = came.get(&next).map(|then| now - then);
                        prop_assert!(is_there || age.is_none_or(|age| age > length));
                        prop_assert!(!is_there || age.is_some_and(|age| age <= length + slice));
                        prop_assert_eq!(filter.contains_at(&item(next), now), is_there);
                        next += 1;
                    }
                }
                Step::Wait(thousandths) => {
                    // As the server's timer does. Without, slices may pass faster than they are
                    // swept, and the newest ones are remembered longer.
                    sweep_all(&mut filter, now);
                    sweep_all(&mut twin, now);
                    now += length * u64::from(thousandths) / 1_000;
                }
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
                        filter.add_at(&item(number), now + 2 * length, UNLIMITED).unwrap();
                    }
                    filter = clone;
                }
                Step::Load => filter = loaded(&bytes_of(&filter)),
            }
            prop_assert_eq!(filter.table().unwrap().len(), filter.slices().items());
        }
        prop_assert_eq!(filter.digest(), twin.digest());
        prop_assert_eq!(bytes_of(&filter), bytes_of(&twin));
        let remembered = came.values().filter(|then| now - **then <= length).count() as u64;
        let at_most = came.values().filter(|then| now - **then <= length + slice).count() as u64;
        let items = filter.items_at(now);
        let is_within = (remembered..=at_most).contains(&items);
        prop_assert!(is_within, "{} {} {}", remembered, items, at_most);
    }
}

/// A stream at 1 %: a fixed number of items a window, for fifty windows, drawn from four times as
/// many.
/// Returns the part of lookups for items long forgotten, or never added, that found one.
fn measured_rate(renew: bool, slices: u8, is_swept: bool) -> f64 {
    const ITEMS: u64 = 6_000;
    const LENGTH: u64 = 100_000;
    let mut filter = filter(0.01, 100, slices, renew);
    let slice = LENGTH.div_ceil(slices.into());
    let mut came: HashMap<u64, u64> = HashMap::new();
    let (mut lookups, mut found) = (0u32, 0u32);
    for n in 0..50 * ITEMS {
        let now = START + n * LENGTH / ITEMS;
        let number = (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20) % (4 * ITEMS);
        let age = came.get(&number).map(|then| now - then);
        let added = filter.add_at(&item(number), now, UNLIMITED).unwrap();
        assert!(age.is_none_or(|age| age > LENGTH) || !added.is_new());
        // What was found by mistake is remembered as long as what it was taken for.
        if added.has_changed() {
            came.insert(number, now);
        }
        if is_swept && n % 50 == 0 && filter.next_due().is_some_and(|due| due <= now) {
            filter.sweep_step(now).unwrap();
        }
        let other = n % (8 * ITEMS);
        let age = came.get(&other).map(|then| now - then);
        let is_there = filter.contains_at(&item(other), now);
        assert!(is_there || age.is_none_or(|age| age > LENGTH));
        if age.is_none_or(|age| age > LENGTH + slice) {
            lookups += 1;
            found += u32::from(is_there);
        }
    }
    f64::from(found) / f64::from(lookups)
}

#[test]
fn through_fifty_windows_the_error_rate_holds_and_no_item_is_forgotten_early() {
    for (renew, slices, is_swept) in
        [(false, 2, true), (true, 3, false), (false, 8, false), (true, 8, true), (false, 14, true)]
    {
        let rate = measured_rate(renew, slices, is_swept);
        assert!(rate < 0.01, "{rate} with {slices} slices, {renew}");
    }
}
