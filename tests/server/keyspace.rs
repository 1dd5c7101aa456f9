//! A filter as an ordinary key: the server's own commands, events, transactions and scripts.

use splitbloom_harness::{eventually, words, Family, Server};

#[test]
fn each_family_has_a_type_of_its_own() {
    Server::start().connect().converse(&[
        ("BF.ADD k a", ":1"),
        ("CF.ADD c a", ":1"),
        ("SET text a", "+OK"),
        ("TYPE k", "+MBbloom--"),
        ("TYPE c", "+MBbloomCF"),
        ("OBJECT ENCODING k", "$raw"),
        ("SCAN 0 TYPE MBbloom--", "[$0, [$k]]"),
        ("SCAN 0 TYPE MBbloomCF", "[$0, [$c]]"),
        ("SCAN 0 TYPE string", "[$0, [$text]]"),
    ]);
}

#[test]
fn items_and_keys_can_be_any_bytes() {
    let (_server, mut db) = Server::strict(&[]).with_client();
    let long = vec![b'x'; 1 << 20];
    let items: [&[u8]; 8] = [b"", b"\0", b"\0\0", b"a\0", b"a\r\nb", b"\xff\xfe", b" ", &long];
    for (family, conversation) in [
        (Family::Bloom, "EXISTS 0 ADD 1 ADD 0 MEXISTS 1 EXISTS 1"),
        (Family::Counting, "EXISTS 0 ADD 1 COUNT 1 ADDNX 0 DEL 1 EXISTS 0"),
    ] {
        db.run("FLUSHALL");
        for key in [b"".as_slice(), b"\0", b"SEED", b"a\r\nb"] {
            for item in items {
                for step in words(conversation).chunks(2) {
                    let command = family.command(&String::from_utf8_lossy(&step[0]));
                    let reply = db.call([command.as_bytes(), key, item]).to_string();
                    let reply = reply.trim_matches(['[', ']', ':']);
                    assert_eq!(reply.as_bytes(), step[1], "{command}");
                }
            }
        }
    }
}

#[test]
fn every_kind_of_deletion_returns_the_memory() {
    let (_server, mut db) = Server::start().with_client();
    let text = {
        db.run("SET text a");
        db.line("DUMP text").bytes().to_vec()
    };
    let baseline = db.bytes_held();
    for lines in [
        &["DEL k l"][..],
        &["UNLINK k l"],
        &["FLUSHALL"],
        &["FLUSHALL ASYNC"],
        &["FLUSHDB ASYNC"],
        &["SET k a", "RENAME k l"],
        &["RESTORE k", "RESTORE l"],
        &["PEXPIRE k 1", "PEXPIRE l 1"],
    ] {
        for (family, key) in [(Family::Bloom, "k"), (Family::Counting, "l")] {
            family.reserve(&mut db, key);
            family.add_items(&mut db, key, 0..20_000);
        }
        assert_eq!(db.info_number("bf", "bf_filters"), 2, "{lines:?}");
        assert!(db.bytes_held() > baseline + 40_000, "{lines:?}");
        for line in lines {
            match line.strip_prefix("RESTORE ") {
                None => drop(db.run(line)),
                Some(key) => {
                    assert_eq!(db.restore(key, &text), "+OK");
                }
            }
        }
        eventually(lines[0], || {
            db.info_number("bf", "bf_filters") == 0 && db.bytes_held() == baseline
        });
        db.run("FLUSHALL");
    }
}

#[test]
fn info_counts_the_work_done() {
    let (_server, mut db) = Server::strict(&[]).with_client();
    let fields = ["filters", "items_added", "items_deleted", "lookups", "lookup_hits"];
    for (command, counted) in [
        ("PING", [0, 0, 0, 0, 0]),
        ("BF.RESERVE k 0.000001 4 EXPANSION 1", [1, 0, 0, 0, 0]),
        ("BF.MADD k a b c d a", [1, 4, 0, 0, 0]),
        ("BF.MEXISTS k a b c y", [1, 4, 0, 4, 3]),
        ("BF.EXISTS k z", [1, 4, 0, 5, 3]),
        ("BF.EXISTS k a", [1, 4, 0, 6, 4]),
        ("BF.ADD k e", [1, 5, 0, 6, 4]),
        ("BF.PACKEXISTS k FIXED 1 abxyzcdeaa", [1, 5, 0, 16, 11]),
        ("BF.MEXISTS missing a b", [1, 5, 0, 18, 11]),
        ("CF.INSERT c ITEMS a a b", [2, 8, 0, 18, 11]),
        ("CF.INSERTNX c ITEMS a c", [2, 9, 0, 18, 11]),
        ("CF.MEXISTS c a b", [2, 9, 0, 20, 13]),
        ("CF.COUNT c a", [2, 9, 0, 21, 14]),
        ("CF.EXISTS missing a", [2, 9, 0, 22, 14]),
        ("CF.DEL c a", [2, 9, 1, 22, 14]),
        ("CF.DEL c z", [2, 9, 1, 22, 14]),
        ("CF.COUNT c y", [2, 9, 1, 23, 14]),
        ("CF.EXISTS c c", [2, 9, 1, 24, 15]),
        ("CF.PACKEXISTS c FIXED 1 abz", [2, 9, 1, 27, 17]),
        ("DEL c", [1, 9, 1, 27, 17]),
    ] {
        db.run(command);
        let numbers = fields.map(|name| db.info_number("bf", &format!("bf_{name}")));
        assert_eq!(numbers, counted, "{command}");
    }
    let others = ["filters_grown", "fill_guard_closings"];
    assert_eq!(others.map(|name| db.info_number("bf", &format!("bf_{name}"))), [1, 0]);
}

#[test]
fn the_version_is_that_of_cargo_toml_as_text_and_as_a_number() {
    let (_server, mut db) = Server::start().with_client();
    let version = env!("CARGO_PKG_VERSION");
    let build = db.info("bf", "bf_version"); // 0.1.0 (3f2a1bc 2026-11-26), or 0.1.0 outside of git
    assert_eq!(build.split(' ').next(), Some(version));

    let modules = db.run("MODULE LIST");
    let mut entries = modules.elements().iter();
    let ours = entries.find(|entry| entry.field("name").text() == "bf");
    let numbers: Vec<i64> = version
        .split('.')
        .map(|number| number.parse().expect("a version of numbers and dots"))
        .collect();
    assert_eq!(
        ours.expect("the module is loaded").field("ver").integer(),
        10_000 * numbers[0] + 100 * numbers[1] + numbers[2]
    );
}
