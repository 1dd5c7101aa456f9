//! The union of two tables against what each of them finds.

use super::*;
use crate::error::UnionError;
use crate::table::entries::Entries;
use crate::table::fingerprint::Fingerprint;
use crate::table::fingerprint::SlotShape;
use crate::table::grid::Shape;
use crate::table::UnionLimits;

const UNLIMITED: UnionLimits = UnionLimits { bytes: u64::MAX, cost: u64::MAX };

fn unite(table: &mut Table, other: &Table, limits: UnionLimits) -> Result<bool, UnionError> {
    let united = table.unite([other].into_iter(), limits);
    united.map(|united| united.has_changed)
}

fn table_of(numbers: impl IntoIterator<Item = u64>, error_rate: f64) -> Table {
    let mut table = Table::new(error_rate, 0);
    for n in numbers {
        table.insert_if_absent(hash(n), 0, u64::MAX).unwrap();
    }
    table
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn a_union_finds_what_either_table_finds_and_little_else(
        own in 0..30_000u64, others in 0..30_000u64, common in 0..30_000u64,
        error_rate in prop_oneof![Just(0.1), Just(0.01), Just(0.0001)],
    ) {
        let common = common.min(own).min(others);
        let mut table = table_of(0..own, error_rate);
        let other = table_of(own - common..own - common + others, error_rate);
        let sum_of_rates = table.false_positive_rate() + other.false_positive_rate();
        let found: Vec<bool> = (0..100_000)
            .map(|n| table.contains(hash(n)) || other.contains(hash(n)))
            .collect();
        unite(&mut table, &other, UNLIMITED).unwrap();
        table.check();
        for (n, found) in found.iter().enumerate() {
            prop_assert!(!found || table.contains(hash(n as u64)), "{}", n);
        }
        prop_assert!(table.false_positive_rate() <= sum_of_rates.max(error_rate));
        // The entries of a smaller table may be shorter, and then those of common items differ.
        prop_assert!(table.len() <= own + others, "{}", table.len());

        // All of it is present already.
        let digest = table.digest();
        prop_assert_eq!(unite(&mut table, &other, UNLIMITED), Ok(false));
        prop_assert_eq!(table.digest(), digest);
    }

    #[test]
    fn pages_of_other_depths_and_those_that_say_yes_to_everything_are_united_too(
        own in vec_of_runs(), others in vec_of_runs(),
    ) {
        let (mut table, other) = (table_of_runs(&own), table_of_runs(&others));
        unite(&mut table, &other, UNLIMITED).unwrap();
        table.check();
        for (crowded, first, items) in own.iter().chain(&others) {
            for n in *first..first + items {
                prop_assert!(table.contains(crowded_hash(*crowded, n)), "{} {}", crowded, n);
            }
        }
        for n in 0..10_000 {
            prop_assert!(!other.contains(hash(n)) || table.contains(hash(n)));
        }
    }
}

fn table_of_runs(runs: &[(u8, u64, u64)]) -> Table {
    let mut table = Table::new(0.01, 0);
    for (crowded, first, items) in runs {
        for n in *first..first + items {
            let hash = crowded_hash(*crowded, n);
            table.insert_if_absent(hash, 0, u64::MAX).unwrap();
        }
    }
    table
}

/// An item that begins with one prefix of this many bits.
fn crowded_hash(crowded: u8, n: u64) -> ItemHash {
    let prefix = 5 << 60 & !(u64::MAX >> crowded);
    hash_of(Path(Path::of(hash(n)).0 >> crowded | prefix))
}

/// Runs of items, each with a prefix.
fn vec_of_runs() -> impl Strategy<Value = Vec<(u8, u64, u64)>> {
    let crowded = prop_oneof![Just(0u8), Just(6), Just(14)];
    prop::collection::vec((crowded, 0..50_000u64, 1..12_000u64), 1..5)
}

#[test]
fn a_union_of_nothing_changes_nothing_and_one_with_nothing_is_the_other() {
    let other = table_of(0..5_000, 0.01);
    let mut table = Table::new(0.01, 0);
    assert_eq!(unite(&mut table, &other, UNLIMITED), Ok(true));
    table.check();
    // Entries that others cover are skipped.
    assert!(table.len() <= other.len() && table.len() > other.len() * 99 / 100);
    let digest = table.digest();
    assert_eq!(unite(&mut table, &Table::new(0.01, 0), UNLIMITED), Ok(false));
    assert_eq!(table.digest(), digest);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn a_union_over_a_limit_leaves_everything_as_it_was(
        own in vec_of_runs(), others in vec_of_runs(), cost in 0..30_000_000u64,
        more_bytes in 0..40_000u64, is_shared in any::<bool>(),
    ) {
        let (mut table, other) = (table_of_runs(&own), table_of_runs(&others));
        let copy = is_shared.then(|| table.try_clone().unwrap());
        let (digest, items, totals) = (table.digest(), table.len(), table.totals);
        let over_bytes = UnionLimits { bytes: table.bytes() + more_bytes, cost: u64::MAX };
        for (limits, error) in [
            (UnionLimits { bytes: u64::MAX, cost }, UnionError::TooCostly),
            (over_bytes, AddError::OverLimit.into()),
        ] {
            match table.unite([&other].into_iter(), limits) {
                Ok(united) => {
                    prop_assert!(table.bytes() <= limits.bytes);
                    table.check();
                    table.take_back(united);
                }
                Err(refused) => prop_assert_eq!(refused, error),
            }
            table.check();
            prop_assert_eq!((table.digest(), table.len()), (digest, items));
            prop_assert_eq!(table.totals, totals);
        }
        if let Some(copy) = copy {
            copy.check();
            prop_assert_eq!(copy.digest(), digest);
        }
    }
}

#[test]
fn unions_have_the_bits_that_they_always_had() {
    let runs = |first| [(0, first, 40_000), (6, first, 9_000), (14, first, 12_000)];
    let tables = [
        table_of_runs(&[]),
        table_of_runs(&runs(0)[..1]),
        table_of_runs(&runs(20_000)),
        table_of_runs(&runs(90_000)[1..]),
        table_of_runs(&[(0, 500_000, 90)]),
    ];
    let mut all = Vec::new();
    for (n, table) in tables.iter().enumerate() {
        for other in &tables {
            let mut union = loaded(&records_of(table), table, 100).unwrap();
            unite(&mut union, other, UNLIMITED).unwrap();
            all.extend((union.digest() ^ u128::from(union.len())).to_le_bytes());
        }
        assert!(table.totals.uncounted > 0 || ![2, 3].contains(&n), "{n}");
    }
    assert_eq!(
        xxhash_rust::xxh3::xxh3_128(&all),
        122_618_670_629_469_069_467_798_939_140_648_211_736
    );
}

#[test]
fn a_page_that_says_yes_to_everything_costs_every_page_that_it_covers() {
    let mut table = table_of(0..300_000, 0.01);
    let mut other = Table::new(0.01, 0);
    other.root = Subtree::Page(Page::saturated(0, 0));
    let (digest, pages) = (table.digest(), table.pages());
    assert!(pages > 100);
    let limits = |pages| UnionLimits { cost: pages * 800, ..UNLIMITED };
    let refused = unite(&mut table, &other, limits(pages));
    assert_eq!(refused, Err(UnionError::TooCostly));
    assert_eq!(table.digest(), digest);
    assert_eq!(unite(&mut table, &other, UNLIMITED), Ok(true));
    assert_eq!(table.false_positive_rate(), 1.0);
}

#[test]
fn many_entries_in_few_bytes_count_where_their_page_is_written_anew() {
    // Pages of entries that are hardly longer than the numbers of their buckets.
    let mut table = table_of(0..300_000, 0.01);
    let shape = Shape { bucket_bits: 11, slot: SlotShape { fingerprint_bits: 2, payload_bits: 0 } };
    let fingerprints = (0..2_600).map(|n| Fingerprint::new((n * 4_096 / 2_600) << 52, 12, 0));
    let entries = Entries { fingerprints: fingerprints.collect(), surplus: Vec::new() };
    let mut totals = Totals::default();
    for start in table.all_pages().into_iter().map(|(start, _)| start).collect::<Vec<_>>() {
        let depth = table.root.page(start).depth();
        let pages = (1..).map(|lines| Page::with_lines(depth, shape, &entries, lines).unwrap());
        let page = pages.into_iter().find_map(|page| page).unwrap();
        totals = totals.plus(Totals::of(&page, &entries, start));
        table.root.put(start, Subtree::Page(page));
    }
    totals.children = table.totals.children;
    table.totals = totals;
    table.items = 2_600 * table.pages();
    let mut table = loaded(&records_of(&table), &table, 100).unwrap();

    let mut other = Table::new(0.01, 0);
    let mut touched = std::collections::BTreeSet::new();
    for n in (0..20_000).filter(|n| !table.contains(hash(*n))) {
        let path = Path::of(hash(n));
        if touched.insert(path.start(table.root.page(path).depth()).0) {
            other.insert_if_absent(hash(n), 0, u64::MAX).unwrap();
        }
    }
    let (digest, pages) = (table.digest(), table.pages());
    assert_eq!(touched.len() as u64, pages);
    let limits = UnionLimits { cost: pages * 30_000, ..UNLIMITED };
    let refused = unite(&mut table, &other, limits);
    assert_eq!(refused, Err(UnionError::TooCostly));
    assert_eq!((table.digest(), table.totals), (digest, totals));
    assert_eq!(unite(&mut table, &other, UNLIMITED), Ok(true));
    table.check();
}

#[test]
fn entries_that_stand_for_several_are_not_added_again() {
    // An entry of the other table has 17 bits of path; 8 or 9 of them lead to its page here.
    let mut table = table_of(0..600_000, 0.25);
    let other = table_of(600_000..602_000, 0.25);
    assert_eq!(unite(&mut table, &other, UNLIMITED), Ok(true));
    table.check();
    let (digest, items, totals) = (table.digest(), table.len(), table.totals);
    assert_eq!(unite(&mut table, &other, UNLIMITED), Ok(false));
    assert_eq!((table.digest(), table.len()), (digest, items));
    assert_eq!(table.totals, totals);
}

#[test]
fn a_forged_page_of_depth_0_costs_every_page_that_its_entries_cover() {
    let mut table = table_of(0..300_000, 0.01);
    let slot = SlotShape { fingerprint_bits: 2, payload_bits: 0 };
    let shape = Shape { bucket_bits: 1, slot };
    // Of the four entries of two bits, the first: it covers every page of a quarter of all paths.
    let entries = Entries { fingerprints: vec![Fingerprint::new(0, 2, 0)], surplus: Vec::new() };
    let mut forged = Table::new(0.01, 0);
    let page = Page::with_lines(0, shape, &entries, 1).unwrap().unwrap();
    forged.totals = Totals::of(&page, &entries, Path(0));
    forged.root = Subtree::Page(page);
    forged.items = 1;
    let other = loaded(&records_of(&forged), &forged, 100).unwrap();
    let covered = table.all_pages().into_iter().filter(|(start, _)| start.0 >> 62 == 0).count();
    let digest = table.digest();
    let limits = UnionLimits { cost: covered as u64 * 800, ..UNLIMITED };
    assert_eq!(unite(&mut table, &other, limits), Err(UnionError::TooCostly));
    assert_eq!(table.digest(), digest);
    assert_eq!(unite(&mut table, &other, UNLIMITED), Ok(true));
}
