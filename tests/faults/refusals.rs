//! More than there is, or than there can be. The allocator of the module refuses large blocks when it is told to, and the address
//! space of a running server is limited. Each single allocation refused in turn is in `src/data_type.rs`.

use crate::harness::{
    add_items, address_space, eventually, item, limit, missing_items, scan_dump, words, Connection,
    Limited, Server,
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
