//! Uses in which filters of other implementations were reported to fall short.

use crate::snapshot::entries;
use splitbloom_harness::{missing_items, words, Connection, Family, Server};
use std::collections::BTreeSet;
use std::process::Command;
use std::{fs, thread};

/// A command of words and then items.
fn with_items(head: &str, items: impl IntoIterator<Item = Vec<u8>>) -> Vec<Vec<u8>> {
    words(head).into_iter().chain(items).collect()
}

#[test]
fn a_filter_of_any_error_rate_and_capacity_finds_what_it_took() {
    let server = Server::start();
    let mut db = server.connect();
    for rate in ["0.99", "0.9999999999999999", "0.25", "1e-15", "1e-300", "5e-324"] {
        for capacity in [1, 7, 100] {
            for growth in ["", "NONSCALING", "EXPANSION 0", "EXPANSION 32768"] {
                let reserve = format!("BF.RESERVE k {rate} {capacity} {growth}");
                assert_eq!(db.ask(&reserve), "+OK", "{reserve}");
                let added = db.line("BF.INSERT k ITEMS 1 2 3 4 5 6 7 8 9 10 11 12");
                let (taken, refused): (Vec<_>, Vec<_>) =
                    (1..).zip(added.elements()).partition(|(_, reply)| !reply.is_error());
                assert!(refused.is_empty() || growth == "NONSCALING" || growth == "EXPANSION 0");
                for (item, _) in taken {
                    assert_eq!(db.ask(&format!("BF.EXISTS k {item}")), ":1", "{reserve}");
                }
                db.run("FLUSHALL");
            }
        }
    }
    for rate in ["1e-400", "0", "1", "-0", "inf"] {
        let refused = db.ask(&format!("BF.RESERVE k {rate} 5"));
        assert!(refused.contains("range (0.000000, 1.000000)"), "{rate}: {refused}");
    }
}

#[test]
fn of_all_adds_of_an_item_at_most_one_says_that_it_is_new() {
    const ITEMS: u64 = 3_000;
    let server = Server::start();
    server.connect().run("BF.RESERVE seen 1e-9 100 SEED 0123456789abcdef");
    let add = |mut db: Connection, client: u64| -> Vec<u64> {
        // Each begins elsewhere, so that no order is the same.
        let order = (0..ITEMS).map(|place| (place + client * ITEMS / 6) % ITEMS);
        let order: Vec<u64> = order.collect();
        let mut new = Vec::new();
        for batch in order.chunks(50) {
            let items = batch.iter().map(|number| number.to_be_bytes().to_vec());
            let replies = match client % 3 {
                0 => db.call(with_items("BF.MADD seen", items)).elements().to_vec(),
                1 => db.call(with_items("BF.INSERT seen ITEMS", items)).elements().to_vec(),
                _ => db.pipeline(items.map(|item| with_items("BF.ADD seen", [item]))),
            };
            let added = batch.iter().zip(replies).filter(|(_, reply)| reply.integer() == 1);
            new.extend(added.map(|(number, _)| *number));
        }
        new
    };
    let new: Vec<u64> = thread::scope(|scope| {
        let clients: Vec<_> = (0..6)
            .map(|client| {
                let db = server.connect();
                scope.spawn(move || add(db, client))
            })
            .collect();
        clients.into_iter().flat_map(|client| client.join().expect("a client")).collect()
    });
    let distinct: BTreeSet<u64> = new.iter().copied().collect();
    assert_eq!((new.len(), distinct.len()), (ITEMS as usize, ITEMS as usize));
}

#[test]
fn thousands_of_filters_hold_what_many_connections_add_to_them() {
    const FILTERS: u64 = 4_000;
    let server = Server::start();
    thread::scope(|scope| {
        for writer in 0..8 {
            let mut db = server.connect();
            scope.spawn(move || {
                for round in 0..2u64 {
                    let mine = (0..FILTERS).filter(|filter| filter % 8 == writer);
                    let adds = mine.map(|filter| {
                        let items = (0..10).map(|item| format!("item:{}", 10 * round + item));
                        with_items(&format!("BF.MADD f{filter}"), items.map(String::into_bytes))
                    });
                    let replies = db.pipeline(adds);
                    assert!(replies.iter().all(|reply| reply.elements().len() == 10));
                }
            });
        }
    });
    let mut db = server.connect();
    assert_eq!(db.ask("DBSIZE"), format!(":{FILTERS}"));
    assert_eq!(db.info_number("bf", "bf_filters"), FILTERS as i64);
    for filter in (0..FILTERS).step_by(37) {
        assert_eq!(missing_items(&mut db, &format!("f{filter}"), 0..20), 0);
    }
}

#[test]
fn a_chunk_that_a_client_turned_into_text_is_refused() {
    const REFUSED: &str = "-ERR received bad data";
    let server = Server::start();
    let mut db = server.connect();
    for family in [Family::Bloom, Family::Counting] {
        family.add_items(&mut db, "source", 0..3_000);
        let chunks = family.scan_dump(&mut db, "source");
        let (iterator, bytes) = &chunks[0];
        let latin_1: String = bytes.iter().map(|byte| char::from(*byte)).collect();
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        for text in [&String::from_utf8_lossy(bytes), latin_1.as_str(), &hex] {
            assert_eq!(family.load(&mut db, "k", *iterator, text.as_bytes()), REFUSED);
        }
        // The iterator that was passed to SCANDUMP, and the end.
        assert_eq!(family.load(&mut db, "k", 0, bytes), REFUSED);
        assert_eq!(family.load(&mut db, "k", 0, b""), REFUSED);
        assert_eq!(db.ask("EXISTS k"), ":0");
        family.load_chunks(&mut db, "k", &chunks);
        assert_eq!(db.digest("k"), db.digest("source"));
        db.run("FLUSHALL");
    }
}

#[test]
fn a_function_that_writes_nothing_can_count_copies() {
    let server = Server::strict(&[]);
    let mut db = server.connect();
    db.run("CF.INSERT k ITEMS a a b");
    let library = "#!lua name=filters
        redis.register_function{function_name='copies', flags={'no-writes'},
            callback=function(keys, items) return redis.call('CF.COUNT', keys[1], items[1]) end}";
    db.call(["FUNCTION", "LOAD", library]);
    assert_eq!(db.ask("FCALL_RO copies 1 k a"), ":2");
    let script = "local items = {} for i = 1, 5000 do items[i] = 'item:' .. i - 1 end
        return #redis.call('BF.MADD', KEYS[1], unpack(items))";
    assert_eq!(db.call(["EVAL", script, "1", "many"]).to_string(), ":5000");
    assert_eq!(missing_items(&mut db, "many", 0..5_000), 0);
}

#[test]
fn ids_with_structure_have_the_requested_error_rate() {
    const ITEMS: u64 = 20_000;
    let kinds: [fn(u64) -> Vec<u8>; 8] = [
        |n| n.to_string().into_bytes(),
        |n| format!("{n:012}").into_bytes(),
        |n| (n as u32).to_le_bytes().to_vec(),
        |n| (n as u32).to_be_bytes().to_vec(),
        |n| n.to_le_bytes().to_vec(),
        |n| format!("6f1c7e02-9a4b-4c5d-8e3f-{n:012x}").into_bytes(),
        |n| format!("10.{}.{}.{}", n >> 16, n >> 8 & 255, n & 255).into_bytes(),
        |n| [&n.to_be_bytes()[..], &[b'x'; 200]].concat(),
    ];
    let server = Server::start();
    let mut db = server.connect();
    for (number, kind) in kinds.into_iter().enumerate() {
        db.run(&format!("BF.RESERVE b 0.01 {ITEMS} SEED 0123456789abcdef"));
        db.run(&format!("CF.RESERVE c {ITEMS} SEED 0123456789abcdef"));
        for (add, look_up) in [("BF.MADD b", "BF.MEXISTS b"), ("CF.INSERT c ITEMS", "CF.MEXISTS c")]
        {
            let mut found = |range: std::ops::Range<u64>, head: &str| -> i64 {
                let all = range.step_by(1_000).map(|first| {
                    let replies = db.call(with_items(head, (first..first + 1_000).map(kind)));
                    replies.elements().iter().map(|reply| reply.integer()).sum::<i64>()
                });
                all.sum()
            };
            found(0..ITEMS, add);
            assert_eq!(found(0..ITEMS, look_up), ITEMS as i64, "{number}: {look_up}");
            let positives = found(ITEMS..2 * ITEMS, look_up);
            // Five standard deviations above 1 %.
            assert!(positives < 270, "{number}: {look_up}: {positives} of {ITEMS}");
        }
        db.run("FLUSHALL");
    }
}

#[test]
fn a_reader_that_knows_no_modules_finds_every_key_of_a_snapshot() {
    let server = Server::configured(&["rdbcompression no"]);
    let mut db = server.connect();
    let mut names = BTreeSet::new();
    for family in [Family::Bloom, Family::Counting] {
        for items in [1, 1_000, 100_000] {
            let name = format!("{family:?}-{items}");
            family.add_items(&mut db, &name, 0..items);
            db.run(&format!("SET text-of-{name} x"));
            names.extend([format!("text-of-{name}"), name]);
        }
    }
    db.run("BF.RESERVE empty 0.001 1000000000");
    db.run("BF.RESERVE window 0.01 100 WINDOW 1000");
    db.run("BF.MADD window a b c");
    names.extend(["empty", "window"].map(str::to_owned));
    db.run("SAVE");
    let file = fs::read(server.folder().join("dump.rdb")).expect("a snapshot");
    let entries = entries(&file);
    assert_eq!(entries.len(), names.len());
    let keys = entries.iter().map(|entry| String::from_utf8_lossy(entry.key).into_owned());
    assert_eq!(keys.collect::<BTreeSet<_>>(), names);
}

#[test]
fn the_command_line_client_finds_the_largest_filter() {
    let server = Server::start();
    let mut db = server.connect();
    db.run("BF.ADD small a");
    Family::Bloom.add_items(&mut db, "large", 0..100_000);
    let executable = splitbloom_harness::server_path();
    let name = executable.file_name().expect("a name").to_string_lossy();
    let client = executable.with_file_name(name.replace("-server", "-cli"));
    for option in ["--bigkeys", "--memkeys"] {
        let mut command = Command::new(&client);
        command.args(["-p", &server.port().to_string(), option]);
        let output = command.output().unwrap_or_else(|error| panic!("{client:?}: {error}"));
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("MBbloom--"), "{option}: {text}");
        if option == "--memkeys" {
            let bytes = db.line("MEMORY USAGE large").integer().to_string();
            assert!(text.contains("large") && text.contains(&bytes), "{bytes}: {text}");
        }
    }
}
