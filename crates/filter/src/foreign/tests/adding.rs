//! What is added behind a series.

use super::*;
use crate::error::AddError;
use splitbloom_oracles::redisbloom::Layer;

#[test]
fn an_item_that_the_series_knows_is_not_new_and_any_other_is_kept() {
    let twin = filled(0.01, 100, 2, 250);
    let mut filter = from_rdb(&twin);
    assert_eq!(filter.add(&item(7)), Ok(false));
    assert!(filter.table().is_none());
    for number in 250..5_000 {
        let known = filter.contains(&item(number));
        assert_eq!(filter.add(&item(number)), Ok(!known));
        assert_eq!(filter.add(&item(number)), Ok(false));
    }
    let items: Vec<_> = (0..5_000).map(item).collect();
    assert!(answers(&filter, &items).into_iter().all(|there| there));
    assert_eq!(filter.items(), twin.items() + filter.table().unwrap().len());
    assert_eq!(filter.capacity(), filter.items());
    // The series is what it was.
    let layers = filter.layers().unwrap().each().iter().zip(&twin.layers);
    assert!(layers.into_iter().all(|(own, twin)| own.description().items == twin.items));
}

#[test]
fn the_first_new_item_begins_a_table_and_leaves_the_bits_as_they_are() {
    let twin = filled(0.01, 100, 2, 250);
    let mut filter = from_rdb(&twin);
    let (fill, allocations) = (filter.fill_ratio(), filter.allocations());
    let bytes: u64 = twin.layers.iter().map(Layer::num_bytes).sum();
    assert_eq!(fill, twin.set_bits() as f64 / (8 * bytes) as f64);
    for (number, tables) in [(0, 0), (1_000, 1), (1_001, 0)] {
        let before = filter.progress();
        filter.add(&item(number)).unwrap();
        assert_eq!(filter.counters_since(before).grown, tables, "{number}");
    }
    assert_eq!(filter.fill_ratio(), fill);
    assert!(filter.allocations() > allocations);
}

#[test]
fn many_at_once_are_added_as_one_by_one() {
    let twin = filled(0.02, 60, 1, 200);
    let (mut one_by_one, mut at_once) = (from_rdb(&twin), from_rdb(&twin));
    let items: Vec<_> = (150..900).chain(880..910).map(item).collect();
    let mut are_new = Vec::new();
    let added = at_once.add_many(items.iter().map(Vec::as_slice), |is_new| are_new.push(is_new));
    assert_eq!(added, Ok(()));
    let expected: Vec<_> = items.iter().map(|item| one_by_one.add(item).unwrap()).collect();
    assert_eq!(are_new, expected);
    assert_eq!(at_once.digest(), one_by_one.digest());
}

#[test]
fn the_rates_of_series_and_table_add_up_to_what_was_asked_for() {
    for (growth, items) in [(2, 3_000), (2, 1_000), (1, 4_000), (2, 0), (0, 700)] {
        let mut filter = from_rdb(&filled(0.02, 1_000, growth, items));
        assert_eq!(filter.parameters().error_rate, 0.02);
        for number in items..items + 20_000 {
            match filter.add(&item(number)) {
                Err(AddError::Full) => assert!(growth == 0 && filter.items() == 1_000),
                result => assert!(result.is_ok()),
            }
        }
        let expected = filter.false_positive_rate();
        // 40 000 strangers: 800 hits have a standard deviation of 3.5 %.
        let strangers: Vec<_> = (0..40_000).map(stranger).collect();
        let hits = answers(&filter, &strangers).into_iter().filter(|hit| *hit);
        let measured = hits.count() as f64 / 40_000.0;
        assert!((measured - expected).abs() < 0.004, "{measured} {expected}");
        assert!(expected < 0.0205, "{growth}, {items}: {expected}");
    }
}

#[test]
fn a_share_is_left_even_where_the_series_takes_more_than_all() {
    let mut twin = Twin::new(0.01, 100, 0);
    let all = vec![0xff; twin.layers[0].num_bytes() as usize];
    twin.layers[0].put(0, &all);
    let mut filter = from_rdb(&twin);
    assert_eq!(filter.false_positive_rate(), 1.0);
    assert_eq!(filter.table_error_rate().unwrap(), 0.01 / 64.0);
    assert_eq!(filter.add(b"item"), Ok(false));
}

#[test]
fn items_whose_bits_have_not_come_have_their_share_all_the_same() {
    let twin = filled(0.01, 2_000, 2, 2_000);
    let whole = from_rdb(&twin).table_error_rate().unwrap();
    let header = Filter::begin_redisbloom(&twin.header(), SEED, NO_LIMIT).unwrap();
    assert!((header.table_error_rate().unwrap() / whole - 1.0).abs() < 0.2);
    assert!(whole < 0.006);
}

#[test]
fn a_filter_that_does_not_grow_is_full_when_layer_and_table_are() {
    let mut filter = from_rdb(&filled(0.01, 10, 0, 4));
    let room = 10 - filter.items();
    for number in 0..room {
        assert_eq!(filter.add(&stranger(number)), Ok(true));
    }
    assert_eq!(filter.add(&stranger(99)), Err(AddError::Full));
    assert_eq!(filter.add(&stranger(0)), Ok(false));
    assert_eq!((filter.items(), filter.capacity()), (10, 10));
}

#[test]
fn a_limit_stops_the_table() {
    let mut filter = from_rdb(&filled(0.01, 10, 2, 4));
    let now = SizeLimit::Bytes(filter.reserved_bytes());
    assert_eq!(filter.add_limited(b"new", now), Err(AddError::OverLimit));
    assert!(filter.table().is_none() && !filter.contains(b"new"));
    let more = SizeLimit::Bytes(filter.reserved_bytes() + 10_000);
    let added = (0..).map(stranger).take_while(|item| filter.add_limited(item, more).is_ok());
    assert!(added.count() > 1_000);
    assert!(filter.reserved_bytes() <= now.max_bytes() + 10_000);
}
