//! The commands that have all their items in one argument, of both kinds of filter.

use crate::errors::check_errors;
use splitbloom_harness::samples::{ALL, CUCKOO, GROWING};
use splitbloom_harness::{
    commands_in_append_only_file, item, missing_items, packed, words, Connection, Family, Random,
    Reply, Server,
};

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
    let server = Server::start();
    for mut db in [server.connect(), server.connect_resp3()] {
        db.run("FLUSHALL");
        db.converse(&[
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
}

#[test]
fn packed_items_come_to_filters_that_forget_with_their_time() {
    let server = Server::start();
    let mut db = server.connect();
    db.converse(&[
        ("BF.RESERVE w 0.000001 100 WINDOW 60", "+OK"),
        ("BF.PACKADD w FIXED 1 ab", ":2"),
        ("BF.PACKADD w FIXED 1 bc BITS", "$\\x02"),
        ("BF.PACKEXISTS w FIXED 1 abcx", "$\\x07"),
        ("BF.MEXISTS w a x", "[:1, :0]"),
        // Long gone.
        ("BF.RESERVE old 0.01 100 WINDOW 60", "+OK"),
        ("BF.PACKADD old AT 1000000000005 LINES a", ":1"),
        ("BF.PACKEXISTS old LINES a", "$\\x00"),
    ]);
}

#[test]
fn packed_items_come_to_filters_from_redisbloom_too() {
    let server = Server::start();
    let mut db = server.connect();
    for sample in ALL {
        sample.restore(&mut db);
    }
    for (family, key) in [("BF", GROWING.key), ("CF", CUCKOO.key)] {
        let before = db.ask(&format!("{family}.PACKEXISTS {key} LINES one-more"));
        assert_eq!(before, "$\\x00", "{key}");
        let add = format!("{family}.PACKADD {key} LINES one-more");
        assert_eq!(db.ask(&add), ":1", "{key}");
        let found = db.ask(&format!("{family}.PACKEXISTS {key} LINES one-more"));
        assert_eq!(found, "$\\x01", "{key}");
    }
    assert_eq!(
        db.ask(&format!("BF.MERGE new 1 {}", GROWING.key)),
        "-ERR filters of this kind cannot be merged"
    );
    let delete = format!("CF.PACKDEL {} LINES one-more", CUCKOO.key);
    assert_eq!(db.ask(&delete), ":1");
}

#[test]
fn each_layout_holds_the_same_items_as_separate_arguments() {
    let server = Server::start();
    let mut db = server.connect();
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
fn items_can_be_any_bytes_as_far_as_their_layout_allows() {
    let server = Server::start();
    let mut db = server.connect();
    let items: [&[u8]; 6] = [b"", b"\0", b"a\rb\r", b"\xff\xfe", b" ", &[b'x'; 1 << 20]];
    let items = items.map(<[u8]>::to_vec);
    for layout in LAYOUTS {
        db.run("FLUSHALL");
        db.run("BF.RESERVE k 0.000001 100");
        let bytes = packed(layout, &items);
        let added = call(&mut db, &format!("BF.PACKADD k {layout}"), &bytes, "");
        assert_eq!(added.integer(), items.len() as i64, "{layout}");
        for item in &items {
            let found = db.call([b"BF.EXISTS".to_vec(), b"k".to_vec(), item.clone()]);
            assert_eq!(found.integer(), 1, "{layout}");
        }
    }
}

#[test]
fn a_refused_item_ends_the_command_and_those_before_it_stay() {
    let server = Server::start();
    let mut db = server.connect();
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

#[test]
fn an_add_with_nocreate_adds_to_a_filter_that_exists_and_creates_none() {
    let server = Server::strict(&[]);
    let mut db = server.connect();
    db.converse(&[
        ("BF.PACKADD k FIXED 1 ab NOCREATE", "-ERR not found"),
        ("CF.PACKADD c FIXED 1 ab NOCREATE BITS", "-ERR not found"),
        ("EXISTS k c", ":0"),
        ("BF.RESERVE k 0.000001 100", "+OK"),
        ("CF.RESERVE c 100 ERROR 0.000001", "+OK"),
        ("BF.PACKADD k FIXED 1 ab NOCREATE", ":2"),
        ("BF.PACKADD k FIXED 1 bc BITS NOCREATE", "$\\x02"),
        ("CF.PACKADD c FIXED 1 ab NOCREATE", ":2"),
        ("BF.RESERVE w 0.01 100 WINDOW 60", "+OK"),
        ("BF.PACKADD w AT 1000000000005 LINES a NOCREATE", ":1"),
        ("UNLINK w", ":1"),
        ("BF.PACKADD w AT 1000000000005 LINES a NOCREATE", "-ERR not found"),
    ]);
}

const BAD_PACKING: &str = "ERR bad packing";
const BAD_WIDTH: &str = "ERR bad width";
const NOT_FOUND: &str = "ERR not found";
const SYNTAX: &str = "ERR syntax error";
const WRONG_TYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";
const TOO_LONG: &str = "ERR packing would exceed bf.max-pack-bytes";

/// The setup of each case: `key` is a filter of the command's kind.
const SETUP: [&str; 4] =
    ["BF.ADD bf a", "CF.ADD cf a", "SET text a", "CONFIG SET bf.max-pack-bytes 1000"];

const COMMANDS: [&str; 5] =
    ["BF.PACKADD bf", "BF.PACKEXISTS bf", "CF.PACKADD cf", "CF.PACKDEL cf", "CF.PACKEXISTS cf"];

#[test]
fn a_packing_that_lies_is_an_error_and_changes_nothing() {
    let long = "x".repeat(1001);
    let lies: [(&[&str], &str); 25] = [
        (&["FIXED", "0", "abc"], BAD_PACKING),
        (&["FIXED", "0", ""], BAD_PACKING),
        (&["FIXED", "-1", "abc"], BAD_PACKING),
        (&["FIXED", "2", "abc"], BAD_PACKING),
        (&["FIXED", "4", "abc"], BAD_PACKING),
        (&["FIXED", "1", ""], BAD_PACKING),
        (&["FIXED", "4294967296", "abc"], BAD_PACKING),
        (&["FIXED", "9223372036854775807", "abc"], BAD_PACKING),
        (&["FIXED", "9223372036854775808", "abc"], BAD_WIDTH),
        (&["FIXED", "abc", "3"], BAD_WIDTH),
        (&["FIXED", "1.5", "abc"], BAD_WIDTH),
        (&["FIXED", "", "abc"], BAD_WIDTH),
        (&["LINES", ""], BAD_PACKING),
        (&["PREFIXED", ""], BAD_PACKING),
        (&["PREFIXED", "abc"], BAD_PACKING),
        (&["PREFIXED", "\u{1}\0\0\0"], BAD_PACKING),
        (&["PREFIXED", "\0\0\0\0a"], BAD_PACKING),
        (&["PREFIXED", "\u{1}\0\0\0a\u{2}\0\0\0b"], BAD_PACKING),
        (&["PREFIXED", "\u{1}\0\0\0a\u{7f}\u{7f}\u{7f}\u{7f}b"], BAD_PACKING),
        (&["LINE", "abc"], SYNTAX),
        (&["abc", "LINES"], SYNTAX),
        (&["LINES", "abc", "BYTES"], SYNTAX),
        (&["FIXED", "1", "abc", "BITS", "abc"], SYNTAX),
        (&["LINES", &long], TOO_LONG),
        (&["FIXED", "2", &long], TOO_LONG),
    ];
    let heads = COMMANDS.map(|command| command.split(' ').collect::<Vec<_>>());
    let of_arguments = heads.iter().flat_map(|head| {
        let lies = lies.iter();
        lies.map(move |(lie, error)| ([head.as_slice(), *lie].concat(), *error))
    });
    let of_keys = heads.iter().map(|head| (vec![head[0], "text", "LINES", "a"], WRONG_TYPE));
    let mut cases: Vec<(Vec<&str>, &str)> = of_arguments.chain(of_keys).collect();
    // Arguments are checked before the key.
    cases.push((vec!["BF.PACKADD", "text", "LINES", ""], BAD_PACKING));
    cases.push((vec!["CF.PACKDEL", "missing", "LINES", ""], BAD_PACKING));
    cases.push((vec!["BF.PACKADD", "missing", "FIXED", "2", "abc"], BAD_PACKING));
    cases.push((vec!["BF.PACKEXISTS", "bf", "LINES", "a", "BITS"], SYNTAX));
    cases.push((vec!["CF.PACKEXISTS", "cf", "LINES", "a", "BITS"], SYNTAX));
    cases.push((vec!["BF.PACKEXISTS", "bf", "LINES", "a", "NOCREATE"], SYNTAX));
    cases.push((vec!["CF.PACKDEL", "cf", "LINES", "a", "NOCREATE"], SYNTAX));
    cases.push((vec!["BF.PACKADD", "bf", "NOCREATE", "LINES", "a"], SYNTAX));
    for name in ["BF.PACKADD", "CF.PACKADD"] {
        cases.push((vec![name, "missing", "LINES", "a", "NOCREATE"], NOT_FOUND));
        cases.push((vec![name, "missing", "LINES", "a", "BITS", "nocreate"], NOT_FOUND));
        cases.push((vec![name, "text", "LINES", "a", "NOCREATE"], WRONG_TYPE));
    }
    for (words, name) in [
        (["BF.PACKADD", "bf", "LINES"], "bf.packadd"),
        (["BF.PACKEXISTS", "bf", "LINES"], "bf.packexists"),
        (["CF.PACKADD", "cf", "LINES"], "cf.packadd"),
        (["CF.PACKDEL", "cf", "LINES"], "cf.packdel"),
        (["CF.PACKEXISTS", "cf", "LINES"], "cf.packexists"),
    ] {
        let error = format!("ERR wrong number of arguments for '{name}' command");
        cases.push((words.to_vec(), String::leak(error)));
        cases.push((vec![words[0], words[1], "FIXED", "2"], cases[cases.len() - 1].1));
    }
    check_errors(&SETUP, &cases);
}

#[test]
fn a_packing_may_be_as_long_as_the_setting_and_sixteen_mebibytes_by_default() {
    const DEFAULT: usize = 16 << 20;
    let server = Server::strict(&[]);
    let mut db = server.connect();
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
    let server = Server::strict(&[]);
    let mut db = server.connect();
    let bytes = vec![b'\n'; MAX_ITEMS + 1];
    let most = &bytes[..MAX_ITEMS];
    let added = call(&mut db, "BF.PACKADD k LINES", most, "BITS");
    assert_eq!((added.bytes().len(), added.bytes()[0]), (MAX_ITEMS / 8, 1));
    assert!(added.bytes()[1..].iter().all(|byte| *byte == 0));
    let found = call(&mut db, "BF.PACKEXISTS k FIXED 1", most, "");
    assert!(found.bytes().iter().all(|byte| *byte == 0), "a line feed was never added");
    for command in COMMANDS {
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

#[test]
fn what_took_effect_is_replicated_and_announced_and_nothing_else() {
    let server = Server::strict(&[
        "appendonly yes",
        "appendfsync no",
        "auto-aof-rewrite-percentage 0",
        "notify-keyspace-events KEA",
    ]);
    let mut db = server.connect();
    db.run("BF.RESERVE n 0.000001 3 NONSCALING");
    db.run("CF.RESERVE full 3 EXPANSION 0 ERROR 0.000001");
    let mut listener = server.connect();
    listener.run("PSUBSCRIBE __keyevent@*");
    for (command, propagated, event) in [
        (
            "BF.PACKADD k FIXED 1 ab",
            ["MULTI", "BF.RESERVE k", "BF.PACKADD k FIXED 1 ab", "EXEC"].as_slice(),
            "bf.reserve k, bf.packadd k",
        ),
        ("BF.PACKADD k FIXED 1 ab", &[], ""),
        ("BF.PACKADD k FIXED 1 abc BITS", &["BF.PACKADD k FIXED 1 abc BITS"], "bf.packadd k"),
        (
            "BF.PACKADD k FIXED 1 abcd NOCREATE",
            &["BF.PACKADD k FIXED 1 abcd NOCREATE"],
            "bf.packadd k",
        ),
        ("BF.PACKADD missing FIXED 1 ab NOCREATE", &[], ""),
        ("BF.PACKADD n FIXED 1 abacdef", &["BF.PACKADD n FIXED 1 abac"], "bf.packadd n"),
        ("BF.PACKADD n FIXED 1 abacdef", &[], ""),
        ("BF.PACKEXISTS k FIXED 1 ab", &[], ""),
        ("BF.PACKADD missing FIXED 2 abc", &[], ""),
        (
            "CF.PACKADD c LINES a",
            &["MULTI", "CF.RESERVE c", "CF.PACKADD c LINES a", "EXEC"],
            "cf.reserve c, cf.packadd c",
        ),
        ("CF.PACKADD full FIXED 1 abacd BITS", &["CF.PACKADD full FIXED 1 aba"], "cf.packadd full"),
        ("CF.PACKADD full FIXED 1 d", &[], ""),
        ("CF.PACKADD missing FIXED 1 d NOCREATE", &[], ""),
        ("CF.PACKDEL full FIXED 1 xay", &["CF.PACKDEL full FIXED 1 xay"], "cf.packdel full"),
        ("CF.PACKDEL full FIXED 1 xy", &[], ""),
        ("CF.PACKDEL missing FIXED 1 xy", &[], ""),
        ("CF.PACKEXISTS full FIXED 1 ab", &[], ""),
    ] {
        let before = commands_in_append_only_file(&server).len();
        db.run("SET marker a");
        db.line(command);
        db.run("SET marker b");
        let after = commands_in_append_only_file(&server);
        let new = &after[before + 1..after.len() - 1];
        assert_eq!(new.len(), propagated.len(), "{command}: {new:?}");
        for (new, propagated) in new.iter().zip(propagated) {
            // Of a creation, the name and the key.
            let is_same =
                new == propagated || propagated.contains("RESERVE") && new.starts_with(propagated);
            assert!(is_same, "{command}: {new}");
        }
        let mut events = Vec::new();
        let mut markers = 0;
        while markers < 2 {
            let message = listener.receive();
            let [.., channel, key] = message.elements() else { panic!("{message}") };
            let (channel, key) = (channel.text(), key.text());
            let (_, event) = channel.split_once(':').expect("an event");
            match (key.as_str(), event) {
                ("marker", "set") => markers += 1,
                (_, "new") => {}
                _ => events.push(format!("{event} {key}")),
            }
        }
        assert_eq!(events.join(", "), event, "{command}");
    }
}

#[test]
fn an_add_that_changes_nothing_breaks_no_watch() {
    let server = Server::strict(&[]);
    let (mut db, mut other) = (server.connect(), server.connect());
    db.run("BF.PACKADD k FIXED 1 ab");
    db.run("CF.PACKADD c FIXED 1 ab");
    for (command, transaction) in [
        ("BF.PACKADD k FIXED 1 ba", "[+PONG]"),
        ("BF.PACKADD k FIXED 3 ba", "[+PONG]"),
        ("BF.PACKEXISTS k FIXED 1 ba", "[+PONG]"),
        ("CF.PACKDEL c FIXED 1 xy", "[+PONG]"),
        ("BF.PACKADD k FIXED 1 bac", "_"),
        ("CF.PACKDEL c FIXED 1 xa", "_"),
        ("CF.PACKADD c FIXED 1 a", "_"),
    ] {
        db.run("WATCH k c");
        other.line(command);
        db.run("MULTI");
        db.run("PING");
        assert_eq!(db.ask("EXEC"), transaction, "{command}");
    }
}

#[test]
fn a_replica_with_other_settings_holds_the_same() {
    let primary = Server::start();
    let replica =
        primary.replica(&["bf.max-pack-bytes 1", "bf.initial-size 7", "bf.error-rate 0.2"]);
    let mut db = primary.connect();
    let mut random = Random::seeded(18);
    db.run("BF.RESERVE full 0.001 500 NONSCALING");
    db.run("CF.RESERVE few 500 EXPANSION 0");
    for _ in 0..300 {
        let items: Vec<Vec<u8>> =
            (0..1 + random.below(60)).map(|_| item(random.below(3000))).collect();
        let layout = random.pick(&LAYOUTS);
        let command = random.pick(&[
            "BF.PACKADD k",
            "BF.PACKADD full",
            "CF.PACKADD c",
            "CF.PACKADD few",
            "CF.PACKDEL c",
            "CF.PACKDEL few",
        ]);
        call(&mut db, &format!("{command} {layout}"), &packed(layout, &items), "");
    }
    primary.wait_for(&replica);
    let mut there = replica.connect();
    for key in ["k", "full", "c", "few"] {
        assert_eq!(db.digest(key), there.digest(key), "{key}");
    }
}

#[test]
fn a_million_items_in_one_command_are_all_added_and_counted() {
    const ITEMS: u64 = 1_000_000;
    let server = Server::start();
    let mut db = server.connect();
    db.run("BF.RESERVE k 0.001 1000000");
    let items: Vec<Vec<u8>> = (0..ITEMS).map(item).collect();
    let bytes = packed("LINES", &items);
    let new = call(&mut db, "BF.PACKADD k LINES", &bytes, "").integer();
    assert!(new > 999_000, "{new}");
    assert_eq!(missing_items(&mut db, "k", 0..ITEMS), 0);
    let found = call(&mut db, "BF.PACKEXISTS k LINES", &bytes, "");
    assert!(found.bytes().iter().all(|byte| *byte == 0xFF));
    assert_eq!(db.info_number("bf", "bf_items_added"), new);
    assert_eq!(db.info_number("bf", "bf_lookups"), 2 * ITEMS as i64);
    assert_eq!(db.info_number("bf", "bf_lookup_hits"), 2 * ITEMS as i64);
    call(&mut db, "CF.PACKADD c LINES", &bytes, "");
    assert_eq!(Family::Counting.missing_items(&mut db, "c", 0..ITEMS), 0);
    assert_eq!(call(&mut db, "CF.PACKDEL c LINES", &bytes, "").integer(), ITEMS as i64);
    assert_eq!(db.info_number("bf", "bf_items_deleted"), ITEMS as i64);
}
