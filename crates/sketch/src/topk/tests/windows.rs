//! A top-k over a window, against a list of every item with its time.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

#[test]
fn an_item_counts_for_the_window_and_is_forgotten_a_slice_later() {
    let mut topk = TopK::new(shape(2, 50, 2), Some(Span::new(60, 6).unwrap())).unwrap();
    add(&mut topk, b"old", 9, 1_000_000);
    add(&mut topk, b"new", 2, 1_060_000);
    add(&mut topk, b"old", 1, 1_060_000);
    assert_eq!(list(&topk, 1_060_000), [(b"old".to_vec(), 10), (b"new".to_vec(), 2)]);
    assert_eq!(count(&topk, b"old", 1_060_000), 10);
    // Slices are 10 s: the first ended at 1 010 000, a window before 1 070 000.
    assert_eq!(list(&topk, 1_069_999).len(), 2);
    assert_eq!(list(&topk, 1_070_000), [(b"new".to_vec(), 2), (b"old".to_vec(), 1)]);
    assert_eq!(count(&topk, b"old", 1_070_000), 1);
    assert_eq!(list(&topk, 2_000_000), []);
    assert!(!query(&topk, b"old", 2_000_000));
}

#[test]
fn slices_that_are_over_are_freed() {
    let bytes = |topk: &TopK| {
        let mut bytes = 0;
        topk.visit_allocations(&mut |layout, times| bytes += layout.size() as u64 * times);
        bytes
    };
    let mut topk = TopK::new(shape(2, 8_192, 2), Some(Span::new(60, 6).unwrap())).unwrap();
    let empty = bytes(&topk);
    for slice in 0..7 {
        add(&mut topk, b"item", 1, 1_000_000 + slice * 10_000);
    }
    let slice = (bytes(&topk) - empty) / 7;
    assert!(slice > 2 << 16, "two segments and a list, not {slice} bytes");
    add(&mut topk, b"item", 1, 1_070_000);
    assert_eq!(bytes(&topk), empty + 7 * slice);
    add(&mut topk, b"item", 1, 9_000_000);
    assert_eq!(bytes(&topk), empty + slice);
}

proptest! {
    /// With as many buckets as this nothing decays, so sums are exact.
    #[test]
    fn sums_are_those_of_the_items_that_the_window_remembers(
        slices in 2..=14_u8,
        seconds in 1..4_u32,
        steps in prop::collection::vec((0..1_500_u64, 0..12_u8, 1..4_u32), 1..60),
        later in 0..5_000_u64,
    ) {
        let span = Span::new(seconds, slices).unwrap();
        let mut topk = TopK::new(shape(20, 5_000, 3), Some(span)).unwrap();
        let mut replica = TopK::new(shape(20, 5_000, 3), Some(span)).unwrap();
        let (mut latest, mut model) = (1_000_000, Vec::new());
        for (step, item, units) in steps {
            // Some times lie before the latest.
            let now = if model.is_empty() { latest } else { latest + step - 400 };
            latest = latest.max(now);
            model.push((latest, item, units));
            add(&mut topk, &[item], units, now);
            replica = decode(&replica);
            add(&mut replica, &[item], units, now);
        }
        prop_assert_eq!(replica.digest(), topk.digest());
        for at in [0, latest, latest + later] {
            let oldest = span.oldest(span.slice_of(at.max(latest)));
            let mut sums = BTreeMap::new();
            for (time, item, units) in &model {
                if span.slice_of(*time) >= oldest {
                    *sums.entry(*item).or_insert(0) += u64::from(*units);
                }
            }
            for item in 0..12 {
                let sum = sums.get(&item).copied();
                prop_assert_eq!(count(&topk, &[item], at), sum.unwrap_or(0));
                prop_assert_eq!(query(&topk, &[item], at), sum.is_some());
            }
            let mut expected: Vec<(Vec<u8>, u64)> =
                sums.into_iter().map(|(item, sum)| (vec![item], sum)).collect();
            expected.sort_by_key(|(_, sum)| std::cmp::Reverse(*sum));
            prop_assert_eq!(list(&topk, at), expected);
        }
        prop_assert_eq!(topk.try_clone().unwrap().digest(), topk.digest());
    }
}
