//! Items aimed at one page, one fingerprint, one old entry.

use super::*;

#[test]
fn items_aimed_at_one_page_cost_little_and_leave_the_rate_below_the_one_asked_for() {
    // All of them share 40 bits: an attacker who knows the seed finds such items in time.
    for bits in [12, 20, 40] {
        let mut table = Table::new(0.01, 0);
        for n in 0..100_000 {
            table.insert(hash(n), 0, u64::MAX).unwrap();
        }
        let (rate, bytes) = (table.false_positive_rate(), table.bytes());
        let aimed =
            |n| hash_of(Path(Path::of(hash(n)).0 >> bits | 0xABCD_EF01_2345 << (64 - bits)));
        for n in 0..100_000 {
            table.insert(aimed(n), 0, u64::MAX).unwrap();
        }
        table.check();
        let (rate_now, bytes_now) = (table.false_positive_rate(), table.bytes());
        assert!(rate_now < rate + 0.0005, "{rate_now}, {rate} before");
        // Until it is as deep as it may be, the page accepts them.
        assert!(bytes_now < bytes + 64_000, "{bytes_now}, {bytes} before");
        assert!((0..100_000).all(|n| table.contains(hash(n)) && table.contains(aimed(n))));
        for n in 0..100_000 {
            assert!(table.remove(aimed(n)).unwrap());
        }
        assert!((0..100_000).all(|n| table.contains(hash(n))));
        table.check();
    }
}

#[test]
fn one_item_a_million_times_costs_a_counter() {
    let mut table = Table::new(0.01, 0);
    for n in 0..5_000 {
        table.insert(hash(n), 0, u64::MAX).unwrap();
    }
    let (bytes, rate) = (table.bytes(), table.false_positive_rate());
    for _ in 0..1_000_000 {
        table.insert(hash(77), 0, u64::MAX).unwrap();
    }
    assert_eq!(table.count(hash(77)), 1_000_001);
    assert!(table.bytes() <= bytes + 1_024, "{} after {bytes}", table.bytes());
    assert!(table.false_positive_rate() < rate + 1e-6);
    for _ in 0..1_000_001 {
        assert!(table.remove(hash(77)).unwrap());
    }
    assert_eq!(table.count(hash(77)), 0);
    table.check();
}

#[test]
fn marks_that_lose_all_bits_do_not_swell_the_table() {
    // Five bits of fingerprint at first, and twenty splits of the page with the first items.
    let mut table = Table::new(0.25, 0);
    for n in 0..3_000 {
        table.insert(hash(n), 0, u64::MAX).unwrap();
    }
    let deep = |n: u64| hash_of(Path(Path::of(hash(n)).0 >> 20));
    let mut most = 0;
    for n in 3_000..2_000_000 {
        table.insert(if n % 2 == 0 { hash(n) } else { deep(n) }, 0, u64::MAX).unwrap();
        if n % 100_000 == 0 {
            most = most.max(table.bytes() * 8 / n);
        }
    }
    table.check();
    assert!(most < 24, "{most} bits an item");
    assert!(table.false_positive_rate() <= 0.26, "{}", table.false_positive_rate());
    assert!((0..3_000).all(|n| table.contains(hash(n))));
    assert!((3_000..2_000_000).all(|n| table.contains(if n % 2 == 0 { hash(n) } else { deep(n) })));
}

#[test]
fn the_deepest_page_is_given_up_only_when_it_is_full() {
    for seed in 0..8u64 {
        let mut table = Table::new(0.01, 0);
        for n in 0..20_000 {
            table.insert(hash(n), 0, u64::MAX).unwrap();
        }
        let aimed = |n| hash_of(Path(Path::of(hash(n | seed << 32)).0 >> 13));
        let mut entries = 0;
        for n in 0..200_000 {
            table.insert(aimed(n), 0, u64::MAX).unwrap();
            let page = table.root.page(Path(0));
            if page.is_saturated() {
                break;
            }
            entries = page.len();
        }
        assert!(table.root.page(Path(0)).is_saturated());
        assert!(entries >= table.plan.max_entries(), "{entries}");
    }
}

#[test]
fn a_table_that_has_lost_count_keeps_its_entries_when_it_counts_none() {
    let mut table = Table::new(0.01, 0);
    for n in 0..2 {
        table.insert(hash(n), 0, u64::MAX).unwrap();
    }
    (table.items, table.totals.uncounted) = (1, 1);
    assert_eq!(table.remove(hash(0)), Ok(true));
    assert!(table.is_empty() && table.contains(hash(1)));
    (table.items, table.totals.uncounted) = (1, 0);
    table.insert(hash(2), 0, u64::MAX).unwrap();
    for n in [1, 2] {
        assert_eq!(table.remove(hash(n)), Ok(true));
    }
    assert_eq!(table.bytes(), 0);
}

#[test]
fn copies_beyond_the_last_that_is_counted_are_refused() {
    let mut table = Table::new(0.01, 0);
    for _ in 0..4 {
        table.insert(hash(1), 0, u64::MAX).unwrap();
    }
    let mut record = records_of(&table).remove(0);
    // The counter is the end of the record. Nobody waits for 4 * 10^9 adds.
    let last = record.iter().rposition(|byte| *byte != 0).unwrap();
    record[last..last + 4].copy_from_slice(&(u32::MAX - 1).to_le_bytes());
    let mut table = loaded(&[record], &table, 1).unwrap();
    let digest = table.digest();
    let refused = table.insert(hash(1), 0, u64::MAX);
    assert_eq!(refused, Err(AddError::Uncountable));
    assert_eq!(table.digest(), digest);
}

/// A copy does not know at which depth a page of the original saturates: it depends on the number
/// of pages, of which the copy may have more or fewer.
#[test]
fn a_copy_has_what_an_attacked_table_has_unless_it_is_told_to_begin_anew() {
    let (mut original, mut anew) = (Table::new(0.01, 0), 0);
    (0..20_000).for_each(|n| original.insert(hash(n), 0, u64::MAX).unwrap());
    let mut copy = original.try_clone().unwrap();
    // Pages of the other half are ahead of those that are aimed at.
    let ahead = (20_000..200_000).map(hash).filter(|hash| Path::of(*hash).0 >> 63 == 1);
    ahead.for_each(|hash| copy.follow(hash).unwrap());
    let aimed = |n: u64| hash_of(Path(n << 33));
    for n in 0..30_000 {
        let (hash, pages) = (aimed(n), original.pages());
        if original.insert_if_absent(hash, 0, u64::MAX).unwrap() {
            copy.follow(hash).unwrap();
            if original.is_at_max_depth(hash, pages) {
                (copy, anew) = (original.try_clone().unwrap(), anew + 1);
            }
        }
        assert!(copy.contains(hash), "{n}");
    }
    assert!(original.root.page(Path::of(aimed(0))).is_saturated() && anew > 0);
}
