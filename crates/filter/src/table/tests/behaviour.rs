//! Results and memory of a table through inserts, removals and payloads.

use super::*;
use crate::hash::GROUP;
use crate::table::fingerprint::Fingerprint;
use crate::table::lookup::{Probes, Routes};
use crate::table::page::{Adding, Insert};
use crate::table::rate::Weight;
use crate::table::Reservation;

#[derive(Clone, Copy, Debug)]
enum Step {
    Insert(u64, u16),
    Remove(u64, u16),
    Look(u64, u16),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let item = 0..30_000u64;
    let step = prop_oneof![
        4 => (item.clone(), 1..2_000u16).prop_map(|(n, times)| Step::Insert(n, times)),
        3 => (item.clone(), 1..3_000u16).prop_map(|(n, times)| Step::Remove(n, times)),
        1 => (item, 1..200u16).prop_map(|(n, times)| Step::Look(n, times)),
    ];
    prop::collection::vec(step, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn a_table_holds_what_a_plain_multiset_of_prefixes_holds(
        steps in steps(), error_rate in prop_oneof![Just(0.1), Just(0.01), Just(0.0001)],
        crowded in prop_oneof![Just(0), Just(6), Just(14)],
        reserved in prop_oneof![Just(0), Just(20_000), Just(u64::MAX)],
    ) {
        let mut table = match reserved {
            0 => Table::new(error_rate, 0),
            items => Table::reserved(error_rate, 0, Reservation { items, grows: items > 20_000 }),
        };
        let mut oracle = Oracle::default();
        let budget = Budget { items: reserved, ..Budget::UNLIMITED };
        // Crowded: all items begin with one prefix of this many bits.
        let prefix = 5 << 60 & !(u64::MAX >> crowded);
        let hash = |n| hash_of(Path(Path::of(hash(n)).0 >> crowded | prefix));
        for step in steps {
            match step {
                Step::Insert(first, times) => for n in first..first + u64::from(times) {
                    let path = Path::of(hash(n));
                    let before = table.form_at(path);
                    let page = table.root.page(path);
                    let length = page.depth() + table.plan.length(path, page.depth(), page.len());
                    table.insert_reserved(hash(n), 0, budget).unwrap();
                    oracle.insert(path, length);
                    if table.form_at(path) != before {
                        table.teach(&mut oracle);
                    }
                },
                Step::Remove(first, times) => for n in first..first + u64::from(times) {
                    let path = Path::of(hash(n));
                    let before = table.form_at(path);
                    prop_assert_eq!(table.remove(hash(n)).unwrap(), oracle.remove(path), "{}", n);
                    if table.form_at(path) != before {
                        table.teach(&mut oracle);
                    }
                },
                Step::Look(first, times) => for n in first..first + u64::from(times) {
                    let path = Path::of(hash(n));
                    prop_assert_eq!(table.count(hash(n)), oracle.count(path), "{}", n);
                    prop_assert_eq!(table.contains(hash(n)), oracle.count(path) > 0);
                },
            }
            prop_assert_eq!(table.len(), oracle.len());
        }
        table.check();
        prop_assert!((table.false_positive_rate() - oracle.rate()).abs() < 1e-9);
        let mut answers = Vec::new();
        table.contains_many((0..3_000).map(hash), |is_there| answers.push(is_there));
        for n in 0..3_000 {
            prop_assert_eq!(answers[n as usize], oracle.count(Path::of(hash(n))) > 0);
        }
    }
}

#[test]
fn at_least_95_of_100_lookups_touch_one_line() {
    let mut table = Table::new(0.01, 0);
    let (mut next, mut more) = (0, 0);
    // Through a doubling, by eighths.
    for size in (8..16).map(|eighths| eighths * 20_000) {
        while next < size {
            table.insert(hash(next), 0, u64::MAX).unwrap();
            next += 1;
        }
        for n in 0..10_000 {
            let path = Path::of(hash(n | 1 << 50));
            let page = table.root.page(path);
            more += usize::from(page.lines_touched(path.below(page.depth())) > 1);
        }
    }
    assert!(more < 4_000, "{more} of 80 000");
}

#[test]
fn every_way_of_changing_a_page_leaves_the_same() {
    for (error_rate, payload_bits) in [(0.1, 0), (0.01, 0), (0.01, 4), (1e-7, 2)] {
        let mut table = Table::new(error_rate, payload_bits);
        for n in 0..5_000 {
            table.insert(hash(n), 0, u64::MAX).unwrap();
        }
        let (plan, mut no_room) = (table.plan, 0);
        for (start, page) in table.all_pages() {
            let (mut one, mut other) = (page.try_clone().unwrap(), page.try_clone().unwrap());
            for n in 2_500..10_000 {
                let (path, depth) = (Path::of(hash(n)), page.depth());
                let below = path.below(depth);
                if path.start(depth) != start {
                    continue;
                }
                if n % 4 == 0 {
                    let removed = one.remove_with(Portable, below, ALL_PAYLOADS);
                    assert_eq!(other.remove(below, ALL_PAYLOADS), removed);
                } else {
                    let adding = [Adding::Copies, Adding::Absent][n as usize % 2];
                    let fingerprint =
                        Fingerprint::new(below, plan.length(path, depth, one.len()), 0);
                    let inserted =
                        one.insert_with(Portable, below, fingerprint, plan.max_entries(), adding);
                    assert_eq!(
                        other.insert(below, fingerprint, plan.max_entries(), adding),
                        inserted
                    );
                    no_room += usize::from(matches!(inserted, Ok(Insert::NoRoom { .. })));
                }
                assert!(one == other);
            }
        }
        assert!(no_room > 0, "pages are filled");
    }
}

#[test]
fn a_short_fingerprint_leaves_the_page_that_it_leaves_where_all_are_read() {
    let (mut without_reading, mut all) = (0, 0);
    for (error_rate, items) in [(0.1, 60_000), (0.01, 3_000), (0.01, 400_000), (0.0001, 90_000)] {
        let mut table = Table::new(error_rate, 0);
        for n in 0..items {
            table.insert(hash(n), 0, u64::MAX).unwrap();
        }
        for _ in 0..5 {
            table.insert(hash(7), 0, u64::MAX).unwrap();
        }
        let plan = table.plan;
        for (n, (start, page)) in table.all_pages().into_iter().enumerate() {
            let bucket_bits = page.shape().bucket_bits;
            // One after the other, until the page is nearly full.
            let mut page = page.try_clone().unwrap();
            for less in [1, 1, 2, 3, 1, 5, 7, 1, 2, 6, 1, 1] {
                let path = Path::of(hash(n as u64 * 1_000 + less)).0;
                let fingerprint = Fingerprint::new(path, bucket_bits.saturating_sub(less as u8), 0);
                let mut entries = page.entries().unwrap();
                let before = Totals::of(&page, &entries, start);
                entries.insert(fingerprint).unwrap();
                let read = Page::of(&plan, start, page.depth(), &mut entries, 1, 0).unwrap();
                all += 1;
                let Some((written, new)) = page.with_short(&plan, start, fingerprint).unwrap()
                else {
                    continue;
                };
                without_reading += 1;
                assert!(read == Some(written.try_clone().unwrap()));
                let weights = new.iter().map(|fingerprint| {
                    let path = Path(start.0 | fingerprint.path() >> page.depth());
                    Weight::of_fingerprint(path, page.depth(), fingerprint.length())
                });
                let weight = weights.fold(before.weight, Weight::plus);
                if page.depth() >= 3 {
                    assert_eq!(Totals::of(&written, &entries, start).weight, weight);
                }
                page = written;
            }
        }
    }
    assert!(without_reading * 2 > all, "{without_reading} of {all}");
}

#[test]
fn a_short_fingerprint_of_which_copies_are_counted_leaves_the_page_that_reading_all_leaves_too() {
    for items in (20_000..40_000).step_by(2_000) {
        let mut table = Table::new(0.01, 0);
        for n in 0..items {
            table.insert(hash(n), 0, u64::MAX).unwrap();
        }
        for (start, page) in table.all_pages() {
            let mut page = page.try_clone().unwrap();
            for n in 0..48 {
                let bucket_bits = page.shape().bucket_bits;
                let fingerprint = Fingerprint::new((n / 6) << 61, bucket_bits.saturating_sub(3), 0);
                let mut entries = page.entries().unwrap();
                entries.insert(fingerprint).unwrap();
                let read = Page::of(&table.plan, start, page.depth(), &mut entries, 1, 0).unwrap();
                let written = page.with_short(&table.plan, start, fingerprint).unwrap();
                assert!(written.is_none_or(|(written, _)| read.as_ref() == Some(&written)));
                let Some(read) = read.filter(|page| !page.is_saturated()) else {
                    break;
                };
                page = read;
            }
        }
    }
}

#[test]
fn every_way_of_looking_up_finds_the_same() {
    for payload_bits in [0, 4] {
        for (error_rate, items) in [(0.1, 100), (0.01, 5_000), (0.0001, 40_000), (1e-7, 3_000)] {
            let mut table = Table::new(error_rate, payload_bits);
            for n in 0..items {
                table.insert(hash(n), 0, u64::MAX).unwrap();
            }
            let mut batch = Vec::new();
            table.contains_many((0..2 * items).map(hash), |is_there| batch.push(is_there));
            let (mut routes, mut probes, mut staged) = Default::default();
            let hashes: Vec<_> = (0..2 * items).map(hash).collect();
            for group in hashes.chunks(GROUP) {
                Routes::fetch(&mut routes, &table, group);
                routes.fetch_lines(&mut probes);
                let answers = Probes::answers(&probes, &table);
                Vec::extend(&mut staged, (0..group.len()).map(|n| answers >> n & 1 == 1));
            }
            assert_eq!(batch, staged);
            for n in 0..2 * items {
                let path = Path::of(hash(n));
                let page = table.root.page(path);
                let below = path.below(page.depth());
                let copies = page.matching(below).count();
                let expected = copies > 0;
                assert_eq!(page.count_in_slots_with(Portable, below), Some(copies));
                assert_eq!(table.count(hash(n)), copies as u64);
                assert!(expected || n >= items);
                assert_eq!(page.probe(below).contains(Portable), expected);
                assert_eq!(table.contains(hash(n)), expected);
                assert_eq!(batch[n as usize], expected);
            }
        }
    }
}

#[test]
fn the_rate_measured_is_the_rate_computed_and_never_above_the_one_asked_for() {
    for error_rate in [0.25, 0.1, 0.01, 0.001, 0.0001] {
        let mut table = Table::new(error_rate, 0);
        let mut n = 0;
        for size in [1, 30, 300, 3_000, 30_000, 300_000, 1_000_000] {
            while n < size {
                table.insert(hash(n), 0, u64::MAX).unwrap();
                n += 1;
            }
            let computed = table.false_positive_rate();
            assert!(computed <= error_rate, "{computed} of {error_rate} at {size}");
            let measured = measured_rate(&table, 200_000);
            let error = ((computed + 1e-5) / 200_000.0).sqrt();
            // Sums count what two fingerprints of a bucket match twice.
            let least = computed * (1.0 - 0.6 * error_rate) - 5.0 * error;
            assert!(
                (least..=computed + 5.0 * error).contains(&measured),
                "{measured} ± {error}, {computed} computed, {error_rate} at {size}"
            );
        }
    }
}

#[test]
fn what_is_asked_for_holds_through_deletions_and_new_items() {
    let mut table = Table::new(0.01, 0);
    let mut first = 0;
    for round in 0..12u64 {
        // Up to 60 000 items, then down to some: odd rounds delete the youngest, even ones the
        // oldest.
        let last = first + 60_000;
        for n in first..last {
            table.insert(hash(n), 0, u64::MAX).unwrap();
        }
        assert!(
            table.false_positive_rate() <= 0.01,
            "round {round}: {}",
            table.false_positive_rate()
        );
        let gone = if round % 2 == 0 { first + 3_000..last } else { first..last };
        for n in gone {
            assert!(table.remove(hash(n)).unwrap());
        }
        first = last;
        table.check();
        assert!(table.false_positive_rate() <= 0.01);
    }
}

#[test]
fn memory_follows_the_items_up_and_down() {
    let mut table = Table::new(0.01, 0);
    assert_eq!(table.bytes(), 0);
    table.insert(hash(0), 0, u64::MAX).unwrap();
    assert!(table.bytes() + size_of::<Table>() as u64 <= 128, "{}", size_of::<Table>());
    let bits_an_item = |table: &Table| {
        (table.bytes() + size_of::<Table>() as u64) as f64 * 8.0 / table.len() as f64
    };
    let mut n = 1;
    for (size, most) in [
        (10, 103.0),
        (100, 20.6),
        (1_000, 21.3),
        (10_000, 19.0),
        (100_000, 17.5),
        (1_000_000, 17.0),
    ] {
        while n < size {
            table.insert(hash(n), 0, u64::MAX).unwrap();
            n += 1;
        }
        let bits = bits_an_item(&table);
        assert!(bits <= most, "{bits} at {size}");
    }
    for n in 100_000..1_000_000 {
        table.remove(hash(n)).unwrap();
    }
    table.check();
    let bits = bits_an_item(&table);
    assert!(bits <= 25.0, "{bits} after nine of ten have gone");
    for n in 0..100_000 {
        assert!(table.contains(hash(n)));
        table.remove(hash(n)).unwrap();
    }
    // Each of the first 133 entries had become eight, of which a removal removes one.
    assert!(table.bytes() <= 4_096, "{} of {}", table.bytes(), table.len());
}

#[test]
fn an_insert_over_the_limit_is_refused_and_changes_nothing() {
    // Every growth step of 12 000 items, and limits that fall short of it.
    let (mut table, mut twin) = (Table::new(0.01, 0), Table::new(0.01, 0));
    let mut refused = 0;
    for n in 0..12_000 {
        let bytes = table.bytes();
        twin.insert(hash(n), 0, u64::MAX).unwrap();
        if twin.bytes() <= bytes {
            // An insert that needs no more memory succeeds, however far the table is above the
            // limit.
            table.insert(hash(n), 0, 0).unwrap();
            continue;
        }
        let before = table.digest();
        for limit in [0, bytes, twin.bytes() - 1] {
            let result = table.insert(hash(n), 0, limit);
            assert_eq!(result, Err(AddError::OverLimit));
            let result = table.insert_if_absent(hash(n), 0, limit);
            assert_eq!(result, Err(AddError::OverLimit));
        }
        assert_eq!((table.digest(), table.bytes()), (before, bytes));
        assert_eq!(table.len(), n);
        table.check();
        table.insert(hash(n), 0, twin.bytes()).unwrap();
        assert_eq!(table.digest(), twin.digest());
        refused += 1;
    }
    assert!(refused > 40, "{refused}");
}

#[test]
fn entries_of_payloads_gone_by_are_skipped_and_swept() {
    let mut table = Table::new(0.01, 2);
    for n in 0..40_000 {
        table.insert(hash(n), (n % 4) as u8, u64::MAX).unwrap();
    }
    table.set_alive(0b1110, 30_000);
    for n in 0..40_000 {
        let is_found = table.contains(hash(n));
        assert!(is_found || n % 4 == 0);
        assert!(n % 4 == 0 || table.payload(hash(n)) >= Some((n % 4) as u8));
    }
    let (bytes, mut from) = (table.bytes(), Some(0));
    while let Some(start) = from {
        let pages = table.pages();
        from = table.sweep(start, 0).unwrap().next;
        assert!(pages - table.pages() <= 1, "a step merges two pages at most");
    }
    table.check();
    assert_eq!(table.len(), 30_000);
    assert!(table.bytes() * 10 < bytes * 9);
    table.set_alive(ALL_PAYLOADS, 30_000);
    assert!((0..40_000).filter(|n| n % 4 != 0).all(|n| table.contains(hash(n))));

    for n in (0..40_000).filter(|n| n % 4 == 1) {
        assert!(table.replace_payload(hash(n), 3).unwrap().is_some());
        assert_eq!(table.payload(hash(n)), Some(3));
    }
    table.check();
    assert_eq!(table.len(), 30_000);
}

#[test]
fn a_removal_takes_an_entry_that_lookups_find() {
    let mut table = Table::new(0.01, 2);
    for n in 0..1_000 {
        table.insert(hash(n), 1, u64::MAX).unwrap();
        table.insert(hash(n), 2, u64::MAX).unwrap();
    }
    table.set_alive(0b0010, 1_000);
    for n in 0..1_000 {
        assert_eq!(table.remove(hash(n)), Ok(true));
        assert!(!table.contains(hash(n)));
        assert_eq!(table.remove(hash(n)), Ok(false));
    }
}

#[test]
fn the_order_of_items_that_fill_one_page_does_not_matter() {
    let tables = [0, 1].map(|order| {
        let mut table = Table::new(0.001, 0);
        for n in 0..100 {
            let n = if order == 0 { n } else { 99 - n };
            table.insert(hash(n), 0, u64::MAX).unwrap();
        }
        table.digest()
    });
    assert_eq!(tables[0], tables[1]);
}
