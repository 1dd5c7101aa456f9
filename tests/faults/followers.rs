//! Followers of a filter, while memory is refused and commands panic. A follower that is up to date
//! has what the server has, or it must fetch the filter.

use crate::{server_with_failpoints, with_blocks};
use splitbloom_harness::follower::{changes, position, Follower};
use splitbloom_harness::{add_items, eventually, item, Server};

/// Filters with almost no false positives, so that an item that is found was added.
const SHAPE: &str = "0.000001 1000 NONSCALING";

#[test]
fn a_journal_without_memory_ends_and_the_add_succeeds() {
    let (_server, mut db) = server_with_failpoints(&[]).with_client();
    db.run(&format!("BF.RESERVE k {SHAPE}"));
    db.run(&format!("BF.RESERVE other {SHAPE}"));
    add_items(&mut db, "k", 0..100);
    let begin = position(&mut db, "k");
    add_items(&mut db, "k", 100..300);
    assert_eq!(changes(&mut db, &format!("k {begin}")).1.expect("news").len(), 200);

    // The filter has its memory. A further piece of the journal has 4 KiB.
    db.run("CONFIG SET bf.inject-refusal-from 4096");
    with_blocks(&mut db, 0, |db| {
        assert_eq!(add_items(db, "k", 300..400), 100);
        assert_eq!(changes(db, &format!("k {begin}")).1, None);
        let refused = "-ERR Insufficient memory to follow filter";
        assert_eq!(db.ask("BF.CHANGES other 0"), refused);
    });
    assert_eq!(changes(&mut db, &format!("k {begin}")).1, None);
}

#[test]
fn after_a_panic_in_an_add_a_follower_has_all_or_fetches() {
    let (_server, mut db) = server_with_failpoints(&[]).with_client();
    db.run(&format!("BF.RESERVE k {SHAPE}"));
    let mut follower = Follower::default();
    for call in 0..60 {
        follower.catch_up(&mut db, "k", "").expect("a follower");
        db.call(["CONFIG", "SET", "bf.inject-panic", &format!("bf.madd {call}")]);
        let items = (call * 5..call * 5 + 5).map(|number| format!(" item:{number}"));
        db.line(&format!("BF.MADD k{}", items.collect::<String>()));
        db.run("CONFIG SET bf.inject-panic nowhere");
        follower.catch_up(&mut db, "k", "").expect("a follower");
        for number in 0..call * 5 + 5 {
            let there = db.line(&format!("BF.EXISTS k item:{number}")).integer() == 1;
            assert_eq!(follower.contains(&item(number)), there, "call {call}, {number}");
        }
    }
    assert!(db.info_number("bf", "bf_caught_panics") > 10);
}

#[test]
fn a_panic_in_a_command_that_has_waited_is_its_reply() {
    let (server, mut db) = server_with_failpoints(&[]).with_client();
    db.run(&format!("BF.RESERVE k {SHAPE}"));
    let blocked = |server: &Server| server.connect().info_number("clients", "blocked_clients");
    for call in 0..9 {
        let now = position(&mut db, "k");
        let mut follower = server.connect();
        follower.send(format!("BF.CHANGES k {now} BLOCK 0").split_whitespace());
        eventually("the client waits", || blocked(&server) == 1);
        db.call(["CONFIG", "SET", "bf.inject-panic", &format!("bf.changes {call}")]);
        db.run(&format!("BF.ADD k {call}"));
        let reply = follower.receive().to_string();
        assert!(reply.contains("ERR internal error"), "call {call}: {reply}");
        assert_eq!(follower.ask("ECHO next"), "$next");
    }
    assert_eq!(blocked(&server), 0);
}
