//! A filter as an ordinary key: the server's own commands, events, transactions and scripts.

use splitbloom_harness::{delete_items, eventually, Connection, Family, Server};

#[test]
fn each_family_has_a_type_of_its_own() {
    let server = Server::start();
    server.connect().converse(&[
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
fn a_copy_is_equal_and_independent() {
    let server = Server::start();
    let mut db = server.connect();
    for family in Family::BOTH {
        family.reserve(&mut db, "k");
        family.add_items(&mut db, "k", 0..20_000);
        let digest = db.digest("k");
        assert_eq!(db.ask("COPY k copy"), ":1");
        assert_eq!(db.digest("copy"), digest);
        family.add_items(&mut db, "copy", 20_000..21_000);
        assert_ne!(db.digest("copy"), digest);
        if family == Family::Counting {
            delete_items(&mut db, "copy", 0..1000);
        }
        assert_eq!(db.digest("k"), digest);
        db.run("DEL k");
        assert_eq!(family.missing_items(&mut db, "copy", 1000..21_000), 0);
        db.run("DEL copy");
    }
}

#[test]
fn a_filter_moves_between_names_and_databases_unchanged() {
    let server = Server::start();
    let mut db = server.connect();
    for family in Family::BOTH {
        family.reserve(&mut db, "k");
        family.add_items(&mut db, "k", 0..5000);
        let digest = db.digest("k");
        for moves in [
            [("RENAME k l", "+OK"), ("EXISTS k", ":0"), ("SELECT 0", "+OK")],
            [("MOVE l 3", ":1"), ("EXISTS l", ":0"), ("SELECT 3", "+OK")],
            [("SWAPDB 3 5", "+OK"), ("EXISTS l", ":0"), ("SELECT 5", "+OK")],
            [("COPY l l DB 0", ":1"), ("EXISTS l", ":1"), ("SELECT 0", "+OK")],
        ] {
            db.converse(&moves);
            assert_eq!(db.digest("l"), digest, "{moves:?}");
        }
        assert_eq!(family.missing_items(&mut db, "l", 0..5000), 0);
        db.run("FLUSHALL");
    }
}

#[test]
fn every_kind_of_deletion_returns_the_memory() {
    let server = Server::start();
    let mut db = server.connect();
    let text = {
        db.run("SET text a");
        db.line("DUMP text").bytes().to_vec()
    };
    let baseline = held(&mut db);
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
        assert!(held(&mut db) > baseline + 40_000, "{lines:?}");
        for line in lines {
            match line.strip_prefix("RESTORE ") {
                None => drop(db.run(line)),
                Some(key) => {
                    let reply = db.call([b"RESTORE", key.as_bytes(), b"0", &text, b"REPLACE"]);
                    assert_eq!(reply.to_string(), "+OK");
                }
            }
        }
        eventually(lines[0], || {
            db.info_number("bf", "bf_filters") == 0 && held(&mut db) == baseline
        });
        db.run("FLUSHALL");
    }
}

#[test]
fn an_expired_filter_behaves_like_a_missing_one() {
    let server = Server::start();
    let mut db = server.connect();
    db.run("BF.ADD k a");
    db.run("PEXPIRE k 1");
    eventually("the key expires", || db.ask("BF.EXISTS k a") == ":0");
    db.converse(&[
        ("BF.CARD k", ":0"),
        ("BF.INFO k", "-ERR not found"),
        ("BF.ADD k a", ":1"),
        ("TTL k", ":-1"),
    ]);
}

#[test]
fn an_add_keeps_the_time_to_live() {
    let server = Server::strict(&[]);
    let mut db = server.connect();
    db.converse(&[("BF.ADD k a", ":1"), ("EXPIRE k 1000", ":1"), ("BF.ADD k b", ":1")]);
    assert!(db.line("TTL k").integer() > 0);
}

#[test]
fn only_a_real_change_invalidates_a_client_side_cache() {
    let server = Server::strict(&[]);
    let mut caching = server.connect_resp3();
    let mut db = server.connect();
    db.run("BF.ADD k a");
    caching.run("CLIENT TRACKING ON");
    assert_eq!(caching.ask("BF.EXISTS k a"), "#t");
    db.run("BF.ADD k a");
    db.run("BF.MADD k a a");
    assert_eq!(caching.ask("PING"), "+PONG");
    db.run("BF.ADD k b");
    assert_eq!(caching.receive().to_string(), "[$invalidate, [$k]]");
}

#[test]
fn commands_work_in_a_transaction() {
    let server = Server::strict(&[]);
    server.connect().converse(&[
        ("MULTI", "+OK"),
        ("BF.ADD k a", "+QUEUED"),
        ("BF.MADD k a b", "+QUEUED"),
        ("BF.RESERVE k 0.01 100", "+QUEUED"),
        ("BF.EXISTS k b", "+QUEUED"),
        ("EXEC", "[:1, [:0, :1], -ERR item exists, :1]"),
    ]);
}

#[test]
fn commands_work_in_a_script() {
    let server = Server::strict(&[]);
    let mut db = server.connect();
    let mut script = |text: &str| db.call(["EVAL", text, "1", "k"]).to_string();
    assert_eq!(script("return redis.call('BF.ADD', KEYS[1], 'a')"), ":1");
    assert_eq!(script("return redis.call('BF.MADD', KEYS[1], 'a', 'b')"), "[:0, :1]");
    assert_eq!(script("return redis.call('BF.INFO', KEYS[1], 'ITEMS')"), "[:2]");
    assert_eq!(script("return redis.pcall('BF.RESERVE', KEYS[1], 0.01, 100)"), "-ERR item exists");
    assert_eq!(script("redis.setresp(3) return redis.call('BF.EXISTS', KEYS[1], 'b')"), ":1");
    assert_eq!(script("return redis.call('BF.CARD', KEYS[1])"), ":2");
}

#[test]
fn a_read_only_script_can_look_up_but_not_add() {
    let server = Server::start();
    let mut db = server.connect();
    db.run("BF.ADD k a");
    let mut script = |text: &str| db.call(["EVAL_RO", text, "1", "k"]).to_string();
    assert_eq!(script("return redis.call('BF.EXISTS', KEYS[1], 'a')"), ":1");
    assert!(script("return redis.call('BF.ADD', KEYS[1], 'b')")
        .contains("Write commands are not allowed"));
}

#[test]
fn info_counts_the_work_done() {
    let server = Server::strict(&[]);
    let mut db = server.connect();
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
fn info_shows_the_modules_section_where_it_is_asked_for() {
    let server = Server::start();
    let mut db = server.connect();
    let mut has_section = |command: &str| db.run(command).text().contains("\r\nbf_lookups:0\r\n");
    // No server shows the sections of modules in plain INFO.
    for command in ["INFO", "INFO default", "INFO all", "INFO stats"] {
        assert!(!has_section(command), "{command}");
    }
    for command in
        ["INFO bf", "INFO bf_stats", "INFO modules", "INFO everything", "INFO default bf"]
    {
        assert!(has_section(command), "{command}");
    }
}

#[test]
fn the_version_is_that_of_cargo_toml_as_text_and_as_a_number() {
    let server = Server::start();
    let mut db = server.connect();
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

#[test]
fn the_seed_is_not_shown() {
    const SEED: &str = "0123456789abcdef";
    let server = Server::configured(&["loglevel debug"]);
    let mut db = server.connect();
    db.run(&format!("BF.RESERVE k 0.01 100 SEED {SEED}"));
    db.run("BF.MADD k a b c");
    for question in ["BF.INFO k FULL", "INFO everything", "DEBUG OBJECT k", "MEMORY USAGE k"] {
        let answer = db.ask(question);
        let number = u64::from_str_radix(SEED, 16).expect("sixteen digits");
        assert!(!answer.to_lowercase().contains(SEED), "{question}");
        assert!(!answer.contains(&number.to_string()), "{question}");
    }
    assert!(!server.log().contains(SEED));
}

#[test]
fn monitor_does_not_show_the_seed_of_an_add_that_creates_a_filter() {
    let server = Server::start();
    let mut monitor = server.connect();
    monitor.run("MONITOR");
    let mut db = server.connect();
    db.run("BF.ADD k a");
    db.run("ECHO end");
    let mut seen = String::new();
    while !seen.contains("end") {
        seen += &monitor.receive().text();
    }
    assert!(seen.contains("BF.ADD") && !seen.contains("SEED"), "{seen}");
}

#[test]
fn eviction_removes_whole_filters_and_returns_their_memory() {
    let server = Server::start();
    let mut db = server.connect();
    let baseline = held(&mut db);
    let used = db.info_number("memory", "used_memory");
    db.run(&format!("CONFIG SET maxmemory {} maxmemory-policy allkeys-lru", used + (8 << 20)));
    for number in 0..200 {
        let key = format!("k{number}");
        db.line(&format!("BF.RESERVE {key} 0.01 100000"));
        let items: String = (0..1000).map(|item| format!(" {item}")).collect();
        db.line(&format!("BF.MADD {key}{items}"));
    }
    db.run("CONFIG SET maxmemory 0"); // or the next commands evict more
    let kept = db.info_number("bf", "bf_filters");
    assert!((10..199).contains(&kept), "{kept} filters are left");
    assert_eq!(db.line("DBSIZE").integer(), kept);
    db.run("FLUSHALL");
    eventually("the memory is returned", || held(&mut db) == baseline);
}

fn held(db: &mut Connection) -> i64 {
    db.info_number("bf", "bf_bytes_held")
}
