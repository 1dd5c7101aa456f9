//! `maxmemory`: how far a command of either module goes beyond it, at most.

use crate::module::server;
use splitbloom_harness::{now, words, Connection, Server};

/// What docs/commands.md promises.
const MOST: i64 = 8 << 20;
const OVER_MAXMEMORY: &str = "OOM command not allowed when used memory > 'maxmemory'";

/// Commands that create the keys which other commands name.
const SETUP: [&str; 15] = [
    "CMS.INITBYDIM wide 8387584 16",
    "CMS.INITBYDIM deep 131071 1023",
    "CMS.INITBYDIM full 4096 1023",
    "CMS.INITBYDIM sum 4096 1023",
    "CMS.INITBYDIM day 500000 16 WINDOW 86400",
    "TOPK.RESERVE top 1000 2097151 16 0.9",
    "TOPK.RESERVE long 1000000 8 7 0.9",
    "TOPK.RESERVE hour 1000 131072 16 0.9 WINDOW 3600",
    "TDIGEST.CREATE fine COMPRESSION 100000",
    "TDIGEST.CREATE other COMPRESSION 100000",
    "BF.RESERVE bloom 0.01 1000000000000",
    "BF.RESERVE ones 0.01 20000000",
    "BF.INSERT window WINDOW 10000 CAPACITY 100000000 ITEMS a",
    "CF.RESERVE counting 100000000",
    "CF.RESERVE bag 10000000",
];

/// `head`, and `number` distinct items with `rest` after each.
fn with_items(head: &str, number: u32, rest: &[&str]) -> Vec<Vec<u8>> {
    let item = |n: u32| n.wrapping_mul(0x9e37_79b9).to_string().into_bytes();
    let rest = || rest.iter().map(|word| word.as_bytes().to_vec());
    let items = (1..=number).flat_map(|n| std::iter::once(item(n)).chain(rest()));
    words(head).into_iter().chain(items).collect()
}

/// `head`, and `number` distinct packed items of 4 bytes.
fn packed(head: &str, number: u32) -> Vec<Vec<u8>> {
    let items = (1..=number).flat_map(|n| n.wrapping_mul(0x9e37_79b9).to_le_bytes());
    words(&format!("{head} FIXED 4")).into_iter().chain([items.collect()]).collect()
}

/// Every command that adds, with as much as it may take, and whether that exceeds the memory;
/// `None` if this depends on the server's allocator.
fn commands(now: u64) -> Vec<(Vec<Vec<u8>>, Option<bool>)> {
    let (no, yes) = (Some(false), Some(true));
    let numbers: Vec<Vec<u8>> = (0..500_000).map(|n| n.to_string().into_bytes()).collect();
    let tdigest = |head: &str| words(head).into_iter().chain(numbers.clone()).collect();
    vec![
        (words("CMS.INITBYDIM new 131071 1023"), no),
        (words("CMS.INITBYPROB new 0.00000002 0.5"), no),
        (words("CMS.INCRBY deep x 1"), no),
        (words("CMS.INCRBY full:copy x 1"), yes),
        (with_items("CMS.INCRBY wide", 20_000, &["1"]), yes),
        (with_items("CMS.INCRBY day", 20_000, &["1"]), yes),
        (with_items(&format!("CMS.INCRBYAT day {now}"), 20_000, &["1"]), yes),
        (packed("CMS.PACKINCR wide", 60_000), yes),
        (packed("CMS.PACKINCR deep", 1_000), yes),
        (packed(&format!("CMS.PACKINCR day AT {now}"), 20_000), yes),
        (words("CMS.MERGE sum 2 full full"), yes),
        (words("TOPK.RESERVE new 1048576 131072 256 0.9"), yes),
        (words("TOPK.RESERVE new 5000 WINDOW 60"), no),
        (with_items("TOPK.ADD top", 20_000, &[]), yes),
        (with_items("TOPK.ADD long", 100_000, &[]), yes),
        (with_items("TOPK.INCRBY top", 20_000, &["2"]), yes),
        (with_items("TOPK.ADD hour", 20_000, &[]), yes),
        (with_items(&format!("TOPK.ADDAT hour {now}"), 20_000, &[]), yes),
        (with_items(&format!("TOPK.INCRBYAT hour {now}"), 20_000, &["2"]), yes),
        (words("TDIGEST.CREATE new COMPRESSION 100000"), no),
        (tdigest("TDIGEST.ADD fine"), None),
        (words("TDIGEST.MERGE new 2 filled filled"), yes),
        (words("TDIGEST.RESET filled"), no),
        (words("BF.RESERVE new 0.01 1000000000000"), no),
        (words("CF.RESERVE new 1000000000000"), no),
        (words("BF.ADD bloom x"), no),
        (words("CF.ADD counting x"), no),
        (words("CF.ADDNX counting x"), no),
        (with_items("BF.MADD bloom", 400_000, &[]), None),
        (with_items("BF.MADD window", 200_000, &[]), None),
        (with_items("BF.INSERT bloom ITEMS", 400_000, &[]), None),
        (packed("BF.PACKADD bloom", 400_000), None),
        (words("BF.MERGE new 1 ones:full"), None),
        (words("BF.SHRINK ones:full"), None),
        (words("CF.COMPACT bag"), None),
        (with_items("CF.INSERT counting ITEMS", 200_000, &[]), None),
        (with_items("CF.INSERTNX counting ITEMS", 200_000, &[]), None),
        (packed("CF.PACKADD counting", 400_000), None),
    ]
}

/// Creates the keys that the command names.
fn set_up(db: &mut Connection, command: &[Vec<u8>]) {
    db.run("FLUSHALL SYNC"); // what is freed later would count as used
    let names: Vec<&[u8]> = command[1..command.len().min(6)].iter().map(Vec::as_slice).collect();
    let is_named = |key: &str| names.iter().any(|name| name.starts_with(key.as_bytes()));
    for line in SETUP {
        if is_named(line.split(' ').nth(1).expect("a key")) {
            db.run(line);
        }
    }
    if is_named("full") {
        assert!(!db.call(with_items("CMS.INCRBY full", 300, &["1"])).is_error());
        db.run("COPY full full:copy");
    }
    if is_named("filled") {
        let numbers = (0..500_000).map(|n| n.to_string().into_bytes());
        db.run("TDIGEST.CREATE filled COMPRESSION 100000");
        let add = words("TDIGEST.ADD filled").into_iter().chain(numbers);
        assert!(!db.call(add).is_error());
    }
    if is_named("ones") {
        db.run("RENAME ones ones:full");
        assert!(!db.call(packed("BF.PACKADD ones:full", 1_000_000)).is_error());
    }
    if is_named("bag") {
        assert!(!db.call(packed("CF.PACKADD bag", 1_000_000)).is_error());
    }
}

#[test]
fn no_command_of_either_module_goes_far_beyond_maxmemory() {
    let (primary, mut db) = Server::with_sketches(&["maxmemory-policy noeviction"]).with_client();
    let replica = primary.replica(&[]);
    for (command, is_stopped) in commands(now()) {
        set_up(&mut db, &command);
        primary.wait_for(&replica);
        // There is room for the words of the command.
        let long: usize = command.iter().map(Vec::len).filter(|len| *len > 1_000).sum();
        let room = (3 * long + 84 * command.len() + (256 << 10)) as i64;
        let most = db.memory_at_rest() + room;
        db.run(&format!("CONFIG SET maxmemory {most}"));
        let name: Vec<_> = command[..2].iter().map(|word| String::from_utf8_lossy(word)).collect();
        let name = name.join(" ");
        let reply = db.call(&command).to_string();
        let over = db.memory_at_rest() - most;
        println!("{name}: {:.1} MiB over maxmemory", over as f64 / f64::from(1 << 20));
        assert!(over <= MOST, "{name}: {over} bytes over maxmemory");
        let was_stopped = reply.contains(OVER_MAXMEMORY);
        let is_stopped = is_stopped.unwrap_or(was_stopped);
        assert_eq!(was_stopped, is_stopped, "{name}: {}", &reply[..reply.len().min(99)]);
        db.run("CONFIG SET maxmemory 0");
        primary.assert_equal(&replica);
        // Without the limit it runs to its end.
        assert!(!is_stopped || !db.call(&command).to_string().contains(OVER_MAXMEMORY), "{name}");
    }
}

#[test]
fn what_is_counted_before_the_limit_is_kept_and_the_reply_says_so() {
    let (_server, mut db) = server().with_client();
    db.run("CMS.INITBYDIM wide 8387584 16");
    let most = db.info_number("memory", "used_memory") + (2 << 20);
    db.run(&format!("CONFIG SET maxmemory {most}"));
    let reply = db.call(packed("CMS.PACKINCR wide", 60_000)).to_string();
    let number = reply.strip_prefix(&format!("-{OVER_MAXMEMORY}: only the first "));
    let number = number.and_then(|rest| rest.strip_suffix(" took effect"));
    let number: usize = number.and_then(|number| number.parse().ok()).expect(&reply);
    assert!(number > 1_000, "{reply}");
    db.run("CONFIG SET maxmemory 0");
    let info = db.ask("CMS.INFO wide");
    assert!(info.ends_with(&format!("+count, :{number}, +cell_size, :4]")), "{info}");
}

#[test]
fn a_packing_whose_copy_would_go_beyond_maxmemory_is_refused() {
    let (_server, mut db) = server().with_client();
    db.run("CMS.INITBYDIM narrow 1000 5");
    let digest = db.digest("narrow");
    let items = vec![b'x'; 12_000_000];
    // Redis 8.6 has the argument once; others have it twice meanwhile, and refuse the command.
    let most = db.memory_at_rest() + items.len() as i64 * 3 / 2;
    db.run(&format!("CONFIG SET maxmemory {most}"));
    let packing: [&[u8]; 5] = [b"CMS.PACKINCR", b"narrow", b"FIXED", b"100", &items];
    assert_eq!(db.call(packing).to_string(), format!("-{OVER_MAXMEMORY}."));
    assert_eq!(db.digest("narrow"), digest);
    db.run("CONFIG SET maxmemory 0");
    assert!(!db.call(packing).is_error());
}

/// A batch that would take 500 MiB is stopped before the server evicts more than the limit asks.
#[test]
fn other_keys_are_not_evicted_for_a_sketch() {
    const KEYS: usize = 200;
    let settings = ["maxmemory-policy allkeys-lru", "maxmemory-samples 64"];
    let (_server, mut db) = Server::with_sketches(&settings).with_client();
    for number in 0..KEYS {
        db.call([b"SET".to_vec(), format!("other:{number}").into_bytes(), vec![b'x'; 100_000]]);
    }
    db.run("CMS.INITBYDIM wide 8387584 16");
    let most = db.info_number("memory", "used_memory") + (1 << 20);
    db.run(&format!("CONFIG SET maxmemory {most}"));
    let reply = db.call(packed("CMS.PACKINCR wide", 60_000)).to_string();
    assert!(reply.contains(OVER_MAXMEMORY), "{reply}");
    db.run("PING"); // whatever the limit asks is evicted before a command
    let others = (0..KEYS).map(|number| format!("other:{number}"));
    let left = db.call(["EXISTS".to_owned()].into_iter().chain(others)).integer();
    assert!(left >= KEYS as i64 - (MOST / 100_000), "{left} of {KEYS} are left");
}

/// The most that an empty sketch takes, and that its first item adds. A small sketch keeps the
/// cells of a row together; in a large one each row takes some hundred bytes more.
#[test]
fn a_sketch_takes_the_memory_of_what_its_items_touch() {
    let (_server, mut db) = server().with_client();
    for (shape, empty, first) in [
        ("CMS.INITBYDIM k 5 2", 200, 100),
        ("CMS.INITBYDIM k 1000 5 CELL_SIZE 1", 200, 5_400),
        ("CMS.INITBYDIM k 1000 5 CELL_SIZE 2", 200, 10_800),
        ("CMS.INITBYDIM k 1000 5 CELL_SIZE 4", 200, 20_800),
        ("CMS.INITBYDIM k 1000 5 CELL_SIZE 8", 200, 41_300),
        ("CMS.INITBYDIM k 2000000 7", 30_000, 7 * 200),
        ("CMS.INITBYDIM k 131071 1023", 300_000, 1023 * 200 + 400),
        ("CMS.INITBYDIM k 8387584 16", 300_000, 16 * 200 + 400),
        ("CMS.INITBYDIM k 134201344 1", 300_000, 600),
        ("CMS.INITBYDIM k 536805376 1 CELL_SIZE 1", 300_000, 600),
        ("CMS.INITBYDIM k 67100672 1 CELL_SIZE 8", 300_000, 600),
        ("TOPK.RESERVE k 10 131072 256 0.9", 300_000, 256 * 200 + 400),
    ] {
        db.run_all(["FLUSHALL SYNC", shape]);
        let before = db.run("MEMORY USAGE k").integer();
        assert!(before <= empty, "{shape}: {before} bytes");
        db.run(if shape.starts_with("CMS") { "CMS.INCRBY k a 7" } else { "TOPK.ADD k a" });
        let one = db.run("MEMORY USAGE k").integer() - before;
        assert!((1..=first).contains(&one), "{shape}: {one} bytes for an item");
        let digest = db.digest("k");
        db.run("DEBUG RELOAD");
        assert_eq!(db.digest("k"), digest, "{shape}");
    }
}
