//! The growing table where memory runs short at any point: what was asked for happens whole or not
//! at all, and no byte leaks.

use splitbloom_filter::error::{AddError, DecodeError};
use splitbloom_filter::growing::{Loader, Table, ALL_PAYLOADS};
use splitbloom_filter::hash::{ItemHash, Seed};
use splitbloom_test_allocator::{meter, refusal, TestAllocator};

#[global_allocator]
static ALLOCATOR: TestAllocator = TestAllocator;

fn hash(n: u64) -> ItemHash {
    ItemHash::of(&n.to_le_bytes(), Seed(3))
}

fn table_of(items: u64) -> Table {
    let mut table = Table::new(0.01, 2);
    for n in 0..items {
        table.insert(hash(n), (n % 4) as u8).unwrap();
    }
    table
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
        let before = table.digest().unwrap();
        let (result, was_refused) = refusal::of_the_nth(n, || work(&mut table));
        match result {
            Ok(()) => assert_eq!(work_done(prepare(), &work), table.digest().unwrap()),
            Err(error) => {
                assert_eq!(error, AddError::OutOfMemory);
                assert!(was_refused, "nothing was refused");
                assert_eq!(table.digest().unwrap(), before, "block {n} was refused");
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
    table.digest().unwrap()
}

#[test]
fn an_insert_that_finds_no_memory_changes_nothing() {
    // The next inserts after so many items: into a first line, a larger page, a first split, a
    // split in a node that doubles.
    let mut table = Table::new(0.01, 2);
    let (mut kinds, mut n) = (0, 0);
    while n < 12_000 {
        let (pages, bytes) = (table.pages(), table.bytes());
        table.insert(hash(n), (n % 4) as u8).unwrap();
        if table.pages() > pages || (table.bytes() > bytes && n % 7 == 0) {
            let refusals =
                at_every_refusal(|| table_of(n), |table| table.insert(hash(n), (n % 4) as u8));
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
    let refused = refusal::of_blocks_from(64, || copy.insert(hash(1 << 40), 0));
    assert_eq!(refused, Err(AddError::OutOfMemory));
    assert_eq!((original.digest(), copy.digest()), (digest, digest));
    copy.insert(hash(1 << 40), 0).unwrap();
    assert_eq!(original.digest(), digest);
}

#[test]
fn a_copy_that_finds_no_memory_leaves_the_original_as_good_as_it_was() {
    let refusals = at_every_refusal(
        || table_of(20_000),
        |table| {
            drop(table.try_clone()?);
            table.insert(hash(1 << 40), 0)
        },
    );
    assert!(refusals > 5);
}

#[test]
fn a_sweep_that_finds_no_memory_changes_nothing() {
    let refusals = at_every_refusal(
        || table_of(1_500),
        |table| {
            table.set_alive(0b1010);
            table.sweep(0).map(|next| assert_eq!(next, None))
        },
    );
    assert!(refusals > 2);
}

#[test]
fn a_payload_that_finds_no_memory_stays_as_it_is() {
    let prepare = || {
        let mut table = table_of(1_000);
        table.insert(hash(5), 1).unwrap();
        table
    };
    let refusals = at_every_refusal(prepare, |table| {
        table.replace_payload(hash(5), 3).map(|_| ())
    });
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
    table.insert(hash(1), 0).unwrap();
    assert!(table.contains(hash(1)));
}

#[test]
fn no_block_is_larger_than_64_kib_however_far_a_table_grows() {
    let mut table = Table::new(0.01, 0);
    refusal::of_blocks_from((64 << 10) + 1, || {
        for n in 0..6_000_000 {
            table.insert(hash(n), 0).unwrap();
        }
    });
    assert!(table.pages() > 4_096, "there is a second node");
    let mut bytes = 0;
    table.visit_allocations(|layout, times| bytes += layout.size() as u64 * times);
    assert_eq!(bytes, table.bytes());
}

#[test]
fn what_is_visited_is_what_is_allocated() {
    let (table, taken) = meter::measured(|| table_of(100_000));
    let mut bytes = 0;
    table.visit_allocations(|layout, times| bytes += layout.size() as isize * times as isize);
    assert_eq!(bytes, taken.kept);
}

#[test]
fn a_record_costs_no_more_than_a_few_lines_or_four_times_its_entries() {
    let table = table_of(100_000);
    let mut from = Some(0);
    let mut loader = Loader::new(0.01, 2).unwrap();
    while let Some(start) = from {
        let mut record = Vec::new();
        from = table.encode_page(start, &mut record).unwrap();
        let (_, taken) = meter::measured(|| loader.push(&record).map(<[u8]>::len).unwrap());
        assert!(
            taken.peak <= 20 * record.len() as isize + 70_000,
            "{taken:?}"
        );
    }
    assert_eq!(loader.finish().unwrap().digest(), table.digest());

    // The shortest record with an entry, in as many lines as it may have.
    let mut loader = Loader::new(0.01, 0).unwrap();
    let record = [0, 1, 1, 10, 8, 1, 0, 0, 0, 0b0000_1110, 0b0000_1000];
    let (result, taken) = meter::measured(|| loader.push(&record).map(<[u8]>::len));
    assert_eq!(result, Ok(0));
    assert!(taken.kept <= 8 * 64, "{taken:?}");
    let mut too_many = record;
    too_many[4] = 9;
    let mut loader = Loader::new(0.01, 0).unwrap();
    assert_eq!(
        loader.push(&too_many).err(),
        Some(DecodeError::Field("lines"))
    );
}

#[test]
fn a_loader_that_finds_no_memory_says_so_and_leaves_nothing_behind() {
    let table = table_of(10_000);
    let mut records = Vec::new();
    let mut from = Some(0);
    while let Some(start) = from {
        from = table.encode_page(start, &mut records).unwrap();
    }
    for n in 0.. {
        let held = meter::bytes_held();
        let load = || {
            let mut loader = Loader::new(0.01, 2)?;
            let mut rest = &records[..];
            while !rest.is_empty() {
                rest = loader.push(rest)?;
            }
            loader.finish()
        };
        let (result, was_refused) = refusal::of_the_nth(n, load);
        match result {
            Ok(mut loaded) => {
                assert!(!was_refused);
                loaded.set_alive(ALL_PAYLOADS);
                assert_eq!(loaded.digest(), table.digest());
                break;
            }
            Err(error) => assert_eq!(error, DecodeError::OutOfMemory),
        }
        assert_eq!(meter::bytes_held(), held);
    }
}
