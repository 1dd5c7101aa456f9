//! What journals may take, and for how long.

use splitbloom_harness::follower::{changes, position};
use splitbloom_harness::{add_items, eventually, Connection, Server};

/// Bytes and items of a piece of a journal.
const PIECE_BYTES: i64 = 4096;
const PIECE: u64 = 256;

fn follow(db: &mut Connection, key: &str) -> String {
    db.run(&format!("BF.RESERVE {key} 0.000001 100000"));
    position(db, key)
}

fn kept(db: &mut Connection, key: &str) -> u64 {
    let now = position(db, key);
    let numbers: Vec<&str> = now.split('-').collect();
    let [id, end, _] = numbers.as_slice() else {
        panic!("no position: {now}");
    };
    let end: u64 = end.parse().expect("a number");
    let is_kept = |db: &mut Connection, from: u64| {
        changes(db, &format!("{key} {id}-{from}-0 COUNT 1")).1.is_some()
    };
    let (mut gone, mut known) = (0, end);
    while gone < known {
        let middle = (gone + known) / 2;
        match is_kept(db, middle) {
            true => known = middle,
            false => gone = middle + 1,
        }
    }
    end - known
}

#[test]
fn a_follower_too_far_behind_must_fetch() {
    let (_server, mut db) = Server::start().with_client();
    for pieces in [1, 3] {
        db.run("FLUSHALL");
        let most = pieces * PIECE;
        db.run(&format!("CONFIG SET bf.max-followed-items {most}"));
        let begin = follow(&mut db, "f");
        let mut all = 0;
        for number in 0..5 * PIECE {
            all += add_items(&mut db, "f", number..number + 1);
            if number % 97 == 0 || number % PIECE <= 1 {
                let kept = kept(&mut db, "f");
                assert!(kept <= most && kept >= all.min(most - PIECE + 1), "{kept} of {all}");
            }
        }
        assert_eq!(changes(&mut db, &format!("f {begin}")).1, None);
        assert_eq!(db.info_number("bf", "bf_journal_bytes"), pieces as i64 * PIECE_BYTES);
    }
    // More items in one command than a journal may have.
    let before = position(&mut db, "f");
    add_items(&mut db, "f", 10_000..11_000);
    assert_eq!(changes(&mut db, &format!("f {before}")).1, None);
    // A limit that is lowered has its effect when the next piece is due.
    db.run(&format!("CONFIG SET bf.max-followed-items {PIECE}"));
    add_items(&mut db, "f", 20_000..20_600);
    assert_eq!(db.info_number("bf", "bf_journal_bytes"), PIECE_BYTES);
}

#[test]
fn all_journals_together_stay_within_their_limit() {
    let (_server, mut db) = Server::start().with_client();
    let limit = 3 * PIECE_BYTES;
    db.run(&format!("CONFIG SET bf.max-journal-bytes {limit}"));
    follow(&mut db, "a");
    follow(&mut db, "b");
    add_items(&mut db, "a", 0..300);
    assert_eq!(db.info_number("bf", "bf_journal_bytes"), limit);
    db.run("BF.ADD c x");
    let refused = "-ERR the journals of followed filters would exceed bf.max-journal-bytes";
    assert_eq!(db.ask("BF.CHANGES c 0"), refused);
    assert_eq!(db.ask("BF.CHANGES c 0 BLOCK 0"), refused);
    // The existing journals go on, within the pieces that they have.
    for first in [1000, 2000, 3000] {
        add_items(&mut db, "a", first..first + 400);
        add_items(&mut db, "b", first..first + 400);
        assert_eq!(db.info_number("bf", "bf_journal_bytes"), limit);
    }
    assert!(kept(&mut db, "a") <= 2 * PIECE && kept(&mut db, "b") <= PIECE);
    db.run("DEL b");
    assert_eq!(changes(&mut db, "c 0").1, None);
    db.run("CONFIG SET bf.max-journal-bytes 0");
    db.run("BF.ADD d x");
    assert_eq!(db.ask("BF.CHANGES d 0"), refused);
    add_items(&mut db, "a", 4000..4600);
    assert!(kept(&mut db, "a") <= PIECE, "one piece is left");
}

#[test]
fn memory_usage_and_info_count_journals() {
    let (_server, mut db) = Server::start().with_client();
    db.run("BF.RESERVE f 0.000001 100000");
    add_items(&mut db, "f", 0..5000); // so that the next ones take no more
    let size = db.run("BF.INFO f SIZE");
    let usage = |db: &mut Connection| db.run("MEMORY USAGE f").integer();
    let (before, now) = (usage(&mut db), position(&mut db, "f"));
    assert_eq!(usage(&mut db), before + PIECE_BYTES);
    assert_eq!(db.run("BF.INFO f SIZE"), size);
    changes(&mut db, &format!("f {now}"));
    let info = ["bf_journals", "bf_journal_bytes", "bf_fetches_by_followers"];
    let info = info.map(|field| db.info_number("bf", field));
    assert_eq!(info, [1, PIECE_BYTES, 1]);
    db.run("DEL f");
    assert_eq!(db.info_number("bf", "bf_journal_bytes"), 0);
}

#[test]
fn a_journal_that_nobody_asks_for_ends_and_one_that_is_waited_for_stays() {
    let (server, mut db) = Server::start().with_client();
    let waited_for = follow(&mut db, "f");
    let mut follower = server.connect();
    follower.send(format!("BF.CHANGES f {waited_for} BLOCK 0").split_whitespace());
    eventually("it waits", || db.info("clients", "blocked_clients") == "1");
    let forgotten = follow(&mut db, "g");
    db.run("CONFIG SET bf.journal-idle-time 1");
    eventually("the other ends", || db.info("bf", "bf_journals") == "1");
    assert_eq!(changes(&mut db, &format!("g {forgotten}")).1, None);
    db.run("BF.ADD f a");
    let reply = follower.receive();
    assert_eq!(reply.elements()[1].bytes().len(), 16, "{reply}");
    eventually("both end", || db.info("bf", "bf_journals") == "0");
    // An add does not begin it again.
    db.run("BF.ADD f b");
    assert_eq!(db.info("bf", "bf_journals"), "0");
}
