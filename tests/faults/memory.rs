//! Rows 6, 16, 19 and 22: no memory. The module's allocator refuses large blocks when it is told to, the address space of a running server
//! is limited, or its own `maxmemory` is reached, with and without eviction; and memory is given back. Row 7, each single allocation
//! refused in turn, is in `src/data_type.rs`.

use crate::harness::{
    add_items, address_space, eventually, item, limit, load_pieces, missing_items, scan_dump,
    words, Connection, Limited, Server,
};
use crate::server_with_injection;

const NO_MEMORY: &str = "-ERR Insufficient memory to add item";

/// What may be seen of a command from outside: the keys, the memory, the replication stream.
#[derive(Debug, PartialEq)]
struct Traces([String; 4]);

impl Traces {
    fn of(db: &mut Connection) -> Traces {
        Traces([
            db.digest_of_everything(),
            db.ask("DBSIZE"),
            db.info("bf", "bf_bytes_held"),
            db.info("persistence", "aof_current_size"),
        ])
    }
}

#[test]
fn a_capacity_that_cannot_be_is_an_error_and_leaves_no_trace() {
    let server = Server::configured(&["appendonly yes", "auto-aof-rewrite-percentage 0"]);
    let mut db = server.connect();
    db.run("BF.ADD k a");
    let before = Traces::of(&mut db);
    // One more than the largest, and what overflows 53, 63 and 64 bits.
    for capacity in [
        "1099511627777",
        "9007199254740993",
        "4611686018427387904",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
        "1000000000000000000000000000000",
    ] {
        for command in [
            format!("BF.RESERVE new 0.01 {capacity}"),
            format!("BF.RESERVE new 0.000000001 {capacity} NONSCALING"),
            format!("BF.RESERVE new 0.01 {capacity} EXPANSION 32768"),
            format!("BF.INSERT new CAPACITY {capacity} ITEMS a"),
            format!("CONFIG SET bf.initial-size {capacity}"),
        ] {
            assert!(db.line(&command).is_error(), "{command}");
            assert_eq!(Traces::of(&mut db), before, "{command}");
        }
    }
}

#[test]
fn filters_of_any_legal_size_are_made_and_grow_where_memory_is_scarce() {
    /// Far more than the test takes, and nothing beside what is declared: a filter of 2^40 items has a terabyte of bits.
    const HEADROOM: u64 = 256 << 20;
    let server = Server::start();
    let mut db = server.connect();
    let process = server.process();
    limit(
        process,
        Limited::Memory,
        Some(address_space(process) + HEADROOM),
    );
    for options in ["NONSCALING", "EXPANSION 1", "EXPANSION 32768"] {
        db.run(&format!("BF.RESERVE k 0.01 1099511627776 {options}"));
        add_items(&mut db, "k", 0..200);
        assert_eq!(missing_items(&mut db, "k", 0..200), 0);
        db.run("UNLINK k");
    }
    // 1, 32768 and 2^30 items, then 2^40.
    db.run("BF.RESERVE steep 0.01 1 EXPANSION 32768");
    add_items(&mut db, "steep", 0..34_000);
    assert_eq!(missing_items(&mut db, "steep", 0..34_000), 0);
    limit(process, Limited::Memory, None);
}

/// A server whose module is refused large blocks after so many, and a replica that is not.
fn short_of_memory() -> (Server, Server) {
    let primary = server_with_injection(&[]);
    let replica = primary.replica(&[]);
    let mut db = primary.connect();
    // Each item falls into a segment of its own: 64 KiB.
    for key in ["huge", "copied"] {
        db.run(&format!("BF.RESERVE {key} 0.01 1099511627776"));
        add_items(&mut db, key, 0..50);
    }
    db.run("COPY copied copy");
    db.run("BF.RESERVE steep 0.01 1 EXPANSION 32768");
    // Past its second sub-filter; the third is of 2^30 items.
    add_items(&mut db, "steep", 0..33_000);
    (primary, replica)
}

fn give_large_blocks(db: &mut Connection, blocks: i64) {
    db.run(&format!("CONFIG SET bf.inject-refusal {blocks}"));
}

#[test]
fn an_item_that_finds_no_memory_is_refused_and_not_replicated() {
    /// Behind all that are there already.
    const FIRST: u64 = 100_000;
    let (primary, replica) = short_of_memory();
    let mut db = primary.connect();
    for key in ["huge", "copied", "copy", "steep"] {
        give_large_blocks(&mut db, 20);
        let mut added = FIRST;
        let refused = loop {
            match db.ask(&format!("BF.ADD {key} item:{added}")).as_str() {
                NO_MEMORY => break added,
                ":0" | ":1" => added += 1,
                other => panic!("{key}: {other}"),
            }
        };
        assert_eq!(
            db.ask(&format!("BF.ADD {key} item:0")),
            ":0",
            "what is there needs none"
        );
        give_large_blocks(&mut db, i64::MAX);
        let digest = db.digest(key);
        primary.wait_for(&replica);
        assert_eq!(replica.connect().digest(key), digest, "{key}");
        assert_eq!(missing_items(&mut db, key, FIRST..refused), 0, "{key}");
        assert_eq!(
            db.ask(&format!("BF.ADD {key} item:{refused}")),
            ":1",
            "{key}"
        );
        assert_ne!(db.digest(key), digest);
    }
    db.run("FLUSHALL");
    primary.wait_for(&replica);
    for mut db in [db, replica.connect()] {
        eventually("all filters are gone", || {
            db.info_number("bf", "bf_filters") == 0
        });
    }
}

#[test]
fn a_batch_that_runs_out_of_memory_ends_at_the_item_refused() {
    const BLOCKS: usize = 30;
    let (primary, replica) = short_of_memory();
    let mut db = primary.connect();
    for head in ["BF.MADD huge", "BF.INSERT copy ITEMS", "BF.MADD steep"] {
        let key = head.split(' ').nth(1).expect("a key");
        let before = db.line(&format!("BF.CARD {key}")).integer() as usize;
        give_large_blocks(&mut db, BLOCKS as i64);
        let items = (0..200_000).map(item);
        let reply = db.call(words(head).into_iter().chain(items));
        give_large_blocks(&mut db, i64::MAX);
        let (last, answers) = reply.elements().split_last().expect("answers");
        assert_eq!(last.to_string(), NO_MEMORY, "{key}");
        assert!(answers.len() > BLOCKS, "{key}: {} items", answers.len());
        assert_eq!(missing_items(&mut db, key, 0..answers.len() as u64), 0);
        let new = answers
            .iter()
            .filter(|answer| answer.integer() == 1)
            .count();
        assert_eq!(
            db.line(&format!("BF.CARD {key}")).integer() as usize,
            before + new
        );
        primary.wait_for(&replica);
        assert_eq!(replica.connect().digest(key), db.digest(key), "{key}");
    }
}

#[test]
fn a_load_that_finds_no_memory_is_refused_and_goes_on_later() {
    let (primary, replica) = short_of_memory();
    let mut db = primary.connect();
    let pieces = scan_dump(&mut db, "huge");
    let payload = db.line("DUMP huge").bytes().to_vec();
    let held = db.info_number("bf", "bf_bytes_held");
    for (iterator, bytes) in &pieces {
        let load = [
            b"BF.LOADCHUNK".to_vec(),
            b"new".to_vec(),
            iterator.to_string().into_bytes(),
            bytes.clone(),
        ];
        let before = (db.ask("EXISTS new"), db.ask("BF.CARD new"));
        give_large_blocks(&mut db, 2);
        assert_eq!(
            db.call(load.clone()).to_string(),
            "-ERR Insufficient memory to create filter"
        );
        give_large_blocks(&mut db, i64::MAX);
        assert_eq!((db.ask("EXISTS new"), db.ask("BF.CARD new")), before);
        assert_eq!(db.call(load).to_string(), "+OK");
    }
    assert_eq!(db.digest("new"), db.digest("huge"));
    db.run("DEL new");
    give_large_blocks(&mut db, 20);
    assert!(db
        .call([b"RESTORE".as_slice(), b"new", b"0", &payload])
        .is_error());
    give_large_blocks(&mut db, i64::MAX);
    assert_eq!(db.info_number("bf", "bf_bytes_held"), held);
    primary.wait_for(&replica);
    assert_eq!(
        db.digest_of_everything(),
        replica.connect().digest_of_everything()
    );
}

#[test]
fn a_full_server_that_evicts_nothing_refuses_every_write_and_answers_every_read() {
    let server = Server::configured(&["maxmemory-policy noeviction"]);
    let mut db = server.connect();
    db.run("BF.RESERVE donor 0.01 100");
    db.run("BF.ADD donor a");
    let pieces = scan_dump(&mut db, "donor");
    let used = db.info_number("memory", "used_memory");
    db.run(&format!("CONFIG SET maxmemory {}", used + (4 << 20)));
    db.run("BF.RESERVE k 0.01 100");
    let mut added = 0;
    while !db.line(&format!("BF.ADD k item:{added}")).is_error() {
        added += 1;
    }
    let digest = db.digest_of_everything();
    for write in [
        "BF.RESERVE new 0.01 100",
        "BF.ADD k more",
        "BF.ADD k item:0",
        "BF.MADD k more",
        "BF.INSERT k ITEMS more",
        "BF.INSERT new ITEMS more",
        "BF.LOADCHUNK new 1 a",
        "COPY k new",
    ] {
        assert!(db.ask(write).starts_with("-OOM "), "{write}");
    }
    let (iterator, bytes) = &pieces[0];
    let load = [
        b"BF.LOADCHUNK".to_vec(),
        b"new".to_vec(),
        iterator.to_string().into_bytes(),
        bytes.clone(),
    ];
    assert!(db.call(load).to_string().starts_with("-OOM "));
    assert_eq!(db.digest_of_everything(), digest);

    assert_eq!(missing_items(&mut db, "k", 0..added), 0);
    for read in [
        "BF.EXISTS k item:0",
        "BF.CARD k",
        "BF.INFO k FULL",
        "BF.SCANDUMP k 0",
        "DUMP k",
    ] {
        assert!(!db.line(read).is_error(), "{read}");
    }
    db.run("UNLINK k");
    eventually("there is room again", || {
        !db.line("BF.ADD new a").is_error()
    });
    load_pieces(&mut db, "loaded", &pieces);
}

#[test]
fn an_evicted_filter_goes_from_the_replica_too() {
    let primary = Server::configured(&["maxmemory-policy allkeys-lru"]);
    let replica = primary.replica(&[]);
    let mut db = primary.connect();
    let used = db.info_number("memory", "used_memory");
    db.run(&format!("CONFIG SET maxmemory {}", used + (6 << 20)));
    for number in 0..100 {
        db.run(&format!("BF.RESERVE k{number} 0.01 100000"));
        add_items(&mut db, &format!("k{number}"), 0..1000);
    }
    assert!(db.info_number("stats", "evicted_keys") > 10);
    db.run("CONFIG SET maxmemory 0");
    primary.wait_for(&replica);
    let mut there = replica.connect();
    assert_eq!(db.digest_of_everything(), there.digest_of_everything());
    assert_eq!(
        db.info_number("bf", "bf_filters"),
        there.info_number("bf", "bf_filters")
    );
    for number in 0..100 {
        let key = format!("k{number}");
        let missing = missing_items(&mut db, &key, 0..1000);
        let expected = if db.ask(&format!("EXISTS {key}")) == ":1" {
            0
        } else {
            1000
        };
        assert_eq!(missing, expected, "{key} is there as a whole or not at all");
    }
}

#[test]
fn big_filters_are_freed_on_the_servers_own_thread_where_it_is_asked_to() {
    // Eight times what the server frees at once: 64 segments of 64 KiB.
    const CREATION: &str = "0.01 30000000";
    let server = Server::configured(&[
        "lazyfree-lazy-expire yes",
        "lazyfree-lazy-eviction yes",
        "lazyfree-lazy-server-del yes",
    ]);
    let mut db = server.connect();
    let baseline = db.info_number("bf", "bf_bytes_held");
    for deletion in [
        "UNLINK k",
        "PEXPIRE k 1",
        "RENAME small k",
        "FLUSHALL ASYNC",
    ] {
        db.run("BF.ADD small a");
        db.run(&format!("BF.RESERVE k {CREATION}"));
        add_items(&mut db, "k", 0..20_000);
        let before = db.info_number("memory", "lazyfreed_objects")
            + db.info_number("memory", "lazyfree_pending_objects");
        db.run(deletion);
        eventually(deletion, || {
            let pending = db.info_number("memory", "lazyfree_pending_objects");
            pending == 0 && db.info_number("memory", "lazyfreed_objects") > before
        });
        db.run("FLUSHALL");
        eventually("all memory is back", || {
            db.info_number("bf", "bf_bytes_held") == baseline
        });
    }
}
