//! The number of growth steps of a table, also of one that was reserved for a number of items.

use super::*;

/// A table of `items` items, reserved for `reserved`, and the number of its growth steps.
fn filled(items: u64, reserved: u64) -> (Table, usize) {
    let (mut table, mut steps) = (Table::new(0.01, 0), 0);
    let budget = Budget { items: reserved, ..Budget::UNLIMITED };
    for n in 0..items {
        let bytes = table.bytes();
        table.insert_reserved(hash(n), 0, budget).unwrap();
        steps += usize::from(table.bytes() != bytes);
    }
    table.check();
    (table, steps)
}

#[test]
fn pages_get_more_lines_twice_between_two_splits() {
    let items = 300_000;
    let (table, steps) = filled(items, 0);
    let pages: Vec<usize> = table.all_pages().iter().map(|(_, page)| page.lines().len()).collect();
    let usual = pages.iter().filter(|lines| [32, 40, 48].contains(*lines));
    assert!(usual.count() * 100 > pages.len() * 95, "{pages:?}");
    // Each present page is the result of a split, of a page that had grown twice, and has itself
    // grown once on average: four steps a page, and some.
    assert!(steps < 9 * pages.len() / 2, "{steps} for {}", pages.len());
}

#[test]
fn a_reserved_table_grows_in_half_the_steps_and_takes_no_more_memory_when_full() {
    for items in [20_000, 100_000, 700_000] {
        let ((grown, grown_steps), (reserved, steps)) = (filled(items, 0), filled(items, items));
        assert!(steps * 2 < grown_steps, "{steps} for {grown_steps}");
        let larger = reserved.bytes() as f64 / grown.bytes() as f64;
        assert!(larger < 1.03, "{larger} for {items} items");
        assert_eq!(reserved.len(), grown.len());
        assert!(reserved.false_positive_rate() < 0.01);
    }
}

#[test]
fn a_reserved_table_is_never_larger_than_a_full_one_until_it_is_full() {
    let items = 100_000;
    let (full, _) = filled(items, items);
    for part in 1..10 {
        let (table, _) = filled(items * part / 10, items);
        assert!(table.bytes() <= full.bytes(), "{part} tenths");
        let (grown, _) = filled(items * part / 10, 0);
        assert!(table.bytes() * 2 < grown.bytes() * 3, "{part} tenths");
    }
}

#[test]
fn a_table_that_was_reserved_too_small_grows_on_as_any_other() {
    let (grown, _) = filled(400_000, 0);
    let (reserved, _) = filled(400_000, 50_000);
    let larger = reserved.bytes() as f64 / grown.bytes() as f64;
    assert!((0.97..1.03).contains(&larger), "{larger}");
}

#[test]
fn what_a_small_table_was_reserved_for_does_not_matter() {
    let (grown, steps) = filled(1_000, 0);
    let (reserved, reserved_steps) = filled(1_000, 1_024);
    assert_eq!(reserved_steps, steps);
    assert_eq!(reserved.digest(), grown.digest());
}

#[test]
fn a_reserved_table_refuses_items_only_a_little_earlier() {
    let fill = |budget: Budget| {
        let mut table = Table::new(0.01, 0);
        let refused = (0..).find_map(|n| table.insert_reserved(hash(n), 0, budget).err());
        assert_eq!(refused, Some(AddError::OverLimit));
        assert!(table.bytes() <= budget.max_bytes);
        table.len()
    };
    let grown = fill(Budget::up_to(100_000));
    let reserved = fill(Budget { items: 1_000_000, ..Budget::up_to(100_000) });
    assert!(reserved * 10 > grown * 7, "{reserved} for {grown}");
}
