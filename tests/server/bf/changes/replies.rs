//! What BF.CHANGES replies without waiting.

use splitbloom_filter::hash::{ItemHash, Seed};
use splitbloom_harness::follower::{changes, position, Follower};
use splitbloom_harness::{add_items, item, Family, Server, Specimens};

#[test]
fn a_reply_has_the_position_and_the_hashes_of_new_items() {
    let server = Server::start();
    for mut db in [server.connect(), server.connect_resp3()] {
        db.run("FLUSHALL");
        db.run("BF.RESERVE f 0.000001 100 SEED 0123456789abcdef");
        db.run("BF.MADD f a b");
        let (begin, none) = changes(&mut db, "f 0");
        assert_eq!(none, None, "the filter must be fetched first");
        let (id, numbers) = begin.split_once('-').expect("id and numbers");
        assert_eq!((id.len(), numbers), (16, "0-0"));
        assert!(id.bytes().all(|digit| digit.is_ascii_hexdigit()));

        assert_eq!(changes(&mut db, &format!("f {begin}")), (begin.clone(), Some(vec![])));
        db.run("BF.ADD f c");
        db.run("BF.ADD f a");
        db.run("BF.MADD f b d c e");
        db.run("BF.INSERT f ITEMS e g");
        db.run("BF.PACKADD f LINES h");
        let all = ["c", "d", "e", "g", "h"]
            .map(|item| ItemHash::of(item.as_bytes(), Seed(0x0123_4567_89AB_CDEF)));
        // The filter is a table.
        let at = |number: usize| format!("{id}-{number}-{number}");
        let ask = |db: &mut _, from: usize, options: &str| {
            changes(db, &format!("f {} {options}", at(from)))
        };
        for from in 0..=5 {
            assert_eq!(ask(&mut db, from, ""), (at(5), Some(all[from..].to_vec())));
            for count in 1..=6 {
                let end = (from + count).min(5);
                let expected = (at(end), Some(all[from..end].to_vec()));
                assert_eq!(ask(&mut db, from, &format!("COUNT {count}")), expected);
            }
        }
        assert_eq!(ask(&mut db, 6, ""), (at(5), None), "ahead of the journal");
        assert_eq!(position(&mut db, "f"), at(5), "0 does not begin it again");
    }
}

#[test]
fn a_position_of_another_journal_is_one_that_nobody_is_at() {
    let (_server, mut db) = Server::start().with_client();
    db.run("BF.ADD f a");
    db.run("BF.ADD g a");
    let (f, g) = (position(&mut db, "f"), position(&mut db, "g"));
    assert_ne!(f, g);
    assert_eq!(changes(&mut db, &format!("f {g}")), (f.clone(), None));
    for position in
        ["0000000000000000-0-0", "ffffffffffffffff-0-0", "0000000000000000-9223372036854775807-0"]
    {
        assert_eq!(changes(&mut db, &format!("f {position}")), (f.clone(), None));
    }
    let id = &f[..16];
    for number in [1, i64::MAX] {
        assert_eq!(changes(&mut db, &format!("f {id}-{number}-0")), (f.clone(), None));
    }
}

#[test]
fn filters_of_every_kind_are_followed() {
    let (_server, mut db) = Server::start().with_client();
    Specimens::create(&mut db);
    let followed = |specimen: &_| -> bool {
        let splitbloom_harness::Specimen { family, key, .. } = specimen;
        *family == Family::Bloom && !key.starts_with("window")
    };
    for specimen in Specimens::all().filter(followed) {
        let key = specimen.key;
        let mut follower = Follower::default();
        follower.catch_up(&mut db, key, "").expect("a follower");
        for batch in 0..5 {
            // A filter that does not grow has room for a thousand more.
            add_items(&mut db, key, 1_000_000 + batch * 150..1_000_150 + batch * 150);
            follower.catch_up(&mut db, key, "COUNT 70").expect("news");
        }
        assert_eq!(follower.fetches, 1, "{key}");
        let missing = (1_000_000..1_000_750).filter(|number| !follower.contains(&item(*number)));
        assert_eq!(missing.count(), 0, "{key}");
    }
}

#[test]
fn a_reply_has_at_most_a_mebibyte() {
    let (_server, mut db) = Server::start().with_client();
    db.run("BF.RESERVE f 0.0001 1000000");
    let begin = position(&mut db, "f");
    let new = add_items(&mut db, "f", 0..100_000) as usize;
    let (next, first) = changes(&mut db, &format!("f {begin}"));
    let (end, rest) = changes(&mut db, &format!("f {next}"));
    let lengths = [first, rest].map(|hashes| hashes.expect("hashes").len());
    assert_eq!(lengths, [1 << 16, new - (1 << 16)]);
    assert_eq!(end, format!("{}-{new}-0", &begin[..16]));
}
