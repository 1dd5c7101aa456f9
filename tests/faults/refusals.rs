//! Too little memory, and impossible sizes. The module's allocator refuses large blocks on demand,
//! and the address space of a running server is limited. Tests that fail each single allocation in
//! turn are in `crates/filter/tests/short_memory.rs`.

use crate::{server_with_failpoints, with_blocks};
use splitbloom_harness::{
    add_items, address_space, eventually, item, limit, missing_items, packed, words, Connection,
    Family, Reply, Resource, Server, APPEND_ONLY,
};

const NO_MEMORY: &str = "-ERR Insufficient memory to add item";

#[test]
fn filters_of_any_legal_size_can_be_created_and_grow_with_little_memory() {
    /// Far more than the test needs, and far less than is reserved: a filter of 2^40 items has a
    /// terabyte of bits.
    const HEADROOM: u64 = 256 << 20;
    let (server, mut db) = Server::start().with_client();
    let process = server.process();
    limit(process, Resource::Memory, Some(address_space(process) + HEADROOM));
    for options in ["NONSCALING", "EXPANSION 1", "EXPANSION 32768"] {
        db.run(&format!("BF.RESERVE k 0.01 1099511627776 {options}"));
        add_items(&mut db, "k", 0..200);
        assert_eq!(missing_items(&mut db, "k", 0..200), 0);
        db.run("UNLINK k");
    }
    for options in ["", "EXPANSION 0", "EXPANSION 32768 BUCKETSIZE 255"] {
        db.run(&format!("CF.RESERVE k 1099511627776 {options}"));
        Family::Counting.add_items(&mut db, "k", 0..200);
        assert_eq!(Family::Counting.missing_items(&mut db, "k", 0..200), 0);
        db.run("UNLINK k");
    }
    db.run("BF.RESERVE steep 0.01 1 EXPANSION 32768");
    add_items(&mut db, "steep", 0..34_000);
    assert_eq!(missing_items(&mut db, "steep", 0..34_000), 0);
    limit(process, Resource::Memory, None);
}

/// Blocks of at least this size hold the bits of sparse Bloom filters with a few items. The
/// module's other allocations are smaller.
const LARGE_BLOCK: u32 = 256;

/// A server whose module can be refused large blocks, which Bloom filters have, and a replica that
/// always gets them. For tables see `tables.rs`.
fn servers_short_of_memory() -> (Server, Server) {
    let (primary, mut db) = server_with_failpoints(&[]).with_client();
    let replica = primary.replica(&[]);
    db.run(&format!("CONFIG SET bf.inject-refusal-from {LARGE_BLOCK}"));
    for key in ["huge", "copied"] {
        db.run(&format!("BF.RESERVE {key} 0.01 1099511627776"));
        add_items(&mut db, key, 0..50);
    }
    db.run("COPY copied copy");
    (primary, replica)
}

#[test]
fn a_batch_that_runs_out_of_memory_stops_at_the_refused_item() {
    const BLOCKS: u64 = 30;
    let (primary, replica) = servers_short_of_memory();
    let mut db = primary.connect();
    let items: Vec<Vec<u8>> = (0..200_000).map(item).collect();
    for (head, options) in [
        ("BF.MADD huge", ""),
        ("BF.INSERT copy ITEMS", ""),
        ("BF.PACKADD huge LINES", ""),
        ("BF.PACKADD copy LINES", "BITS"),
    ] {
        let key = head.split(' ').nth(1).expect("a key");
        let is_packed = head.ends_with("LINES");
        let items = if is_packed { vec![packed("LINES", &items)] } else { items.clone() };
        let command: Vec<_> = words(head).into_iter().chain(items).chain(words(options)).collect();
        let before = db.line(&format!("BF.CARD {key}")).integer();
        if is_packed {
            // The memory for the reply is allocated first.
            let refused = with_blocks(&mut db, 0, |db| db.call(&command)).to_string();
            assert!(refused.starts_with("-ERR Insufficient memory to "), "{refused}");
            assert_eq!(db.line(&format!("BF.CARD {key}")).integer(), before);
        }
        let reply = with_blocks(&mut db, BLOCKS, |db| db.call(&command));
        let (last, answers) = reply.elements().split_last().expect("at least one reply");
        assert_eq!(last.to_string(), NO_MEMORY, "{head}");
        let (kept, new) = match (is_packed, answers) {
            (false, _) => (answers.len() as u64, answers.iter().map(Reply::integer).sum()),
            (true, [kept, Reply::Integer(new)]) => (kept.integer() as u64, *new),
            (true, [kept, bits]) => {
                let new = bits.bytes().iter().map(|byte| i64::from(byte.count_ones()));
                (kept.integer() as u64, new.sum::<i64>())
            }
            _ => panic!("{reply}"),
        };
        assert!(kept > BLOCKS, "{head}: {kept} items");
        assert_eq!(missing_items(&mut db, key, 0..kept), 0);
        assert_eq!(db.line(&format!("BF.CARD {key}")).integer(), before + new);
        primary.assert_equal(&replica);
    }
}

/// A client finds the error among its answers; on a replica nobody would read it there.
#[test]
fn a_replica_that_has_no_memory_for_some_items_says_which_filter_lacks_them() {
    let primary = Server::start();
    let replica = server_with_failpoints(&["propagation-error-behavior ignore"]);
    let (mut here, mut there) = (primary.connect(), replica.connect());
    there.run(&format!("REPLICAOF 127.0.0.1 {}", primary.port()));
    here.run("BF.RESERVE huge 0.01 1099511627776");
    here.run("CF.RESERVE counting 1000000");
    primary.wait_for(&replica);
    there.run("CONFIG SET bf.inject-refusal-from 1");
    let commands = ["BF.MADD huge a b c", "CF.INSERT counting ITEMS a b c"];
    for (refused, command) in (1..).zip(commands) {
        with_blocks(&mut there, 0, |_| {
            here.run(command);
            primary.wait_for(&replica);
        });
        assert_eq!(there.info_number("bf", "bf_replays_refused"), refused);
        let key = command.split(' ').nth(1).expect("a key");
        let line = replica.logged(&format!("key \"{key}\""));
        assert!(line.contains("Insufficient memory to add item"), "{line}");
    }
    assert_eq!(replica.log().matches("== CRITICAL ==").count(), commands.len());
}

#[test]
fn a_union_that_finds_no_memory_changes_nothing() {
    let (primary, replica) = servers_short_of_memory();
    let mut db = primary.connect();
    for key in ["one", "other"] {
        db.run(&format!("BF.RESERVE {key} 0.01 10000000 SEED 0123456789abcdef"));
    }
    add_items(&mut db, "one", 0..300);
    add_items(&mut db, "other", 300..600);
    let digest = db.digest("one");
    for blocks in [0, 1, 3] {
        for command in ["BF.MERGE one 1 other", "BF.MERGE new 2 one other"] {
            let reply = with_blocks(&mut db, blocks, |db| db.ask(command));
            assert_eq!(reply, NO_MEMORY, "{blocks}");
        }
        assert_eq!(db.digest("one"), digest, "{blocks}");
        assert_eq!(db.ask("EXISTS new"), ":0", "{blocks}");
    }
    assert_eq!(db.ask("BF.MERGE one 1 other"), "+OK");
    assert_eq!(missing_items(&mut db, "one", 0..600), 0);
    primary.assert_equal(&replica);
}

#[test]
fn a_key_comes_from_another_or_not_whichever_block_is_refused() {
    let (_server, mut db) = server_with_failpoints(&APPEND_ONLY).with_client();
    let baseline = db.info("bf", "bf_bytes_held");
    let mut commands = Vec::new();
    for (family, donor) in [(Family::Bloom, "donor"), (Family::Counting, "counting-donor")] {
        family.add_items(&mut db, donor, 0..3);
        let (iterator, bytes) = family.scan_dump(&mut db, donor).remove(0);
        let load = family.loading("new", iterator, &bytes);
        let payload = db.dump(donor);
        let restore = [b"RESTORE".as_slice(), b"new", b"0", &payload].map(<[u8]>::to_vec);
        let copy = words(&format!("COPY {donor} new"));
        commands.extend([copy, load, restore.to_vec()].map(|command| (donor, command)));
    }
    db.run("CONFIG SET bf.inject-refusal-from 1");
    let traces = |db: &mut Connection| {
        let size = db.info("persistence", "aof_current_size");
        [db.digest_of_everything(), db.ask("DBSIZE"), size]
    };
    let mut before = traces(&mut db);
    for (donor, command) in commands {
        let mut refused = 0;
        loop {
            let reply = with_blocks(&mut db, refused, |db| db.call(&command));
            if !reply.is_error() {
                break;
            }
            let name = String::from_utf8_lossy(&command[0]);
            let is_ours = reply.to_string().starts_with("-ERR Insufficient memory");
            assert!(is_ours || ["COPY", "RESTORE"].contains(&&*name), "{name}: {reply}");
            assert_eq!(traces(&mut db), before, "{name}, {refused} blocks");
            refused += 1;
        }
        // The filter as a value, and its bits.
        assert!(refused >= 2, "{refused}");
        assert_eq!(db.digest("new"), db.digest(donor));
        assert_eq!(db.ask("DEL new"), ":1");
        before = traces(&mut db);
    }
    db.run("FLUSHALL");
    eventually("all memory is returned", || db.info("bf", "bf_bytes_held") == baseline);
}
