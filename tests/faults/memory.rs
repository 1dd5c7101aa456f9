//! The server's own limit, `maxmemory`, with and without eviction; and the return of memory.

use splitbloom_harness::{
    add_items, eventually, item, words, Connection, Family, Reply, Server, APPEND_ONLY,
};
use std::thread::sleep;
use std::time::Duration;

#[test]
fn an_evicted_filter_is_deleted_on_the_replica_too() {
    /// Some 125 KiB of a Bloom filter, some 40 of a counting one. More items would need more memory
    /// for the pipeline of commands than the server is given here.
    fn items(number: u64) -> u64 {
        match Family::by_turns(number) {
            Family::Bloom => 1000,
            Family::Counting => 20_000,
        }
    }
    let (primary, mut db) = Server::configured(&["maxmemory-policy allkeys-lru"]).with_client();
    let replica = primary.replica(&[]);
    let used = db.info_number("memory", "used_memory");
    db.run(&format!("CONFIG SET maxmemory {}", used + (16 << 20)));
    for number in 0..300 {
        let (family, key) = (Family::by_turns(number), format!("k{number}"));
        let parameters = if family == Family::Bloom { "0.01 100000" } else { "100" };
        family.reserve_with(&mut db, &key, parameters);
        family.add_items(&mut db, &key, 0..items(number));
    }
    assert!(db.info_number("stats", "evicted_keys") > 10);
    db.run("CONFIG SET maxmemory 0");
    primary.assert_equal(&replica);
    let mut there = replica.connect();
    assert_eq!(db.info_number("bf", "bf_filters"), there.info_number("bf", "bf_filters"));
    for number in 0..300 {
        let key = format!("k{number}");
        let missing = Family::by_turns(number).missing_items(&mut db, &key, 0..items(number));
        let expected = if db.ask(&format!("EXISTS {key}")) == ":1" { 0 } else { items(number) };
        assert_eq!(missing, expected, "{key} is present in full or not at all");
    }
}

#[test]
fn lazy_deletions_free_large_filters_on_the_servers_background_thread() {
    // Several times what the server frees in the foreground: 64 segments of 64 KiB, or 64 pages.
    const FILTERS: [(Family, &str, u64); 3] = [
        (Family::Bloom, "BF.RESERVE k 0.01 30000000", 20_000),
        (Family::Bloom, "BF.RESERVE k 0.01 100", 400_000),
        (Family::Counting, "CF.RESERVE k 100", 400_000),
    ];
    let (_server, mut db) = Server::configured(&[
        "lazyfree-lazy-expire yes",
        "lazyfree-lazy-eviction yes",
        "lazyfree-lazy-server-del yes",
    ])
    .with_client();
    let baseline = db.bytes_held();
    for ((family, creation, items), deletion) in FILTERS.into_iter().flat_map(|filter| {
        let deletions = ["UNLINK k", "PEXPIRE k 1", "RENAME small k", "FLUSHALL ASYNC"];
        deletions.map(|deletion| (filter, deletion))
    }) {
        db.run("BF.ADD small a");
        db.run(creation);
        family.add_items(&mut db, "k", 0..items);
        let before = db.info_number("memory", "lazyfreed_objects")
            + db.info_number("memory", "lazyfree_pending_objects");
        db.run(deletion);
        eventually(deletion, || {
            let pending = db.info_number("memory", "lazyfree_pending_objects");
            pending == 0 && db.info_number("memory", "lazyfreed_objects") > before
        });
        db.run("FLUSHALL");
        eventually("all memory is returned", || db.bytes_held() == baseline);
    }
}

/// What a command may take although the server is over its limit, and something for the server's
/// own buffers.
const RATION: i64 = 6 << 20;
const OVER_MAXMEMORY: &str = "-OOM command not allowed when used memory > 'maxmemory'.";

/// A command with items as words, or packed one a line.
fn with_items(head: &str, numbers: impl Iterator<Item = u64>) -> Vec<Vec<u8>> {
    let items = numbers.map(item);
    let items: Vec<Vec<u8>> = if head.ends_with("LINES") {
        vec![items.flat_map(|item| [item, b"\n".to_vec()].concat()).collect()]
    } else {
        items.collect()
    };
    words(head).into_iter().chain(items).collect()
}

/// How many items got an answer before the server's error, which must end the reply.
fn answered_before_the_limit(reply: &Reply) -> u64 {
    let (last, answers) = reply.elements().split_last().expect("an array");
    assert_eq!(last.to_string(), OVER_MAXMEMORY);
    match answers {
        // Of packed items: their number, and how many were new.
        [kept, _] => kept.integer() as u64,
        answers => answers.len() as u64,
    }
}

fn limit_memory(db: &mut Connection, room: i64) -> i64 {
    let most = db.memory_at_rest() + room;
    db.run(&format!("CONFIG SET maxmemory {most}"));
    most
}

#[test]
fn a_batch_stops_near_maxmemory_and_what_it_did_is_kept_and_replicated() {
    let (mut primary, mut db) = Server::configured(&APPEND_ONLY).with_client();
    let replica = primary.replica(&[]);
    // Copies share what the original has, so that each item takes a page or segment of its own.
    Family::Counting.add_items(&mut db, "counting", 0..2_000_000);
    db.run("BF.INSERT window WINDOW 10000 ITEMS a");
    add_items(&mut db, "window", 0..2_000_000);
    db.run("BF.RESERVE full 0.01 6000000");
    add_items(&mut db, "full", 0..500_000);
    for (number, (family, head, items)) in [
        (Family::Bloom, "BF.MADD sparse", 200_000),
        (Family::Bloom, "BF.INSERT {} ERROR 0.01 CAPACITY 1000000000000 ITEMS", 200_000),
        (Family::Bloom, "BF.PACKADD sparse LINES", 400_000),
        (Family::Bloom, "BF.MADD window", 100_000),
        (Family::Bloom, "BF.PACKADD window LINES", 100_000),
        (Family::Bloom, "BF.MADD full", 100_000),
        (Family::Counting, "CF.INSERT counting ITEMS", 100_000),
        (Family::Counting, "CF.INSERTNX counting ITEMS", 100_000),
        (Family::Counting, "CF.PACKADD counting LINES", 100_000),
    ]
    .into_iter()
    .enumerate()
    {
        db.run("CONFIG SET maxmemory 0");
        let key = format!("k{number}");
        let base = head.split(' ').nth(1).expect("a key");
        let head = head.replace(base, &key);
        match base {
            "sparse" => drop(db.run(&format!("BF.RESERVE {key} 0.01 1000000000000"))),
            "{}" => {}
            copied => drop(db.run(&format!("COPY {copied} {key}"))),
        }
        let held = db.bytes_held();
        let first = 10_000_000;
        let command = with_items(&head, first..first + items);
        // More than the words of the command take, less than the words and its items.
        let room = match &command[..] {
            [.., packed] if head.ends_with("LINES") => (1 << 20) + 3 * packed.len() as i64,
            _ => 84 * items as i64,
        };
        let most = limit_memory(&mut db, room);
        let reply = db.call(command);
        let kept = answered_before_the_limit(&reply);
        assert!((64..items).contains(&kept), "{head}: {kept} of {items}");
        let taken = db.bytes_held() - held;
        assert!(taken >= 4 << 20 && taken < room + RATION, "{head}: {taken} bytes");
        eventually("the server is near its limit", || {
            db.info_number("memory", "used_memory") < most + RATION
        });
        let missing = family.missing_items(&mut db, &key, first..first + kept);
        assert_eq!(missing, 0, "{head}");
        let found = items - family.missing_items(&mut db, &key, first..first + items);
        assert!(found < kept + items / 20, "{head}: {found} for {kept}");
    }
    db.run("CONFIG SET maxmemory 0");
    let digest = primary.assert_equal(&replica);
    drop(db);
    primary.restart();
    assert_eq!(primary.connect().digest_of_everything(), digest);
}

#[test]
fn a_replica_and_a_file_take_a_whole_batch_whatever_their_limit() {
    // The limit is in the configuration, so it is there when the file is loaded.
    let (mut primary, mut db) =
        Server::configured(&["appendonly yes", "appendfsync no", "maxmemory 8mb"]).with_client();
    let replica = primary.replica(&[]);
    db.run("BF.RESERVE k 0.01 1000000000000");
    primary.wait_for(&replica);
    limit_memory(&mut replica.connect(), 1 << 20);
    db.run("CONFIG SET maxmemory 0");
    db.call(with_items("BF.PACKADD k LINES", 0..200_000));
    let digest = db.digest("k");
    primary.assert_equal(&replica);
    drop(db);
    primary.restart();
    let mut db = primary.connect();
    assert_eq!(db.digest("k"), digest);
    assert_eq!(db.ask("BF.ADD k more"), OVER_MAXMEMORY);
}

#[test]
fn a_server_that_evicts_stops_only_batches_that_take_megabytes() {
    let (primary, mut db) =
        Server::configured(&["maxmemory-policy allkeys-lru", "maxmemory-samples 64"]).with_client();
    let replica = primary.replica(&[]);
    for number in 0..3_000 {
        let words = [b"SET".to_vec(), format!("old:{number}").into_bytes(), vec![b'x'; 10_000]];
        db.call(words);
    }
    sleep(Duration::from_millis(1_100)); // the server counts idle time in seconds
    db.run("BF.RESERVE k 0.01 1000000000000");
    limit_memory(&mut db, 64 << 10);
    // Batches of the usual size, always at the limit, with what they need evicted before each.
    let mut added = 0;
    while added < 60_000 {
        let reply = db.call(with_items("BF.MADD k", added..added + 1_000));
        assert_eq!(reply.elements().len(), 1_000);
        assert!(!reply.elements().iter().any(Reply::is_error));
        added += 1_000;
    }
    assert!(db.info_number("stats", "evicted_keys") > 100);
    // A large one stops, and goes on with the next command.
    let (mut commands, end) = (0, added + 150_000);
    while added < end {
        let reply = db.call(with_items("BF.PACKADD k LINES", added..end));
        added = match reply {
            Reply::Integer(_) => end,
            _ => added + answered_before_the_limit(&reply),
        };
        commands += 1;
    }
    assert!((2..20).contains(&commands), "{commands} commands");
    assert_eq!(Family::Bloom.missing_items(&mut db, "k", 0..end), 0);
    db.run("CONFIG SET maxmemory 0");
    primary.assert_equal(&replica);
}
