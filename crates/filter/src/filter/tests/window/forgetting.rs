//! What is forgotten and when, and what is left of it.

use super::*;
use crate::error::AddError;
use crate::hash::{ItemHash, G};

#[test]
fn an_add_without_effect_does_not_even_move_the_time() {
    let mut filter = filter(0.01, 10, 8, false);
    assert_eq!(filter.latest(), 0);
    assert_eq!(filter.add_at(b"a", START, UNLIMITED), Ok(Outcome::New));
    let (digest, bytes) = (filter.digest(), bytes_of(&filter));
    let again = filter.add_at(b"a", START + 9_999, UNLIMITED);
    assert_eq!(again, Ok(Outcome::Unchanged));
    assert!(filter.contains_at(b"a", START + 10_000));
    assert!(!filter.contains_at(b"a", START + 11_250));
    assert_eq!((filter.items_at(START), filter.items_at(START + 11_250)), (1, 0));
    assert_eq!(filter.latest(), START);
    assert_eq!(filter.digest(), digest);
    assert_eq!(bytes_of(&filter), bytes);
}

#[test]
fn an_item_is_renewed_once_a_slice() {
    let mut filter = filter(0.01, 8, 8, true);
    let mut now = START;
    for _ in 0..100 {
        assert_ne!(filter.add_at(b"a", now, UNLIMITED), Ok(Outcome::Unchanged));
        let digest = filter.digest();
        let again = filter.add_at(b"a", now, UNLIMITED);
        assert_eq!((again, filter.digest()), (Ok(Outcome::Unchanged), digest));
        assert_eq!(filter.items_at(now), 1);
        now += 1_000;
    }
    assert_eq!(filter.forgotten(), 0);
    assert!(filter.contains_at(b"a", now - 1_000 + 8_000));
    assert_eq!(filter.add_at(b"a", now + 20_000, UNLIMITED), Ok(Outcome::New));
}

#[test]
fn an_earlier_time_counts_as_the_latest_seen() {
    let mut filter = filter(0.01, 10, 2, false);
    filter.add_at(b"a", START, UNLIMITED).unwrap();
    assert_eq!(filter.add_at(b"b", START - 60_000, UNLIMITED), Ok(Outcome::New));
    assert_eq!(filter.latest(), START);
    assert!(filter.contains_at(b"b", START + 10_000));
    assert!(filter.contains_at(b"b", 0));
    let by_slice: Vec<_> = filter.items_by_slice(0).map(|(_, items)| items).collect();
    assert_eq!(by_slice, [0, 0, 2]);
}

/// With long fingerprints and few entries a page must have more buckets than its entries need.
#[test]
fn a_filter_that_falls_to_one_item_finds_it_and_is_read_again() {
    for (error_rate, capacity) in [(1e-12, 1_000), (1e-12, 100_000), (1e-11, 1_000), (1e-9, 1_000)]
    {
        let window = Window::new(60, 8, false).unwrap();
        let parameters = Parameters { capacity, ..parameters(error_rate) };
        let mut filter = Filter::windowed(parameters, window, UNLIMITED).unwrap();
        add(&mut filter, 0..20_000, START);
        add(&mut filter, 20_000..20_001, START + 30_000);
        let now = START + 68_000;
        sweep_all(&mut filter, now);
        assert!(filter.contains_at(&item(20_000), now));
        assert!(!(0..20_000).any(|number| filter.contains_at(&item(number), now)));
        let bytes = bytes_of(&filter);
        assert_eq!(bytes_of(&loaded(&bytes)), bytes);
        add(&mut filter, 30_000..30_010, now);
        loaded(&bytes_of(&filter));
    }
}

#[test]
fn the_time_of_each_slice_is_told() {
    let mut filter = filter(0.01, 8, 8, false);
    let start = START / 1_000 * 1_000;
    for n in 0..5 {
        add(&mut filter, 10 * n..10 * n + n, start + 1_000 * n + 500);
    }
    let by_slice: Vec<_> = filter.items_by_slice(start + 4_600).collect();
    let expected = (0..9).map(|n| (start + 1_000 * n - 4_000, n.saturating_sub(4)));
    assert_eq!(by_slice, expected.collect::<Vec<_>>());
    assert_eq!(filter.age_of_oldest(start + 4_600), Some(3_600));
    assert_eq!(filter.next_due(), Some(start + 10_000));
    assert_eq!(filter.items_at(start + 9_999), 10);
    assert_eq!(filter.items_at(start + 10_000), 9);
    assert_eq!(filter.age_of_oldest(start + 60_000), None);
}

#[test]
fn a_filter_that_does_not_grow_refuses_more_than_it_may_remember() {
    let fixed = Parameters { capacity: 3, growth: Growth::Fixed, ..parameters(EXACT) };
    let window = Window::new(10, 2, true).unwrap();
    let mut filter = Filter::windowed(fixed, window, UNLIMITED).unwrap();
    add(&mut filter, 0..3, START);
    let digest = filter.digest();
    let refused = filter.add_at(&item(3), START + 5_000, UNLIMITED);
    assert_eq!((refused, filter.digest()), (Err(AddError::Full), digest));
    let renewed = filter.add_at(&item(0), START + 5_000, UNLIMITED);
    assert_eq!(renewed, Ok(Outcome::Renewed));
    let added = filter.add_at(&item(3), START + 15_000, UNLIMITED);
    assert_eq!((added, filter.items_at(START + 15_000)), (Ok(Outcome::New), 2));
}

#[test]
fn an_add_that_is_refused_changes_nothing_even_where_slices_are_over() {
    let mut filter = filter(0.01, 10, 8, false);
    add(&mut filter, 0..1, START);
    add(&mut filter, 1..6_000, START + 5_000);
    let (mut number, limit) = (6_000, SizeLimit::Bytes(filter.reserved_bytes()));
    while filter.add_at(&item(number), START + 5_000, limit).is_ok() {
        number += 1;
    }
    let (digest, bytes) = (filter.digest(), bytes_of(&filter));
    // By then the first item is over.
    let refused = filter.add_at(&item(number), START + 12_000, limit);
    assert_eq!(refused, Err(AddError::OverLimit));
    assert_eq!((filter.digest(), filter.forgotten()), (digest, 0));
    assert_eq!(bytes_of(&filter), bytes);
    let tiny = SizeLimit::Bytes(1);
    // By then all are, and an empty table has no room for one either.
    let refused = filter.add_at(&item(number), START + 60_000, tiny);
    assert_eq!(refused, Err(AddError::OverLimit));
    assert_eq!(bytes_of(&filter), bytes);
    assert!(filter.contains_at(&item(1), START + 5_000));
    let added = filter.add_at(&item(number), START + 60_000, limit);
    assert_eq!(added, Ok(Outcome::New));
}

#[test]
fn a_stream_that_ends_leaves_nothing_behind() {
    let mut filter = filter(EXACT, 80, 8, false);
    for n in 0..60_000 {
        filter.add_at(&item(n), START + 2 * n, UNLIMITED).unwrap();
    }
    let mut now = START;
    let mut steps = 0;
    while let Some(due) = filter.next_due() {
        now = due.max(now);
        filter.sweep_step(now).unwrap();
        steps += 1;
        assert!(filter.take_gone().is_none(), "no large table goes at once");
    }
    assert!(now <= START + 120_000 + 90_000);
    assert!(steps > 30, "{steps}");
    assert_eq!((filter.items_at(now), filter.forgotten()), (0, 60_000));
    assert!(filter.reserved_bytes() < 1_024, "{}", filter.reserved_bytes());
    assert!(filter.is_clear());
}

impl Filter {
    /// Whether it is as empty as it can be.
    fn is_clear(&self) -> bool {
        let slices = self.slices();
        slices.used == 0 && self.allocations() == 2 && slices.dead == 0
    }
}

#[test]
fn all_of_a_large_table_goes_at_once_and_is_freed_elsewhere() {
    for by_add in [false, true] {
        let mut filter = filter(EXACT, 10, 8, false);
        add(&mut filter, 0..200_000, START);
        let later = START + 60_000;
        assert!(!filter.contains_at(&item(0), later));
        if by_add {
            let added = filter.add_at(&item(0), later, UNLIMITED);
            assert_eq!((added, filter.items_at(later)), (Ok(Outcome::New), 1));
        } else {
            let swept = filter.sweep_step(later).unwrap();
            assert_eq!((swept.forgotten, swept.is_done), (200_000, true));
            assert!(filter.reserved_bytes() < 1_024);
        }
        let gone = filter.take_gone().expect("a large table");
        assert!(gone.pages() > 100 && filter.pages() == 1);
    }
}

#[test]
fn slices_that_pass_faster_than_a_sweep_share_a_payload_and_forget_nothing_early() {
    let mut filter = filter(EXACT, 10, 2, false);
    add(&mut filter, 0..150_000, START);
    // A few items in each of many slices, and nobody sweeps.
    let mut shared = 0;
    for n in 0..12 {
        let now = START + 5_000 * n;
        let numbers = 1_000_000 + 100 * n..1_000_000 + 100 * n + 5;
        add(&mut filter, numbers, now);
        for then in n.saturating_sub(2)..=n {
            let number = 1_000_000 + 100 * then;
            assert!(filter.contains_at(&item(number), now));
        }
        let before = 1_000_000 + 100 * n.saturating_sub(3);
        shared += u32::from(n > 3 && filter.contains_at(&item(before), now));
        assert!(n < 3 || !filter.contains_at(&item(0), now));
        assert_eq!(filter.table().unwrap().len(), filter.items_at(now));
    }
    assert!(shared > 0, "some are remembered longer than they need be");
    let now = START + 5_000 * 11;
    sweep_all(&mut filter, now);
    add(&mut filter, 2_000_000..2_000_005, now + 15_000);
    sweep_all(&mut filter, now + 15_000);
    assert_eq!(filter.items_at(now + 15_000), 5);
}

#[test]
fn a_page_that_says_yes_to_everything_is_forgotten_too() {
    for renew in [false, true] {
        let mut filter = filter(0.1, 10, 8, renew);
        // All below one prefix.
        let aimed = |n: u64| ItemHash { place: 0, probes: n.wrapping_mul(G) >> 4 };
        for n in 0..100_000 {
            filter.add_in_window(aimed(n), START, UNLIMITED).unwrap();
        }
        assert!(!filter.table().unwrap().is_counted());
        let copy = loaded(&bytes_of(&filter));
        assert_eq!(copy.digest(), filter.digest());
        let table = filter.table().unwrap();
        let mut unknown = (1 << 40..).map(aimed);
        let unknown = unknown.find(|hash| table.is_saturated_at(*hash)).unwrap();
        assert!(filter.contains_hash(unknown, START + 10_000));
        assert!(!filter.contains_hash(unknown, START + 12_000));

        let touched = filter.add_in_window(unknown, START + 9_000, UNLIMITED);
        let (outcome, is_there) = match renew {
            true => (Outcome::Renewed, true),
            false => (Outcome::Unchanged, false),
        };
        assert_eq!(touched, Ok(outcome));
        add(&mut filter, 0..10, START + 9_000);
        assert_eq!(filter.contains_hash(unknown, START + 12_000), is_there);
        let (later, digest) = (START + 12_000, filter.digest());
        filter.sweep_pages(0);
        assert_eq!(filter.digest(), digest);
        sweep_all(&mut filter, later);
        assert_eq!(filter.contains_hash(unknown, later), is_there);
        assert_eq!(filter.table().unwrap().is_counted(), !is_there);
        // An item that comes after is remembered, whether a sweep has been there or not.
        let added = filter.add_in_window(aimed(5), START + 25_000, UNLIMITED);
        assert_eq!(added, Ok(Outcome::New));
        assert!(!filter.contains_hash(unknown, START + 25_000));
    }
}

/// Adds `items` evenly over a window of 1 000 seconds, from item `first` on, and sweeps as a server
/// does. Returns bits for each item remembered, and the false-positive rate, at 100 moments.
fn stream(filter: &mut Filter, first: u64, items: u64, start: u64) -> Vec<(f64, f64)> {
    let mut seen = Vec::new();
    for n in 0..items {
        let now = start + n * 1_000_000 / items;
        filter.add_at(&item(first + n), now, UNLIMITED).unwrap();
        if n % 100 == 0 && filter.next_due().is_some_and(|due| due <= now) {
            filter.sweep_step(now).unwrap();
        }
        if n % (items / 100) == 0 {
            let bits = filter.bits_per_item(now).unwrap();
            seen.push((bits, filter.false_positive_rate_at(now)));
        }
    }
    seen
}

#[test]
fn a_steady_stream_takes_22_bits_an_item_at_the_most() {
    const ITEMS: u64 = 1_000_000;
    let mut filter = filter(0.01, 1_000, 8, false);
    let mut seen = Vec::new();
    for window in 0..3 {
        let start = START + 1_000_000 * window;
        seen = stream(&mut filter, ITEMS * window, ITEMS, start);
    }
    // The first window was one of growth; its entries have gone, and their pages are swept.
    let bits: Vec<f64> = seen.split_off(50).iter().map(|(bits, _)| *bits).collect();
    let average = bits.iter().sum::<f64>() / bits.len() as f64;
    let most = bits.iter().copied().fold(0.0, f64::max);
    assert!(average < 20.0, "{average}");
    assert!(most < 22.0, "{most}");
}

#[test]
fn the_error_rate_holds_however_a_stream_swells_and_ebbs() {
    let mut filter = filter(0.01, 1_000, 8, false);
    let (mut window, mut first, mut most) = (0, 0, 0.0);
    for items in [50_000, 50_000, 400_000, 5_000, 5_000, 100_000, 800_000] {
        let seen = stream(&mut filter, first, items, START + 1_000_000 * window);
        most = seen.iter().map(|(_, rate)| *rate).fold(most, f64::max);
        (window, first) = (window + 1, first + items);
    }
    assert!(most < 0.01, "{most}");
}
