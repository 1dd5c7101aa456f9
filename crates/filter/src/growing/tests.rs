//! The table against its oracle, against itself written anew, and against people who mean it harm.

use crate::error::DecodeError;
use crate::growing::instructions::Portable;
use crate::growing::oracle::Oracle;
use crate::growing::page::Page;
use crate::growing::path::Path;
use crate::growing::record::Loader;
use crate::growing::table::{Table, ALL_PAYLOADS};
use crate::growing::totals::Totals;
use crate::hash::{ItemHash, Seed};
use crate::storage::Mover;
use proptest::prelude::*;

fn hash(n: u64) -> ItemHash {
    ItemHash::of(&n.to_le_bytes(), Seed(7))
}

/// A hash that leads to this path.
fn hash_of(path: Path) -> ItemHash {
    let place = (0..256u64).map(|part| part << 56);
    let hashes = place.map(|place| ItemHash {
        place,
        probes: path.0 << 3,
    });
    let mut hashes = hashes.filter(|hash| Path::of(*hash) == Path(path.0));
    hashes.next().expect("every cell has its part")
}

impl Table {
    /// All pages, with where they start.
    fn all_pages(&self) -> Vec<(Path, &Page)> {
        let (mut pages, mut from) = (Vec::new(), Some(0));
        while let Some(start) = from {
            let page = self.root.page(Path(start));
            pages.push((Path(start), page));
            from = Path(start).after(page.depth());
        }
        pages
    }

    /// What must hold after whatever was done.
    fn check(&self) {
        let mut totals = Totals::none();
        for (start, page) in self.all_pages() {
            assert_eq!(start, start.start(page.depth()));
            let entries = page.entries().unwrap();
            totals = totals.plus(Totals::of(page, &entries, start));
            assert!(page.len() <= self.plan().most());
            if page.len() > 0 {
                let again =
                    Page::with_lines(page.depth(), page.shape(), &entries, page.lines().len());
                assert!(again.unwrap().unwrap() == *page, "not as if written anew");
            }
        }
        let mut slots = 0;
        self.visit_allocations(|layout, times| {
            if layout.align() == 8
                && layout.size() != crate::storage::shared::Shared::<Page>::layout().size()
            {
                slots += layout.size() as u64 * times / 32;
            }
        });
        totals.slots = self.totals.slots;
        assert_eq!(slots, totals.slots);
        assert_eq!(totals, self.totals);
    }
}

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
        steps in steps(), error_rate in prop_oneof![Just(0.01), Just(0.0001)],
        is_crowded in any::<bool>(),
    ) {
        let mut table = Table::new(error_rate, 0);
        let mut oracle = Oracle::default();
        // Crowded: all items below one prefix of 6 bits.
        let hash = |n| {
            let hash = hash(n);
            if is_crowded { hash_of(Path(Path::of(hash).0 >> 6 | 5 << 58)) } else { hash }
        };
        for step in steps {
            match step {
                Step::Insert(first, times) => for n in first..first + u64::from(times) {
                    let path = Path::of(hash(n));
                    let page = table.root.page(path);
                    let length = page.depth() + table.plan().length(page.depth(), page.len());
                    if page.is_saturated() {
                        continue;
                    }
                    table.insert(hash(n), 0).unwrap();
                    oracle.insert(path, length);
                },
                Step::Remove(first, times) => for n in first..first + u64::from(times) {
                    let path = Path::of(hash(n));
                    prop_assert_eq!(table.remove(hash(n)).unwrap(), oracle.remove(path), "{}", n);
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
            table.insert(hash(next), 0).unwrap();
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
fn every_way_of_looking_up_finds_the_same() {
    for payload_bits in [0, 4] {
        for (error_rate, items) in [(0.1, 100), (0.01, 5_000), (0.0001, 40_000), (1e-7, 3_000)] {
            let mut table = Table::new(error_rate, payload_bits);
            for n in 0..items {
                table.insert(hash(n), 0).unwrap();
            }
            let mut batch = Vec::new();
            table.contains_many((0..2 * items).map(hash), |is_there| batch.push(is_there));
            for n in 0..2 * items {
                let path = Path::of(hash(n));
                let page = table.root.page(path);
                let below = path.below(page.depth());
                let expected = page.matching(below).next().is_some();
                assert!(expected || n >= items);
                assert_eq!(page.contains::<Portable>(below), expected);
                assert_eq!(table.contains(hash(n)), expected);
                assert_eq!(batch[n as usize], expected);
            }
        }
    }
}

fn records_of(table: &Table) -> Vec<Vec<u8>> {
    let (mut records, mut from) = (Vec::new(), Some(0));
    while let Some(start) = from {
        let mut record = Vec::new();
        from = table.encode_page(start, &mut record).unwrap();
        assert!(record.len() <= 32 << 10);
        records.push(record);
    }
    records
}

fn loaded(records: &[Vec<u8>], error_rate: f64, payload_bits: u8) -> Result<Table, DecodeError> {
    let mut loader = Loader::new(error_rate, payload_bits)?;
    for record in records {
        match loader.push(record)? {
            [] => (),
            _ => return Err(DecodeError::Length),
        }
    }
    loader.finish()
}

/// A table with all there is: payloads, surplus counters, pages of several depths, one that says
/// yes to everything.
fn varied(items: u64) -> Table {
    let mut table = Table::new(0.01, 2);
    for n in 0..items {
        table.insert(hash(n), (n % 4) as u8).unwrap();
    }
    for n in 0..items / 100 {
        for _ in 0..n % 9 {
            table.insert(hash(n), (n % 4) as u8).unwrap();
        }
    }
    for n in 0..20_000 {
        table
            .insert(hash_of(Path(Path::of(hash(n)).0 >> 14 | 7 << 60)), 1)
            .unwrap();
    }
    table
}

#[test]
fn a_table_is_loaded_as_it_was_saved() {
    for items in [0, 1, 100, 30_000] {
        let mut table = varied(items);
        assert!(table
            .all_pages()
            .iter()
            .any(|(_, page)| page.is_saturated()));
        table.check();
        let records = records_of(&table);
        let mut copy = loaded(&records, 0.01, 2).unwrap();
        copy.check();
        assert_eq!(copy.digest(), table.digest());
        assert_eq!(
            Totals {
                slots: 0,
                ..copy.totals
            },
            Totals {
                slots: 0,
                ..table.totals
            }
        );
        for n in 0..items + 1_000 {
            assert_eq!(copy.count(hash(n)), table.count(hash(n)));
            assert_eq!(copy.payload(hash(n)), table.payload(hash(n)));
        }
        // And from then on both do the same.
        for n in 0..items {
            assert_eq!(table.remove(hash(n * 3)), copy.remove(hash(n * 3)));
            table.insert(hash(n + items), 3).unwrap();
            copy.insert(hash(n + items), 3).unwrap();
        }
        assert_eq!(copy.digest(), table.digest());
    }
}

#[test]
fn a_record_cut_short_is_refused_and_changes_nothing() {
    let table = varied(1_000);
    for record in records_of(&table) {
        let depth_before = record[0];
        let mut loader = Loader::new(0.01, 2).unwrap();
        for len in 0..record.len() {
            let result = loader.push(&record[..len]);
            assert_eq!(
                result.err(),
                Some(DecodeError::Length),
                "{len} of {}",
                record.len()
            );
        }
        // At its start it would lie elsewhere, but its form is good.
        assert_eq!(loader.push(&record).map(<[u8]>::len), Ok(0));
        assert_eq!(
            loader.finish().is_ok(),
            depth_before == 0,
            "pages are missing"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_record_is_refused_or_is_what_the_encoder_would_write(
        which in any::<prop::sample::Index>(),
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        in_header in any::<bool>(),
    ) {
        thread_local! {
            static RECORDS: Vec<Vec<u8>> = records_of(&varied(3_000));
        }
        let mut record = RECORDS.with(|records| which.get(records).clone());
        let range = if in_header { record.len().min(12) } else { record.len() };
        for (place, value) in places {
            record[place.index(range)] = value;
        }
        // As the first page and then whatever is missing as empty ones.
        let mut loader = Loader::new(0.01, 2).unwrap();
        if let Ok(rest) = loader.push(&record) {
            let used = record.len() - rest.len();
            for depth in (1..=record[0]).rev() {
                loader.push(&[depth, 0]).unwrap();
            }
            let table = loader.finish().unwrap();
            table.check();
            prop_assert_eq!(&records_of(&table)[0], &record[..used]);
        }
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut loader = Loader::new(0.001, 1).unwrap();
        let mut rest = &bytes[..];
        while let Ok(more) = loader.push(rest) {
            rest = more;
        }
        let _ = loader.finish();
    }
}

#[test]
fn the_bytes_of_a_table_never_change() {
    let mut table = Table::new(0.01, 1);
    for n in 0..10 {
        table.insert(hash(n), (n % 2) as u8).unwrap();
    }
    let record: String = records_of(&table)[0]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(
        record,
        "00010214010a0000000aa1c4c1d876d3f6cf6070564ced0ab1e5ecd4803c45d0ba029b8baf"
    );
    let mut table = varied(20_000);
    for n in 0..10_000 {
        table.remove(hash(n)).unwrap();
    }
    assert_eq!(table.digest(), Ok(268666865075017744937539203377298204038));
}

#[test]
fn the_order_of_items_that_fill_one_page_does_not_matter() {
    let tables = [0, 1].map(|order| {
        let mut table = Table::new(0.001, 0);
        for n in 0..100 {
            let n = if order == 0 { n } else { 99 - n };
            table.insert(hash(n), 0).unwrap();
        }
        table.digest().unwrap()
    });
    assert_eq!(tables[0], tables[1]);
}

#[test]
fn a_copy_shares_pages_until_one_of_the_two_changes_them() {
    let mut table = varied(20_000);
    let before = table.digest();
    let mut copy = table.try_clone().unwrap();
    for n in 0..10_000 {
        table.insert(hash(n + 100_000), 0).unwrap();
        table.remove(hash(n)).unwrap();
    }
    assert_eq!(copy.digest(), before);
    let changed = table.digest();
    for n in 0..30_000 {
        copy.remove(hash(n)).unwrap();
    }
    assert_eq!(table.digest(), changed);
    table.check();
    copy.check();
    drop(copy);
    table.insert(hash(1), 0).unwrap();
    table.check();
}

/// Moves everything into fresh memory, and stops when it may not go on.
#[derive(Default)]
struct Copier {
    moved: u64,
    allowed: u64,
}

impl Mover for Copier {
    fn relocate<T>(&mut self, elements: Vec<T>) -> Vec<T> {
        self.moved += 1;
        let mut copy = Vec::with_capacity(elements.capacity());
        copy.extend(elements);
        copy
    }

    fn should_stop(&mut self) -> bool {
        self.allowed = self.allowed.wrapping_sub(1);
        self.allowed == u64::MAX
    }
}

#[test]
fn every_page_and_node_is_offered_to_a_mover_even_if_each_step_stops() {
    let mut table = varied(60_000);
    let (before, mut allocations) = (table.digest(), 0);
    table.visit_allocations(|_, times| allocations += times);
    let (mut mover, mut from, mut steps) = (Copier::default(), Some(0), 0);
    while let Some(start) = from {
        mover.allowed = 3;
        from = table.relocate(start, &mut mover);
        steps += 1;
    }
    assert!(
        steps > 10 && mover.moved >= allocations,
        "{} of {allocations}",
        mover.moved
    );
    assert!(mover.moved < 2 * allocations);
    assert_eq!(table.digest(), before);
    table.check();
}

/// The part of absent items that are found.
fn measured_rate(table: &Table, lookups: u64) -> f64 {
    let mut found = 0;
    table.contains_many((0..lookups).map(|n| hash(n | 1 << 60)), |is_there| {
        found += u64::from(is_there)
    });
    found as f64 / lookups as f64
}

#[test]
fn the_rate_measured_is_the_rate_computed_and_never_above_the_one_asked_for() {
    for error_rate in [0.25, 0.1, 0.01, 0.001, 0.0001] {
        let mut table = Table::new(error_rate, 0);
        let mut n = 0;
        for size in [1, 30, 300, 3_000, 30_000, 300_000, 1_000_000] {
            while n < size {
                table.insert(hash(n), 0).unwrap();
                n += 1;
            }
            let computed = table.false_positive_rate();
            assert!(
                computed <= error_rate,
                "{computed} of {error_rate} at {size}"
            );
            let measured = measured_rate(&table, 200_000);
            let error = ((computed + 1e-5) / 200_000.0).sqrt();
            // Sums count twice what two fingerprints of a bucket match.
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
        // Up to 60 000 items, then down to some: an odd round deletes the youngest, an even one the
        // oldest.
        let last = first + 60_000;
        for n in first..last {
            table.insert(hash(n), 0).unwrap();
        }
        assert!(
            table.false_positive_rate() <= 0.01,
            "round {round}: {}",
            table.false_positive_rate()
        );
        let gone = if round % 2 == 0 {
            first + 3_000..last
        } else {
            first..last
        };
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
    table.insert(hash(0), 0).unwrap();
    assert!(
        table.bytes() + size_of::<Table>() as u64 <= 192,
        "{}",
        size_of::<Table>()
    );
    let bits_an_item = |table: &Table| {
        (table.bytes() + size_of::<Table>() as u64) as f64 * 8.0 / table.len() as f64
    };
    let mut n = 1;
    for (size, most) in [
        (1_000, 23.0),
        (10_000, 19.0),
        (100_000, 17.5),
        (1_000_000, 17.0),
    ] {
        while n < size {
            table.insert(hash(n), 0).unwrap();
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
    assert_eq!((table.len(), table.bytes()), (0, 0));
    assert_eq!(table.digest(), Table::new(0.01, 0).digest());
}

#[test]
fn items_aimed_at_one_page_cost_little_and_leave_the_rate_below_the_one_asked_for() {
    // All of them share 40 bits: whoever knows the seed finds such items in time.
    for bits in [12, 20, 40] {
        let mut table = Table::new(0.01, 0);
        for n in 0..100_000 {
            table.insert(hash(n), 0).unwrap();
        }
        let (rate, bytes) = (table.false_positive_rate(), table.bytes());
        let aimed = |n| {
            hash_of(Path(
                Path::of(hash(n)).0 >> bits | 0xABCD_EF01_2345 << (64 - bits),
            ))
        };
        for n in 0..100_000 {
            table.insert(aimed(n), 0).unwrap();
        }
        table.check();
        let (rate_now, bytes_now) = (table.false_positive_rate(), table.bytes());
        assert!(rate_now < rate + 0.0005, "{rate_now}, {rate} before");
        // Until it is as deep as it may be, the page keeps what comes.
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
        table.insert(hash(n), 0).unwrap();
    }
    let (bytes, rate) = (table.bytes(), table.false_positive_rate());
    for _ in 0..1_000_000 {
        table.insert(hash(77), 0).unwrap();
    }
    assert_eq!(table.count(hash(77)), 1_000_001);
    assert!(
        table.bytes() <= bytes + 1_024,
        "{} after {bytes}",
        table.bytes()
    );
    assert!(table.false_positive_rate() < rate + 1e-6);
    for _ in 0..1_000_001 {
        assert!(table.remove(hash(77)).unwrap());
    }
    assert_eq!(table.count(hash(77)), 0);
    table.check();
}

#[test]
fn marks_that_lose_all_bits_do_not_swell_the_table() {
    // Five bits of fingerprint at first, and twenty splits of what holds the first items.
    let mut table = Table::new(0.25, 0);
    for n in 0..3_000 {
        table.insert(hash(n), 0).unwrap();
    }
    let deep = |n: u64| hash_of(Path(Path::of(hash(n)).0 >> 20));
    let mut most = 0;
    for n in 3_000..2_000_000 {
        table
            .insert(if n % 2 == 0 { hash(n) } else { deep(n) }, 0)
            .unwrap();
        if n % 100_000 == 0 {
            most = most.max(table.bytes() * 8 / n);
        }
    }
    table.check();
    assert!(most < 24, "{most} bits an item");
    assert!(
        table.false_positive_rate() <= 0.26,
        "{}",
        table.false_positive_rate()
    );
    assert!((0..3_000).all(|n| table.contains(hash(n))));
    assert!((3_000..2_000_000).all(|n| table.contains(if n % 2 == 0 { hash(n) } else { deep(n) })));
}

#[test]
fn entries_of_payloads_gone_by_are_skipped_and_swept() {
    let mut table = Table::new(0.01, 2);
    for n in 0..40_000 {
        table.insert(hash(n), (n % 4) as u8).unwrap();
    }
    table.set_alive(0b1110);
    for n in 0..40_000 {
        let is_found = table.contains(hash(n));
        assert!(is_found || n % 4 == 0);
        assert!(n % 4 == 0 || table.payload(hash(n)) >= Some((n % 4) as u8));
    }
    let (bytes, mut from) = (table.bytes(), Some(0));
    while let Some(start) = from {
        from = table.sweep(start).unwrap();
    }
    table.check();
    assert_eq!(table.len(), 30_000);
    assert!(table.bytes() * 10 < bytes * 9);
    table.set_alive(ALL_PAYLOADS);
    assert!((0..40_000)
        .filter(|n| n % 4 != 0)
        .all(|n| table.contains(hash(n))));

    for n in (0..40_000).filter(|n| n % 4 == 1) {
        assert!(table.replace_payload(hash(n), 3).unwrap());
        assert_eq!(table.payload(hash(n)), Some(3));
    }
    table.check();
    assert_eq!(table.len(), 30_000);
}

#[test]
fn a_removal_takes_an_entry_that_lookups_find() {
    let mut table = Table::new(0.01, 2);
    for n in 0..1_000 {
        table.insert(hash(n), 1).unwrap();
        table.insert(hash(n), 2).unwrap();
    }
    table.set_alive(0b0010);
    for n in 0..1_000 {
        assert_eq!(table.remove(hash(n)), Ok(true));
        assert!(!table.contains(hash(n)));
        assert_eq!(table.remove(hash(n)), Ok(false));
    }
}
