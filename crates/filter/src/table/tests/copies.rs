//! Copies that share memory, and memory that moves.

use super::*;

#[test]
fn a_copy_shares_pages_until_one_of_the_two_changes_them() {
    let mut table = varied(20_000);
    let before = table.digest();
    let mut copy = table.try_clone().unwrap();
    for n in 0..10_000 {
        table.insert(hash(n + 100_000), 0, u64::MAX).unwrap();
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
    table.insert(hash(1), 0, u64::MAX).unwrap();
    table.check();
}

/// A table some of whose pages lie so deep that a copy shares whole nodes.
fn deep() -> Table {
    let mut table = Table::new(0.001, 0);
    for n in 0..20_000 {
        table.insert(hash(n), 0, u64::MAX).unwrap();
        table.insert(deep_hash(n), 0, u64::MAX).unwrap();
    }
    let depth = |n| table.root.page(Path::of(deep_hash(n))).depth();
    assert!((0..20_000).all(|n| depth(n) > 12), "below a node of depth 11 or more");
    table
}

fn deep_hash(n: u64) -> ItemHash {
    hash_of(Path(Path::of(hash(n)).0 >> 11 | 5 << 60))
}

#[test]
fn a_sweep_of_a_table_that_shares_whole_nodes_loses_nothing() {
    let mut table = Table::new(0.001, 2);
    let payload = |n| if n % 16 == 0 { 2 } else { 1 };
    for n in 0..20_000 {
        table.insert(deep_hash(n), payload(n), u64::MAX).unwrap();
    }
    let kept = || (0..20_000).step_by(16).map(deep_hash);
    table.set_alive(1 << 2, kept().count() as u64);
    let pages = table.pages();
    let (mut copy, mut from) = (table.try_clone().unwrap(), Some(0));
    while let Some(start) = from {
        from = table.sweep(start, 0).unwrap().next;
        assert!(kept().all(|hash| table.contains(hash) && copy.contains(hash)));
        copy = table.try_clone().unwrap();
    }
    assert!(table.pages() < pages, "pages were merged");
    table.check();
    copy.check();
}

/// An operation on one of two tables.
#[derive(Clone, Copy, Debug)]
enum CopyStep {
    Insert(bool, u64, u64),
    Remove(bool, u64, u64),
    /// Replaces the second table by a copy of the first, and drops it on another thread.
    Copy,
    /// The other way round.
    CopyBack,
    Move(bool),
}

fn copy_steps() -> impl Strategy<Value = Vec<CopyStep>> {
    let run = (any::<bool>(), 0..25_000u64, 1..3_000u64);
    let step = prop_oneof![
        4 => run.clone().prop_map(|(which, n, times)| CopyStep::Insert(which, n, times)),
        4 => run.prop_map(|(which, n, times)| CopyStep::Remove(which, n, times)),
        1 => Just(CopyStep::Copy),
        1 => Just(CopyStep::CopyBack),
        1 => any::<bool>().prop_map(CopyStep::Move),
    ];
    prop::collection::vec(step, 1..25)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, ..ProptestConfig::default() })]

    #[test]
    fn copies_do_what_tables_do_that_share_nothing(steps in copy_steps()) {
        let mut table = deep();
        let plain = |table: &Table| loaded(&records_of(table), table, 100).unwrap();
        let mut twins = [plain(&table), plain(&table)];
        let copy = table.try_clone().unwrap();
        let mut tables = [table, copy];
        for step in steps {
            match step {
                CopyStep::Insert(which, first, times) => for n in first..first + times {
                    for table in [&mut tables[usize::from(which)], &mut twins[usize::from(which)]] {
                        table.insert(hash(n), 0, u64::MAX).unwrap();
                        table.insert(deep_hash(n), 0, u64::MAX).unwrap();
                    }
                },
                CopyStep::Remove(which, first, times) => for n in first..first + times {
                    for hash in [hash(n), deep_hash(n)] {
                        let removed = tables[usize::from(which)].remove(hash);
                        prop_assert_eq!(removed, twins[usize::from(which)].remove(hash));
                    }
                },
                CopyStep::Copy | CopyStep::CopyBack => {
                    let from = usize::from(matches!(step, CopyStep::CopyBack));
                    let copy = tables[from].try_clone().unwrap();
                    let dropped = std::mem::replace(&mut tables[1 - from], copy);
                    std::thread::spawn(move || drop(dropped)).join().unwrap();
                    twins[1 - from] = plain(&twins[from]);
                }
                CopyStep::Move(which) => {
                    let mut mover = Copier { allowed: 1 << 40, moved: 0 };
                    prop_assert_eq!(tables[usize::from(which)].relocate(0, &mut mover), None);
                }
            }
        }
        for (table, twin) in tables.iter().zip(&twins) {
            table.check();
            prop_assert_eq!(table.digest(), twin.digest());
            prop_assert_eq!(table.len(), twin.len());
            let mut answers = Vec::new();
            table.contains_many((0..3_000).map(deep_hash), |is_there| answers.push(is_there));
            for n in 0..3_000 {
                prop_assert_eq!(answers[n as usize], twin.contains(deep_hash(n)));
            }
        }
    }
}

#[test]
fn once_its_copy_is_gone_a_table_is_moved_whole_again() {
    let mut table = deep();
    let mut allocations = 0;
    table.visit_allocations(|_, times| allocations += times);
    drop(table.try_clone().unwrap());
    let mut mover = Copier { allowed: 1 << 40, moved: 0 };
    assert_eq!(table.relocate(0, &mut mover), None);
    assert_eq!(mover.moved, allocations);
    let mut left = 0;
    table.visit_allocations(|_, times| left += times);
    assert_eq!(left, allocations);
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
    assert!(steps > 10 && mover.moved >= allocations, "{} of {allocations}", mover.moved);
    assert!(mover.moved < 2 * allocations);
    assert_eq!(table.digest(), before);
    table.check();
}
