//! The commands that have all their items in one argument, of both kinds of filter.

use splitbloom_harness::{item, packed, words, Connection, Random, Reply, Server};

/// The layouts that can hold any items.
const LAYOUTS: [&str; 2] = ["LINES", "PREFIXED"];

/// `command key layout items`, and the further words.
fn call(db: &mut Connection, head: &str, items: &[u8], options: &str) -> Reply {
    let command = words(head).into_iter().chain([items.to_vec()]);
    db.call(command.chain(words(options)))
}

/// The answers as a string of bits.
fn bits(answers: &Reply) -> Vec<u8> {
    let mut bytes = vec![0; answers.elements().len().div_ceil(8)];
    for (n, answer) in answers.elements().iter().enumerate() {
        bytes[n / 8] |= (answer.integer() as u8) << (n % 8);
    }
    bytes
}

#[test]
fn packed_items_are_added_and_found_as_others_are() {
    Server::start().converse(&[
        ("BF.RESERVE k 0.000001 100", "+OK"),
        ("CF.RESERVE c 100 ERROR 0.000001", "+OK"),
        ("BF.PACKADD k FIXED 2 aabbaa", ":2"),
        ("BF.PACKEXISTS k FIXED 2 aabbcc", "$\\x03"),
        ("BF.PACKADD k FIXED 2 bbccddbb BITS", "$\\x06"),
        ("BF.PACKADD k fixed 2 bbccddbb bits", "$\\x00"),
        ("BF.PACKADD k FIXED 2 aabb", ":0"),
        ("BF.PACKEXISTS k FIXED 2 ccxxddyyaabbzzaabb", "$\\xb5\\x01"),
        ("BF.PACKEXISTS missing LINES a", "$\\x00"),
        ("EXISTS missing", ":0"),
        ("BF.CARD k", ":4"),
        ("CF.PACKADD c FIXED 1 aab", ":3"),
        ("CF.PACKADD c FIXED 1 b BITS", "$\\x01"),
        ("CF.COUNT c a", ":2"),
        ("CF.PACKEXISTS c FIXED 1 xab", "$\\x06"),
        ("CF.PACKEXISTS missing FIXED 1 xab", "$\\x00"),
        ("CF.PACKDEL c FIXED 1 axaba", ":3"),
        ("CF.PACKDEL c FIXED 1 xb BITS", "$\\x02"),
        ("CF.PACKDEL c FIXED 1 xb BITS", "$\\x00"),
        ("CF.PACKEXISTS c FIXED 1 ab", "$\\x00"),
    ]);
}

#[test]
fn each_layout_holds_the_same_items_as_separate_arguments() {
    let (_server, mut db) = Server::start().with_client();
    let mut random = Random::seeded(17);
    for round in 0..30 {
        db.run("FLUSHALL");
        let reserve = random.pick(&["BF.RESERVE k 0.01 1000", "BF.RESERVE k 0.01 100"]);
        for key in ["packed", "plain"] {
            let seed = " SEED 0123456789abcdef";
            db.run(&(reserve.replace(" k ", &format!(" {key} ")) + seed));
        }
        for _ in 0..4 {
            let mut items: Vec<Vec<u8>> =
                (0..1 + random.below(400)).map(|_| item(random.below(1500))).collect();
            let width = 3 + random.below(5) as usize;
            let fixed = format!("FIXED {width}");
            let layout = *random.pick(&[LAYOUTS[0], LAYOUTS[1], &fixed]);
            if layout == fixed {
                items.iter_mut().for_each(|item| item.resize(width, b'.'));
            }
            let bytes = packed(layout, &items);
            let plainly = |db: &mut Connection, head: &str| {
                bits(&db.call(words(head).into_iter().chain(items.iter().cloned())))
            };
            let found = call(&mut db, &format!("BF.PACKEXISTS packed {layout}"), &bytes, "");
            assert_eq!(found.bytes(), plainly(&mut db, "BF.MEXISTS plain"), "{round}");
            let head = format!("BF.PACKADD packed {layout}");
            let is_new = plainly(&mut db, "BF.MADD plain");
            if random.below(2) == 0 {
                assert_eq!(call(&mut db, &head, &bytes, "BITS").bytes(), is_new);
            } else {
                let new: u32 = is_new.iter().map(|byte| byte.count_ones()).sum();
                assert_eq!(call(&mut db, &head, &bytes, "").integer(), i64::from(new));
            }
            assert_eq!(db.digest("packed"), db.digest("plain"));
        }
    }
}

#[test]
fn a_refused_item_ends_the_command_and_those_before_it_stay() {
    let (_server, mut db) = Server::start().with_client();
    db.run("BF.RESERVE k 0.000001 3 NONSCALING");
    db.run("BF.RESERVE l 0.000001 1 NONSCALING");
    db.run("CF.RESERVE c 3 EXPANSION 0 ERROR 0.000001");
    let full = "-ERR non scaling filter is full";
    db.converse(&[
        ("BF.PACKADD k FIXED 1 abacdef", &format!("[:4, :3, {full}]")),
        ("BF.PACKADD k FIXED 1 abd BITS", &format!("[:2, $\\x00, {full}]")),
        ("BF.PACKADD k FIXED 1 d BITS", &format!("[:0, $, {full}]")),
        ("BF.PACKEXISTS k FIXED 1 abcdef", "$\\x07"),
        ("BF.PACKADD l FIXED 1 ab BITS", &format!("[:1, $\\x01, {full}]")),
        ("CF.PACKADD c FIXED 1 aabcd", "[:3, :3, -ERR Filter is full]"),
        ("CF.PACKADD c FIXED 1 a BITS", "[:0, $, -ERR Filter is full]"),
        ("CF.COUNT c a", ":2"),
        ("CF.EXISTS c c", ":0"),
        ("CF.PACKDEL missing FIXED 1 a", "-ERR Not found"),
        ("CONFIG SET bf.max-filter-bytes 40", "+OK"),
        ("BF.PACKADD new LINES a", "-ERR filter would exceed bf.max-filter-bytes"),
        ("EXISTS new", ":0"),
    ]);
}

const TOO_LONG: &str = "ERR packing would exceed bf.max-pack-bytes";

#[test]
fn a_packing_may_be_as_long_as_the_setting_and_sixteen_mebibytes_by_default() {
    const DEFAULT: usize = 16 << 20;
    let (_server, mut db) = Server::strict(&[]).with_client();
    let bytes = vec![b'\n'; DEFAULT];
    assert_eq!(call(&mut db, "BF.PACKADD k FIXED 16", &bytes, "").integer(), 1);
    let longer = vec![b'\n'; DEFAULT + 16];
    for head in ["BF.PACKADD k LINES", "BF.PACKEXISTS k FIXED 16", "CF.PACKADD c FIXED 16"] {
        let refused = call(&mut db, head, &longer, "").to_string();
        assert_eq!(refused, format!("-{TOO_LONG}"), "{head}");
    }
    assert_eq!(db.ask("EXISTS c"), ":0");
    db.run("CONFIG SET bf.max-pack-bytes 3");
    db.converse(&[
        ("CONFIG GET bf.max-pack-bytes", "[$bf.max-pack-bytes, $3]"),
        ("BF.PACKADD k LINES abc", ":1"),
        ("BF.PACKADD k LINES abcd", &format!("-{TOO_LONG}")),
    ]);
    for bad in ["0", "-1", "abc"] {
        let reply = db.ask(&format!("CONFIG SET bf.max-pack-bytes {bad}"));
        assert!(reply.starts_with("-ERR "), "{bad}: {reply}");
    }
}

#[test]
fn short_items_are_no_more_in_number_than_sixteen_byte_items_would_be() {
    const MAX_ITEMS: usize = 1 << 20;
    const TOO_MANY: &str = "-ERR packing would exceed 1048576 items and bf.max-pack-bytes / 16";
    let (_server, mut db) = Server::strict(&[]).with_client();
    let bytes = vec![b'\n'; MAX_ITEMS + 1];
    let most = &bytes[..MAX_ITEMS];
    let added = call(&mut db, "BF.PACKADD k LINES", most, "BITS");
    assert_eq!((added.bytes().len(), added.bytes()[0]), (MAX_ITEMS / 8, 1));
    assert!(added.bytes()[1..].iter().all(|byte| *byte == 0));
    let found = call(&mut db, "BF.PACKEXISTS k FIXED 1", most, "");
    assert!(found.bytes().iter().all(|byte| *byte == 0), "a line feed was never added");
    for command in
        ["BF.PACKADD bf", "BF.PACKEXISTS bf", "CF.PACKADD cf", "CF.PACKDEL cf", "CF.PACKEXISTS cf"]
    {
        for layout in ["LINES", "FIXED 1"] {
            let refused = call(&mut db, &format!("{command} {layout}"), &bytes, "").to_string();
            assert_eq!(refused, TOO_MANY, "{command} {layout}");
        }
    }
    assert_eq!(db.ask("EXISTS bf"), ":0");
    // A smaller setting bounds bytes alone, a larger one allows more items.
    db.run("CONFIG SET bf.max-pack-bytes 1048577");
    assert_eq!(call(&mut db, "BF.PACKADD k LINES", &bytes, "").to_string(), TOO_MANY);
    db.run("CONFIG SET bf.max-pack-bytes 16777232");
    assert_eq!(call(&mut db, "BF.PACKADD k LINES", &bytes, "").integer(), 0);
}
