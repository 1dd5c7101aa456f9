//! The growing table where memory runs short at any point: a change happens whole or not
//! at all, and no byte leaks.

use splitbloom_filter::codec::MEMORY_PER_BYTE;
use splitbloom_filter::error::{AddError, DecodeError};
use splitbloom_filter::hash::{ItemHash, Seed};
use splitbloom_filter::table::{PageRecord, Pages, Table, UnionLimits};
use splitbloom_test_allocator::{meter, refusal, TestAllocator};

#[global_allocator]
static ALLOCATOR: TestAllocator = TestAllocator;

fn hash(n: u64) -> ItemHash {
    ItemHash::of(&n.to_le_bytes(), Seed(3))
}

fn table_of(items: u64) -> Table {
    let mut table = Table::new(0.01, 2);
    for n in 0..items {
        table.insert(hash(n), (n % 4) as u8, u64::MAX).unwrap();
    }
    table
}

fn bytes_of(record: &PageRecord<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    record.write(&mut |more| bytes.extend(more));
    bytes
}

/// Does the work again and again, each time with one more block given before one is refused, until
/// none is. Each time it starts with what `prepare` makes, and must end in success or with nothing
/// changed; no byte stays behind.
fn at_every_refusal(
    prepare: impl Fn() -> Table,
    work: impl Fn(&mut Table) -> Result<(), AddError>,
) -> u64 {
    for n in 0.. {
        let held = meter::bytes_held();
        let mut table = prepare();
        let before = table.digest();
        let (result, was_refused) = refusal::of_the_nth(n, || work(&mut table));
        match result {
            Ok(()) => assert_eq!(work_done(prepare(), &work), table.digest()),
            Err(error) => {
                assert_eq!(error, AddError::OutOfMemory);
                assert!(was_refused, "nothing was refused");
                assert_eq!(table.digest(), before, "block {n} was refused");
                work(&mut table).unwrap();
            }
        }
        drop(table);
        assert_eq!(meter::bytes_held(), held, "block {n} was refused");
        if !was_refused {
            return n;
        }
    }
    unreachable!()
}

fn work_done(mut table: Table, work: &impl Fn(&mut Table) -> Result<(), AddError>) -> u128 {
    work(&mut table).unwrap();
    table.digest()
}

#[test]
fn an_insert_that_finds_no_memory_changes_nothing() {
    // The next inserts after these numbers: into a first line, a larger page, a first split, a
    // split in a node that doubles.
    let mut table = Table::new(0.01, 2);
    let (mut kinds, mut n) = (0, 0);
    while n < 12_000 {
        let (pages, bytes) = (table.pages(), table.bytes());
        table.insert(hash(n), (n % 4) as u8, u64::MAX).unwrap();
        if table.pages() > pages || (table.bytes() > bytes && n % 7 == 0) {
            let refusals = at_every_refusal(
                || table_of(n),
                |table| table.insert(hash(n), (n % 4) as u8, u64::MAX),
            );
            assert!(refusals > 0);
            kinds += 1;
        }
        n += 1;
    }
    assert!(kinds >= 12, "{kinds}");
}

#[test]
fn an_insert_into_a_copy_that_finds_no_memory_changes_neither() {
    let mut original = table_of(5_000);
    let digest = original.digest();
    let mut copy = original.try_clone().unwrap();
    let refused = refusal::of_blocks_from(64, || copy.insert(hash(1 << 40), 0, u64::MAX));
    assert_eq!(refused, Err(AddError::OutOfMemory));
    assert_eq!((original.digest(), copy.digest()), (digest, digest));
    copy.insert(hash(1 << 40), 0, u64::MAX).unwrap();
    assert_eq!(original.digest(), digest);
}

#[test]
fn a_copy_that_finds_no_memory_leaves_the_original_as_good_as_it_was() {
    let refusals = at_every_refusal(
        || table_of(20_000),
        |table| {
            drop(table.try_clone()?);
            table.insert(hash(1 << 40), 0, u64::MAX)
        },
    );
    assert!(refusals > 5);
}

#[test]
fn a_copy_takes_its_first_nodes_and_a_write_what_lies_below_one_slot_of_them() {
    let mut table = Table::new(0.01, 0);
    for n in 0..4_000_000 {
        table.insert(hash(n), 0, u64::MAX).unwrap();
    }
    assert!(table.pages() > 2_048, "some lie below a second node");
    let (copy, taken) = meter::measured(|| table.try_clone().unwrap());
    // 2 048 slots, and an owner count next to a slot for each.
    let most = 2_048 * (16 + 24);
    assert!(taken.peak <= most, "{taken:?}");
    let (_, taken) = meter::measured(|| table.insert(hash(1 << 40), 0, u64::MAX).unwrap());
    assert!(taken.peak <= 64 << 10, "{taken:?}");
    assert_eq!(copy.len() + 1, table.len());
}

/// A table of this many items, from `first` on, without payloads.
fn plain_table(first: u64, items: u64) -> Table {
    let mut table = Table::new(0.01, 0);
    for n in first..first + items {
        table.insert(hash(n), 0, u64::MAX).unwrap();
    }
    table
}

const ANY_UNION: UnionLimits = UnionLimits { bytes: u64::MAX, cost: u64::MAX };

#[test]
fn a_union_that_finds_no_memory_changes_nothing() {
    // The other table's entries split pages, are shorter than buckets' numbers, and come to pages
    // that a copy has too.
    for (items, more, is_shared) in [(0, 150, false), (1_500, 200, false), (9_000, 60, true)] {
        let other = plain_table(1 << 40, more);
        let prepare = || {
            let mut table = plain_table(0, items);
            let copy = is_shared.then(|| table.try_clone().unwrap());
            (table, copy)
        };
        for n in 0.. {
            let held = meter::bytes_held();
            let (mut table, copy) = prepare();
            let (digest, len, bytes) = (table.digest(), table.len(), table.bytes());
            let unite = |table: &mut Table| table.unite([&other].into_iter(), ANY_UNION);
            let (result, was_refused) = refusal::of_the_nth(n, || unite(&mut table).map(|_| ()));
            assert_eq!(result.is_err(), was_refused, "block {n}");
            if was_refused {
                assert_eq!(result, Err(AddError::OutOfMemory.into()));
                assert_eq!((table.digest(), table.len()), (digest, len), "block {n}");
                assert_eq!(table.bytes(), bytes, "block {n}");
                unite(&mut table).unwrap();
            }
            let (mut whole, _) = prepare();
            unite(&mut whole).unwrap();
            assert_eq!(table.digest(), whole.digest(), "block {n}");
            assert!(copy.iter().all(|copy| copy.digest() == digest));
            drop((table, copy, whole));
            assert_eq!(meter::bytes_held(), held, "block {n}");
            if !was_refused {
                assert!(n > 5, "{n}");
                break;
            }
        }
    }
}

#[test]
fn a_union_takes_memory_for_the_pages_that_it_touches() {
    let mut table = plain_table(0, 4_000_000);
    assert!(table.pages() > 2_048, "some lie below a second node");
    let (bytes, other) = (table.bytes(), plain_table(1 << 40, 300));
    let (united, taken) = meter::measured(|| table.unite([&other].into_iter(), ANY_UNION));
    assert!(united.unwrap().has_changed);
    let grown = table.bytes() - bytes;
    // A page has up to 48 lines.
    let most = grown + 300 * 48 * 64;
    assert!(taken.peak as u64 <= most, "{taken:?}, {most}");
}

#[test]
fn a_sweep_that_finds_no_memory_changes_nothing() {
    let refusals = at_every_refusal(
        || table_of(1_500),
        |table| {
            table.set_alive(0b1010, 750);
            table.sweep(0, 3).map(|swept| assert_eq!(swept.next, None))
        },
    );
    assert!(refusals > 2);
}

#[test]
fn a_payload_that_finds_no_memory_stays_as_it_is() {
    let prepare = || {
        let mut table = table_of(1_000);
        // The first entry has fewer bits than those two.
        for _ in 0..2 {
            table.insert(hash(5), 1, u64::MAX).unwrap();
        }
        table
    };
    let refusals = at_every_refusal(prepare, |table| table.replace_payload(hash(5), 3).map(|_| ()));
    assert!(refusals > 1);
}

#[test]
fn removals_need_no_memory_but_for_pages_of_a_copy() {
    let mut table = table_of(10_000);
    refusal::of_blocks_from(1, || {
        for n in 0..10_000 {
            assert_eq!(table.remove(hash(n)), Ok(true));
        }
    });
    assert!(table.is_empty());
    table.insert(hash(1), 0, u64::MAX).unwrap();
    assert!(table.contains(hash(1)));
}

#[test]
fn no_block_is_larger_than_64_kib_however_far_a_table_grows() {
    let mut table = Table::new(0.01, 0);
    refusal::of_blocks_from((64 << 10) + 1, || {
        for n in 0..6_000_000 {
            table.insert(hash(n), 0, u64::MAX).unwrap();
        }
    });
    assert!(table.pages() > 4_096, "there is a second node");
    let mut bytes = 0;
    table.visit_allocations(|layout, times| bytes += layout.size() as u64 * times);
    assert_eq!(bytes, table.bytes());
}

#[test]
fn saving_needs_no_memory() {
    let table = table_of(20_000);
    let saved = refusal::of_blocks_from(1, || {
        let (mut bytes, mut from) = (0, Some(0));
        while let Some(start) = from {
            let record = table.page_record(start);
            record.write(&mut |more| bytes += more.len());
            from = record.next();
        }
        bytes
    });
    assert!(saved > 20_000);
}

#[test]
fn what_is_visited_is_what_is_allocated() {
    let (table, taken) = meter::measured(|| table_of(100_000));
    let mut bytes = 0;
    table.visit_allocations(|layout, times| bytes += layout.size() as isize * times as isize);
    assert_eq!(bytes, taken.kept);
}

fn records_of(table: &Table) -> Vec<Vec<u8>> {
    let (mut records, mut from) = (Vec::new(), Some(0));
    while let Some(start) = from {
        let record = table.page_record(start);
        records.push(bytes_of(&record));
        from = record.next();
    }
    records
}

/// Loads records in runs of a given length, and checks at each what all bytes so far have cost.
fn assert_bounded(mut table: Table, records: &[Vec<u8>], run: usize) -> Table {
    let (mut given, mut kept, mut from) = (0, 0, Some(0));
    for run in records.chunks(run) {
        let bytes = run.concat();
        given += bytes.len();
        let (next, taken) = meter::measured(|| {
            let pages = parse(&table, from.unwrap(), &bytes).unwrap();
            let next = pages.next();
            table.load(pages, None).unwrap();
            next
        });
        let most = given * MEMORY_PER_BYTE + 4_096;
        assert!(kept + taken.peak <= most as isize, "{taken:?} after {kept} for {given} bytes");
        kept += taken.kept;
        from = next;
    }
    table
}

/// The records of pages without entries at these depths.
fn empty_records(depths: impl IntoIterator<Item = u8>) -> Vec<Vec<u8>> {
    let record = |depth| [&[depth, 0][..], &[0; 13]].concat();
    depths.into_iter().map(record).collect()
}

/// The depths of pages in the tree that is as uneven as one node allows: one half of each part is
/// one less deep than the other.
fn uneven(depth: u8, levels: u8, depths: &mut Vec<u8>) {
    if levels == 0 {
        return depths.push(depth);
    }
    uneven(depth + 1, levels - 1, depths);
    uneven(depth + 1, levels.saturating_sub(2), depths);
}

#[test]
fn loading_holds_no_more_than_the_bytes_given_allow() {
    for items in [0, 1, 10, 1_000, 100_000] {
        let mut table = table_of(items);
        for left in [items, items / 20] {
            for n in left..items {
                table.remove(hash(n)).unwrap();
            }
            let records = records_of(&table);
            for run in [1, 10, 1_000] {
                let loaded = assert_bounded(Table::new(0.01, 2), &records, run);
                assert_eq!(loaded.digest(), table.digest());
            }
        }
    }
    let mut uneven_depths = Vec::new();
    uneven(0, 24, &mut uneven_depths);
    assert!(uneven_depths.len() > 50_000);
    let deep_first: Vec<u8> = [51].into_iter().chain((1..=51).rev()).collect();
    let deep_last: Vec<u8> = (1..=51).chain([51]).collect();
    let even = vec![14; 1 << 14];
    for depths in [uneven_depths, deep_first, deep_last, even] {
        let records = empty_records(depths);
        for run in [1, 7, 30_000] {
            let table = assert_bounded(Table::new(0.01, 2), &records, run);
            assert_eq!(records_of(&table), records);
        }
    }
}

#[test]
fn the_least_entries_in_the_most_lines_pay_for_them() {
    // One entry, in as many lines as it can be cut into, with as few zeros as are taken.
    for lines in 1..=255 {
        let mut record = vec![0, 1, 1, 10, lines, 1, 0, 0, 0, 0b0000_1110, 0b0000_1000];
        let table = Table::new(0.01, 0);
        while parse(&table, 0, &record).err() == Some(DecodeError::Length) {
            record.push(0);
        }
        match parse(&table, 0, &record) {
            Ok(_) => drop(assert_bounded(table, &[record], 1)),
            Err(error) => {
                assert!(lines > 128, "{lines}");
                assert_eq!(error, DecodeError::Field("lines"));
            }
        }
    }
}

#[test]
fn a_load_that_finds_no_memory_changes_nothing_and_leaves_nothing_behind() {
    let table = table_of(30_000);
    let records = records_of(&table);
    let (first, second) = records.split_at(records.len() / 3);
    let (first, second) = (first.concat(), second.concat());
    let mut refusals = 0;
    for n in 0.. {
        let held = meter::bytes_held();
        let mut part = Table::new(0.01, 2);
        let pages = parse(&part, 0, &first).unwrap();
        let next = pages.next().unwrap();
        part.load(pages, None).unwrap();
        let before = (part.digest(), part.bytes(), part.len());
        let (result, was_refused) = refusal::of_the_nth(n, || {
            let pages = parse(&part, next, &second)?;
            part.load(pages, None)
        });
        match result {
            // Nodes may stay apart.
            Ok(()) => assert_eq!(part.digest(), table.digest()),
            Err(error) => {
                assert_eq!(error, DecodeError::OutOfMemory);
                assert_eq!((part.digest(), part.bytes(), part.len()), before);
                refusals += 1;
            }
        }
        let mut bytes = 0;
        part.visit_allocations(|layout, times| bytes += layout.size() as u64 * times);
        assert_eq!(bytes, part.bytes());
        drop(part);
        assert_eq!(meter::bytes_held(), held);
        if !was_refused {
            break;
        }
    }
    assert!(refusals > 40, "{refusals}");
}

/// The pages of records that follow each other.
fn parse(table: &Table, from: u64, mut bytes: &[u8]) -> Result<Pages, DecodeError> {
    let mut pages = Pages::starting_at(from);
    while pages.next() == Some(from) || !bytes.is_empty() {
        bytes = pages.push(table, bytes)?;
    }
    Ok(pages)
}
