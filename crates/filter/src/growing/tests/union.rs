//! The union of two tables against what each of them finds.

use super::*;

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
        table.unite(&other, u64::MAX).unwrap();
        table.check();
        for (n, found) in found.iter().enumerate() {
            prop_assert!(!found || table.contains(hash(n as u64)), "{}", n);
        }
        prop_assert!(table.false_positive_rate() <= sum_of_rates.max(error_rate));
        // The entries of a smaller table may be shorter, and then those of common items differ.
        prop_assert!(table.len() <= own + others, "{}", table.len());

        // All of it is there already.
        let digest = table.digest();
        prop_assert_eq!(table.unite(&other, u64::MAX), Ok(false));
        prop_assert_eq!(table.digest(), digest);
    }

    #[test]
    fn pages_of_other_depths_and_those_that_say_yes_to_everything_are_united_too(
        own in vec_of_runs(), others in vec_of_runs(),
    ) {
        let table_of_runs = |runs: &[(u8, u64, u64)]| {
            let mut table = Table::new(0.01, 0);
            for (crowded, first, items) in runs {
                for n in *first..first + items {
                    table.insert_if_absent(crowded_hash(*crowded, n), 0, u64::MAX).unwrap();
                }
            }
            table
        };
        let (mut table, other) = (table_of_runs(&own), table_of_runs(&others));
        table.unite(&other, u64::MAX).unwrap();
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

/// An item below one prefix of so many bits.
fn crowded_hash(crowded: u8, n: u64) -> ItemHash {
    let prefix = 5 << 60 & !(u64::MAX >> crowded);
    hash_of(Path(Path::of(hash(n)).0 >> crowded | prefix))
}

/// Runs of items, each below a prefix.
fn vec_of_runs() -> impl Strategy<Value = Vec<(u8, u64, u64)>> {
    let crowded = prop_oneof![Just(0u8), Just(6), Just(14)];
    prop::collection::vec((crowded, 0..50_000u64, 1..12_000u64), 1..5)
}

#[test]
fn a_union_of_nothing_changes_nothing_and_one_with_nothing_is_the_other() {
    let other = table_of(0..5_000, 0.01);
    let mut table = Table::new(0.01, 0);
    assert_eq!(table.unite(&other, u64::MAX), Ok(true));
    table.check();
    // Entries that others cover are left out.
    assert!(table.len() <= other.len() && table.len() > other.len() * 99 / 100);
    let digest = table.digest();
    assert_eq!(table.unite(&Table::new(0.01, 0), u64::MAX), Ok(false));
    assert_eq!(table.digest(), digest);
}

#[test]
fn a_union_ends_at_its_limit() {
    let mut table = table_of(0..5_000, 0.01);
    let other = table_of(5_000..50_000, 0.01);
    let most = table.bytes() + 1_000;
    assert_eq!(table.unite(&other, most), Err(AddError::OverLimit));
    assert!(table.bytes() <= most);
    table.check();
}
