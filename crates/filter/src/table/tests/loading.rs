//! Tables encoded and decoded: whole, in runs, in part, damaged.

use super::*;
use crate::table::record::{PageRecord, EMPTY, SATURATED, SHORT_BYTES};

#[test]
fn a_table_is_loaded_as_it_was_saved() {
    for items in [0, 1, 100, 30_000] {
        let mut table = varied(items);
        // Among the first items, those that are aimed share few fingerprints.
        let pages = table.all_pages();
        assert!(items < 100 || pages.iter().any(|(_, page)| page.is_saturated()));
        table.check();
        let records = records_of(&table);
        let mut copies: Vec<_> =
            [1, 2, 5, 1_000].map(|run| loaded(&records, &table, run).unwrap()).into();
        for copy in &copies {
            copy.check();
            assert_eq!(copy.totals, copies[0].totals, "the runs do not matter");
            assert_eq!(records_of(copy), records);
            assert_eq!(copy.len(), table.len());
            let children = table.totals.children;
            assert_eq!(Totals { children, ..copy.totals }, table.totals);
        }
        let mut copy = copies.remove(0);
        for n in 0..items + 1_000 {
            assert_eq!(copy.count(hash(n)), table.count(hash(n)));
            assert_eq!(copy.payload(hash(n)), table.payload(hash(n)));
        }
        // From then on both do the same.
        for n in 0..items {
            assert_eq!(table.remove(hash(n * 3)), copy.remove(hash(n * 3)));
            table.insert(hash(n + items), 3, u64::MAX).unwrap();
            copy.insert(hash(n + items), 3, u64::MAX).unwrap();
        }
        assert_eq!(copy.digest(), table.digest());
        assert_eq!(copy.len(), table.len());
    }
}

#[test]
fn a_loaded_directory_is_about_as_deep_and_large_as_one_that_grew() {
    let mut table = Table::new(0.01, 0);
    let mut loaded_before = Table::new(0.01, 0);
    let mut n = 0;
    for size in [10_000, 100_000, 1_000_000, 2_000_000, 4_000_000] {
        while n < size {
            table.insert(hash(n), 0, u64::MAX).unwrap();
            loaded_before.insert(hash(n), 0, u64::MAX).unwrap();
            n += 1;
        }
        let mean_nodes = |table: &Table| {
            let nodes = (0..10_000).map(|n| table.root.nodes_passed(Path::of(hash(n))));
            nodes.sum::<usize>() as f64 / 10_000.0
        };
        let copy = loaded(&records_of(&table), &table, 500).unwrap();
        for other in [&copy, &loaded_before] {
            let nodes = [&table, other].map(mean_nodes);
            assert!(nodes[1] <= nodes[0] + 0.2, "{nodes:?} at {size}");
            let slots = [&table, other].map(|table| table.totals.children);
            assert!(slots[1] * 2 <= slots[0] * 3, "{slots:?} at {size}");
        }
        loaded_before = copy;
    }
}

#[test]
fn a_table_of_which_a_part_has_come_works() {
    let table = varied(30_000);
    let records = records_of(&table);
    let mut part = table.empty_like();
    let mut from = Some(0);
    for run in records.chunks(3) {
        let start = from.unwrap();
        let pages = Pages::parse(&part, start, &run.concat()).unwrap();
        from = pages.next();
        part.load(pages, None).unwrap();
        part.check();
        for n in 0..3_000 {
            let has_come = from.is_none_or(|from| Path::of(hash(n)) < Path(from));
            assert_eq!(part.contains(hash(n)), has_come && table.contains(hash(n)));
        }
        // The loaded table can be copied, moved, saved and loaded like any other; the following
        // runs fit the copy.
        let mut next = part.try_clone().unwrap();
        assert_eq!(next.relocate(0, &mut Copier { allowed: 1 << 40, moved: 0 }), None);
        assert_eq!(next.digest(), part.digest());
        let saved = loaded(&records_of(&part), &part, 2).unwrap();
        assert_eq!(saved.digest(), part.digest());
        part = next;
    }
    assert_eq!(from, None);
    assert_eq!(part.digest(), table.digest());
}

#[test]
fn pages_are_put_only_where_empty_ones_are() {
    let table = varied(20_000);
    let records = records_of(&table);
    let whole = records.concat();
    let parse = |table: &Table| Pages::parse(table, 0, &whole).unwrap();
    let mut copy = loaded(&records, &table, 4).unwrap();
    let mut busy = table.empty_like();
    busy.insert(hash(1), 0, u64::MAX).unwrap();
    for table in [&mut copy, &mut busy] {
        let before = (table.digest(), table.bytes(), table.len());
        let pages = parse(table);
        assert_eq!(table.load(pages, None), Err(DecodeError::Order));
        assert_eq!((table.digest(), table.bytes(), table.len()), before);
    }
    let none_fits = Pages::parse(&table, 1 << 40, &whole).err();
    assert_eq!(none_fits, Some(DecodeError::Field("depth")));
    assert_eq!(Pages::parse(&table, 0, &[]).err(), Some(DecodeError::Length));
    let mut twice = whole.clone();
    twice.extend(&records[0]);
    assert_eq!(Pages::parse(&table, 0, &twice).err(), Some(DecodeError::Length));
}

#[test]
fn there_are_no_more_items_than_entries_unless_a_page_has_lost_count() {
    let mut table = Table::new(0.01, 2);
    for n in 0..5_000 {
        table.insert(hash(n), 0, u64::MAX).unwrap();
    }
    let loaded_as = |table: &Table, items| {
        let whole = records_of(table).concat();
        let mut copy = table.empty_like();
        let pages = Pages::parse(&copy, 0, &whole).unwrap();
        copy.load(pages, Some(items)).map(|()| copy.len())
    };
    assert_eq!(loaded_as(&table, 5_000), Ok(5_000));
    assert_eq!(loaded_as(&table, 4_999), Ok(4_999));
    assert_eq!(loaded_as(&table, 5_001), Ok(5_000));
    assert_eq!(loaded_as(&varied(100), 1 << 40), Ok(1 << 40));
}

#[test]
fn a_record_cut_short_is_refused() {
    let table = varied(1_000);
    let mut from = Some(0);
    for record in records_of(&table) {
        let start = from.unwrap();
        for len in 0..record.len() {
            let result = Pages::parse(&table, start, &record[..len]);
            assert_eq!(result.err(), Some(DecodeError::Length), "{len}");
        }
        from = Pages::parse(&table, start, &record).unwrap().next();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_record_is_refused_or_is_what_would_be_written(
        which in any::<prop::sample::Index>(),
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        in_header in any::<bool>(), longer in 0..3usize,
    ) {
        thread_local! {
            static RECORDS: Vec<Vec<u8>> = records_of(&varied(3_000));
        }
        let mut record = RECORDS.with(|records| which.get(records).clone());
        let range = if in_header { record.len().min(12) } else { record.len() };
        for (place, value) in places {
            record[place.index(range)] = value;
        }
        // More lines need a longer record.
        record.extend([0; 200].iter().take(longer * 90));
        let mut table = Table::new(0.01, 2);
        if let Ok(pages) = Pages::parse(&table, 0, &record) {
            let (mut next, bytes) = (Some(0), pages.bytes());
            table.load(pages, None).unwrap();
            table.check();
            prop_assert!(table.bytes() >= bytes);
            let mut written: Vec<u8> = Vec::new();
            while written.len() < record.len() {
                let page = table.page_record(next.unwrap());
                page.write(&mut |bytes| written.extend(bytes));
                next = page.next();
            }
            prop_assert_eq!(&written, &record);
            // The loaded part works: its items can be removed.
            for n in 0..200 {
                table.insert(hash(n), 1, u64::MAX).unwrap();
                prop_assert!(table.contains(hash(n)));
                prop_assert!(table.remove(hash(n)).unwrap());
            }
            table.check();
        }
    }

    #[test]
    fn any_bytes_are_parsed_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut table = Table::new(0.001, 1);
        if let Ok(pages) = Pages::parse(&table, 0, &bytes) {
            table.load(pages, None).unwrap();
            table.check();
        }
    }

    /// Pages of very different depths, most of them empty: this tests the shape of the directory.
    #[test]
    fn any_tiling_is_loaded_alike_in_any_runs(
        choices in prop::collection::vec(any::<bool>(), 1..300),
        runs in prop::collection::vec(1..20usize, 1..40),
    ) {
        let mut choices = choices.into_iter();
        let (mut records, mut pending) = (Vec::new(), vec![0]);
        while let Some(depth) = pending.pop() {
            if depth < MAX_DEPTH && choices.next() == Some(true) {
                pending.extend([depth + 1, depth + 1]);
            } else {
                let mut record = vec![0; 15];
                (record[0], record[1]) = (depth, if depth > 3 { depth % 2 * 2 } else { 0 });
                records.push(record);
            }
        }
        let like = Table::new(0.01, 0);
        let whole = loaded(&records, &like, records.len())?;
        let single = loaded(&records, &like, 1)?;
        prop_assert_eq!(whole.totals, single.totals);
        prop_assert_eq!(&records_of(&single), &records);
        let mut table = like.empty_like();
        let (mut rest, mut from, mut runs) = (&records[..], Some(0), runs.into_iter().cycle());
        while let Some(start) = from {
            let (run, later) = rest.split_at(runs.next().unwrap().min(rest.len()));
            let pages = Pages::parse(&table, start, &run.concat())?;
            (rest, from) = (later, pages.next());
            table.load(pages, None)?;
            table.check();
        }
        prop_assert_eq!(table.totals, whole.totals);
        prop_assert_eq!(&records_of(&table), &records);
    }
}

#[test]
fn the_bytes_of_a_table_never_change() {
    let mut table = Table::new(0.01, 1);
    for n in 0..10 {
        table.insert(hash(n), (n % 2) as u8, u64::MAX).unwrap();
    }
    let record: String = records_of(&table)[0].iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(record, "00010211010a0000000aa13818db4dfb673067c5da156e39ab062445d057602fbe02");
    let mut table = varied(20_000);
    for n in 0..10_000 {
        table.remove(hash(n)).unwrap();
    }
    assert_eq!(table.digest(), 243230319580463233035749822712720598845);
}

#[test]
fn a_page_that_crowds_into_many_lines_is_loaded() {
    // Three neighbouring parts of the page have all of its items, which few lines cannot tell
    // apart.
    let mut table = Table::new(0.01, 0);
    for n in 0..80 {
        for part in 16..19 {
            let path = part << 59 | Path::of(hash(n)).0 >> 5;
            table.insert(hash_of(Path(path)), 0, u64::MAX).unwrap();
        }
    }
    let page = table.root.page(Path(0));
    // Entries that are spread take 8.
    assert!(page.lines().len() > 32, "{}", page.lines().len());
    let copy = loaded(&records_of(&table), &table, 1).unwrap();
    assert_eq!(copy.totals, table.totals);
    assert_eq!(copy.digest(), table.digest());
}

#[test]
fn a_dump_goes_on_where_pages_were_merged_meanwhile() {
    const ITEMS: u64 = 30_000;
    let mut table = Table::new(0.01, 0);
    for n in 0..ITEMS {
        table.insert(hash(n), 0, u64::MAX).unwrap();
    }
    let before = records_of(&table);
    let starts: Vec<_> = table.all_pages().iter().map(|(start, _)| start.0).collect();
    for n in 1_000..ITEMS {
        table.remove(hash(n)).unwrap();
    }
    assert!(table.pages() * 4 < before.len() as u64);
    let mut cuts = 0;
    for (dumped, from) in starts.into_iter().enumerate() {
        let cut = table.cut(from, 0).unwrap();
        cuts += cut.records().count();
        let mut records = before[..dumped].to_vec();
        let mut due = Some(from);
        let add = |record: PageRecord<'_>| {
            assert_eq!(Some(record.start()), due);
            let mut bytes = Vec::new();
            record.write(&mut |more| bytes.extend(more));
            records.push(bytes);
            due = record.next();
        };
        cut.records().for_each(add);
        while let Some(start) = due {
            let record = table.page_record(start);
            let mut bytes = Vec::new();
            record.write(&mut |more| bytes.extend(more));
            records.push(bytes);
            due = record.next();
        }
        let copy = loaded(&records, &table, 3).unwrap();
        copy.check();
        assert!((0..1_000).all(|n| copy.contains(hash(n))));
    }
    assert!(cuts > 20, "{cuts}");
}

#[test]
fn a_count_of_items_does_not_wrap() {
    let mut table = Table::new(0.01, 0);
    let mut pages = Pages::starting_at(0);
    for kind in [SATURATED, EMPTY] {
        let mut page = [0; SHORT_BYTES];
        page[..2].copy_from_slice(&[1, kind]);
        pages.push(&table, &page).unwrap();
    }
    table.load(pages, Some(u64::MAX)).unwrap();
    for n in 0..8 {
        table.insert(hash(n), 0, u64::MAX).unwrap();
    }
    assert_eq!(table.len(), u64::MAX);
}
