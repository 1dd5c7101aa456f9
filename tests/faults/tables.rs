//! Tables where memory runs short, those of counting filters and those of Bloom filters: each item
//! is added or refused, whichever block is missing, and a replica gets those that were added.

use crate::{server_with_failpoints, with_blocks};
use splitbloom_harness::{item, words, Connection, Family, Reply};

/// Blocks of the table: lines of 64 bytes, up to pages of 8 KiB, and arrays of slots.
const BLOCKS_FROM: u64 = 64;

/// The items of these replies that were added.
fn added(db: &mut Connection, command: &str, items: std::ops::Range<u64>) -> Vec<u64> {
    let reply = db.call(words(command).into_iter().chain(items.clone().map(item)));
    let answers = reply.elements().iter().map(|answer| answer.integer());
    let both = items.zip(answers);
    both.filter(|(_, answer)| *answer == 1).map(|(number, _)| number).collect()
}

#[test]
fn items_of_a_batch_that_find_no_memory_are_refused_and_only_the_others_replicated() {
    const ITEMS: u64 = 5000;
    let (primary, mut db) = server_with_failpoints(&[]).with_client();
    let replica = primary.replica(&["bf.max-filter-bytes 1"]);
    let from = format!("CONFIG SET bf.inject-refusal-from {BLOCKS_FROM}");
    db.run("CF.RESERVE k 1000 ERROR 0.0001");
    let mut gaps = 0;
    for (round, command) in
        ["CF.INSERT k ITEMS", "CF.INSERTNX k ITEMS"].into_iter().cycle().take(12).enumerate()
    {
        let first = round as u64 * ITEMS;
        db.run(&from);
        // Blocks for the words and for the answers, and then only some of those of the table.
        let kept =
            with_blocks(&mut db, 4 + round as u64, |db| added(db, command, first..first + ITEMS));
        assert!(!kept.is_empty() && (kept.len() as u64) < ITEMS, "{}", kept.len());
        gaps += kept.windows(2).filter(|pair| pair[1] > pair[0] + 1).count();
        for number in kept {
            assert_eq!(db.ask(&format!("CF.EXISTS k item:{number}")), ":1");
        }
        primary.assert_equal(&replica);
    }
    assert!(gaps > 100, "some items find room after others did not: {gaps}");
}

#[test]
fn a_deletion_that_finds_no_memory_changes_nothing() {
    let (_server, mut db) = server_with_failpoints(&[]).with_client();
    db.run("CF.RESERVE k 1000 ERROR 0.000001");
    db.run("CF.INSERT k ITEMS a a a a a b");
    // The pages of the two are common, so the first change needs a copy.
    db.run("COPY k copy");
    let before = [db.digest("k"), db.digest("copy")];
    db.run(&format!("CONFIG SET bf.inject-refusal-from {BLOCKS_FROM}"));
    let refused = "-ERR Insufficient memory to delete item";
    for key in ["k", "copy"] {
        with_blocks(&mut db, 0, |db| {
            assert_eq!(db.ask(&format!("CF.DEL {key} a")), refused);
            assert_eq!(db.ask(&format!("CF.DEL {key} z")), ":0");
            let packed = db.ask(&format!("CF.PACKDEL {key} FIXED 1 zab"));
            assert_eq!(packed, format!("[:1, :0, {refused}]"));
        });
    }
    assert_eq!([db.digest("k"), db.digest("copy")], before);
    assert_eq!(db.ask("CF.DEL k a"), ":1");
    assert_eq!(db.digest("copy"), before[1]);
}

#[test]
fn a_batch_for_a_bloom_filter_stops_where_its_table_finds_no_memory() {
    const ITEMS: u64 = 5000;
    let (primary, mut db) = server_with_failpoints(&[]).with_client();
    let replica = primary.replica(&["bf.max-filter-bytes 1"]);
    db.run("BF.RESERVE table 0.0001 100");
    db.run("BF.RESERVE both 0.0001 1000");
    db.run(&format!("CONFIG SET bf.inject-refusal-from {BLOCKS_FROM}"));
    for round in 0..12 {
        for key in ["table", "both"] {
            let items = (round * ITEMS..(round + 1) * ITEMS).map(item);
            let command = Family::Bloom.adding(key).into_iter().chain(items);
            let reply = with_blocks(&mut db, 20 + round, |db| db.call(command));
            let (last, answers) = reply.elements().split_last().expect("at least one answer");
            assert_eq!(last.to_string(), "-ERR Insufficient memory to add item", "{key}");
            assert!(!answers.iter().any(Reply::is_error) && !answers.is_empty());
            let kept = round * ITEMS..round * ITEMS + answers.len() as u64;
            assert_eq!(Family::Bloom.missing_items(&mut db, key, kept), 0, "{key}");
            primary.assert_equal(&replica);
        }
    }
}

#[test]
fn a_load_refused_for_lack_of_memory_can_continue_later_and_saving_needs_none() {
    let (primary, mut db) = server_with_failpoints(&[]).with_client();
    let replica = primary.replica(&["bf.max-filter-bytes 1"]);
    for (family, reserve) in [
        (Family::Bloom, "BF.RESERVE k 0.000000000001 100"),
        (Family::Bloom, "BF.RESERVE k 0.000000000001 10000"),
        (Family::Counting, "CF.RESERVE k 100 ERROR 0.000000000001"),
    ] {
        db.run(reserve);
        family.add_items(&mut db, "k", 0..300_000);
        let chunks = family.scan_dump(&mut db, "k");
        assert!(chunks.len() > 1, "{reserve}");
        let payload = db.dump("k");
        let held = db.bytes_held();
        db.run(&format!("CONFIG SET bf.inject-refusal-from {BLOCKS_FROM}"));
        for (iterator, bytes) in &chunks {
            let exists = db.ask("EXISTS l");
            let before = (exists == ":1").then(|| db.digest("l"));
            // The first blocks, and those in the midst of the pages.
            for blocks in [0, 1, 2, 3, 5, 50] {
                let load = |db: &mut Connection| family.load(db, "l", *iterator, bytes);
                let refused = with_blocks(&mut db, blocks, load);
                assert_eq!(refused, "-ERR Insufficient memory to create filter", "{blocks}");
                assert_eq!(db.ask("EXISTS l"), exists);
                let after = (exists == ":1").then(|| db.digest("l"));
                assert_eq!(after, before, "{reserve}, {blocks} blocks");
            }
            assert_eq!(family.load(&mut db, "l", *iterator, bytes), "+OK");
        }
        assert_eq!(db.digest("l"), db.digest("k"));
        db.run("DEL l");
        for blocks in [0, 1, 10, 100] {
            let restored = with_blocks(&mut db, blocks, |db| db.restore("l", &payload));
            assert!(restored.starts_with('-'), "{blocks}");
        }
        assert_eq!(db.bytes_held(), held, "{reserve}");
        with_blocks(&mut db, 0, |db| {
            assert_eq!(db.dump("k"), payload);
            let dump = family.command("SCANDUMP k 0");
            assert_eq!(db.ask(&dump), "-ERR Insufficient memory to dump filter");
            assert_eq!(db.ask("SAVE"), "+OK");
        });
        db.run("DEBUG RELOAD NOSAVE");
        primary.assert_equal(&replica);
        db.run("FLUSHALL");
    }
}
